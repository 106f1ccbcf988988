"""What sharing pictures and prompts saves: nine questions about one picture, and the options of a choice.

``python -m bench prefixes`` compares both ways on a small model on the CPU, in turns within one process.
``python -m bench.shared_prefixes [--pictures 8] [--repeats 3]`` measures a model of the size of Qwen2-VL-7B on one GPU in bfloat16,
with pictures of 640 × 480 and answers of 16 tokens, in about five minutes. The weights are random; no answer ends by itself.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from bench.qwen_shape import SMALL_TEXT, SMALL_VISION, random_qwen2_vl
from bench.result import Result
from theodolite.core.types import Picture, Request
from theodolite.models import Checkpoint
from theodolite.models.huggingface import HuggingFaceModel

QUESTIONS = 9
ANSWER_TOKENS = 16
OPTIONS = ("left of it", "right of it", "above it, further away", "below it")
_NAMES = ("red", "blue", "green", "yellow", "white", "black", "brown", "grey", "pink")


@dataclass(frozen=True, slots=True)
class Setting:
    """What is measured, and on which device."""

    checkpoint: Checkpoint
    pictures: int
    size: tuple[int, int]
    repeats: int

    def model(self, batch_size: int, *, share: bool) -> HuggingFaceModel:
        """Return the model with a batch size, sharing or not."""
        return HuggingFaceModel("bench", self.checkpoint, batch_size=batch_size, share=share)

    def requests(self, seed: int) -> list[Request]:
        """Return nine questions about each picture. Another seed gives other pictures."""
        rng = np.random.default_rng(seed)
        width, height = self.size
        shots = [
            Picture.from_array(rng.integers(0, 256, (height, width, 3), dtype=np.uint8))
            for _ in range(self.pictures)
        ]
        return [
            Request.ask(
                shot, f"where is the {name} square relative to the blue one?", max_tokens=ANSWER_TOKENS
            )
            for shot in shots
            for name in _NAMES[:QUESTIONS]
        ]

    def seconds(self, works: Sequence[Callable[[list[Request]], object]]) -> list[float]:
        """Return the shortest time of each work per request, measured in turns after one warm-up."""
        best = [float("inf")] * len(works)
        for turn in range(self.repeats + 1):
            requests = self.requests(turn)
            for i, work in enumerate(works):
                self._wait()
                started = time.perf_counter()
                work(requests)
                self._wait()
                if turn:
                    best[i] = min(best[i], (time.perf_counter() - started) / len(requests))
        return best

    def _wait(self) -> None:
        if self.checkpoint.model.device.type == "cuda":
            torch.cuda.synchronize()


def run() -> Iterator[Result]:
    """Compare both ways on the CPU."""
    with _one_thread():
        checkpoint = random_qwen2_vl(torch.float32, "cpu", text=SMALL_TEXT, vision=SMALL_VISION)
        setting = Setting(checkpoint, pictures=2, size=(448, 336), repeats=3)
        whole, shared = (setting.model(QUESTIONS * 2, share=share) for share in (False, True))
        apart, together = setting.seconds([whole.generate, shared.generate])
        yield Result(
            "nine questions about a picture: whole prompts / shared", apart / together, "times", at_least=3
        )
        apart, together = setting.seconds([_choose(whole), _choose(shared)])
        yield Result(
            "a choice of four options: whole prompts / shared", apart / together, "times", at_least=6
        )
        apart, together = setting.seconds([_encode_whole(setting), _encode_shared(shared)])
        yield Result("preprocessing: every question / every picture", apart / together, "times", at_least=3)


def run_gpu(setting: Setting) -> Iterator[Result]:
    """Measure the rows of the table on a GPU."""
    batch = QUESTIONS * setting.pictures
    one, eight, all_, shared = (
        setting.model(1, share=False),
        setting.model(8, share=False),
        setting.model(batch, share=False),
        setting.model(batch, share=True),
    )
    single, default, large, branched = (
        1000 * s for s in setting.seconds([one.generate, eight.generate, all_.generate, shared.generate])
    )
    yield Result("a question, one by one", single, "ms")
    yield Result("a question, whole prompts in batches of 8", default, "ms")
    yield Result(f"a question, whole prompts in batches of {batch}", large, "ms")
    yield Result("a question, picture and prompt shared", branched, "ms", at_most=15)
    yield Result("one by one / shared", single / branched, "times", at_least=25)
    whole, once = (1000 * s for s in setting.seconds([_encode_whole(setting), _encode_shared(shared)]))
    yield Result("preprocessing per question, for every question", whole, "ms")
    yield Result("preprocessing per question, once per picture", once, "ms", at_most=3)
    apart, together = (1000 * s for s in setting.seconds([_choose(eight), _choose(shared)]))
    yield Result("a choice of four options, whole prompts in batches of 8", apart, "ms")
    yield Result("a choice of four options, shared", together, "ms", at_most=12_000 / 348)
    yield Result("peak memory", torch.cuda.max_memory_allocated() / 2**30, "GiB")


def _choose(model: HuggingFaceModel) -> Callable[[list[Request]], object]:
    return lambda requests: model.choose(requests, [OPTIONS] * len(requests))


def _encode_whole(setting: Setting) -> Callable[[list[Request]], object]:
    checkpoint = setting.checkpoint
    return lambda requests: checkpoint.encode(
        [checkpoint.prompt(request) for request in requests], requests, padding_side="left"
    )


def _encode_shared(model: HuggingFaceModel) -> Callable[[list[Request]], object]:
    return model._encode  # noqa: SLF001 - what `generate` does in its thread


class _one_thread:  # noqa: N801 - a context manager
    """Computes with one thread, so that other work on the machine matters less."""

    def __enter__(self) -> None:
        self._before = torch.get_num_threads()
        torch.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        torch.set_num_threads(self._before)


def main() -> int:
    """Print the results on a GPU."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    given = parser.parse_args()
    checkpoint = random_qwen2_vl(torch.bfloat16, given.device)
    setting = Setting(checkpoint, given.pictures, (640, 480), given.repeats)
    missed = 0
    for result in run_gpu(setting):
        print(result, flush=True)
        missed += not result.is_met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
