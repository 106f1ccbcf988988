"""The colour, marker and short name of each model on a page."""

from __future__ import annotations

from collections.abc import Iterable

from theodolite.diagnose.names import short_names

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
        self._names = short_names(self._order)
        self._colours = {model: f"c-{i % N_COLOURS}" for i, model in enumerate(others)} | _TWIN_COLOURS

    def order(self, model: str) -> int:
        """Return the number of a model, which decides its marker."""
        return self._order.setdefault(model, len(self._order))

    def name(self, model: str) -> str:
        """Return the name of a model without folders, address and options, as far as that is unique."""
        return self._names.get(model, model)

    def shortened(self, text: str) -> str:
        """Replace the names of models in a text by short ones."""
        for model, name in sorted(self._names.items(), key=lambda each: -len(each[0])):
            text = text.replace(model, name)
        return text

    def colour(self, model: str) -> str:
        """Return the CSS class of the colour of a model."""
        return self._colours.get(model, "c-0")
