"""A whole explanation of an answer of 30 words on one GPU: maps of all words, and the tests beside them.

The model has the sizes of Qwen2-VL-7B and random weights in bf16; one picture of 640 × 480 (391 image tokens).
``python -m bench.explain_gpu``, about two minutes; not part of ``make bench``, since it needs a GPU with 40 GB.
"""

import sys
from collections.abc import Iterator
from functools import partial

import torch

from bench.compass_gpu import _request, _seconds
from bench.qwen_shape import random_qwen2_vl
from bench.result import Result
from theodolite.attribution import Span, WrittenAnswer, attribute_answer
from theodolite.attribution.shared_pass import prepare_answer
from theodolite.core.types import Request
from theodolite.explanation.api import PANEL, Choices, explain_request
from theodolite.explanation.truth import TRIES
from theodolite.models.huggingface import HuggingFaceModel

WORDS = ("where", "is", "the", "red", "square", "relative", "to", "the", "blue", "square") * 3
REPEATS = 3


def run() -> Iterator[Result]:
    """Yield times and memory."""
    model = HuggingFaceModel("bench:qwen2-vl-7b", random_qwen2_vl(torch.bfloat16, "cuda"))
    request = _request(model.checkpoint, (640, 480), None)
    answer = WrittenAnswer.of_text(model.checkpoint, request, " ".join(WORDS))
    whole = {"answer": Span(tuple(range(len(answer.ids))))}
    words = {str(i): Span(answer.tokens_of(span)) for i, span in enumerate(answer.words())}
    yield Result("words of the answer", len(words), "words", at_least=30)
    yield Result("tokens of the answer", len(answer.ids), "tokens")

    encoding = _seconds(lambda: prepare_answer(model.checkpoint, [request], answer), REPEATS)
    every = _seconds(lambda: attribute_answer(model, request, answer, whole, methods=PANEL), REPEATS)
    yield Result("encoding", encoding * 1e3, "ms")
    yield Result(f"{len(PANEL)} methods of one answer, after encoding", every - encoding, "s", at_most=0.2)
    for method in ("attnlrp", "chefer", "tam"):
        spans = {**whole, **words}
        maps = _seconds(partial(attribute_answer, model, request, answer, spans, methods=[method]), REPEATS)
        yield Result(f"maps of the answer and its words by {method}", maps, "s")
    torch.cuda.reset_peak_memory_stats()
    found = explain_request(model, request.text, request.pictures, _choices(TRIES))
    took = _seconds(lambda: _explain(model, request, TRIES), REPEATS)
    few = _seconds(lambda: _explain(model, request, 1), REPEATS)
    yield Result(f"a whole explanation, {found.n_read} versions read", took, "s", at_most=2)
    yield Result("the same with one other place", few, "s")
    yield Result("peak memory", torch.cuda.max_memory_allocated() / 1e9, "GB", at_most=40)


def _choices(tries: int) -> Choices:
    return Choices(answer=" ".join(WORDS), max_tokens=1, tries=tries)


def _explain(model: HuggingFaceModel, request: Request, tries: int) -> None:
    explain_request(model, request.text, request.pictures, _choices(tries))


def main() -> int:
    """Print the results."""
    if not torch.cuda.is_available():
        print("this benchmark needs a GPU")
        return 0
    missed = 0
    for result in run():
        print(result, flush=True)
        missed += not result.is_met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
