"""Check that an extractor fulfils its contract."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence

from theodolite.instruments.trace.claims.extractors import open_extractor
from theodolite.instruments.trace.claims.types import KINDS, Claim, Extractor, Step, Trace
from theodolite.testing.findings import Findings, examine, not_a

_TRACES = (
    Trace("one", (Step("Step 1 (frame 1): The red cup is left of the book."), Step("It falls."))),
    Trace("hostile", (Step('{"claims": ['), Step("杯子在桌子上。"), Step("cup " * 300), Step("\u202e\x00"))),
    Trace("empty", ()),
)


def check_extractor(extractor: str | Extractor) -> Findings:
    """Check an extractor against its contract, on an ordinary trace, a hostile one and an empty one.

    This does not check whether its claims are right. For that, compare them with those of ``rules``
    (``theodolite trace verify TRACES --claims --tables steps``).

    Args:
        extractor: The extractor, or its name.

    Raises:
        BrokenContractError: If a check fails. The message lists all failures.

    >>> check_extractor("rules").remarks
    ()
    """
    tested = open_extractor(extractor) if isinstance(extractor, str) else extractor
    if not isinstance(tested, Extractor):
        raise not_a("extractor", tested, "it lacks a name, or extract(traces)")
    return examine("extractor", tested.name, tested, _CHECKS)


def _claims(extractor: Extractor, traces: Sequence[Trace]) -> Iterator[tuple[Step, Claim]]:
    for trace, found in zip(traces, extractor.extract(traces), strict=True):
        for step, claims in zip(trace.steps, found.claims, strict=True):
            yield from ((step, claim) for claim in claims)


def _one_result_per_trace_and_step(extractor: Extractor) -> Iterator[str]:
    found = list(extractor.extract(_TRACES))
    if len(found) != len(_TRACES):
        yield f"{len(found)} results for {len(_TRACES)} traces"
    for trace, each in zip(_TRACES, found, strict=False):
        if len(each.claims) != len(trace.steps):
            yield f"{len(each.claims)} tuples of claims for the {len(trace.steps)} steps of {trace.episode!r}"
    if list(extractor.extract([])):
        yield "results were returned for no traces"


def _claims_are_in_their_step(extractor: Extractor) -> Iterator[str]:
    for step, claim in _claims(extractor, _TRACES):
        start, end = claim.span
        if not 0 <= start < end <= len(step.text):
            yield f"the span {claim.span} of {claim} is not in its step"
        if claim.kind not in KINDS:
            yield f"{claim.kind!r} is no kind of claim"


def _is_deterministic(extractor: Extractor) -> Iterator[str]:
    if list(extractor.extract(_TRACES)) != list(extractor.extract(_TRACES)):
        yield "the same traces have other claims the second time"


def _leaves_inputs_unchanged(extractor: Extractor) -> Iterator[str]:
    traces = copy.deepcopy(_TRACES)
    list(extractor.extract(traces))
    if traces != _TRACES:
        yield "the traces were changed"


_CHECKS: tuple[Callable[[Extractor], Iterator[str]], ...] = (
    _one_result_per_trace_and_step,
    _claims_are_in_their_step,
    _is_deterministic,
    _leaves_inputs_unchanged,
)
