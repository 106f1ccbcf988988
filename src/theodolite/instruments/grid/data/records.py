"""What stands in a data set's files: the description and one record a scene, checked when read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from theodolite.instruments.grid.data.batch import GUARANTEES, ROLES
from theodolite.instruments.grid.data.dataset import Dataset, DatasetPlan
from theodolite.instruments.grid.data.masks import phrase_spans, scene_objects
from theodolite.instruments.grid.data.recipe import Recipe
from theodolite.instruments.grid.data.words import VOCABULARY
from theodolite.instruments.grid.data.world import World


class Record(BaseModel):
    """One scene with its question: one line of ``metadata.jsonl``."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str = Field(min_length=1)
    file_name: str | None = None
    """The picture, relative to the data set's folder."""
    bucket: str
    density: str
    n_objects: int
    split: str
    hash: str
    """The scene-question hash, 16 hex digits."""
    question: str
    answer: str
    guarantee: str
    cells: list[int]
    """Class ids, row by row; 0 is empty."""
    roles: list[str]
    """What each cell is to the question."""
    words: list[str]
    phrases: list[dict[str, Any]]
    """Each with ``name``, ``text`` and ``characters`` [first, after the last]."""
    objects: list[dict[str, Any]]
    """Each with ``cell``, ``name``, ``role``, ``phrase`` and ``box_px`` [left, top, right, bottom]."""


def records_of(data: Dataset, *, has_pictures: bool) -> Iterator[Record]:
    """The records of all scenes, in order."""
    scenes, splits, hashes = data.scenes, data.splits, data.hashes
    for row in range(len(data)):
        name, text = data.name(row), scenes.text(row)
        yield Record(
            id=name,
            file_name=f"pictures/{name}.png" if has_pictures else None,
            bucket=scenes.bucket_key(row),
            density=str(data.density[row]),
            n_objects=int((scenes.cells[row] > 0).sum()),
            split=str(splits[row]),
            hash=f"{int(hashes[row]):016x}",
            question=text,
            answer=scenes.answer_text(row),
            guarantee=GUARANTEES[int(scenes.guarantee[row])],
            cells=scenes.cells[row].tolist(),
            roles=[ROLES[int(role)] for role in scenes.roles[row]],
            words=[VOCABULARY[int(word)] for word in scenes.words[row] if word],
            phrases=[
                {"name": phrase, "text": text[first:last], "characters": [first, last]}
                for phrase, (first, last) in phrase_spans(scenes, row).items()
            ],
            objects=[
                {"cell": o.cell, "name": o.name, "role": o.role, "phrase": o.phrase, "box_px": list(o.box_px)}
                for o in scene_objects(scenes, row)
            ],
        )


class WorldForm(BaseModel):
    """`World` in a file."""

    model_config = ConfigDict(extra="forbid")
    rows: int
    columns: int
    cell_px: int
    max_count: int


class RecipeForm(BaseModel):
    """`Recipe` in a file."""

    model_config = ConfigDict(extra="forbid")
    name: str
    world: WorldForm
    sparse: float
    dense: float
    boost: float
    overload: float
    existence: tuple[float, float, float]
    margin: int
    least_share: float
    max_answer: int | None


class Description(BaseModel):
    """``dataset.json``: what the data set is, and what it promises."""

    model_config = ConfigDict(extra="ignore")

    schema_version: Literal[1] = 1
    made_by: str
    mode: Literal["pure", "spur"]
    n: int
    seed: int
    densities: list[str | int | float]
    buckets: list[str]
    split: Literal["train", "validation", "test"] | None
    recipe: RecipeForm
    answers: list[str]
    vocabulary: list[str]
    guarantees: dict[str, dict[str, dict[str, Any]]]
    """Promises by number of objects and bucket."""

    def plan(self) -> DatasetPlan:
        """The plan that made the data set."""
        fields = {**self.recipe.model_dump(), "world": World(**self.recipe.world.model_dump())}
        return DatasetPlan(
            self.mode,
            self.n,
            self.seed,
            Recipe(**fields),
            tuple(self.densities),  # type: ignore[arg-type]
            tuple(self.buckets),
            self.split,
        )


def description_of(plan: DatasetPlan, version: str) -> Description:
    """The description of a plan."""
    recipe, world = plan.recipe, plan.recipe.world
    form = RecipeForm(
        world=WorldForm(
            rows=world.rows, columns=world.columns, cell_px=world.cell_px, max_count=world.max_count
        ),
        **{name: getattr(recipe, name) for name in RecipeForm.model_fields if name != "world"},
    )
    promises: dict[str, dict[str, dict[str, Any]]] = {}
    if plan.mode == "pure":
        for (bucket, objects), promise in plan.guarantees().items():
            promises.setdefault(str(objects), {})[bucket] = {
                "level": promise.level,
                "by_answer": promise.by_answer,
                "reason": promise.reason,
            }
    return Description(
        made_by=version,
        mode=plan.mode,
        n=plan.n,
        seed=plan.seed,
        densities=list(plan.densities),
        buckets=list(plan.buckets),
        split=plan.split,
        recipe=form,
        answers=list(world.answers),
        vocabulary=list(VOCABULARY),
        guarantees=promises,
    )
