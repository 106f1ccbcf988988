"""What an engine drives: something that measures items. It knows nothing of models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from theodolite.core.types import Item, Record, content_hash

_KEY_VERSION = 1

Reuse: TypeAlias = Literal["same request", "same request and hint", "never"]
"""An answer serves every item with the same request; a scripted model's also depends on the hint; a record that holds
more than an answer (relevance maps, say) serves its own item alone."""


@runtime_checkable
class Measurer(Protocol):
    """Measures batches of items. May raise for a batch with a bad item: the engine finds the culprit."""

    @property
    def identity(self) -> str:
        """What tells its results from another's: the model's identity, and how it was asked."""
        ...

    @property
    def batch_size(self) -> int:
        """How many items it likes at once."""
        ...

    @property
    def reuse(self) -> Reuse:
        """When one item's record may serve another."""
        ...

    def measure(self, items: Sequence[Item]) -> Sequence[Record]:
        """One record per item, in order."""
        ...

    def close(self) -> None:
        """Frees what it holds."""
        ...


@runtime_checkable
class AsyncMeasurer(Measurer, Protocol):
    """Measures one item at a time while many wait."""

    async def check(self) -> None:
        """Raises, before anything is asked, if nothing can be measured at all."""
        ...

    async def measure_one(self, item: Item) -> Record:
        """The record of one item."""
        ...

    async def aclose(self) -> None:
        """Frees what belongs to the running event loop."""
        ...


MeasurerFactory: TypeAlias = Callable[[], Measurer]
"""Makes a measurer, in this process or in a worker's."""


def answer_key(identity: str, item: Item, reuse: Reuse) -> str | None:
    """The cache key of an item: over the model, the messages, the picture bytes and the parameters.

    None where the answer may not be reused: where it would be drawn anew, or where more than an answer is measured.
    """
    if reuse == "never" or not item.request.is_deterministic:
        return None
    hint = dict(item.request.hint) if reuse == "same request and hint" else None
    return content_hash([_KEY_VERSION, identity, item.request.digest, list(item.options), hint])
