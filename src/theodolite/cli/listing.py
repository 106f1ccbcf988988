"""``theodolite list``: list the content of the registry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from rich.text import Text

from theodolite.cli.options import one_command
from theodolite.cli.output import err, out, print_json
from theodolite.core.errors import UsageError, install_line
from theodolite.core.options import Option, Options
from theodolite.core.registry import Entry, Kind, registry

_KINDS: dict[str, Kind] = {
    "instruments": "instrument",
    "models": "model",
    "methods": "method",
    "explainers": "explainer",
    "extractors": "extractor",
    "verifiers": "verifier",
    "sources": "source",
    "families": "family",
    "behaviours": "behaviour",
    "edits": "edit",
}


@dataclass(frozen=True, kw_only=True)
class ListOptions(Options):
    """What `theodolite list` takes."""

    kind: Annotated[
        str, Option(f"One of {', '.join(_KINDS)}. Default: a summary.", metavar="[KIND]", is_argument=True)
    ] = ""


def list_command(options: ListOptions, json: bool) -> None:
    """List instruments, models, methods and so on. With a kind: each entry with its requirements and caveats."""
    kind = options.kind
    if kind and kind not in _KINDS:
        raise UsageError(f"there is no list of {kind!r}; choose one of {', '.join(_KINDS)}")
    if not kind:
        _summary(json=json)
        return
    entries = registry().entries(_KINDS[kind])
    described = [_described(entry) for entry in entries]
    if json:
        print_json(described)
        return
    for entry, about in zip(entries, described, strict=True):
        out.print(Text(entry.example or entry.name, style="bold"), soft_wrap=True)
        out.print(Text(f"    {about['summary']}"), soft_wrap=True)
        for name in ("needs", "paper", "caveat"):
            if about.get(name):
                out.print(Text(f"    {name}: {about[name]}", style="dim"), soft_wrap=True)
        if not entry.is_available:
            out.print(Text(f"    {install_line(entry.extra)}", style="yellow"))
        if entry.origin != "theodolite":
            out.print(Text(f"    from {entry.origin}", style="dim"))


def _summary(*, json: bool) -> None:
    names = {title: [entry.name for entry in registry().entries(kind)] for title, kind in _KINDS.items()}
    if json:
        print_json(names)
        return
    for title, entry_names in names.items():
        out.print(Text(f"{title:12}", style="bold"), Text(", ".join(entry_names) or "none"), soft_wrap=True)
    err.print(Text("`theodolite list KIND` describes each entry", style="dim"))


def _described(entry: Entry) -> dict[str, Any]:
    """Return an entry as plain values. For methods and explainers, details are taken from the loaded object."""
    about: dict[str, Any] = {
        "name": entry.name,
        "summary": entry.summary,
        "example": entry.example,
        "origin": entry.origin,
        "extra": entry.extra,
        "available": entry.is_available,
    }
    if entry.kind in {"method", "explainer"} and entry.is_available:
        loaded: Any = entry.load()
        about |= {
            name: getattr(loaded, name)
            for name in ("summary", "paper", "caveat", "sound_variant", "scope", "reading", "family")
            if getattr(loaded, name, "")
        }
        about["needs"] = str(loaded.requirements)
    return about


app = one_command("list", ListOptions, list_command)
