"""What an explanation holds: the answer and its words, the maps, and for each map whether it is true."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.attribution import RelevanceMap, TokenShares
from theodolite.core.errors import UsageError
from theodolite.core.tables import Column, Table, percent
from theodolite.core.types import Picture

if TYPE_CHECKING:
    from theodolite.core.drawing import Drawing

ANSWER = "answer"
"""The name of the span that is the whole answer."""
ALPHA, UNSURE = 0.05, 0.2
"""A map holds if chance gives as much at most this often; up to the second it is not settled."""
LEAST_NATS = 0.1
"""An answer that loses less, about a tenth of its probability, does without what was hidden."""
ALIKE = 0.9
"""Two maps with at least this rank correlation are the same map for a reader."""

Standing: TypeAlias = Literal["holds", "not settled", "chance", "blind"]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """What an answer loses while a picture is hidden step by step, or gains while it is shown."""

    shares: Floats
    """The share of the picture that is hidden or shown, 0 to 1, (steps,)."""
    own: Floats
    """In the order of the map."""
    even: Floats
    """In the order of a uniform map: spread evenly over the picture."""
    others: Floats
    """In the order of the same map moved elsewhere, (maps, steps)."""

    def area(self, values: Floats) -> Floats:
        """Return the mean height of curves, by the trapezoidal rule."""
        return np.asarray(np.trapezoid(values, self.shares, axis=-1))

    @property
    def gain(self) -> float:
        """How much higher the map's own curve lies than the mean of the others."""
        return float(self.area(self.own) - self.area(self.others).mean())


@dataclass(frozen=True, slots=True)
class Finding:
    """One further check of a map."""

    name: str
    value: float | None
    """None if it was not measured."""
    words: str
    is_good: bool | None = None
    """None if it says nothing for or against the map."""


