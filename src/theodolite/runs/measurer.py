"""The protocol of what an engine drives: something that measures items. Independent of models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from theodolite.core.types import Item, Record, content_hash

_KEY_VERSION = 1

Reuse: TypeAlias = Literal["same request", "same request and hint", "never"]
"""When one record may be reused for another item. ``same request``: for every item with the same request. ``same
request and hint``: a scripted model's answer also depends on the hint. ``never``: the record holds more than an answer,
such as relevance maps."""


@runtime_checkable
class Measurer(Protocol):
    """Measures batches of items. It may raise an error for a batch with a bad item; the engine then finds that item."""

    @property
    def identity(self) -> str:
        """Identifies its results: the model's identity and how it was asked."""
        ...

    @property
    def batch_size(self) -> int:
        """Preferred number of items per batch."""
        ...

    @property
    def reuse(self) -> Reuse:
        """When one item's record may be reused for another."""
        ...

    def measure(self, items: Sequence[Item]) -> Sequence[Record]:
        """Return one record per item, in order."""
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


@runtime_checkable
class AsyncMeasurer(Measurer, Protocol):
    """Measures items concurrently, one request each."""

    async def check(self) -> None:
        """Raise an error before any request if nothing can be measured."""
        ...

    async def measure_one(self, item: Item) -> Record:
        """Return the record of one item."""
        ...

    async def aclose(self) -> None:
        """Release the resources that belong to the running event loop."""
        ...


MeasurerFactory: TypeAlias = Callable[[], Measurer]
"""Creates a measurer, in this process or in a worker's."""


def answer_key(identity: str, item: Item, reuse: Reuse) -> str | None:
    """Return the cache key of an item: a hash of the model, messages, picture bytes and parameters.

    None if the answer must not be reused: because sampling is random, or because the record holds more than an answer.
    """
    if reuse == "never" or not item.request.is_deterministic:
        return None
    hint = dict(item.request.hint) if reuse == "same request and hint" else None
    return content_hash([_KEY_VERSION, identity, item.request.digest, list(item.options), hint])
