"""Explainers against provable ground truth: scenes on a grid whose right explanation is known.

Everything below loads when it is first used. Making scenes needs numpy only.

>>> from theodolite.grid import generate
>>> batch = generate(["A-F0-D1", "M-F1-D3"], 100, mode="pure", density="sparse", seed=0)
>>> batch.cells.shape, batch.words.shape
((200, 25), (200, 28))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from theodolite.grid._batch import GUARANTEES, ROLES, SceneBatch, join
    from theodolite.grid._evaluate import answer, bag_of_words
    from theodolite.grid._generate import generate
    from theodolite.grid._parsing import read_questions
    from theodolite.grid._recipe import PAPER, SOUND, Density, Guarantee, Recipe, find_recipe, guarantee_of
    from theodolite.grid._splits import SPLITS, Split, hash_scenes, split_of
    from theodolite.grid._words import PHRASES, VOCABULARY, Questions, text_of, write_questions
    from theodolite.grid._world import BUCKET_KEYS, BUCKETS, COLOURS, MATCHES, SHAPES, Bucket, Mode, World

__all__ = [
    "BUCKETS",
    "BUCKET_KEYS",
    "COLOURS",
    "GUARANTEES",
    "MATCHES",
    "PAPER",
    "PHRASES",
    "ROLES",
    "SHAPES",
    "SOUND",
    "SPLITS",
    "VOCABULARY",
    "Bucket",
    "Density",
    "Guarantee",
    "Mode",
    "Questions",
    "Recipe",
    "SceneBatch",
    "Split",
    "World",
    "answer",
    "bag_of_words",
    "find_recipe",
    "generate",
    "guarantee_of",
    "hash_scenes",
    "join",
    "read_questions",
    "split_of",
    "text_of",
    "write_questions",
]

_HOMES = {
    "_batch": ("GUARANTEES", "ROLES", "SceneBatch", "join"),
    "_evaluate": ("answer", "bag_of_words"),
    "_generate": ("generate",),
    "_parsing": ("read_questions",),
    "_recipe": ("PAPER", "SOUND", "Density", "Guarantee", "Recipe", "find_recipe", "guarantee_of"),
    "_splits": ("SPLITS", "Split", "hash_scenes", "split_of"),
    "_words": ("PHRASES", "VOCABULARY", "Questions", "text_of", "write_questions"),
    "_world": ("BUCKETS", "BUCKET_KEYS", "COLOURS", "MATCHES", "SHAPES", "Bucket", "Mode", "World"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'theodolite.grid' has no attribute {name!r}")
    return getattr(import_module(f"theodolite.grid.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
