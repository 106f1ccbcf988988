"""Old spellings of commands, which work for one more release and say so: one table, old words to new words."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from theodolite.core.errors import UsageError

__all__ = ["TABLE", "Spelling", "renewed"]

_FLAGS = frozenset(
    f"--{name}"
    for name in (
        *(
            "json",
            "plan",
            "prompts",
            "questions",
            "score-only",
            "spare-reference",
            "pairs",
            "singles",
            "paraphrase",
        ),
        *("claims", "paper", "released", "redraw", "truth", "help"),
        *("copy", "no-copy", "agree", "no-agree", "render", "no-render", "balance", "no-balance"),
        *("pictures", "no-pictures"),
    )
) | {"-h"}
"""The options of old commands that take no value. All others do."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """An old command, and how it is written now."""

    old: str
    new: str
    """With further words, if the new command needs them."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options that have another name, alone or with their value; with an empty name, their values are arguments now, and flags
    are left out."""
    arguments: str = ""
    """The option that takes what were arguments."""
    having: str = ""
    """Only with this option, or with this option and value."""
    gone: str = ""
    """Why there is no such command any more."""


TABLE = (
    Spelling("data squares", "ask make", {"--questions": ""}, having="--questions"),
    Spelling("data squares", "compass make --world squares"),
    Spelling("data drawn", "compass make --world things"),
    Spelling("data coco-pairs", "compass import --format coco", {"--annotations": "--data"}),
    Spelling("data gqa", "compass import --format gqa", {"--scene-graphs": "--data"}),
    Spelling("data vsr", "compass import --format vsr"),
    Spelling("data whatsup", "compass import --format whatsup"),
    Spelling("data check", "compass audit"),
    Spelling("compass stability", "compass audit", {"--data": ""}),
    Spelling("compass overlay", "compass figures"),
    Spelling("compass edits", "compass figures", {"--controls": "--edits"}),
    Spelling(
        "compass faithfulness",
        "compass score",
        {"--out": "", "--score-only": ""},
        "--of",
        having="--score-only",
    ),
    Spelling("compass faithfulness", "compass run", {"--projection": "--orders"}, "--of"),
    Spelling(
        "compass score",
        "compass score",
        {"--projection both": "--projection all"},
        having="--projection both",
    ),
    Spelling("grid make", "grid make", {"--mode": "--variant"}, having="--mode"),
    Spelling("grid import", "grid import", {"--mode": "--variant"}, having="--mode"),
    Spelling("grid accuracy", "grid run"),
    Spelling("scene build", "scene import", {"--source": "--format"}),
    Spelling("scene solver", "scene audit"),
    Spelling("trace perturb", "trace make", {"--data": "--of"}),
    Spelling("trace relevance", "trace run --relevance"),
    Spelling("trace audit", "trace audit", {"--data": ""}, having="--data"),
    Spelling("trace verify", "trace verify", {"--traces": ""}, having="--traces"),
    Spelling("trace ablate", "trace verify --ablate", {"--pairs": "--pairs", "--singles": "--no-pairs"}),
    Spelling("trace recall", "trace calibrate"),
    Spelling("grid explain", "grid run", having="--explainers"),
    Spelling("grid explain", "grid run --explainers all"),
    Spelling("twins certify", "twins certificate", {"--released": ""}, having="--released"),
    Spelling(
        "twins certify",
        "",
        gone="certificates are now made by `python -m train certify`, in a clone of the repository; `theodolite twins "
        "certificate` shows those of the shipped models",
    ),
)
"""The first row that fits counts."""


def renewed(words: Sequence[str]) -> tuple[list[str], str]:
    """Return the words of a command as they are written now, and what to say if they were old.

    Raises:
        UsageError: If there is no such command any more.

    >>> renewed(["data", "check", "pairs"])
    (['compass', 'audit', 'pairs'], '`theodolite data check` is an old spelling, which the next release drops; write `theodolite compass audit pairs`')
    >>> renewed(["compass", "audit", "pairs"])
    (['compass', 'audit', 'pairs'], '')
    """
    start = 1 if words[:1] in (["-v"], ["--verbose"]) else 0
    rest = list(words[start:])
    for row in TABLE:
        old = row.old.split()
        if rest[: len(old)] == old and _has(row.having, rest):
            if row.gone:
                raise UsageError(row.gone)
            new = [*row.new.split(), *_rewritten(rest[len(old) :], row)]
            told = (
                f"`theodolite {row.old}` is an old spelling, which the next release drops; write "
                f"`theodolite {shlex.join(new)}`"
            )
            return [*words[:start], *new], told
    return list(words), ""


def _has(option: str, words: Sequence[str]) -> bool:
    """Return True if an option, or an option with its value, is among the words."""
    return (
        not option
        or any(word.partition("=")[0] == option for word in words)
        or (" " in option and f" {option} " in f" {' '.join(words)} ")
    )


def _rewritten(words: Sequence[str], row: Spelling) -> list[str]:
    """Rename options, and turn options into arguments or the reverse."""
    arguments: list[str] = []
    options: list[str] = []
    left = list(words)
    while left:
        word, equals, value = left.pop(0).partition("=")
        if not word.startswith("-"):
            word = f"{word}{equals}{value}"
            (options if row.arguments else arguments).extend(filter(None, (row.arguments, word)))
            continue
        name = row.options.get(word, word)
        if word in _FLAGS:
            options += [name] if name else []
            continue
        if not equals:
            value = left.pop(0) if left else ""
        if f"{word} {value}" in row.options:
            options += row.options[f"{word} {value}"].split()
            continue
        (options if name else arguments).extend([name, value] if name else [value])
    return [*arguments, *options]
