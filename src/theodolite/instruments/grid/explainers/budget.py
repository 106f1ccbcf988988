"""How one scene's budget of model calls is divided among explainers.

Explainers of one family use the same calls, so a family is paid once. Families of fixed cost come first, then those that
sample get the fewest calls they need: sound before baseline before published, cheap before expensive. What is left is
divided evenly among those that sample. A family that does not fit gets nothing, with the reason; nor does a published
variant that would take more than half of what is left, so that it does not starve the sound ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from theodolite.instruments.grid.explainers.contract import Case, Explainer

_ORDER = {"sound": 0, "baseline": 1, "paper": 2}


@dataclass(frozen=True, slots=True)
class Share:
    """The budget of one explainer and its family for one scene."""

    least: int
    """The fewest calls it needs."""
    calls: int | None
    """What it gets; None if it does not fit."""
    left: int
    """What was available when its turn came."""

    @property
    def reason(self) -> str:
        """Why it gets nothing."""
        return f"it needs at least {self.least} model calls for this scene, and {self.left} were left for it"


def share_budget(
    explainers: Sequence[Explainer], case: Case, budget: int, *, taken: int = 1
) -> dict[str, Share]:
    """The share of every local explainer, by name. Of a family that does not fit, the members that do get theirs.

    Args:
        explainers: The explainers.
        case: The scene.
        budget: Model calls for the scene, all explainers together.
        taken: Calls already used: one for the model's answer, and the scene's part of the cross matrix.

    >>> from theodolite.instruments.grid.data.generate import generate
    >>> from theodolite.instruments.grid.explainers.contract import make_case
    >>> from theodolite.instruments.grid.explainers.find import find_explainers
    >>> from theodolite.instruments.grid.explainers.readers import open_reader
    >>> case = make_case(open_reader("grid:symbolic-pure"), generate("M-F0-D1", 1, density=7, seed=0), 0)
    >>> shares = share_budget(find_explainers(["removal", "multishap", "multishap-reference"]), case, 100)
    >>> shares["removal"].calls, shares["multishap"].calls, shares["multishap-reference"].calls
    (13, 86, None)
    """
    costs = {each.name: each.least(case) for each in explainers}
    members: defaultdict[str, list[Explainer]] = defaultdict(list)
    for each in explainers:
        members[each.family].append(each)

    def turn(family: str) -> tuple[bool, int, int]:
        some = members[family]
        return _samples(some), min(_ORDER[e.reading] for e in some), max(costs[e.name] for e in some)

    paid: dict[str, int] = {}
    allowed: dict[str, int] = {}
    left = budget - taken
    for family in sorted(members, key=turn):
        is_published = all(each.reading == "paper" for each in members[family])
        allowed[family] = max(0, left // 2 if is_published else left)
        fitting = [costs[e.name] for e in members[family] if costs[e.name] <= allowed[family]]
        if fitting:
            paid[family] = max(fitting)
            left -= paid[family]
    growing = [family for family in paid if _samples(members[family])]
    for family in growing:
        paid[family] += left // len(growing)
    return {
        each.name: Share(
            costs[each.name],
            paid[each.family] if costs[each.name] <= paid.get(each.family, -1) else None,
            allowed[each.family],
        )
        for each in explainers
    }


def _samples(explainers: Sequence[Explainer]) -> bool:
    return any(each.samples for each in explainers)
