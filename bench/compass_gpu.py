"""All relevance methods from one shared pass on one GPU, compared with each method alone in its textbook form.

The model has the sizes of Qwen2-VL-7B and random weights in bf16; one picture of 640 × 480 (391 image tokens, 453 in all).
``python -m bench.compass_gpu``; not part of ``make bench``, since it needs a GPU with 40 GB.
"""

import io
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image

from bench.qwen_shape import random_qwen2_vl
from bench.result import Result
from theodolite.attribution import attribute, find_methods
from theodolite.core.types import Picture, Request
from theodolite.models import Checkpoint, find_family

OPTIONS = ("1", "2", "3", "4")
BATCH = 8
BATCHES = 4
TOKENS = 453


class Opened:
    """The part of the model contract that `attribute` needs."""

    name = identity = "bench:qwen2-vl-7b"
    lacks: dict[Any, str] = {}  # noqa: RUF012
    batch_size = BATCH

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint

    def generate(self, requests: Sequence[Request]) -> list[Any]:
        """Do nothing: the benchmark does not need it."""
        raise NotImplementedError

    def close(self) -> None:
        """Do nothing."""


def run() -> Iterator[Result]:
    """Yield times, ratio and memory."""
    model = Opened(random_qwen2_vl(torch.bfloat16, "cuda"))
    request = _request(model.checkpoint, (640, 480), TOKENS)
    further = ("integrated", "attnlrp")
    cheap = [method.name for method in find_methods(["all"]) if not method.name.startswith(further)]
    shared = _seconds(lambda: _attribute(model, [request] * BATCH * BATCHES, cheap)) / (BATCH * BATCHES)
    alone = sum(_textbook_seconds(model.checkpoint, request))
    with_ig, with_lrp = (
        _seconds(lambda name=name: _attribute(model, [request] * BATCH * BATCHES, [*cheap, name]), repeats=2)
        / (BATCH * BATCHES)
        for name in ("integrated-gradients", "attnlrp")
    )
    forward = _seconds(lambda: _forward(model.checkpoint, [request] * BATCH)) / BATCH
    yield Result("forward pass alone, per sample", forward * 1e3, "ms")
    yield Result("all methods of one pass, both targets, per sample", shared * 1e3, "ms", at_most=80)
    yield Result("each method alone, textbook form, sum", alone * 1e3, "ms")
    yield Result("ratio of textbook to shared pass", alone / shared, "×", at_least=10)
    yield Result("additional time of integrated gradients", (with_ig - shared) * 1e3, "ms", at_most=150)
    yield Result("additional time of AttnLRP, a second pass", (with_lrp - shared) * 1e3, "ms")
    yield Result("ratio to the lower bound of 20 ms", shared / 0.020, "×")
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    large = _request(model.checkpoint, (1904, 1400), None)
    _attribute(model, [large], cheap)
    yield Result(
        "peak memory at 3,400 image tokens", torch.cuda.max_memory_allocated() / 1e9, "GB", at_most=40
    )


def _attribute(model: Opened, requests: list[Request], methods: list[str]) -> None:
    attribute(
        model,
        requests,
        [OPTIONS] * len(requests),
        methods=methods,
        targets=["gt", "pred"],
        gold=[2] * len(requests),
    )


def _forward(checkpoint: Checkpoint, requests: list[Request]) -> None:
    inputs = checkpoint.encode([checkpoint.prompt(r) for r in requests], requests, padding_side="left")
    with torch.inference_mode():
        checkpoint.model(**inputs, use_cache=False, logits_to_keep=1)


def _request(checkpoint: Checkpoint, size: tuple[int, int], tokens: int | None) -> Request:
    """Create a photo-like JPEG, and a question that extends the prompt to the given number of tokens."""
    coarse = Image.fromarray(np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8))
    buffer = io.BytesIO()
    coarse.resize(size, Image.Resampling.BICUBIC).save(buffer, format="JPEG", quality=90)
    picture = Picture.from_bytes(buffer.getvalue())
    words = "where"
    for _ in range(200):
        request = Request.ask(picture, words)
        inputs = checkpoint.encode([checkpoint.prompt(request)], [request], padding_side="left")
        if tokens is None or inputs["input_ids"].shape[1] >= tokens:
            return request
        words += " is"
    raise RuntimeError("the question does not fill the prompt")


