"""One's own data: which instrument they are for, told by what lies there, and what is asked of them."""

from __future__ import annotations

import json
import mmap
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.diagnose.dedupe_images import link_or_copy
from theodolite.diagnose.record import InstrumentName

if TYPE_CHECKING:
    from theodolite.instruments.compass.data.pairs import Pair

Form: TypeAlias = Literal["pairs", "coco", "grids", "scenes", "graphs", "episodes", "traces"]
"""``coco``: an instances file with its pictures. ``graphs``: scenes without questions, which are then made. ``traces``: a log of
traces that were written elsewhere, beside the episodes that they are about."""
_INSTRUMENT: Mapping[Form, InstrumentName] = {
    "pairs": "compass",
    "coco": "compass",
    "grids": "grid",
    "scenes": "scene",
    "graphs": "scene",
    "episodes": "trace",
    "traces": "trace",
}
_MARKS: Mapping[str, Form] = {
    "pairs.jsonl": "pairs",
    "dataset.json": "grids",
    "questions.jsonl": "scenes",
    "scenes.jsonl": "graphs",
    "episodes.jsonl": "episodes",
}
"""The file by which a data set of each form is known; the first that is there decides."""
_TAKES = (
    "--data takes a COCO instances file (or its folder) with its pictures, pairs of `theodolite data`, grids of `theodolite grid "
    "make`, scenes of `theodolite scene make` or `build`, episodes of `theodolite trace make` or `import`, or a log of traces "
    "beside its episodes"
)
_COCO_PARTS = (b"images", b"annotations", b"categories")


@dataclass(frozen=True, slots=True)
class OwnData:
    """A data set of one's own."""

    form: Form
    path: Path
    images: Path | None = None
    """Of ``coco``: the folder with its pictures."""
    logs: tuple[Path, ...] = ()
    """Of ``episodes`` and ``traces``: files with traces that are judged beside the models' own."""

    @property
    def instrument(self) -> InstrumentName:
        """Which it is for."""
        return _INSTRUMENT[self.form]

    @property
    def words(self) -> str:
        """What it is, for the report."""
        return f"{self.path}" + (f" with the pictures in {self.images}" if self.images else "")

    def settings(self, n: int) -> dict[str, Any]:
        """What a run says of pairs that are drawn from it."""
        return {"images": str((self.images or Path()).absolute()), "n": n} if self.form == "coco" else {}

    def pairs(self, n: int, seed: int) -> list[Pair]:
        """The pairs of a pair file, or at most `n` drawn from COCO's instances, as even over the directions as they allow."""
        if self.form != "coco":
            from theodolite.instruments.compass.data.pair_files import read_pairs

            return read_pairs(self.path)
        from theodolite.instruments.compass.data.coco import coco_pairs

        return _balanced(coco_pairs(self.path, self.images or self.path.parent).pairs, n, seed)


def _balanced(pairs: Sequence[Pair], n: int, seed: int) -> list[Pair]:
    """At most `n` pairs, in their order, drawn so that directions are as even as the pairs allow."""
    rng = np.random.default_rng(seed)
    waiting: dict[str, list[int]] = {}
    for place in rng.permutation(len(pairs)).tolist():
        waiting.setdefault(pairs[place].direction, []).append(place)
    turns = zip_longest(*(waiting[direction] for direction in sorted(waiting)))
    drawn = [place for turn in turns for place in turn if place is not None]
    return [pairs[place] for place in sorted(drawn[:n])]


def find_own_data(given: Iterable[str | Path]) -> tuple[OwnData, ...]:
    """Data sets, one for an instrument at most.

    Args:
        given: folders or files as they are; ``instrument=path`` where it must be said; ``annotations@folder`` where COCO's
            pictures lie elsewhere.

    Raises:
        UsageError: one is not there, is of no known kind, or two are for the same instrument.
    """
    found: dict[InstrumentName, OwnData] = {}
    for text in given:
        name, equals, rest = str(text).partition("=")
        is_said = bool(equals) and name in get_args(InstrumentName)
        own = _read(rest if is_said else str(text), cast("InstrumentName", name) if is_said else None)
        if own.instrument in found:
            raise UsageError(
                f"--data names two data sets for {own.instrument}: {found[own.instrument].path} and {own.path}; "
                "diagnose them one by one"
            )
        found[own.instrument] = own
    return tuple(found.values())


def write_questions(source: Path, folder: Path, *, n: int, seed: int) -> None:
    """A data set of the scenes of another, with at most `n` questions about them. Pictures are linked, or copied."""
    from theodolite.instruments.scene.data.engine import make_questions, thin_questions
    from theodolite.instruments.scene.data.files import Manifest, read_data, write_data

    shutil.copytree(source, folder, copy_function=link_or_copy)
    for name, text in (("questions.jsonl", ""), ("manifest.json", Manifest().model_dump_json())):
        if not (folder / name).exists():
            (folder / name).write_text(text, encoding="utf-8")
    data = read_data(folder)
    scenes = list(data.scenes.values())
    if not all(scene.marked for scene in scenes):
        raise UsageError(
            f"{source} has scenes without marked pictures, and a model must see them; make them without --no-render"
        )
    asked = make_questions(scenes, seed=seed).questions
    questions = thin_questions(asked, min(n, len(asked)), seed=seed)
    for name in ("scenes.jsonl", "questions.jsonl", "manifest.json"):
        (folder / name).unlink()  # a link: writing through it would change the original
    write_data(folder, scenes, questions, data.manifest)


