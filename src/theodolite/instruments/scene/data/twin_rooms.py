"""Which scenes the pocket twins have learnt, and what to say where they are asked about others."""

from __future__ import annotations

from collections.abc import Iterable

NAME = "pocket"
"""What the names of small rooms begin with, and the source of their data sets."""


def unlearnt(model: str, scenes: Iterable[str]) -> tuple[str, ...]:
    """What to say of a twin that is asked about scenes which it never learnt; nothing of other models and of small rooms.

    Args:
        model: Its name.
        scenes: The names of the scenes that it is asked about.

    >>> unlearnt("pocket:grounded", ["pocket-0-00001"]), len(unlearnt("pocket:grounded", ["indoor-0-00001"]))
    ((), 1)
    """
    if not model.startswith("pocket:") or all(scene.startswith(f"{NAME}-") for scene in scenes):
        return ()
    told = (
        f"{model} has learnt only small rooms, none like these: its answers here say nothing about the instrument. "
        "`theodolite scene make --small 20 --out DIR` makes rooms that it knows."
    )
    return (told,)