def _seconds(work: Callable[[], object], repeats: int = 5) -> float:
    work()
    times = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        started = time.perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def _textbook_seconds(checkpoint: Checkpoint, request: Request) -> Iterator[float]:
    """Yield the time of each method of Table 1 for each target, run alone: separate passes, full matrices."""
    book = _Textbook(checkpoint, request)
    for _ in ("gt", "pred"):
        yield _seconds(book.chefer)
        yield _seconds(book.contrastive)
        yield _seconds(book.single_layer)
        yield _seconds(book.single_layer)  # gradient norm uses the same gradient
        yield _seconds(book.gradcam)
    yield _seconds(book.rollout)


class _Textbook:
    """The methods as described in their papers."""

    def __init__(self, checkpoint: Checkpoint, request: Request) -> None:
        self.model, self.request, self.checkpoint = checkpoint.model, request, checkpoint
        self.projector = find_family(self.model).projector(self.model)
        self.model.requires_grad_(requires_grad=False)

    def run(self, attention: str = "sdpa", **kept: bool) -> Any:
        """Run one forward pass with a graph that starts at the vision features."""
        leaf = {}

        def begin(_: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
            leaf["features"] = positional[0].detach().requires_grad_()
            return (leaf["features"], *positional[1:]), named

        handle = self.projector.register_forward_pre_hook(begin, with_kwargs=True)
        config = self.model.config.get_text_config()
        before, config._attn_implementation = config._attn_implementation, attention  # noqa: SLF001
        inputs = self.checkpoint.encode(
            [self.checkpoint.prompt(self.request)], [self.request], padding_side="left"
        )
        output = self.model(**inputs, use_cache=False, logits_to_keep=1, **kept)
        config._attn_implementation = before  # noqa: SLF001
        handle.remove()
        return output, output.logits[0, -1, 5], leaf["features"]

    def chefer(self) -> Any:
        """Compute Chefer's relevance with the full matrix."""
        output, logit, _ = self.run("eager", output_attentions=True)
        gradients = torch.autograd.grad(logit, output.attentions)
        relevance = torch.eye(output.attentions[0].shape[-1], device="cuda")
        for attention, gradient in zip(output.attentions, gradients, strict=True):
            cam = (attention[0].float() * gradient[0].float()).clamp(min=0).mean(dim=0)
            relevance = relevance + cam @ relevance
        return relevance[-1]

    def rollout(self) -> Any:
        """Compute rollout with the full product of attention matrices."""
        with torch.no_grad():
            output, _, _ = self.run("eager", output_attentions=True)
            joint = torch.eye(output.attentions[0].shape[-1], device="cuda")
            for attention in output.attentions:
                joint = (attention[0].float().mean(dim=0) + torch.eye(len(joint), device="cuda")) / 2 @ joint
        return joint[-1]

    def contrastive(self) -> Any:
        """Compute the contrastive map: two logits, four layers."""
        output, logit, _ = self.run(output_hidden_states=True)
        rival = output.logits[0, -1, 6]
        hidden = output.hidden_states[-5:-1]
        gradients = torch.autograd.grad(logit - rival, hidden)
        return [(g.float() * h.float()).sum(-1).abs() for g, h in zip(gradients, hidden, strict=True)]

    def single_layer(self) -> Any:
        """Compute the map of one logit at one layer."""
        output, logit, _ = self.run(output_hidden_states=True)
        (gradient,) = torch.autograd.grad(logit, output.hidden_states[-2])
        return (gradient.float() * output.hidden_states[-2].float()).sum(-1).abs()

    def gradcam(self) -> Any:
        """Compute GradCAM with the gradient back to the vision features."""
        _, logit, features = self.run()
        (gradient,) = torch.autograd.grad(logit, features)
        return torch.relu(features.float() @ gradient.float().mean(dim=0))


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
