"""How long a quick diagnosis asks a model of the size of Qwen2-VL-7B on one GPU.

``python -m bench.diagnose_gpu [--size quick] [--batch 32] [--instruments compass,grid,scene,trace] [--answer 24] [--graph 400]
[--steps 160]``. Not part of ``make bench``, since it needs a GPU. The weights are random, so no answer ends by itself: answers
are cut at the lengths of ``--answer`` (choices and numbers), ``--graph`` (scene graphs) and ``--steps`` (traces), in tokens.
Times include opening pictures and storing answers; scoring needs no GPU and is left out.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from bench.qwen_shape import random_qwen2_vl
from bench.result import Result
from theodolite.core.types import Choice, Request, Response
from theodolite.diagnose.api import make_request
from theodolite.diagnose.running import measure_model
from theodolite.instruments.scene.questions import GRAPH_TOKENS
from theodolite.models.huggingface import HuggingFaceModel

NAME = "bench:qwen2-vl-7b"


@dataclass(frozen=True, slots=True)
class Lengths:
    """Tokens of an answer, a scene graph and a trace."""

    answer: int
    graph: int
    steps: int

    def cut(self, request: Request) -> Request:
        """Return the request with its answer limited to the length for its kind."""
        if request.max_tokens == GRAPH_TOKENS:
            usual = self.graph
        else:
            usual = self.steps if len(request.pictures) > 1 else self.answer
        return replace(request, max_tokens=min(request.max_tokens, usual))


class CutModel(HuggingFaceModel):
    """A model with answers of fixed lengths, which counts its requests and their tokens."""

    lengths: Lengths
    requests = 0
    tokens = 0

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """Answer, cut to the fixed length."""
        responses = super().generate([self.lengths.cut(each) for each in requests])
        self.requests += len(responses)
        self.tokens += sum(each.completion_tokens for each in responses)
        return responses

    def choose(self, requests: Sequence[Request], options: Sequence[Sequence[str]]) -> list[Choice]:
        """Score the options."""
        self.requests += len(requests)
        return super().choose(requests, options)


def run(size: str, instruments: Sequence[str], batch: int, lengths: Lengths, device: str) -> Iterator[Result]:
    """Measure the time of each instrument.

    Args:
        size: Size of the diagnosis.
        instruments: Names of the instruments.
        batch: Requests per batch.
        lengths: Lengths of answers, in tokens.
        device: Device of the model.
    """
    model = CutModel(NAME, random_qwen2_vl(torch.bfloat16, device), batch_size=batch)
    model.lengths = lengths
    whole = 0.0
    for name in instruments:
        with tempfile.TemporaryDirectory() as folder:
            request = make_request(
                (NAME,), size=size, instruments=name, out=Path(folder), given={NAME: model}
            )
            before, tokens = model.requests, model.tokens
            started = time.perf_counter()
            outcome = measure_model(request, NAME)
            seconds = time.perf_counter() - started
        whole += seconds
        for why in outcome.left_out.values():
            print(f"{name} was left out: {why}")
        yield Result(f"{name}, requests answered in text or by a choice", float(model.requests - before), "")
        yield Result(f"{name}, tokens of answers", float(model.tokens - tokens), "")
        yield Result(name, seconds, "s")
    yield Result("all", whole / 60, "min")


def main() -> int:
    """Print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="quick")
    parser.add_argument("--instruments", default="compass,grid,scene,trace")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--answer", type=int, default=24)
    parser.add_argument("--graph", type=int, default=400)
    parser.add_argument("--steps", type=int, default=160)
    parser.add_argument("--device", default="cuda")
    given = parser.parse_args()
    lengths = Lengths(given.answer, given.graph, given.steps)
    for result in run(given.size, given.instruments.split(","), given.batch, lengths, given.device):
        print(result, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
