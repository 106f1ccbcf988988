"""Check that a model fulfils its contract."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from theodolite.core.types import Picture, Request, Response
from theodolite.models import ServedModel, VisionLanguageModel, is_choosing, open_model
from theodolite.runs import run_async
from theodolite.testing.check_server import reaches_the_model
from theodolite.testing.findings import Findings, examine, not_a


def check_model(model: str | VisionLanguageModel) -> Findings:
    """Check a model against its contract. Of a model behind a server, also check what reaches it.

    Args:
        model: The model, or its name.

    Returns:
        The findings, with remarks.

    Raises:
        BrokenContractError: If a check fails. The message lists all failures.
        ModelError: If the model cannot be used at all, for example because no server answers.

    >>> check_model("scripted:looker").remarks
    ()
    """
    tested = open_model(model) if isinstance(model, str) else model
    if not isinstance(tested, VisionLanguageModel):
        missing = [
            name
            for name in ("name", "identity", "lacks", "batch_size", "generate", "close")
            if not hasattr(tested, name)
        ]
        raise not_a("model", tested, f"it lacks {', '.join(missing)}")
    if not isinstance(tested, ServedModel):
        return examine("model", tested.name, tested, _CHECKS)
    run_async(partial(_reachable, tested))
    return examine("model", tested.name, tested, (*_CHECKS, reaches_the_model))


async def _reachable(model: ServedModel) -> None:
    try:
        await model.check()
    finally:
        await model.aclose()


def _requests() -> list[Request]:
    """Return requests of different lengths, picture sizes and numbers of pictures, to test padding and batching."""
    rng = np.random.default_rng(0)
    pictures = [
        Picture.from_array(rng.integers(0, 256, size, dtype=np.uint8))
        for size in ((48, 64, 3), (64, 48, 3), (33, 71, 3))
    ]
    return [
        Request.ask(pictures[0], "Where is the red thing?", max_tokens=8, ref="one"),
        Request.ask(
            pictures[1], "Is the blue thing left of the red thing? Answer yes or no.", max_tokens=8, ref="two"
        ),
        Request.ask(pictures[2], pictures[0], "Which of the two is larger?", max_tokens=8, ref="three"),
        Request.ask("There is no picture here. How many?", max_tokens=8, ref="four"),
    ]


def _has_name_and_identity(model: VisionLanguageModel) -> Iterator[str]:
    values: dict[str, object] = {"name": model.name, "identity": model.identity}
    for what, value in values.items():
        if not isinstance(value, str) or not value:
            yield f"{what} is {value!r}, not a non-empty text"
    size: object = model.batch_size
    if not isinstance(size, int) or size < 1:
        yield f"batch_size is {size!r}, not a positive whole number"


def _answers_in_order(model: VisionLanguageModel) -> Iterator[str]:
    requests = _requests()
    together = model.generate(requests)
    if len(together) != len(requests):
        yield f"{len(together)} responses were returned for {len(requests)} requests"
        return
    alone = [model.generate([request])[0] for request in requests]
    for i, (one, other) in enumerate(zip(together, alone, strict=True)):
        if (one.status, one.text) != (other.status, other.text):
            yield f"request {i} gets {_told(one)} in a batch and {_told(other)} alone"


def _accepts_no_requests(model: VisionLanguageModel) -> Iterator[str]:
    if list(model.generate([])):
        yield "no requests must give no responses"


def _is_deterministic(model: VisionLanguageModel) -> Iterator[str]:
    first, second = (model.generate(_requests()[:1])[0] for _ in range(2))
    if (first.status, first.text) != (second.status, second.text):
        yield f"the same request at temperature 0 gets {_told(first)}, then {_told(second)}"


def _leaves_requests_unchanged(model: VisionLanguageModel) -> Iterator[str]:
    requests = _requests()
    before = copy.deepcopy(requests)
    model.generate(requests)
    if requests != before:
        yield "the requests were changed"


def _gives_reasons(model: VisionLanguageModel) -> Iterator[str]:
    for response in model.generate(_requests()):
        if response.status != "answered" and not response.reason:
            yield f"a {response.status} response has no reason"


def _survives_a_bad_picture(model: VisionLanguageModel) -> Iterator[str]:
    bad = Request.ask(Picture.from_bytes(b"\x89PNG this is no picture"), "Where is it?", max_tokens=8)
    good = _requests()[0]
    try:
        first, _, last = model.generate([good, bad, good])
    except Exception as error:  # noqa: BLE001 - any exception is reported
        yield f"one unreadable picture made the whole batch raise {type(error).__name__}"
        return
    alone = model.generate([good])[0]
    if any((response.status, response.text) != (alone.status, alone.text) for response in (first, last)):
        yield (
            f"a request gets {_told(first)} and {_told(last)} beside an unreadable picture, and {_told(alone)} alone"
        )


def _told(response: Response) -> str:
    return (
        repr(response.text) if response.is_answered else f"no answer ({response.status}: {response.reason})"
    )


def _scores_options_consistently(model: VisionLanguageModel) -> Iterator[str]:
    if not is_choosing(model):
        return
    request, options = _requests()[0], ("left", "right", "above the red thing")
    forward = model.choose([request], [options])[0]
    backward = model.choose([request], [options[::-1]])[0]
    if isinstance(forward, Response) or isinstance(backward, Response):
        if any(isinstance(choice, Response) and choice.is_answered for choice in (forward, backward)):
            yield "a choice was answered with text; only a refusal or a failure may replace it"
        return
    if forward.options != options:
        yield f"the options were returned as {forward.options}"
    if not all(math.isfinite(value) and value <= 1e-6 for value in forward.log_probabilities):
        yield f"log-probabilities must be finite and at most 0, got {forward.log_probabilities}"
    if not np.allclose(forward.log_probabilities, backward.log_probabilities[::-1], atol=1e-3):
        yield "the order of the options changes their log-probabilities"


_CHECKS: tuple[Callable[[VisionLanguageModel], Iterator[str]], ...] = (
    _has_name_and_identity,
    _accepts_no_requests,
    _answers_in_order,
    _is_deterministic,
    _leaves_requests_unchanged,
    _gives_reasons,
    _survives_a_bad_picture,
    _scores_options_consistently,
)
