"""``theodolite data``: pairs of objects to ask about, from annotations or drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note
from theodolite.cli.output import show
from theodolite.core.errors import UsageError
from theodolite.core.tables import Column, Table

if TYPE_CHECKING:
    from theodolite.instruments.compass.data.selection import Selection

app = typer.Typer(no_args_is_help=True, help="Make pairs of objects to ask about, from annotations or drawn.")

Annotations = Annotated[
    list[Path],
    typer.Option("--annotations", metavar="FILE", help="COCO instances; may be given more than once."),
]
MaybeAnnotations = Annotated[
    list[Path] | None,
    typer.Option("--annotations", metavar="FILE", help="COCO instances; may be given more than once."),
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to write.")]
MaybeImages = Annotated[
    Path | None, typer.Option("--images", metavar="DIR", help="The folder with the pictures.")
]
Captions = Annotated[Path, typer.Option("--data", metavar="PATH", help="The captions.")]
MaybeSize = Annotated[
    int | None,
    typer.Option("--size", min=1, help="Sample size, balanced over the directions; all pairs if not given."),
]
Copy = Annotated[
    bool, typer.Option(help="Copy the pictures beside the pairs, or name them relative to --images.")
]
MinArea = Annotated[float, typer.Option("--min-area", help="Least share of the picture of an object.")]
MaxArea = Annotated[float, typer.Option("--max-area", help="Largest share of the picture of an object.")]
MinDistance = Annotated[
    float, typer.Option("--min-distance", help="Least distance of the centres, as a share of the diagonal.")
]
MinMargin = Annotated[
    float, typer.Option("--min-margin", help="How many degrees farther the next direction must be.")
]
NamesOption = Annotated[
    str, typer.Option("--names", metavar="exact|substring", help="How names match categories.")
]
BoxesOption = Annotated[
    str,
    typer.Option("--boxes", metavar="unique|largest", help="What to do if a name has several boxes."),
]
Agree = Annotated[bool, typer.Option(help="Require that the boxes have the caption's direction.")]


@app.command("coco-pairs")
def coco_pairs_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    annotations: Annotations,
    images: o.Images,
    folder: Out,
    size: MaybeSize = None,
    seed: o.Seed = 0,
    min_area: MinArea = 0.01,
    max_area: MaxArea = 0.5,
    area: Annotated[
        str, typer.Option("--area", metavar="box|mask", help="Take areas from boxes or masks.")
    ] = "box",
    min_distance: MinDistance = 0.15,
    min_margin: MinMargin = 0.0,
    copy: Copy = True,
    json: o.AsJson = False,
) -> None:
    """Make pairs from COCO instances, or any file in that format."""
    from theodolite.instruments.compass.data.coco import coco_pairs
    from theodolite.instruments.compass.data.selection import PairFilters

    filters = PairFilters(min_area, max_area, cast("Any", area), min_distance, min_margin)
    selection = coco_pairs(annotations, images, n=size, seed=seed, filters=filters)
    _finish(selection, folder, None if copy else images, json=json)


@app.command("gqa")
def gqa_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    scene_graphs: Annotated[Path, typer.Option("--scene-graphs", metavar="FILE", help="GQA's scene graphs.")],
    images: o.Images,
    folder: Out,
    size: MaybeSize = None,
    seed: o.Seed = 0,
    min_area: MinArea = 0.01,
    max_area: MaxArea = 0.5,
    min_distance: MinDistance = 0.15,
    min_margin: MinMargin = 0.0,
    copy: Copy = True,
    json: o.AsJson = False,
) -> None:
    """Make pairs from GQA scene graphs (VG-Spatial)."""
    from theodolite.instruments.compass.data.gqa import gqa_pairs
    from theodolite.instruments.compass.data.selection import PairFilters

    filters = PairFilters(min_area, max_area, "box", min_distance, min_margin)
    selection = gqa_pairs(scene_graphs, images, n=size, seed=seed, filters=filters)
    _finish(selection, folder, None if copy else images, json=json)


@app.command("vsr")
def vsr_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    captions: Captions,
    annotations: MaybeAnnotations = None,
    images: MaybeImages = None,
    folder: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Where to write; without it only the audit is shown."),
    ] = None,
    size: MaybeSize = None,
    seed: o.Seed = 0,
    names: NamesOption = "exact",
    boxes: BoxesOption = "unique",
    agree: Agree = True,
    copy: Copy = True,
    json: o.AsJson = False,
) -> None:
    """Match true VSR captions to COCO boxes, and show what is lost on the way."""
    from theodolite.instruments.compass.data.instances import MatchPolicy
    from theodolite.instruments.compass.data.vsr import vsr_audit, vsr_pairs

    policy = MatchPolicy(cast("Any", names), cast("Any", boxes), agree)
    audit = vsr_audit(captions, annotations or None, policy=policy).tables()
    if folder is None:
        show(audit, json=json)
        return
    if not annotations or images is None:
        raise UsageError(
            "pairs from VSR need --annotations and --images; without --out only the audit is shown"
        )
    selection = vsr_pairs(captions, annotations, images, n=size, seed=seed, policy=policy)
    _finish(selection, folder, None if copy else images, json=json, before=audit)


@app.command("whatsup")
def whatsup_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    captions: Captions,
    images: o.Images,
    folder: Out,
    annotations: MaybeAnnotations = None,
    size: MaybeSize = None,
    seed: o.Seed = 0,
    names: NamesOption = "exact",
    boxes: BoxesOption = "unique",
    agree: Agree = True,
    copy: Copy = True,
    json: o.AsJson = False,
) -> None:
    """Join WhatsUp's true captions with boxes; WhatsUp itself has none."""
    from theodolite.instruments.compass.data.instances import MatchPolicy
    from theodolite.instruments.compass.data.whatsup import whatsup_pairs

    policy = MatchPolicy(cast("Any", names), cast("Any", boxes), agree)
    selection = whatsup_pairs(
        captions, images, annotations=annotations or None, n=size, seed=seed, policy=policy
    )
    _finish(selection, folder, None if copy else images, json=json)


