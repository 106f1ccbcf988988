"""The plug-in registry: tables of ``"name" -> "module:attribute"``, loaded on first use.

Built-in and third-party entries are registered the same way: by a function that receives a `Registrar` and calls it
once per entry. A third party points an entry point of the group ``theodolite.plugins`` at such a function:

    [project.entry-points."theodolite.plugins"]
    my_lab = "my_lab.theodolite_plugin:register"

    def register(add):
        add("model", "mylab", "my_lab.client:open_model", summary="our in-house server")
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, Protocol, TypeAlias, cast, get_args

from theodolite.core.errors import ContractError, MissingExtraError, UsageError

ENTRY_POINT_GROUP = "theodolite.plugins"

Kind: TypeAlias = Literal[
    "instrument",
    "model",
    "family",
    "method",
    "explainer",
    "verifier",
    "source",
    "behaviour",
    "command",
    "figure",
    "grader",
    "older",
]
"""The kinds of plug-ins. A model entry is the scheme of a model name, such as ``hf`` in ``hf:path``. A family entry is
a transformers model type, such as ``qwen2_vl``. A behaviour is a function from a request to an answer, used as
``scripted:<name>``. A command is a Typer app or a function for the command line. A figure is
a function that draws a diagnosis. A grader reads and scores one answer. An older entry, named after a kind of run, is a
function that completes an item, given the settings of its run, that was stored before items carried their truth."""

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered name."""

    kind: Kind
    name: str
    target: str
    """``module:attribute``, imported on first use."""
    summary: str
    """One line for listings."""
    example: str = ""
    """How a user writes it."""
    extra: str = ""
    """The optional dependency group that it needs; empty if none."""
    needs: tuple[str, ...] = ()
    """The libraries of that group that must be importable."""
    group: str = ""
    """The heading under which it is listed."""
    origin: str = "theodolite"
    """The distribution that registered it."""

    @property
    def is_available(self) -> bool:
        """True if its libraries are installed. Nothing is imported."""
        return not self.missing

    @property
    def missing(self) -> tuple[str, ...]:
        """The required libraries that are not installed."""
        return tuple(library for library in self.needs if importlib.util.find_spec(library) is None)

    def load(self) -> object:
        """Import and return the target."""
        if self.missing:
            raise MissingExtraError(", ".join(self.missing), self.extra, f"the {self.kind} {self.name!r}")
        module_name, _, attribute = self.target.partition(":")
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            raise ContractError(
                f"the {self.kind} {self.name!r} of {self.origin} points at {self.target!r}, but {error}"
            ) from error
        try:
            return cast("object", getattr(module, attribute))
        except AttributeError:
            raise ContractError(
                f"the {self.kind} {self.name!r} of {self.origin} points at {self.target!r}, which does not exist"
            ) from None


class Registrar(Protocol):
    """The callable that a plug-in's ``register`` function receives."""

    def __call__(  # noqa: D102, PLR0913 - one row of a table, written as one call
        self,
        kind: Kind,
        name: str,
        target: str,
        *,
        summary: str,
        example: str = "",
        extra: str = "",
        needs: tuple[str, ...] = (),
        group: str = "",
    ) -> None: ...


class Registry:
    """All entries of all kinds. Not changed after construction."""

    def __init__(self, sources: Mapping[str, Callable[[Registrar], None]]) -> None:
        """Call each source's ``register`` function.

        Args:
            sources: Maps the name of a distribution to its register function.
        """
        self._entries: dict[tuple[Kind, str], Entry] = {}
        for origin, register in sources.items():
            register(self._registrar(origin))

    def _registrar(self, origin: str) -> Registrar:
        def add(  # noqa: PLR0913 - one row of a table, written as one call
            kind: Kind,
            name: str,
            target: str,
            *,
            summary: str,
            example: str = "",
            extra: str = "",
            needs: tuple[str, ...] = (),
            group: str = "",
        ) -> None:
            if kind not in KINDS:
                raise ContractError(
                    f"{origin} registers the unknown kind {kind!r}; the kinds are {', '.join(KINDS)}"
                )
            if target.count(":") != 1:
                raise ContractError(f"{origin} registers {target!r}; a target is written 'module:attribute'")
            if (kind, name) in self._entries:
                first = self._entries[kind, name].origin
                raise ContractError(f"both {first} and {origin} register the {kind} {name!r}; rename one")
            self._entries[kind, name] = Entry(
                kind, name, target, summary, example, extra, needs, group, origin
            )

        return add

    def entries(self, kind: Kind) -> tuple[Entry, ...]:
        """All entries of a kind, in the order of registration."""
        return tuple(entry for entry in self._entries.values() if entry.kind == kind)

    def entry(self, kind: Kind, name: str) -> Entry:
        """Return an entry by kind and name.

        Raises:
            UsageError: If there is none. The message suggests the closest name.
        """
        if (kind, name) in self._entries:
            return self._entries[kind, name]
        names = [entry.name for entry in self.entries(kind)]
        near = difflib.get_close_matches(name, names, n=1)
        advice = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(names) or 'none'}"
        raise UsageError(f"there is no {kind} {name!r}; {advice}")


@cache
def registry() -> Registry:
    """Return the registry of this process: the built-in entries, then those of installed plug-ins."""
    from theodolite.core.builtin import register

    sources: dict[str, Callable[[Registrar], None]] = {"theodolite": register}
    for point in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP):
        origin = point.dist.name if point.dist is not None else point.name
        try:
            target = point.load()
        except Exception as error:
            raise ContractError(
                f"the plug-in {point.value!r} of {origin} cannot be imported: {error}"
            ) from error
        if not callable(target):
            raise ContractError(f"the plug-in {point.value!r} of {origin} is not a function that takes `add`")
        sources[f"{origin} ({point.name})" if origin in sources else origin] = target
    return Registry(sources)
