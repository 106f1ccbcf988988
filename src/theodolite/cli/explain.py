"""``theodolite explain``: where a model looks for one answer, and whether that map is true."""

from __future__ import annotations

import json as json_text
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from theodolite.attribution.hiding import Fill
from theodolite.cli.options import Group, command
from theodolite.cli.output import note, notes, out, print_json, show, step_progress
from theodolite.core.errors import UsageError
from theodolite.core.options import DATA, IMAGES, KEPT_FOLDER, MODEL, Option, Options, Seed, limit_of, size_of
from theodolite.explanation.api import FRAMES, METHODS, Box, Choices, explain
from theodolite.explanation.batch import Asked, explain_all, of_folder, of_questions
from theodolite.explanation.bench import BENCH_METHODS, BENCH_MODELS, bench
from theodolite.explanation.figure import printable
from theodolite.explanation.page import document
from theodolite.explanation.record import Explanation
from theodolite.explanation.truth import TRIES

PICTURE = "picture"
"""The command that `theodolite explain PHOTO "QUESTION"` stands for."""
_TONES = {"holds": "green", "not settled": "yellow", "chance": "red", "blind": "bright_black"}


class ExplainGroup(Group):
    """A group in which the name of the first command may be left out."""

    default = PICTURE

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put in the name of the command, unless one is given."""
        if not args or args[0] not in self.commands:
            args = [PICTURE, *args]
        return list(super().parse_args(ctx, args))


app = typer.Typer(
    help="Show where a model looks for one answer, and whether that map is true.", cls=ExplainGroup
)


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(Options):
    """What `theodolite explain` takes."""

    asked: Annotated[
        tuple[str, ...],
        Option(
            "Pictures or videos, and last the question. A folder: the question is asked of each of its pictures.",
            metavar="PICTURE… QUESTION",
            is_argument=True,
        ),
    ] = ()
    model: Annotated[str, MODEL] = ""
    method: Annotated[
        tuple[str, ...],
        Option(
            f"Methods, separated by commas; the first is shown. See `theodolite list methods`. Default: the first that the model allows of {', '.join(METHODS)}."
        ),
    ] = ()
    answer: Annotated[str, Option("The answer to explain. Default: the model's own.", metavar="TEXT")] = ""
    instead: Annotated[
        str,
        Option("An alternative, such as right: explain the answer against it.", metavar="TEXT"),
    ] = ""
    words: Annotated[bool, Option("Make a map of each word of the answer.")] = True
    span: Annotated[
        tuple[str, ...],
        Option(
            "A part of the answer that gets a map of its own; may be repeated.",
            metavar="TEXT",
            repeats=True,
        ),
    ] = ()
    box: Annotated[
        tuple[str, ...],
        Option(
            "Where the evidence is, in pixels of the first picture; may be repeated.",
            metavar="X0,Y0,X1,Y1",
            repeats=True,
        ),
    ] = ()
    mask: Annotated[
        Path | None,
        Option("The same as a picture of the same size: what is not black.", metavar="FILE"),
    ] = None
    data: Annotated[
        Path | None, DATA.but(help="Questions about pictures, as for `theodolite ask`: explain each.")
    ] = None
    images: Annotated[Path | None, IMAGES] = None
    limit: Annotated[int | None, limit_of("questions")] = None
    tries: Annotated[
        int, Option("Number of other places that are hidden for comparison.", least=1, most=1000)
    ] = TRIES
    fill: Annotated[Fill, Option("What hidden pixels become.")] = "grey"
    frames: Annotated[int, Option("Number of frames of a video.", least=1, most=64)] = FRAMES
    max_tokens: Annotated[int, Option("Maximum length of the model's answer, in tokens.", least=1)] = 256
    out: Annotated[Path, KEPT_FOLDER] = Path("explanation")
    seed: Seed = 0


def explain_picture(options: ExplainOptions, json: bool) -> None:
    """Show where a model looks for its answer to a question about a picture, and whether that map is true.

    `theodolite explain PHOTO "QUESTION" --model MODEL` writes a page, a picture and the numbers. Beside every map stands what hiding it does to the answer, and
    what hiding as much elsewhere does. `theodolite explain bench` compares the methods where the truth is known.
    """
    if not options.model:
        raise UsageError("no model is given; name one with --model, such as hf:PATH or pocket:grounded")
    choices = _choices(options)
    many = _many(options)
    with step_progress() as progress:
        if many is not None:
            index = explain_all(options.model, many[: options.limit], options.out, choices, progress)
            found = None
        else:
            found = _one(options, progress)
            page = found.save(options.out)
    if found is None:
        if json:
            print_json({"index": str(index), "explanations": _summaries(options.out)})
        else:
            note(f"wrote {index}")
    elif json:
        print_json({**document(found), "page": str(page)})
    else:
        _show(found)
        note(f"wrote {page}")


def _summaries(folder: Path) -> list[Any]:
    """Return the explanations of a batch, without their curves."""
    kept = ("question", "answer", "sentence")
    found = [
        json_text.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("[0-9]*-*.json"))
    ]
    return [{key: each[key] for key in kept} for each in found]


def _choices(options: ExplainOptions) -> Choices:
    return Choices(
        options.method,
        options.answer,
        options.instead,
        options.words,
        options.span,
        tuple(map(_box, options.box)),
        options.mask,
        options.tries,
        options.max_tokens,
        options.fill,
        options.seed,
    )


def _box(text: str) -> Box:
    try:
        x0, y0, x1, y1 = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--box takes four numbers, X0,Y0,X1,Y1, not {text!r}") from None
    return x0, y0, x1, y1


def _many(options: ExplainOptions) -> list[Asked] | None:
    """Return the questions of a folder or a file; None for a single question."""
    if options.data is not None:
        if options.asked:
            raise UsageError("--data holds pictures and questions; leave out the others")
        return list(of_questions(options.data, options.images))
    folders = [Path(each) for each in options.asked[:-1] if Path(each).is_dir()]
    if not folders:
        return None
    if len(options.asked) != 2:
        raise UsageError("give one folder and one question, or pictures and one question")
    return list(of_folder(folders[0], _question(options), options.frames))


def _question(options: ExplainOptions) -> str:
    if not options.asked:
        raise UsageError(
            'there is no picture and no question; write theodolite explain PHOTO "QUESTION" --model MODEL'
        )
    *_, question = options.asked
    if not question.strip():
        raise UsageError("the question is empty; ask something about the picture")
    if len(options.asked) < 2:
        raise UsageError(
            f'there is a picture or a question missing beside {question!r}; write theodolite explain PHOTO "QUESTION"'
        )
    return question


def _one(options: ExplainOptions, progress: Any) -> Explanation:
    question = _question(options)
    choices = _choices(options)
    return explain(
        options.model,
        list(options.asked[:-1]),
        question,
        method=choices.methods,
        answer=choices.answer,
        instead=choices.instead,
        words=choices.words,
        spans=choices.spans,
        boxes=choices.boxes,
        mask=choices.mask,
        tries=choices.tries,
        max_tokens=choices.max_tokens,
        fill=choices.fill,
        frames=options.frames,
        seed=choices.seed,
        progress=progress,
    )


def _show(found: Explanation) -> None:
    """Print answer, sentence and table."""
    shares = {(word.start, word.end): word.shares for word in found.words}
    answer = Text(printable(found.answer))
    for (start, end), share in shares.items():
        if share is not None and share.picture >= 0.5:
            answer.stylize("bold magenta", start, end)
    out.print(answer)
    if any(share is not None for share in shares.values()):
        out.print(Text("magenta: at least half came from the picture", style="dim"))
    out.print(Text(found.sentence, style=f"bold {_TONES[found.test.standing]}"))
    for caution in found.test.cautions:
        out.print(Text(f"But: {caution}."))
    if found.instead:
        out.print(Text(f"Explained against {found.instead}."))
    out.print()
    show([found.table()], json=False)
    notes(found.notes)


command(app, PICTURE, ExplainOptions, explain_picture)


@dataclass(frozen=True, kw_only=True)
class BenchOptions(Options):
    """What `theodolite explain bench` takes."""

    model: Annotated[
        tuple[str, ...],
        MODEL.but(
            help=f"A model; may be repeated. Default: {' and '.join(BENCH_MODELS)}, of which one looks and one cannot.",
            repeats=True,
        ),
    ] = ()
    method: Annotated[
        tuple[str, ...], Option("Methods, separated by commas; all for every one that needs one pass.")
    ] = BENCH_METHODS
    size: Annotated[int, size_of("pictures")] = 12
    data: Annotated[
        Path | None, DATA.but(help="Instead of drawn pictures: COCO instances, asked about their objects.")
    ] = None
    images: Annotated[Path | None, IMAGES] = None
    tries: Annotated[
        int, Option("Number of other places that are hidden for comparison.", least=1, most=1000)
    ] = TRIES
    seed: Seed = 0


def show_bench(options: BenchOptions, json: bool) -> None:
    """Compare methods on pictures where the evidence is known: which maps lie on it, which hold, and which tell a model that looks from one that does not."""
    with step_progress() as progress:
        table = bench(
            options.model or BENCH_MODELS,
            methods=options.method,
            size=options.size,
            data=options.data,
            images=options.images,
            tries=options.tries,
            seed=options.seed,
            progress=progress,
        )
    show([table], json=json)


command(app, "bench", BenchOptions, show_bench)
