"""Is a model's relevance organised by the direction that was asked for, or by the layout of the picture?

Relevance on image tokens is projected around a reference object into a distribution over directions (CREG); its peak is
held against the true direction to the target. A map that knows nothing scores well on real pictures, so every figure is
read beside the uniform map's, and beside the share of relevance that is on the picture at all.

- data: `Pair`, `read_pairs`, `write_pairs`; `theodolite.compass.sources` makes them from COCO, GQA, VSR, WhatsUp
- questions: `PROMPTS`, `Prompt`, `read_prompts`, `development_split`
- projection: `project`, `project_batch` with `PAPER` or `SOUND`; readouts are methods of `Compass`
- measuring: `plan_pairs`, `attribution_factory`, `read_samples`
- beside it: `evidence`; `theodolite.compass.baselines` holds what needs no model
- interventions: `theodolite.compass.controls`, on stored maps, on questions and on pictures
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from theodolite.compass._compass import Compass
    from theodolite.compass._directions import CARDINAL, EIGHT, Vocabulary
    from theodolite.compass._evidence import Evidence, evidence
    from theodolite.compass._exclusions import DegenerateError, Exclusion
    from theodolite.compass._measure import TARGETS, AttributionMeasurer, attribution_factory, map_key
    from theodolite.compass._options import PAPER, SOUND, ProjectionOptions
    from theodolite.compass._pair_check import pair_cautions
    from theodolite.compass._pair_files import read_pairs, write_pairs
    from theodolite.compass._pairs import Pair, Region
    from theodolite.compass._plan import pair_item, plan_pairs
    from theodolite.compass._projection import project, project_batch
    from theodolite.compass._prompt_files import find_prompts, read_prompts
    from theodolite.compass._prompts import PROMPTS, Prompt, development_split
    from theodolite.compass._readouts import direction_alignment_error, label_of
    from theodolite.compass._samples import Sample, read_samples
    from theodolite.compass._token_map import OnGrid, TokenMap

__all__ = [
    "CARDINAL",
    "EIGHT",
    "PAPER",
    "PROMPTS",
    "SOUND",
    "TARGETS",
    "AttributionMeasurer",
    "Compass",
    "DegenerateError",
    "Evidence",
    "Exclusion",
    "OnGrid",
    "Pair",
    "ProjectionOptions",
    "Prompt",
    "Region",
    "Sample",
    "TokenMap",
    "Vocabulary",
    "attribution_factory",
    "development_split",
    "direction_alignment_error",
    "evidence",
    "find_prompts",
    "label_of",
    "map_key",
    "pair_cautions",
    "pair_item",
    "plan_pairs",
    "project",
    "project_batch",
    "read_pairs",
    "read_prompts",
    "read_samples",
    "write_pairs",
]

_HOMES = {
    "_compass": ("Compass",),
    "_directions": ("CARDINAL", "EIGHT", "Vocabulary"),
    "_evidence": ("Evidence", "evidence"),
    "_exclusions": ("DegenerateError", "Exclusion"),
    "_measure": ("TARGETS", "AttributionMeasurer", "attribution_factory", "map_key"),
    "_options": ("PAPER", "SOUND", "ProjectionOptions"),
    "_pair_check": ("pair_cautions",),
    "_pair_files": ("read_pairs", "write_pairs"),
    "_pairs": ("Pair", "Region"),
    "_plan": ("pair_item", "plan_pairs"),
    "_projection": ("project", "project_batch"),
    "_prompt_files": ("find_prompts", "read_prompts"),
    "_prompts": ("PROMPTS", "Prompt", "development_split"),
    "_readouts": ("direction_alignment_error", "label_of"),
    "_samples": ("Sample", "read_samples"),
    "_token_map": ("OnGrid", "TokenMap"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'theodolite.compass' has no attribute {name!r}")
    return getattr(import_module(f"theodolite.compass.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
