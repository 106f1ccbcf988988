"""How a model is asked: the three prompts of the paper's Table 9, or one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Formatter

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.compass.data.pairs import Pair

_NUMBERED = {"1": "left", "2": "right", "3": "above", "4": "below"}


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question with a place for the target ``{tgt}`` and one for the reference ``{ref}``, and what may be answered.

    >>> mine = Prompt("mine", "Is the {tgt} left (L) or right (R) of the {ref}?", {"L": "left", "R": "right"})
    >>> mine.token_for("right")
    'R'
    """

    name: str
    template: str
    options: Mapping[str, str]
    """Answer token -> direction, in the order they are offered."""

    def __post_init__(self) -> None:
        try:
            fields = [field for _, field, _, _ in Formatter().parse(self.template) if field is not None]
        except ValueError as error:
            raise UsageError(f"the prompt {self.name!r} cannot be read: {error}") from error
        if set(fields) != {"tgt", "ref"}:
            raise UsageError(
                f"the prompt {self.name!r} needs both {{tgt}} and {{ref}} and no other field; it has {fields}"
            )
        directions = list(self.options.values())
        if len(directions) < 2 or len(set(directions)) < len(directions) or not all(self.options):
            raise UsageError(
                f"the prompt {self.name!r} needs at least two tokens, each with its own direction, got {dict(self.options)}"
            )

    def ask(self, pair: Pair) -> str:
        """The question about a pair."""
        return self.template.format(tgt=pair.target.name, ref=pair.reference.name)

    @property
    def tokens(self) -> tuple[str, ...]:
        """What may be answered, in order."""
        return tuple(self.options)

    def token_for(self, direction: str) -> str:
        """The answer that stands for a direction.

        Raises:
            UsageError: the prompt does not offer it.
        """
        for token, offered in self.options.items():
            if offered == direction:
                return token
        raise UsageError(
            f"the prompt {self.name!r} does not offer {direction!r}; it offers {', '.join(self.options.values())}"
        )


PROMPTS: Mapping[str, Prompt] = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            "A",
            "In this image, where is the {tgt} relative to the {ref}? Choose one option: 1) to the left, "
            "2) to the right, 3) above, 4) below. Answer with just the number.",
            _NUMBERED,
        ),
        Prompt(
            "B",
            "Look at the image. Is the {tgt} to the left (1), right (2), above (3), or below (4) the {ref}? "
            "Answer with one number.",
            _NUMBERED,
        ),
        Prompt(
            "C",
            "I can see two objects: {ref} and {tgt}. What is the spatial position of {tgt} relative to {ref}? "
            "Options: 1=left, 2=right, 3=above, 4=below. Answer:",
            _NUMBERED,
        ),
    )
}
"""The templates of Table 9, word for word: they are stimuli. The paper uses A."""


@dataclass(frozen=True, slots=True)
class Split:
    """Pairs to choose settings on, and pairs to measure with; no picture is in both."""

    development: tuple[Pair, ...]
    evaluation: tuple[Pair, ...]
    set_aside: tuple[Pair, ...]
    """Further pairs of the development pictures, which belong to neither."""


def development_split(pairs: Sequence[Pair], n: int = 30, *, seed: int = 0) -> Split:
    """Takes whole pictures in random order until they hold n pairs; the first n of these are for development.

    Args:
        pairs: all of them.
        n: how many are for development.
        seed: of the order.

    Raises:
        UsageError: nothing would be left to measure with.
    """
    parts = split_clusters([pair.picture.digest for pair in pairs], n, seed=seed)
    development, evaluation, set_aside = (tuple(pairs[i] for i in part) for part in parts)
    return Split(development, evaluation, set_aside)


def split_clusters(
    clusters: Sequence[str], n: int, *, seed: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """The split of `development_split`, by place: for development, to measure with, set aside.

    Args:
        clusters: the picture of each pair.
        n: how many pairs are for development.
        seed: of the order.

    >>> split_clusters(["a", "a", "b", "c", "c"], 1, seed=0)
    ((3,), (0, 1, 2), (4,))
    """
    if n < 1:
        raise UsageError(f"a development split needs at least one pair, not {n}")
    by_cluster: dict[str, list[int]] = {}
    for i, cluster in enumerate(clusters):
        by_cluster.setdefault(cluster, []).append(i)
    names = list(by_cluster)
    chosen: list[int] = []
    taken: set[str] = set()
    for i in np.random.default_rng(seed).permutation(len(names)):
        if len(chosen) >= n:
            break
        taken.add(names[i])
        chosen += by_cluster[names[i]]
    rest = tuple(i for i, cluster in enumerate(clusters) if cluster not in taken)
    if len(chosen) < n or not rest:
        raise UsageError(
            f"{len(clusters)} pairs on {len(names)} pictures cannot be split into {n} for development and some to measure with"
        )
    return tuple(chosen[:n]), rest, tuple(chosen[n:])
