"""``theodolite data``: pairs of objects to ask about, from annotations that one has, or drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from theodolite.cli import options as o
from theodolite.cli.console import note, print_json
from theodolite.cli.output import print_table
from theodolite.core.errors import UsageError
from theodolite.instruments.compass.data.checks import pair_cautions
from theodolite.instruments.compass.data.coco import coco_pairs
from theodolite.instruments.compass.data.gqa import gqa_pairs
from theodolite.instruments.compass.data.matching import MatchPolicy
from theodolite.instruments.compass.data.pair_files import read_pairs, write_pairs
from theodolite.instruments.compass.data.selection import PairFilters, Selection, SelectionReport
from theodolite.instruments.compass.data.squares import SquaresPlan, coloured_squares
from theodolite.instruments.compass.data.vsr import vsr_audit, vsr_pairs
from theodolite.instruments.compass.data.vsr_audit import VsrAudit
from theodolite.instruments.compass.data.whatsup import whatsup_pairs

app = typer.Typer(no_args_is_help=True, help="Pairs of objects: where is one relative to the other?")

Annotations = Annotated[
    list[Path],
    typer.Option("--annotations", metavar="FILE", help="COCO instances; may be given more than once."),
]
MaybeAnnotations = Annotated[
    list[Path] | None,
    typer.Option("--annotations", metavar="FILE", help="COCO instances; may be given more than once."),
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to write.")]
Images = Annotated[Path, typer.Option("--images", metavar="DIR", help="The folder with the pictures.")]
MaybeImages = Annotated[
    Path | None, typer.Option("--images", metavar="DIR", help="The folder with the pictures.")
]
Captions = Annotated[Path, typer.Option("--data", metavar="PATH", help="The captions.")]
Sample = Annotated[
    int | None, typer.Option("--n", min=1, help="How many, balanced over the directions; all if not given.")
]
Copy = Annotated[
    bool, typer.Option(help="Copy the pictures beside the pairs, or only name them relative to --images.")
]
MinArea = Annotated[float, typer.Option("--min-area", help="Least share of the picture of an object.")]
MaxArea = Annotated[float, typer.Option("--max-area", help="Largest share of the picture of an object.")]
MinDistance = Annotated[
    float, typer.Option("--min-distance", help="Centres lie farther apart, as a share of the diagonal.")
]
MinMargin = Annotated[
    float, typer.Option("--min-margin", help="How many degrees farther the next direction must be.")
]
NamesOption = Annotated[
    str, typer.Option("--names", metavar="exact|substring", help="How names match categories.")
]
BoxesOption = Annotated[
    str, typer.Option("--boxes", metavar="unique|largest", help="What to do with several boxes for one name.")
]
Agree = Annotated[bool, typer.Option(help="Whether the boxes' direction must be the caption's.")]


@app.command("coco-pairs")
def coco_pairs_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    annotations: Annotations,
    images: Images,
    folder: Out,
    n: Sample = None,
    seed: o.Seed = 0,
    min_area: MinArea = 0.01,
    max_area: MaxArea = 0.5,
    area: Annotated[
        str, typer.Option("--area", metavar="box|mask", help="What an object's area is.")
    ] = "box",
    min_distance: MinDistance = 0.15,
    min_margin: MinMargin = 0.0,
    copy: Copy = True,
    json: o.AsJson = False,
) -> None:
    """Make pairs from COCO instances, or any file in that format."""
    filters = PairFilters(min_area, max_area, cast("Any", area), min_distance, min_margin)
    selection = coco_pairs(annotations, images, n=n, seed=seed, filters=filters)
    _finish(selection, folder, None if copy else images, json=json)


@app.command("gqa")
def gqa_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    scene_graphs: Annotated[Path, typer.Option("--scene-graphs", metavar="FILE", help="GQA's scene graphs.")],
    images: Images,
    folder: Out,
    n: Sample = None,
    seed: o.Seed = 0,
    min_area: MinArea = 0.01,
    max_area: MaxArea = 0.5,
    min_distance: MinDistance = 0.15,
    min_margin: MinMargin = 0.0,
    copy: Copy = True,
    json: o.AsJson = False,
) -> None:
    """Make pairs from GQA scene graphs (VG-Spatial)."""
    filters = PairFilters(min_area, max_area, "box", min_distance, min_margin)
    selection = gqa_pairs(scene_graphs, images, n=n, seed=seed, filters=filters)
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
    n: Sample = None,
    seed: o.Seed = 0,
    names: NamesOption = "exact",
    boxes: BoxesOption = "unique",
    agree: Agree = True,
    copy: Copy = True,
    json: o.AsJson = False,
) -> None:
    """Match true VSR captions to COCO boxes, and show what is lost on the way."""
    policy = MatchPolicy(cast("Any", names), cast("Any", boxes), agree)
    audit = vsr_audit(captions, annotations or None, policy=policy)
    if folder is None:
        print_json(audit.as_json()) if json else _show_audit(audit)
        return
    if not annotations or images is None:
        raise UsageError(
            "pairs from VSR need --annotations and --images; without --out only the audit is shown"
        )
    selection = vsr_pairs(captions, annotations, images, n=n, seed=seed, policy=policy)
    if not json:
        _show_audit(audit)
    _finish(selection, folder, None if copy else images, json=json)


@app.command("whatsup")
def whatsup_command(  # noqa: PLR0913, PLR0917 - one parameter per option
    captions: Captions,
    images: Images,
    folder: Out,
    annotations: MaybeAnnotations = None,
    n: Sample = None,
    seed: o.Seed = 0,
    names: NamesOption = "exact",
    boxes: BoxesOption = "unique",
    agree: Agree = True,
    copy: Copy = True,
    json: o.AsJson = False,
) -> None:
    """Join WhatsUp's true captions with boxes; WhatsUp itself has none."""
    policy = MatchPolicy(cast("Any", names), cast("Any", boxes), agree)
    selection = whatsup_pairs(
        captions, images, annotations=annotations or None, n=n, seed=seed, policy=policy
    )
    _finish(selection, folder, None if copy else images, json=json)