@dataclass(frozen=True, slots=True, eq=False)
class MapTest:
    """Whether one map is true: what hiding it does, beside hiding as much elsewhere."""

    method: str
    share: float
    """The share of the picture that is marked and hidden: what the map shows most."""
    loss: float
    """What the answer loses with the marked part hidden."""
    other_losses: tuple[float, ...]
    """The same with as much hidden elsewhere: the marked part moved."""
    whole_loss: float
    """The same without the picture."""
    changes: bool
    """True if the answer changes with the marked part hidden."""
    n_others_change: int
    """Of the others, how many change it."""
    whole_changes: bool
    unit: str
    """``nats``: log-probability. ``share``: share of the answer's words."""
    is_own: bool
    """True if the model itself gives this answer, so that it can change."""
    deletion: Curve
    insertion: Curve
    marked: tuple[NDArray[np.float64], ...] = ()
    """The outline of the marked part of each picture in pixels: lines x0, y0, x1, y1, (lines, 4)."""
    findings: tuple[Finding, ...] = ()

    @property
    def n_as_large(self) -> int:
        """Of the others, how many cost the answer as much."""
        return sum(each >= self.loss for each in self.other_losses)

    @property
    def p_value(self) -> float:
        """How often the map would do as well if it marked any place."""
        return (1 + self.n_as_large) / (1 + len(self.other_losses))

    @property
    def standing(self) -> Standing:
        """Whether the map holds."""
        least = LEAST_NATS if self.unit == "nats" else 0.0
        if self.whole_loss <= least and not (self.is_own and self.whole_changes):
            return "blind"
        if self.loss <= least and not (self.is_own and self.changes):
            return "chance"
        if self.p_value <= ALPHA:
            return "holds"
        return "not settled" if self.p_value <= UNSURE else "chance"

    @property
    def sentence(self) -> str:
        """The outcome, in one plain sentence."""
        part, n = percent(self.share), len(self.other_losses)
        least = LEAST_NATS if self.unit == "nats" else 0.0
        if self.standing == "blind":
            same = "the same" if self.is_own else "as probable"
            return f"The answer is {same} without the picture: no map can show where it comes from."
        if self.standing == "chance" and self.loss <= least:
            return (
                f"This map is no better than chance: do not show it. Hiding the {part} of the picture that it marks costs the "
                "answer nothing."
            )
        if self.standing == "chance":
            return (
                f"This map is no better than chance: do not show it. Hiding another {part} of the picture costs the answer "
                f"as much in {self.n_as_large} of {n} tries."
            )
        changes = self.is_own and self.changes and self.n_others_change < n / 2
        if changes:
            text = (
                f"Hiding the marked {part} changes the answer; hiding another {part} does in {self.n_others_change} of "
                f"{n} tries."
            )
        else:
            text = (
                f"Hiding the marked {part} costs the answer {self.cost}; hiding another {part} costs as much in "
                f"{self.n_as_large} of {n} tries."
            )
        return f"Not settled: {text[0].lower()}{text[1:]}" if self.standing == "not settled" else text

    @property
    def cost(self) -> str:
        """What the answer loses with the marked part hidden, in words."""
        if self.unit == "share":
            return f"{percent(self.loss)} of its words"
        left = float(np.exp(-self.loss))
        if left < 0.005:
            return "nearly all of its probability"
        return f"{percent(1 - left)} of its probability"

    @property
    def cautions(self) -> tuple[str, ...]:
        """The checks that speak against the map."""
        return tuple(finding.words for finding in self.findings if finding.is_good is False)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the answer, or a chosen part of it."""

    text: str
    start: int
    """In the answer, in characters."""
    end: int
    span: str
    """The name of its maps."""
    log_probability: float | None = None
    """Of its tokens, each after those before it."""
    shares: TokenShares | None = None
    """How much of it came from the picture, the question and the words before it."""
    loss: float | None = None
    """What it loses with what its own map marks hidden."""
    n_as_large: int = 0
    """Of as many other places as the whole map was tested with, how many cost it as much."""


@dataclass(frozen=True, slots=True, eq=False)
class Explanation:
    """Where a model looks for one answer, and whether that is true.

    It is displayed in a notebook; `save` writes it as a page, a picture and numbers.
    """

    model: str
    question: str
    pictures: tuple[Picture, ...]
    answer: str
    is_own: bool
    """True if it is the model's own answer."""
    maps: tuple[RelevanceMap, ...]
    """By method, span (the target) and picture; those of further methods for the whole answer alone."""
    tests: tuple[MapTest, ...]
    """One for each method that was asked for, the first first."""
    words: tuple[Word, ...] = ()
    instead: str = ""
    """The alternative that the answer is explained against, and its place."""
    shares_by: str = ""
    """The method whose relevance gives the shares of the words."""
    n_read: int = 0
    """Versions of the pictures that the model read."""
    n_passes: int = 0
    """Passes with maps."""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def methods(self) -> tuple[str, ...]:
        """The tested methods."""
        return tuple(test.method for test in self.tests)

    @property
    def test(self) -> MapTest:
        """The test of the first method."""
        return self.tests[0]

    @property
    def sentence(self) -> str:
        """Whether the first map is true, in one plain sentence."""
        return self.test.sentence

    def find(self, span: str = ANSWER, method: str = "") -> tuple[RelevanceMap, ...]:
        """Return the maps of a span, one for each picture.

        Args:
            span: ``answer`` or the `span` of a word; or a word itself, of which the first counts.
            method: The method. Default: the first.

        Raises:
            UsageError: If there is none. The message lists what there is.
        """
        method = method or self.methods[0]
        known = {ANSWER, *(word.span for word in self.words)}
        named = span if span in known else next((w.span for w in self.words if w.text == span), span)
        found = tuple(m for m in self.maps if (m.method, m.target) == (method, named))
        if not found:
            spans = ", ".join(dict.fromkeys(m.target for m in self.maps if m.method == method)) or "none"
            raise UsageError(f"there is no map of {span!r} by {method}; by {method} there are: {spans}")
        return found

    def describe(self, word: Word) -> str:
        """Say where a word came from, how probable it is, and whether its own map holds."""
        parts = []
        if word.shares is not None:
            s = word.shares
            parts.append(
                f"{percent(s.picture)} from the picture, {percent(s.question)} from the question, {percent(s.earlier)} from "
                "earlier words"
            )
        if word.log_probability is not None:
            parts.append(f"probability {np.exp(word.log_probability):.2g}")
        if word.loss is not None:
            n = len(self.test.other_losses)
            lost = percent(1 - float(np.exp(-word.loss))) if word.loss > 0 else "nothing"
            parts.append(
                f"hiding what it marks costs it {lost}, as much elsewhere costs this in {word.n_as_large} of {n} tries"
            )
        return f"“{word.text}”: {'; '.join(parts)}."

    def plot(self, span: str = ANSWER, method: str = "") -> Drawing:
        """Draw the picture, the map, the answer and the test. The drawing is displayed in a notebook and has ``save``."""
        from theodolite.explanation.figure import explanation_figure

        return explanation_figure(self, span, method)

    def save(self, path: str | Path) -> Path:
        """Write the explanation.

        Args:
            path: A folder for the page, the picture and the numbers; or one file, by its extension: ``.html``, ``.png`` or
                another picture, ``.json``.

        Returns:
            The page, or the file.
        """
        from theodolite.explanation.page import save

        return save(self, Path(path))

    def table(self) -> Table:
        """Return the tests as a table, one row for each method."""
        columns = (
            Column("method", "method"),
            Column("standing", "is it true?"),
            Column("loss", "loss, marked", "number"),
            Column("other_loss", "loss, elsewhere", "number"),
            Column("n_as_large", "as much elsewhere"),
            Column("whole_loss", "loss, no picture", "number"),
            Column("deletion", "deletion gain", "number"),
            Column("insertion", "insertion gain", "number"),
        )
        rows = [
            (
                test.method,
                test.standing,
                test.loss,
                float(np.mean(test.other_losses)),
                f"{test.n_as_large} of {len(test.other_losses)}",
                test.whole_loss,
                test.deletion.gain,
                test.insertion.gain,
            )
            for test in self.tests
        ]
        unit = "log-probability (nats)" if self.test.unit == "nats" else "share of the answer's words"
        notes = (f"Losses and gains are in {unit}. Gain: beyond the same map moved elsewhere.",)
        return Table("explain.tests", "Is the map true?", columns, tuple(rows), notes)

    def __repr__(self) -> str:
        lines = [f"{self.model}: {self.question}", f"answer: {self.answer}"]
        lines += [f"{test.method}: {test.sentence}" for test in self.tests]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from theodolite.explanation.page import notebook_html

        return notebook_html(self)
