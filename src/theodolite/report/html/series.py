"""The colour, marker and short name of each model on a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

GROUNDED, SHORTCUT = "pocket:grounded", "pocket:shortcut"
_TWIN_COLOURS = {GROUNDED: "c-grounded", SHORTCUT: "c-shortcut"}
N_COLOURS = 6
"""The number of colours in the style sheet."""


class Series:
    """The colour and marker of each model, the same everywhere on a page. The twins have fixed colours."""

    def __init__(self, models: Iterable[str]) -> None:
        """Assign colours in the order of the models."""
        self._order = {model: i for i, model in enumerate(dict.fromkeys(models))}
        others = [model for model in self._order if model not in _TWIN_COLOURS]
        shorter = Counter(short_name(model) for model in self._order)
        self._names = {m: short_name(m) if shorter[short_name(m)] == 1 else m for m in self._order}
        self._colours = {model: f"c-{i % N_COLOURS}" for i, model in enumerate(others)} | _TWIN_COLOURS

    def order(self, model: str) -> int:
        """Return the number of a model, which decides its marker."""
        return self._order.setdefault(model, len(self._order))

    def name(self, model: str) -> str:
        """Return the name of a model without address and options, if that is unique."""
        return self._names.get(model, model)

    def colour(self, model: str) -> str:
        """Return the CSS class of the colour of a model."""
        return self._colours.get(model, "c-0")


def short_name(model: str) -> str:
    """Shorten the name of a model.

    >>> short_name("openai:some-vlm@http://127.0.0.1:8000/v1"), short_name("hf:/models/Qwen3-VL-2B?dtype=float16")
    ('openai:some-vlm', 'hf:Qwen3-VL-2B')
    """
    kind, _, rest = model.partition(":")
    rest = rest.partition("@")[0].partition("?")[0].rstrip("/")
    return f"{kind}:{rest.rpartition('/')[2]}" if rest else model
