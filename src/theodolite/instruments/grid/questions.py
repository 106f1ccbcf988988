"""What is to be explained: which scenes of a data set, with what, and at what cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import UsageError
from theodolite.core.types import Item, Json, Picture, Request
from theodolite.instruments.grid.data.batch import SceneBatch, complete
from theodolite.instruments.grid.data.files import StoredDataset, read_dataset
from theodolite.instruments.grid.data.parsing import read_questions
from theodolite.instruments.grid.data.render import render
from theodolite.instruments.grid.data.words import words_of, write_questions
from theodolite.instruments.grid.data.world import Integers
from theodolite.instruments.grid.explainers.contract import find_explainers
from theodolite.instruments.grid.explainers.game import PlayerSet
from theodolite.instruments.grid.explainers.pool import Convention

DEFAULT_BUDGET = 2000


@dataclass(frozen=True, slots=True)
class ExplainPlan:
    """What is to be explained, with what, and at what cost."""

    data: str
    """The folder of the data set."""
    explainers: tuple[str, ...]
    budget: int = DEFAULT_BUDGET
    """Model calls for each scene, all explainers together; what samples shares evenly what the others leave."""
    pool: int = 32
    """Scenes of a bucket whose cross matrix is measured, at most."""
    n: int | None = None
    """Scenes of each bucket at each density that are explained; all unless given."""
    convention: Convention = field(default_factory=Convention)
    seed: int = 0
    buckets: tuple[str, ...] = ()
    """Only these, such as ``M-F0-D2``; all that the data set holds if empty."""
    densities: tuple[str, ...] = ()
    """Only these, as the data set names them; all if empty."""

    def as_json(self) -> dict[str, Any]:
        """As the run's settings have it."""
        plain = {**asdict(self), "explainers": list(self.explainers)}
        for name in ("buckets", "densities"):
            chosen = plain.pop(name)
            if chosen:
                plain[name] = list(chosen)
        return plain

    @classmethod
    def from_json(cls, settings: dict[str, Any]) -> ExplainPlan:
        """From a run's settings."""
        convention = dict(settings["convention"])
        players = PlayerSet(**convention.pop("players"))
        lists = {"explainers", "buckets", "densities"}
        plain = {key: value for key, value in settings.items() if key not in {"convention", *lists}}
        return cls(
            **plain,
            explainers=tuple(settings["explainers"]),
            convention=Convention(**convention, players=players),
            buckets=tuple(settings.get("buckets", ())),
            densities=tuple(settings.get("densities", ())),
        )


def scenes_of(stored: StoredDataset) -> SceneBatch:
    """A stored data set as scenes again: questions are read from their words, everything else follows from the cells."""
    words = np.stack([words_of(record.question) for record in stored.records])
    questions = read_questions(words)
    return complete(
        stored.plan.recipe.world,
        stored.plan.mode,
        cells=stored.cells,
        questions=questions,
        written=write_questions(questions),
    )


@dataclass(frozen=True, slots=True)
class Prepared:
    """A data set's scenes, and which of them are explained."""

    batch: SceneBatch
    names: list[str]
    density: NDArray[np.str_]
    chosen: Integers
    """Rows that are explained."""

    @property
    def groups(self) -> list[tuple[int, str]]:
        """Every bucket and density among the chosen, in order."""
        return list(dict.fromkeys((int(self.batch.bucket[r]), str(self.density[r])) for r in self.chosen))

    def members(self, bucket: int, density: str) -> Integers:
        """The chosen rows of one bucket at one density."""
        rows = self.chosen
        return np.asarray(rows[(self.batch.bucket[rows] == bucket) & (self.density[rows] == density)])


def prepare(plan: ExplainPlan) -> Prepared:
    """Reads the data and picks the first `n` scenes of each bucket and density that is asked for.

    Raises:
        UsageError: a bucket or density that is asked for is not in the data.
    """
    stored = read_dataset(plan.data)
    batch = scenes_of(stored)
    density = np.array([str(record.density) for record in stored.records])
    keys = np.array([batch.bucket_key(row) for row in range(len(batch))])
    is_wanted = _among(keys, plan.buckets, "bucket") & _among(density, plan.densities, "density")
    seen: dict[tuple[int, str], int] = {}
    chosen = []
    for row in np.flatnonzero(is_wanted).tolist():
        key = int(batch.bucket[row]), str(density[row])
        seen[key] = seen.get(key, 0) + 1
        if plan.n is None or seen[key] <= plan.n:
            chosen.append(row)
    return Prepared(batch, [record.id for record in stored.records], density, np.array(chosen, np.int64))


def _among(names: NDArray[np.str_], wanted: Sequence[str], what: str) -> NDArray[np.bool_]:
    """Which of the scenes are asked for; all where nothing is."""
    there = list(dict.fromkeys(names.tolist()))
    for name in wanted:
        if name not in there:
            raise UsageError(f"no scene of the data has the {what} {name!r}; there are: {', '.join(there)}")
    return np.isin(names, wanted) if wanted else np.ones(len(names), bool)


def plan_explanations(plan: ExplainPlan) -> Iterator[Item]:
    """The items of a run: scene by scene, then one cross matrix for each bucket and density."""
    data = prepare(plan)
    explainers = find_explainers(plan.explainers)
    if any(each.scope == "local" for each in explainers):
        for row in data.chosen:
            yield _item(data, int(row), "scene", data.names[int(row)])
    if any(each.scope == "global" for each in explainers):
        for bucket, density in data.groups:
            members = data.members(bucket, density)
            name = f"cross/{data.batch.bucket_key(int(members[0]))}-{density}"
            yield _item(data, int(members[0]), "cross", name)


def _item(data: Prepared, row: int, kind: str, name: str) -> Item:
    batch = data.batch
    picture = Picture.from_array(render(batch.world, batch.cells[row][None])[0])
    meta: dict[str, Json] = {
        "kind": kind,
        "row": row,
        "bucket": batch.bucket_key(row),
        "density": str(data.density[row]),
        "gold": batch.answer_text(row),
    }
    return Item(name, Request.ask(picture, batch.text(row), max_tokens=4, ref=name), meta=meta)