def _read(text: str, said: InstrumentName | None) -> OwnData:
    path, images = Path(text), None
    if not path.exists() and "@" in text:
        first, _, second = text.rpartition("@")
        path, images = Path(first), Path(second)
    for each in (path, images):
        if each is not None and not each.exists():
            raise UsageError(f"there is nothing at {each}; {_TAKES}")
    own = _in_folder(path, images) if path.is_dir() else _in_file(path, images)
    if own is None and said == "compass" and path.suffix == ".jsonl":
        own = OwnData("pairs", path)
    if own is None:
        raise UsageError(f"{path} is no data set that an instrument knows; {_TAKES}")
    if said is not None and own.instrument != said:
        raise UsageError(f"{path} is for {own.instrument}, not for {said}; leave {said}= out")
    return own


def _in_folder(path: Path, images: Path | None) -> OwnData | None:
    names = {each.name for each in path.iterdir()}
    if "run.json" in names:
        raise UsageError(
            f"{path} is a run, not a data set; its answers are diagnosed with --model replay:{path}"
        )
    forms = [form for mark, form in _MARKS.items() if mark in names and (path / mark).stat().st_size]
    if forms:
        logs = tuple(_logs(path)) if forms[0] == "episodes" else ()
        return OwnData(forms[0], path, logs=logs)
    files = [
        file
        for place in (path, path / "annotations")
        if place.is_dir()
        for file in sorted(place.glob("*.json"))
        if _is_coco(file)
    ]
    files = [file for file in files if "instances" in file.name] or files
    if len(files) > 1:
        names_of = ", ".join(file.name for file in files)
        raise UsageError(f"{path} holds several files of COCO instances ({names_of}); name one of them")
    return _coco(files[0], images) if files else None


def _in_file(path: Path, images: Path | None) -> OwnData | None:
    if path.name in _MARKS:
        form = _MARKS[path.name]
        return OwnData(form, path if form in {"pairs", "episodes"} else path.parent)
    if path.suffix == ".json" and _is_coco(path):
        return _coco(path, images)
    if path.suffix == ".jsonl":
        if _is_log(path):
            return _log(path)
        keys = _first_keys(path)
        if {"reference", "target", "picture"} <= keys:
            return OwnData("pairs", path)
        if {"task", "frames"} <= keys:
            return OwnData("episodes", path)
    return None


def _log(path: Path) -> OwnData:
    if not (path.parent / "episodes.jsonl").is_file():
        raise UsageError(
            f"{path} holds traces, and {path.parent} no episodes.jsonl that says what their frames show; put it there "
            "(`theodolite trace import` makes it of STAR, R2R and TEACh)"
        )
    return OwnData("traces", path.parent, logs=(path,))


def _logs(folder: Path) -> Iterator[Path]:
    """The files of a folder of episodes that hold traces."""
    for path in sorted(folder.glob("*.jsonl")):
        if path.name != "episodes.jsonl" and _is_log(path):
            yield path


def _is_log(path: Path) -> bool:
    keys = _first_keys(path)
    ours = "episode" in keys and bool({"text", "steps", "reasoning"} & keys)
    return ours or {"question_id", "object_descriptions"} <= keys


def _first_keys(path: Path) -> set[str]:
    """The names in the first line of a JSONL file; none if that is no object."""
    try:
        with path.open(encoding="utf-8") as file:
            line = next((line for line in islice(file, 20) if line.strip()), "")
        value = json.loads(line)
    except (OSError, ValueError):
        return set()
    return set(value) if isinstance(value, dict) else set()


def _is_coco(path: Path) -> bool:
    """Whether a file has the three parts of COCO's instances. It may be large, and is not read into memory for that."""
    with _bytes_of(path) as data:
        return data is not None and all(data.find(b'"%b"' % part) >= 0 for part in _COCO_PARTS)


def _coco(path: Path, images: Path | None) -> OwnData:
    """Instances with the folder that their pictures lie in: the one that was named, or the one where the first of them is."""
    if images is not None:
        return OwnData("coco", path, images)
    with _bytes_of(path) as data:
        names = [
            str(json.loads(each[1]))
            for each in islice(re.finditer(rb'"file_name"\s*:\s*("[^"]+")', data or b""), 20)
        ]
    for folder in _picture_folders(path):
        if any((folder / name).is_file() for name in names):
            return OwnData("coco", path, folder)
    raise UsageError(
        f"the pictures of {path} are not beside it; say where they are: --data {path}@FOLDER, with the folder that holds "
        f"{names[0] if names else 'them'}"
    )


@contextmanager
def _bytes_of(path: Path) -> Iterator[mmap.mmap | None]:
    """A file's bytes, looked at where they lie; None of a file that is empty or cannot be read."""
    with ExitStack() as stack:
        data = None
        try:
            file = stack.enter_context(path.open("rb"))
            data = stack.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except (OSError, ValueError):
            pass
        yield data


def _picture_folders(path: Path) -> Iterator[Path]:
    """Where COCO's pictures usually lie: beside the annotations, or beside their folder."""
    for home in (path.parent, path.parent.parent):
        yield home
        try:
            yield from sorted(each for each in home.iterdir() if each.is_dir())
        except OSError:
            continue
