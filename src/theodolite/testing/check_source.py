"""Check that a source of scenes fulfils its contract."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np

from theodolite.core.errors import TheodoliteError, UsageError
from theodolite.core.files import Problem, told_problems
from theodolite.core.pictures import shown_size
from theodolite.core.registry import registry
from theodolite.geometry import inside_box_px, projected_box_px
from theodolite.instruments.scene.data.pipeline import Candidate, SourceView, build_graph
from theodolite.runs import describe
from theodolite.testing.findings import Findings, Remark, examine, not_a
from theodolite.worlds.scene_graph import Domain

Source = Callable[[Path], Iterable[object]]

_LARGEST = 64 << 20
"""Maximum size of the sample, in bytes. It is copied and read many times."""
_PICTURES = {".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm"}
_MOST_FILES, _MOST_VALUES = 6, 20
_WRONG: tuple[Any, ...] = (None, "x", -1, [], {})
_MOST_TOLD = 5


def check_source(source: str | Source, data: str | Path) -> Findings:
    """Check a source of scenes against its contract, on a small sample of the files that it reads.

    The sample is copied, and parts of the copy are damaged on purpose.

    Args:
        source: The source, or its name, with or without ``scene-``.
        data: The sample: a file or a folder.

    Raises:
        BrokenContractError: If a check fails. The message lists all failures.
        UsageError: If there is no such source, or no sample.
    """
    if isinstance(source, str):
        name, tested = f"scene-{source.removeprefix('scene-')}", find_source(source)
    else:
        name, tested = getattr(source, "__name__", type(source).__name__), source
    if not callable(tested):
        raise not_a("source", tested, "it is not a function that takes a path")
    sample = Path(data)
    _check_size(sample)
    with tempfile.TemporaryDirectory() as folder:
        return examine("source", name, _Trial(tested, sample, Path(folder)), _CHECKS)


def _check_size(sample: Path) -> None:
    size = 0
    for file in (sample if sample.is_dir() else sample.parent).rglob("*"):
        size += file.stat().st_size if file.is_file() else 0
        if size > _LARGEST:
            break
    if not sample.exists() or not 0 < size <= _LARGEST:
        raise UsageError(
            f"{sample} is empty, or its folder has more than {_LARGEST >> 20} MiB; pass a small sample of what the source reads"
        )


def find_source(name: str) -> object:
    """Load a source of scenes by its name, with or without ``scene-``.

    Raises:
        UsageError: If there is none, or if it is a source of pairs.
    """
    known = {entry.name for entry in registry().entries("source")}
    if name in known and not name.startswith("scene-"):
        raise UsageError(
            f"{name} gives pairs, not scenes; write them to a file, and check it with `theodolite compass audit`"
        )
    return registry().entry("source", f"scene-{name.removeprefix('scene-')}").load()


@dataclass(frozen=True, slots=True)
class _Trial:
    """A source, its sample, and a folder for copies of the sample, so that the sample itself is not touched."""

    source: object
    sample: Path
    folder: Path

    def copy(self, name: str) -> Path:
        """Return a fresh copy of the sample."""
        target = self.folder / name
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(self._root, target)
        return target if self.sample.is_dir() else target / self.sample.name

    def read(self, path: Path) -> list[object]:
        """Return everything that the source yields for a path."""
        return list(cast("Source", self.source)(path))

    def views(self) -> list[SourceView]:
        """Return the views of a copy of the sample."""
        return [record for record in self.read(self.copy("sample")) if isinstance(record, SourceView)]

    def digests(self, place: Path | None = None) -> dict[str, str]:
        """Return the hashes of all files of the sample, or of a copy."""
        root = place or self._root
        files = sorted(file for file in root.rglob("*") if file.is_file())
        return {str(file.relative_to(root)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}

    @property
    def _root(self) -> Path:
        return self.sample if self.sample.is_dir() else self.sample.parent


def _gives_views_and_problems(trial: _Trial) -> Iterator[str]:
    records = trial.read(trial.copy("sample"))
    others = {type(record).__name__ for record in records if not isinstance(record, SourceView | Problem)}
    if others:
        yield f"it gives {', '.join(sorted(others))}; only SourceView and Problem are read"
    if not any(isinstance(record, SourceView) for record in records):
        yield "it gives no view of the sample"
    yield from map(Remark, told_problems([record for record in records if isinstance(record, Problem)]))


def _places_every_view(trial: _Trial) -> Iterator[str]:
    views = [view.view for view in trial.views()]
    counts = Counter(view.id for view in views)
    yield from (f"the id {name!r} is given to {n} views" for name, n in counts.items() if n > 1 or not name)
    for view in views:
        if view.domain not in get_args(Domain):
            yield f"the domain of {view.id} is {view.domain!r}, not {' or '.join(get_args(Domain))}"
        up = np.asarray(view.up_cam, float)
        if up.shape != (3,) or not np.isclose(np.linalg.norm(up), 1.0, atol=1e-3):
            yield f"up_cam of {view.id} is {view.up_cam}, not a direction of length 1"
        if not view.source:
            yield f"{view.id} does not say its source"


def _shows_existing_pictures(trial: _Trial) -> Iterator[str]:
    views = trial.views()
    present = [view for view in views if view.picture.is_file()]
    if len(present) < len(views):
        yield Remark(f"{len(views) - len(present)} of {len(views)} pictures of the sample are missing")
    for view in present:
        size, camera = shown_size(view.picture.read_bytes(), str(view.picture)), view.view.camera
        if size != (camera.width_px, camera.height_px):
            yield (
                f"the camera of {view.view.id} is {camera.width_px}×{camera.height_px} pixels, "
                f"and its picture {size[0]}×{size[1]}"
            )


def _places_every_object(trial: _Trial) -> Iterator[str]:
    views = trial.views()
    objects = [(view, candidate) for view in views for candidate in view.candidates]
    for view, candidate in objects:
        yield from (
            f"{candidate.category or 'an object'} in {view.view.id} {fault}"
            for fault in _faults(view, candidate)
        )
    if views and not objects:
        yield "no view has an object"
    elif objects and not any(_is_shown(view, candidate) for view, candidate in objects):
        yield (
            "no object lies in its picture: boxes are in the camera's frame (x right, y down, z forward), in metres"
        )


def _faults(shown: SourceView, candidate: Candidate) -> Iterator[str]:
    if not candidate.category:
        yield "has no category"
    if candidate.visibility is not None and not 0 <= candidate.visibility <= 1:
        yield f"has the visibility {candidate.visibility}, which is not from 0 to 1"
    if not np.isfinite(candidate.cuboid_cam.centre_m).all():
        yield "has a position that is not finite"
    up_box = candidate.cuboid_cam.frame_SE3_box.rotation[:, 2]
    if float(up_box @ np.asarray(shown.view.up_cam, float)) < np.cos(np.pi / 4):
        yield "is not upright: the z axis of a box points up"


def _is_shown(shown: SourceView, candidate: Candidate) -> bool:
    camera = shown.view.camera
    box = candidate.box_px or projected_box_px(candidate.cuboid_cam, camera)
    return box is not None and inside_box_px(box, camera) is not None


def _gives_scenes(trial: _Trial) -> Iterator[str]:
    left_out: Counter[str] = Counter()
    views = trial.views()
    for view in views:
        graph, counts = build_graph(view.view, view.candidates)
        left_out += counts
        if graph is not None:
            return
    reasons = ", ".join(f"{n} {why}" for why, n in left_out.most_common() if not why.startswith("("))
    yield Remark(f"none of the {len(views)} views becomes a scene; objects left out: {reasons or 'none'}")


def _is_deterministic(trial: _Trial) -> Iterator[str]:
    one, two = (
        [
            (
                view.view,
                [(c.category, c.visibility, c.key, *c.cuboid_cam.corners_m.ravel()) for c in view.candidates],
            )
            for view in trial.views()
        ]
        for _ in range(2)
    )
    if one != two:
        yield "the same files give other views the second time"


def _leaves_files_unchanged(trial: _Trial) -> Iterator[str]:
    trial.views()
    if trial.digests(trial.folder / "sample") != trial.digests():
        yield "it changed the files that it reads"


def _refuses_what_is_not_there(trial: _Trial) -> Iterator[str]:
    empty = trial.folder / "empty"
    empty.mkdir()
    for path, what in ((trial.folder / "missing", "a path that does not exist"), (empty, "an empty folder")):
        try:
            trial.read(path)
        except UsageError:
            continue
        except Exception as error:  # noqa: BLE001 - any exception is reported
            yield f"for {what} it raised {describe(error)}; raise a UsageError that says what to pass"
        else:
            yield f"for {what} it gave no error; raise a UsageError that says what to pass"


def _survives_broken_files(trial: _Trial) -> Iterator[str]:
    """Yield a fault if a broken record is no `Problem`, or a broken file no `UsageError`."""
    sentences: dict[str, str] = {}
    for number in range(_MOST_FILES):
        root = trial.copy("damaged")
        files = [root] if root.is_file() else sorted(entry for entry in root.rglob("*") if entry.is_file())
        texts = [file for file in files if file.suffix.lower() not in _PICTURES]
        if number >= len(texts):
            break
        file = texts[number]
        for what, content in _damaged(file.read_bytes()):
            file.write_bytes(content)
            try:
                trial.read(root)
            except TheodoliteError:
                continue
            except Exception as error:  # noqa: BLE001 - any exception is reported
                sentences.setdefault(
                    type(error).__name__, f"with {file.name} {what} it raised {describe(error)}"
                )
    yield from list(sentences.values())[:_MOST_TOLD]


def _damaged(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield damaged versions of a file, each with a description of the damage."""
    yield "empty", b""
    yield "cut in half", content[: len(content) // 2]
    yield "not UTF-8", b"\xff\xfe\x00" + content
    try:
        whole = json.loads(content)
    except ValueError:
        lines = content.splitlines(keepends=True)
        for wrong in (b"x\n", b"-1 nan 1e400\n"):
            yield f"with {wrong.decode().strip()!r} in its first line", b"".join((wrong, *lines[1:]))
        return
    for path in _paths(whole):
        for wrong in _WRONG:
            yield f"with {'.'.join(map(str, path))} = {json.dumps(wrong)}", _with(content, path, wrong)


def _paths(value: Any) -> list[tuple[str | int, ...]]:
    """Return the paths of some values: the first of every list, and all keys, from the outside in."""
    paths: list[tuple[str | int, ...]] = []
    level: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while level and len(paths) < _MOST_VALUES:
        inner: list[tuple[tuple[str | int, ...], Any]] = []
        for path, node in level:
            if isinstance(node, dict):
                inner += [((*path, key), some) for key, some in node.items()]
            elif isinstance(node, list):
                inner += [((*path, 0), some) for some in node[:1]]
        paths += [path for path, _ in inner]
        level = inner
    return paths[:_MOST_VALUES]


def _with(content: bytes, path: tuple[str | int, ...], wrong: Any) -> bytes:
    whole = json.loads(content)
    node = whole
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = wrong
    return json.dumps(whole).encode()


_CHECKS: tuple[Callable[[_Trial], Iterator[str]], ...] = (
    _gives_views_and_problems,
    _places_every_view,
    _shows_existing_pictures,
    _places_every_object,
    _gives_scenes,
    _is_deterministic,
    _leaves_files_unchanged,
    _refuses_what_is_not_there,
    _survives_broken_files,
)
