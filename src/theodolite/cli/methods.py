"""``theodolite methods``: the ways to say how relevant each image token was."""

from __future__ import annotations

import typer

from theodolite.attribution import Method, Need, find_methods
from theodolite.cli import options as o
from theodolite.cli.output import out, print_json, print_table
from theodolite.core.registry import registry

app = typer.Typer(no_args_is_help=True, help="The relevance methods.")

_NEEDS = {
    Need.ATTENTION: "attention",
    Need.HIDDEN_GRADIENT: "gradients of the last layers",
    Need.ATTENTION_GRADIENT: "gradients through all language layers",
    Need.FEATURE_GRADIENT: "gradients to the vision features",
    Need.TAIL: "the last layers again, many times",
}


@app.command("list")
def list_methods(json: o.AsJson = False) -> None:
    """List the relevance methods: what each computes, what it needs, and what is wrong with it."""
    entries = {entry.name: entry for entry in registry().entries("method")}
    methods = find_methods(["all"])
    if json:
        print_json([{**_described(method), "origin": entries[method.name].origin} for method in methods])
        return
    print_table(
        ["name", "what it computes", "published in", "needs", "explains", "from"],
        [
            [
                f"{method.name} †" if method.caveat else method.name,
                method.summary,
                method.paper or "–",
                _needs(method),
                _explains(method),
                entries[method.name].origin,
            ]
            for method in methods
        ],
    )
    flawed = [method for method in methods if method.caveat]
    if flawed:
        out.print()
        print_table(
            ["† computed as published, but", "why its numbers may mean little", "beside it"],
            [[method.name, method.caveat, method.sound_variant or "–"] for method in flawed],
        )


def _described(method: Method) -> dict[str, object]:
    return {
        "name": method.name,
        "summary": method.summary,
        "paper": method.paper,
        "needs": _needs(method),
        "scores_on": method.scores_on,
        "has_target": method.has_target,
        "is_contrastive": method.is_contrastive,
        "caveat": method.caveat,
        "sound_variant": method.sound_variant,
    }


def _needs(method: Method) -> str:
    return ", ".join(words for need, words in _NEEDS.items() if need in method.needs) or "nothing"


def _explains(method: Method) -> str:
    if not method.has_target:
        return "no answer in particular"
    return "an answer against its rival" if method.is_contrastive else "an answer"
