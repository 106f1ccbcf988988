"""How often a number of pairs settles the verdict on a model that looks at a known share of the pictures: by simulation.

``python tests/pairs/looking_sizes.py`` prints the table of ``docs/diagnose.md``.
"""

import numpy as np

from theodolite.answers import Answer
from theodolite.pairs import AnsweredPair, judge_looking
from theodolite.pairs.outcomes import LIGHT, MIRROR

SHARES = (1.0, 0.9, 0.5, 0.25, 0.15, 0.0)
SIZES = (24, 48, 100, 200, 400)
DRAWS = 200
_SIDES = (Answer("value", "left"), Answer("value", "right"))


def draw_pairs(share, n, rng):
    """Pairs of a model that looks at a share of the pictures, errs on 2 % of these, and gives the answer of a rule on the others."""
    found = []
    for i in range(n):
        truth, rule = rng.integers(2, size=2)
        looks = rng.random() < share
        said = []
        for is_mirrored in (False, True, False):
            seen = truth ^ is_mirrored if looks else rule
            said.append(_SIDES[seen ^ (looks and rng.random() < 0.02)])
        golds = [_SIDES[truth].value, _SIDES[1 - truth].value]
        found.append(AnsweredPair(f"q{i}", MIRROR, f"p{i}", said[0], said[1], *golds))
        found.append(AnsweredPair(f"q{i}", LIGHT, f"p{i}", said[0], said[2], golds[0], golds[0]))
    return found


def settled(share, n, *, draws=DRAWS, seed=0):
    """The share of draws by verdict."""
    rng = np.random.default_rng([seed, n, round(100 * share)])
    found = [judge_looking(draw_pairs(share, n, rng), chance=0.5).standing for _ in range(draws)]
    return {standing: found.count(standing) / draws for standing in sorted(set(found))}


def right_verdict(share):
    """The verdict that a model with that share should get."""
    return "looks" if share >= 0.9 else "does not look" if share == 0 else "looks at times"


def table():
    """The table in Markdown: how often the verdict is right, and wrong if that occurs."""
    lines = ["| looks at | verdict | " + " | ".join(f"{n} pairs" for n in SIZES) + " |"]
    lines.append("| --- | --- |" + " --- |" * len(SIZES))
    for share in SHARES:
        cells = []
        for n in SIZES:
            found = settled(share, n)
            right = found.pop(right_verdict(share), 0.0)
            wrong = sum(value for name, value in found.items() if name != "not settled")
            cells.append(f"{100 * right:.0f} %" + (f" ({100 * wrong:.0f} % wrong)" if wrong >= 0.01 else ""))
        lines.append(f"| {100 * share:.0f} % | {right_verdict(share)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())  # noqa: T201 - for a person
