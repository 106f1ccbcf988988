"""Several verifiers as one: the annotation first, then the others by their known error rates.

Where the annotation speaks, it decides. On all other claims the remaining members are asked, and what they say is combined as if
they erred independently: a member that supports a claim multiplies the odds that it is true by sensitivity / (1 − specificity),
one that refutes it by (1 − sensitivity) / specificity, and one that cannot judge it changes nothing. The odds begin at even. A
member that may be a coin is not asked.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from theodolite.core.errors import UsageError
from theodolite.core.files import check, read_json
from theodolite.instruments.trace.claims.types import Claim, Verdict, Verifier
from theodolite.instruments.trace.verifiers.judging import open_verifier, unverifiable, verdicts_on
from theodolite.worlds.episodes import Episode

Count = Annotated[int, Field(ge=0)]

REFERENCE = "annotation"
"""The member that decides where it speaks."""
_EVEN = 1e-9


@dataclass(frozen=True)
class Member:
    """A verifier of a panel, with its verdicts on claims of known truth."""

    name: str
    true_supported: Count
    true_refuted: Count
    false_supported: Count
    false_refuted: Count
    fault: str = ""
    """Why its verdicts mean nothing; then it is not asked."""

    def log_odds(self, verdict: Verdict) -> float:
        """Return by how much a verdict changes the log-odds that a claim is true; half a claim is added to each count."""
        if verdict.label == "unverifiable":
            return 0.0
        of_true = (self.true_supported + 0.5) / (self.true_supported + self.true_refuted + 1)
        of_false = (self.false_supported + 0.5) / (self.false_supported + self.false_refuted + 1)
        if verdict.label == "supported":
            return math.log(of_true / of_false)
        return math.log((1 - of_true) / (1 - of_false))


@dataclass(frozen=True)
class PanelFile:
    """The file that ``panel:FILE`` reads."""

    panel: tuple[Member, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """Combines verifiers."""

    name: str
    members: tuple[tuple[Member, Verifier], ...]
    judges_typed: ClassVar[bool] = True

    @property
    def costs_requests(self) -> bool:
        """Whether a member costs requests."""
        return any(getattr(verifier, "costs_requests", False) for _, verifier in self.members)

    def verify(self, claims: Sequence[Claim], episode: Episode) -> list[Verdict]:
        """Return one verdict per claim; see `Verifier`."""
        decided: dict[int, Verdict] = {}
        for member, verifier in self.members:
            if member.name == REFERENCE:
                (said,) = verdicts_on([claims], episode, verifier, hedges="as stated")
                decided |= {i: v for i, v in enumerate(said) if v.label != "unverifiable"}
        left = [i for i in range(len(claims)) if i not in decided]
        others = [(m, v) for m, v in self.members if m.name != REFERENCE and not m.fault]
        said_by = [
            (member, verdicts_on([[claims[i] for i in left]], episode, verifier, hedges="as stated")[0])
            for member, verifier in others
        ]
        for place, i in enumerate(left):
            decided[i] = _combined([(member, said[place]) for member, said in said_by])
        return [decided[i] for i in range(len(claims))]


def _combined(said: Sequence[tuple[Member, Verdict]]) -> Verdict:
    spoken = [(member, verdict) for member, verdict in said if verdict.label != "unverifiable"]
    if not spoken:
        silent = next((verdict for _, verdict in said), None)
        return silent or unverifiable("undecided", "no member of the panel can judge it")
    odds = sum(member.log_odds(verdict) for member, verdict in spoken)
    words = "; ".join(f"{member.name}: {verdict.label}" for member, verdict in spoken)
    if abs(odds) < _EVEN:
        return unverifiable("undecided", f"as likely true as false: {words}")
    confidence = 1 / (1 + math.exp(-abs(odds)))
    truth = spoken[0][1].truth if len(spoken) == 1 else ""
    return Verdict(
        "supported" if odds > 0 else "unsupported", evidence=words, truth=truth, confidence=confidence
    )


def write_panel(members: Sequence[Member], path: Path) -> None:
    """Write the file that ``panel:FILE`` reads.

    Raises:
        UsageError: It cannot be written.
    """
    try:
        path.write_text(
            json.dumps({"panel": [asdict(member) for member in members]}, indent=2) + "\n", encoding="utf-8"
        )
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def open_panel(file: str) -> Panel:
    """Open ``panel:FILE``."""
    if not file:
        raise UsageError("panel: needs a file of `theodolite trace calibrate --verifier NAME … --out FILE`")
    try:
        stored = check(PanelFile, read_json(Path(file), "panel"))
    except UsageError as error:
        raise UsageError(
            f"{file} is not a panel; `theodolite trace calibrate --verifier NAME … --out FILE` writes one ({error})"
        ) from error
    nested = [member.name for member in stored.panel if member.name.startswith("panel")]
    if nested or not stored.panel:
        raise UsageError(
            f"{file}: a panel has verifiers as members, and at least one, not {', '.join(nested) or 'none'}"
        )
    return Panel(f"panel:{file}", tuple((member, open_verifier(member.name)) for member in stored.panel))
