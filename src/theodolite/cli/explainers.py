"""``theodolite explainers``: the ways to say what an answer rests on."""

from __future__ import annotations

import typer

from theodolite.cli import options as o
from theodolite.cli.output import out, print_json, print_table
from theodolite.core.registry import registry
from theodolite.instruments.grid.explainers.contract import Explainer, find_explainers

app = typer.Typer(no_args_is_help=True, help="The explainers.")


@app.command("list")
def list_explainers(json: o.AsJson = False) -> None:
    """List the explainers: what each computes, what it needs, and what is wrong with it."""
    entries = {entry.name: entry for entry in registry().entries("explainer")}
    found = find_explainers(["all"])
    if json:
        print_json([{**_described(each), "origin": entries[each.name].origin} for each in found])
        return
    print_table(
        ["name", "scope", "reading", "what it computes", "published in", "needs", "from"],
        [
            [
                f"{each.name} †" if each.caveat else each.name,
                each.scope,
                each.reading,
                each.summary,
                each.paper or "–",
                _needs(each),
                entries[each.name].origin,
            ]
            for each in found
        ],
    )
    out.print()
    flawed = [each for each in found if each.caveat]
    print_table(["† name", "what to know"], [[each.name, each.caveat] for each in flawed])


def _described(each: Explainer) -> dict[str, object]:
    return {
        "name": each.name,
        "scope": each.scope,
        "reading": each.reading,
        "summary": each.summary,
        "paper": each.paper,
        "needs": _needs(each),
        "family": each.family,
        "caveat": each.caveat,
    }


def _needs(each: Explainer) -> str:
    if each.needs_truth:
        return "the truth"
    if each.needs_gradients:
        return "second-order gradients" if not each.name.startswith("relevance") else "a white box"
    if each.scope == "global":
        return "a cross matrix"
    return "a budget of model calls" if each.samples else "few or no model calls"