@app.command("squares")
def squares_command(
    folder: Out,
    size: o.Size = 160,
    seed: o.Seed = 0,
    angles: Annotated[int, typer.Option("--angles", min=1, help="Number of angles, from 0°.")] = 16,
    questions: Annotated[
        bool, typer.Option("--questions", help="Write questions for `theodolite ask` instead of pairs.")
    ] = False,
    json: o.AsJson = False,
) -> None:
    """Draw coloured squares: pairs at sixteen angles, or questions."""
    if questions:
        from theodolite.instruments.ask.data.questions import write_questions
        from theodolite.instruments.ask.data.squares import make_squares

        written = write_questions(make_squares(size, seed=seed), folder)
        show([], json=json, questions=str(written), n=size)
        if not json:
            note(f"wrote {size} questions to {written}")
        return
    from theodolite.instruments.compass.data.squares import SquaresPlan, coloured_squares

    _finish(coloured_squares(size, seed=seed, plan=SquaresPlan(n_angles=angles)), folder, None, json=json)


@app.command("check")
def check_command(
    pairs: Annotated[Path, typer.Argument(metavar="PAIRS", help="A pair file or its folder.")],
    images: Annotated[
        Path | None,
        typer.Option(
            "--images",
            metavar="DIR",
            help="The folder that the pictures' names are relative to; the file's own if not given.",
        ),
    ] = None,
    json: o.AsJson = False,
) -> None:
    """Check a pair file of your own, line by line."""
    from theodolite.instruments.compass.data.pair_files import read_pairs
    from theodolite.instruments.compass.data.pairs import pair_cautions

    found = read_pairs(pairs, images=images)
    directions = Counter(sorted(pair.direction for pair in found))
    pictures = len({pair.picture.digest for pair in found})
    cautions = pair_cautions(found)
    table = Table.of(
        "data.check",
        f"{len(found)} pairs on {pictures} pictures",
        [Column("direction", "direction"), Column("pairs", "pairs", "count")],
        list(directions.items()),
    )
    show([table], json=json, pairs=len(found), pictures=pictures, cautions=cautions)
    if not json:
        note_cautions(cautions)


def note_cautions(cautions: Mapping[str, Sequence[str]]) -> None:
    """Names pairs whose words do not fit their boxes."""
    for reason, ids in cautions.items():
        more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
        note(f"caution: {len(ids)} × {reason} ({', '.join(ids[:3])}{more})")


def _finish(
    selection: Selection,
    folder: Path,
    images: Path | None,
    *,
    json: bool,
    before: Sequence[Table] = (),
) -> None:
    """Writes the pairs and shows how they were chosen."""
    from theodolite.instruments.compass.data.pair_files import write_pairs

    path = write_pairs(selection.pairs, folder, images=images)
    report = selection.report
    show([*before, report.table()], json=json, pairs=str(path), report=report.as_json())
    if not json:
        more = f"; read them with --images {images}" if images else ""
        note(f"wrote {report.kept} pairs to {path}{more}")