@app.command("squares")
def squares_command(
    folder: Out,
    n: o.Number = 160,
    seed: o.Seed = 0,
    angles: Annotated[int, typer.Option("--angles", min=1, help="How many angles, from 0°.")] = 16,
    json: o.AsJson = False,
) -> None:
    """Draw a blue and a red square at sixteen angles."""
    _finish(coloured_squares(n, seed=seed, plan=SquaresPlan(n_angles=angles)), folder, None, json=json)


@app.command("check")
def check_command(
    pairs: Annotated[Path, typer.Argument(metavar="PAIRS", help="A pair file or its folder.")],
    images: Annotated[
        Path | None,
        typer.Option(
            "--images",
            metavar="DIR",
            help="What the pictures' names are relative to; the file's own folder if not given.",
        ),
    ] = None,
    json: o.AsJson = False,
) -> None:
    """Check a pair file of one's own, line by line."""
    found = read_pairs(pairs, images=images)
    directions = Counter(sorted(pair.direction for pair in found))
    pictures = len({pair.picture.digest for pair in found})
    cautions = pair_cautions(found)
    if json:
        print_json(
            {"pairs": len(found), "pictures": pictures, "directions": directions, "cautions": cautions}
        )
        return
    note(f"{len(found)} pairs on {pictures} pictures: {_words(directions)}")
    note_cautions(cautions)


def note_cautions(cautions: Mapping[str, Sequence[str]]) -> None:
    """Tells of pairs whose words do not fit their boxes."""
    for reason, ids in cautions.items():
        more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
        note(f"caution: {len(ids)} × {reason} ({', '.join(ids[:3])}{more})")


def _finish(selection: Selection, folder: Path, images: Path | None, *, json: bool) -> None:
    """Writes the pairs and shows how they were chosen."""
    path = write_pairs(selection.pairs, folder, images=images)
    if json:
        print_json({"pairs": str(path), **selection.report.as_json()})
        return
    _show(selection.report)
    note(
        f"wrote {selection.report.kept} pairs to {path}"
        + (f"; read them with --images {images}" if images else "")
    )


def _show(report: SelectionReport) -> None:
    rows = [["candidates", str(report.candidates)]]
    rows += [[f"– {reason}", str(count)] for reason, count in report.excluded.items()]
    rows += [["kept", f"{report.kept} on {report.pictures} pictures: {_words(report.directions)}"]]
    print_table([report.source, "pairs"], rows)
    for each in report.notes:
        note(each)


def _show_audit(audit: VsrAudit) -> None:
    shown = ("captions", "positives", "directional", "categories", "annotated", "matched", "agreeing")
    rows = [
        [
            row.split,
            *(_or_dash(getattr(row, name), "d") for name in shown),
            *(_or_dash(share, ".1%") for share in (row.coverage, row.validity)),
        ]
        for row in audit.splits
    ]
    print_table(["split", *shown, "coverage", "validity"], rows, title="VSR")
    balance = [
        ["directional", *map(str, audit.directions.values()), _or_dash(audit.area_known, ".1%")],
        ["kept", *map(str, audit.kept_directions.values()), _or_dash(audit.area_kept, ".1%")],
    ]
    print_table(["", *audit.directions, "mean object area"], balance)
    note(audit.summary)


def _or_dash(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
