"""Explainers by name."""

from __future__ import annotations

from collections.abc import Iterable

from theodolite.core.errors import ContractError, UsageError
from theodolite.core.registry import registry
from theodolite.instruments.grid.explainers.contract import Explainer
from theodolite.instruments.grid.explainers.relevance import relevance_explainers


def find_explainers(names: Iterable[str]) -> list[Explainer]:
    """Find explainers by name, or ``all``, ``local`` or ``global``.

    ``relevance:METHOD`` is a relevance method of white-box models, ``relevance:all`` is every one.

    Raises:
        UsageError: There is no explainer of that name.
    """
    chosen: dict[str, Explainer] = {}
    for name in names:
        if name.startswith("relevance:"):
            chosen |= {method.name: method for method in relevance_explainers(name.partition(":")[2])}
            continue
        entries = registry().entries("explainer")
        wanted = [e for e in entries if name in {"all", "local", "global"}] or [
            registry().entry("explainer", name)
        ]
        for entry in wanted:
            explainer = entry.load()
            if not isinstance(explainer, Explainer):
                raise ContractError(f"the explainer {entry.name!r} of {entry.origin} is not an Explainer")
            if explainer.name != entry.name:
                raise ContractError(
                    f"the explainer {entry.name!r} of {entry.origin} calls itself {explainer.name!r}"
                )
            if name not in {"local", "global"} or explainer.scope == name:
                chosen[explainer.name] = explainer
    if not chosen:
        raise UsageError("no explainer was named; `theodolite list explainers` shows them")
    return list(chosen.values())
