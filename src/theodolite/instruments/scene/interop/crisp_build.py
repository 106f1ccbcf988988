"""A data set from CRISP-Bench's published files: its scenes and its own questions.

The files are found by their names anywhere under one folder, such as ``data/processed``: the scene graphs, the questions, the
marks, and the pictures, if they are there. A picture with marks is used as it is; if there is only the plain one, marks are drawn
from the boxes of ``marks.jsonl``. A scene without a picture can be asked only what needs none.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from theodolite.core.errors import UsageError
from theodolite.core.pictures import decode
from theodolite.instruments.scene.data.engine import thin_questions
from theodolite.instruments.scene.data.files import (
    MARKED,
    SceneData,
    file_name,
    new_folder,
    read_data,
    tally,
    write_data,
    write_pictures,
)
from theodolite.instruments.scene.data.graph import SceneGraph
from theodolite.instruments.scene.interop.crisp import GRAPHS, MARKS, QA, read_crisp

_GRAPH_FILES = ("combined_scene_graph.jsonl", GRAPHS, "filtered_scene_graph.json")
"""In the order of preference."""
_PICTURE_ENDINGS = frozenset({".jpg", ".jpeg", ".png"})
WITHOUT_PICTURE = "scenes without a picture: kept, but only settings without a picture can be asked"


def build_crisp(
    folder: str | Path,
    root: Path,
    *,
    most_scenes: int | None = None,
    n_questions: int | None = None,
    seed: int = 0,
    version: str = "",
) -> SceneData:
    """Reads published scenes and questions, and writes a data set with the pictures that are there.

    Args:
        folder: New or empty.
        root: The folder with the published files.
        most_scenes: Number of scenes kept, from the first on.
        n_questions: Number of questions kept, balanced by group.
        seed: Of the choice of questions.
        version: Of the program, for the manifest.
    """
    folder = new_folder(folder)
    found = _files(root)
    graphs = _one(found, _GRAPH_FILES, root, "scene graphs")
    questions = _one(found, (QA,), root, "questions")
    data = read_crisp(graphs, questions, marks=found.get(MARKS, ()))
    if not data.scenes:
        told = "; ".join(data.manifest.problems)
        raise UsageError(f"no scene of {graphs} can be used" + (f": {told}" if told else ""))
    left_out = dict(data.manifest.left_out)
    scenes = list(data.scenes.values())
    if most_scenes is not None and len(scenes) > most_scenes:
        left_out["scenes beyond the number asked for"] = len(scenes) - most_scenes
        scenes = scenes[:most_scenes]
    kept = {scene.id for scene in scenes}
    asked = tuple(question for question in data.questions if question.scene in kept)
    if n_questions is not None:
        asked = thin_questions(asked, min(n_questions, len(asked)), seed=seed)
    scenes = [_with_picture(scene, folder, found) for scene in scenes]
    if n := sum(not scene.marked for scene in scenes):
        left_out[WITHOUT_PICTURE] = n
    made = {**data.manifest.made, "root": root.name, "seed": seed, "theodolite": version}
    manifest = replace(data.manifest, made=made, counts=tally(scenes, asked), left_out=left_out)
    return read_data(write_data(folder, scenes, asked, manifest))


def _files(root: Path) -> Mapping[str, list[Path]]:
    """The files under a folder by name, those with the fewest folders first."""
    found: dict[str, list[Path]] = {}
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder; name the one that holds {_GRAPH_FILES[0]} and {QA}")
    for place, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            found.setdefault(name, []).append(Path(place) / name)
    return found


def _one(found: Mapping[str, list[Path]], names: Iterable[str], root: Path, what: str) -> Path:
    """The file of one of the names; of several, the one in a folder ``combined``."""
    paths = next((found[name] for name in names if name in found), [])
    if not paths:
        raise UsageError(f"{root} holds no {what} of CRISP-Bench: none of {', '.join(names)}")
    both = [path for path in paths if "combined" in path.parts] or paths
    if len(both) > 1:
        raise UsageError(
            f"{root} holds several files of {what}, such as {both[0]} and {both[1]}; name one's folder"
        )
    return both[0]


def _with_picture(scene: SceneGraph, folder: Path, found: Mapping[str, list[Path]]) -> SceneGraph:
    marked = next(_named(scene.marked, found), None)
    if marked is not None:
        name = f"{MARKED}/{file_name(scene.id)}{marked.suffix.lower()}"
        decode(marked)
        try:
            (folder / MARKED).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(marked, folder / name)
        except OSError as error:
            raise UsageError(f"cannot copy {marked} into {folder}: {error.strerror}") from error
        return replace(scene, picture="", marked=name)
    plain = next(_named(scene.picture, found), None)
    has_boxes = all(thing.box_px.x1 - thing.box_px.x0 > 1 for thing in scene.objects)
    if plain is not None and has_boxes:
        return write_pictures(folder, scene, decode(plain, is_turned=False))
    return replace(scene, picture="", marked="")


def _named(name: str, found: Mapping[str, list[Path]]) -> Iterator[Path]:
    """The pictures with the file name and the folder of a path, the one with the most folders in common first."""
    parts = Path(name).parts
    if not parts or Path(name).suffix.lower() not in _PICTURE_ENDINGS:
        return
    same = [path for path in found.get(parts[-1], ()) if path.parts[-2:] == parts[-2:]]
    yield from sorted(same, key=lambda path: path.parts[-len(parts) :] != parts)
