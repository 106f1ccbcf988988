"""The result of checking a plug-in: broken lines of its contract, and remarks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from theodolite.core.errors import ContractError
from theodolite.core.registry import Kind
from theodolite.runs import describe

T = TypeVar("T")


class Remark(str):
    """An informative sentence that does not concern the contract."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """The result of a check."""

    kind: Kind
    name: str
    problems: tuple[str, ...] = ()
    """One sentence for each broken line of the contract."""
    remarks: tuple[str, ...] = ()


class BrokenContractError(ContractError):
    """A plug-in does not fulfil its contract. The message lists all problems."""

    def __init__(self, findings: Findings) -> None:
        super().__init__(
            f"{findings.name} does not fulfil the {findings.kind} contract:\n  "
            + "\n  ".join(findings.problems)
        )
        self.findings = findings


def examine(kind: Kind, name: str, tested: T, checks: Iterable[Callable[[T], Iterator[str]]]) -> Findings:
    """Run checks. Each yields a sentence for every fault, or a `Remark`; an exception is a fault.

    Args:
        kind: The kind of the plug-in.
        name: Its name.
        tested: The plug-in, passed to every check.
        checks: The checks. The name of each function becomes the title of its faults.

    Raises:
        BrokenContractError: If there is a fault.
    """
    problems: list[str] = []
    remarks: list[str] = []
    for check in checks:
        title = check.__name__.strip("_").replace("_", " ")
        for finding in _all_of(check, tested):
            if isinstance(finding, Remark):
                remarks.append(str(finding))
            elif (problem := f"{title}: {finding}") not in problems:
                problems.append(problem)
    findings = Findings(kind, name, tuple(problems), tuple(remarks))
    if problems:
        raise BrokenContractError(findings)
    return findings


def not_a(kind: Kind, tested: object, problem: str) -> BrokenContractError:
    """Return the error for an object that is not a plug-in of this kind."""
    return BrokenContractError(Findings(kind, type(tested).__name__, (problem,)))


def _all_of(check: Callable[[T], Iterator[str]], tested: T) -> Iterator[str]:
    try:
        yield from check(tested)
    except Exception as error:  # noqa: BLE001 - any exception is reported
        yield f"it raised {describe(error)}"
