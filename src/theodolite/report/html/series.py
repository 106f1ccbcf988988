"""The colour, the mark and the short name of each model on a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

GROUNDED, SHORTCUT = "pocket:grounded", "pocket:shortcut"
_TWIN_COLOURS = {GROUNDED: "c-grounded", SHORTCUT: "c-shortcut"}
N_COLOURS = 6
"""As many as the style sheet has."""


class Series:
    """The colour and the mark of each model, the same everywhere on a page; the twins have their own colours."""

    def __init__(self, models: Iterable[str]) -> None:
        """Colours are given in order."""
        self._order = {model: i for i, model in enumerate(dict.fromkeys(models))}
        others = [model for model in self._order if model not in _TWIN_COLOURS]
        shorter = Counter(short_name(model) for model in self._order)
        self._names = {m: short_name(m) if shorter[short_name(m)] == 1 else m for m in self._order}
        self._colours = {model: f"c-{i % N_COLOURS}" for i, model in enumerate(others)} | _TWIN_COLOURS

    def order(self, model: str) -> int:
        """Its place, which decides its mark."""
        return self._order.setdefault(model, len(self._order))

    def name(self, model: str) -> str:
        """Its name without address and options, where no other model has the same."""
        return self._names.get(model, model)

    def colour(self, model: str) -> str:
        """The class of its colour."""
        return self._colours.get(model, "c-0")


def short_name(model: str) -> str:
    """A model's name as there is room for beside a figure.

    >>> short_name("openai:some-vlm@http://127.0.0.1:8000/v1"), short_name("hf:/models/Qwen3-VL-2B?dtype=float16")
    ('openai:some-vlm', 'hf:Qwen3-VL-2B')
    """
    kind, _, rest = model.partition(":")
    rest = rest.partition("@")[0].partition("?")[0].rstrip("/")
    return f"{kind}:{rest.rpartition('/')[2]}" if rest else model
