"""Image-text-to-text checkpoints of transformers, from a folder or the hub: ``hf:<path or id>``.

Decoding is greedy unless a request sets a temperature. Sampling settings, penalties and similar settings in a
checkpoint's generation config are ignored, so that the same request means the same for all models.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from theodolite.core.errors import UsageError
from theodolite.core.types import Choice, Request, Response
from theodolite.models.checkpoint import Checkpoint, LoadOptions, load_checkpoint, wrap_checkpoint
from theodolite.models.contract import Capability, ModelName, ModelOptions, read_options
from theodolite.runs import bisect_failures


class HuggingFaceOptions(ModelOptions):
    """The options after ``?`` in ``hf:path?…``."""

    dtype: Literal["auto", "float64", "float32", "bfloat16", "float16"] = "auto"
    """``auto``: the checkpoint's own dtype on a GPU, float32 on a CPU."""
    device: str = "auto"
    """``auto``: the GPU if there is one."""
    device_map: str = ""
    """``auto`` distributes one model over several GPUs (needs accelerate)."""
    batch_size: int = 8
    attention: Literal["sdpa", "eager", "flash_attention_2"] = "sdpa"
    revision: str = "main"
    """A branch, tag or commit on the hub."""
    trust_remote_code: bool = False
    """Runs the repository's own Python code. Use it only for code that you have read."""
    allow_missing: bool = False
    """Accepts a checkpoint that lacks weights or has others. What is missing is drawn at random, the same each time."""


def open_model(name: ModelName) -> HuggingFaceModel:
    """Load the checkpoint that a model name points to."""
    options = read_options(name, HuggingFaceOptions)
    load = LoadOptions(**options.model_dump(exclude={"batch_size"}))
    return HuggingFaceModel(name.text, load_checkpoint(name.target, load), batch_size=options.batch_size)


class HuggingFaceModel:
    """A local checkpoint that answers in batches."""

    lacks: ClassVar[Mapping[Capability, str]] = {}

    def __init__(self, name: str, checkpoint: Checkpoint, *, batch_size: int = 8) -> None:
        if batch_size < 1:
            raise UsageError(f"batch_size must be at least 1, not {batch_size}")
        self.name = name
        self.checkpoint = checkpoint
        self.identity = checkpoint.identity
        self.batch_size = batch_size

    def close(self) -> None:
        """Release the weights."""
        del self.checkpoint

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """Answer in batches. The requests of a batch share decoding settings; all have pictures, or none has."""
        responses: dict[int, Response] = {}
        for indices in _batches(requests, self.batch_size):
            batch = [requests[i] for i in indices]
            answers = bisect_failures(
                self._generate_batch, batch, on_failure=lambda _, reason: Response.failed(reason)
            )
            responses.update(zip(indices, answers, strict=True))
        return [responses[i] for i in range(len(requests))]

    def write(self, requests: Sequence[Request]) -> list[tuple[Response, list[int]]]:
        """Answer a batch of requests that share decoding settings, and also return the tokens of each answer."""
        import torch

        started = time.monotonic()
        first = requests[0]
        inputs = self.checkpoint.encode(
            [self.checkpoint.prompt(r) for r in requests], requests, padding_side="left"
        )
        width = inputs["input_ids"].shape[1]
        with torch.inference_mode(), _seeded(first):
            watched = _LogitsWatch()
            output = self.checkpoint.model.generate(
                **inputs, **self._decoding(first), logits_processor=[watched]
            )
        seconds = (time.monotonic() - started) / len(requests)
        prompt_tokens = inputs["attention_mask"].sum(dim=1).tolist()
        written = []
        for i, (row, request) in enumerate(zip(output[:, width:].tolist(), requests, strict=True)):
            ids = self._ids_before_end(row)
            answer = watched.checked(i, self._response(ids, len(row), request))
            written.append((replace(answer, prompt_tokens=int(prompt_tokens[i]), seconds=seconds), ids))
        return written

    def choose(self, requests: Sequence[Request], options: Sequence[Sequence[str]]) -> list[Choice]:
        """Score each option by ``log p(option) = sum_t log p(token_t | prompt, tokens before t)``.

        Prompt and option are tokenised together. If the tokeniser merges across the boundary, all options of a request
        are scored from the first token at which any of them differs from the bare prompt, so that they are comparable.
        If every option is one token, a single pass scores all of them.
        """
        asked = [self._tails(request, tuple(each)) for request, each in zip(requests, options, strict=True)]
        scores: list[list[float]] = [[0.0] * len(each.options) for each in asked]
        for rows in _row_batches(_rows(asked), requests, self.batch_size):
            for row, values in zip(rows, self._score_rows(rows, requests), strict=True):
                for option, value in zip(row.scored, values, strict=True):
                    scores[row.request][option] = value
        return [Choice(each.options, tuple(values)) for each, values in zip(asked, scores, strict=True)]

    def _generate_batch(self, requests: Sequence[Request]) -> list[Response]:
        return [answer for answer, _ in self.write(requests)]

    def _decoding(self, request: Request) -> dict[str, Any]:
        from transformers import GenerationConfig

        sampling: dict[str, Any] = (
            {"temperature": request.temperature, "top_k": 0} if request.temperature else {}
        )
        config = GenerationConfig(
            max_new_tokens=request.max_tokens,
            do_sample=bool(sampling),
            stop_strings=list(request.stop) or None,
            **sampling,
        )
        return {"generation_config": config, "tokenizer": self.checkpoint.tokenizer}

    def _ids_before_end(self, ids: list[int]) -> list[int]:
        """Return the tokens before the one that ends an answer."""
        end = next((i for i, token in enumerate(ids) if token in self.checkpoint.end_ids), None)
        return ids[:end]

    def _response(self, ids: list[int], n_steps: int, request: Request) -> Response:
        """Return the answer that some tokens write.

        Args:
            ids: The tokens before the end.
            n_steps: The number of tokens that were generated, with what pads a batch.
            request: The request.
        """
        has_end = len(ids) < n_steps
        text = self.checkpoint.tokenizer.decode(ids, skip_special_tokens=True)
        cut = min((text.index(word) for word in request.stop if word in text), default=None)
        return Response(
            "answered",
            text=text[:cut],
            finish="stop" if has_end or cut is not None else "length",
            completion_tokens=len(ids) + has_end,
        )

    def _tails(self, request: Request, options: tuple[str, ...]) -> _Tails:
        if not options or len(set(options)) != len(options) or "" in options:
            raise UsageError(f"options must be distinct and not empty, got {list(options)}")
        prompt = self.checkpoint.prompt(request)
        bare = self.checkpoint.token_ids(prompt)
        joint = [self.checkpoint.token_ids(prompt + option) for option in options]
        shared = min(_shared_length(bare, ids) for ids in joint)
        tails = tuple(tuple(ids[shared:]) for ids in joint)
        if any(not tail for tail in tails):
            raise UsageError(f"an option of {list(options)} adds no token to the prompt")
        return _Tails(
            prompt, options, tails, one_pass=shared == len(bare) and all(len(tail) == 1 for tail in tails)
        )

    def _score_rows(self, rows: Sequence[_Row], requests: Sequence[Request]) -> list[list[float]]:
        """Return the log-probabilities of each row's scored tokens: one value per option of the row."""
        import torch

        asked = [requests[row.request] for row in rows]
        inputs = self.checkpoint.encode([row.text for row in rows], asked, padding_side="right")
        ends = inputs["attention_mask"].sum(dim=1).tolist()
        # The logits at position t - 1 predict token t. A one-pass row predicts the token after its last.
        starts = [
            end - 1 if row.one_pass else end - 1 - len(row.tails[0])
            for end, row in zip(ends, rows, strict=True)
        ]
        first, last = min(starts), max(ends)
        with torch.inference_mode():
            kept = torch.arange(first, last, device=inputs["input_ids"].device)
            logits = self.checkpoint.logits(inputs, kept)
            log_p = torch.log_softmax(logits.float(), dim=-1)
        scores: list[list[float]] = []
        for i, (row, start) in enumerate(zip(rows, starts, strict=True)):
            at = start - first
            if row.one_pass:
                scores.append([float(log_p[i, at, tail[0]]) for tail in row.tails])
            else:
                scores.append([sum(float(log_p[i, at + t, token]) for t, token in enumerate(row.tails[0]))])
        return scores


class LoadedModel(HuggingFaceModel):
    """A transformers model that the caller has loaded. Closing it leaves the model as it was given."""

    def __init__(self, name: str, model: Any, processor: Any, *, batch_size: int = 8) -> None:
        self._found = model, model.generation_config, model.training
        super().__init__(name, wrap_checkpoint(model, processor), batch_size=batch_size)

    def close(self) -> None:
        """Restore the model's generation config and mode. The weights stay with the caller."""
        model, generation, is_training = self._found
        model.generation_config = generation
        model.train(is_training)


def loaded_model(model: Any, processor: Any, *, name: str = "", batch_size: int = 8) -> LoadedModel:
    """Use a transformers model that is already in memory.

    Args:
        model: The model, as from ``AutoModelForImageTextToText.from_pretrained``.
        processor: Its processor, as from ``AutoProcessor.from_pretrained``.
        name: A short name for reports. Default: the name of its folder or hub id.
        batch_size: Number of requests per batch.

    Raises:
        ModelError: If the processor cannot be used.
    """
    given = name or Path(getattr(model, "name_or_path", "") or "").name or type(model).__name__
    return LoadedModel(f"memory:{given}", model, processor, batch_size=batch_size)


class _LogitsWatch:
    """Detects NaN logits during generation. Greedy search would silently produce tokens from them."""

    def __init__(self) -> None:
        self._is_broken: list[Any] = []

    def __call__(self, _: Any, scores: Any) -> Any:
        """Record the rows of one step, (batch, vocabulary), with NaN. The scores are returned unchanged."""
        self._is_broken.append(scores.isnan().any(dim=-1))
        return scores

    def checked(self, row: int, answer: Response) -> Response:
        """Return the answer, or a failure if one of its tokens came from NaN logits."""
        if any(bool(step[row]) for step in self._is_broken[: answer.completion_tokens]):
            return Response.failed(
                "the model's logits are NaN; its weights are damaged, or its precision is too low"
            )
        return answer


@dataclass(frozen=True, slots=True)
class _Tails:
    """The options of a request as tokens: what each adds to the common prefix."""

    prompt: str
    options: tuple[str, ...]
    tails: tuple[tuple[int, ...], ...]
    one_pass: bool
    """True if every option is one token after the whole prompt."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One input sequence: a bare prompt for all options, or a prompt with one option."""

    request: int
    text: str
    scored: tuple[int, ...]
    """Indices of the options that this row scores."""
    tails: tuple[tuple[int, ...], ...]
    one_pass: bool


def _rows(asked: Sequence[_Tails]) -> list[_Row]:
    rows: list[_Row] = []
    for i, each in enumerate(asked):
        if each.one_pass:
            rows.append(_Row(i, each.prompt, tuple(range(len(each.options))), each.tails, one_pass=True))
            continue
        for j, (option, tail) in enumerate(zip(each.options, each.tails, strict=True)):
            rows.append(_Row(i, each.prompt + option, (j,), (tail,), one_pass=False))
    return rows


def _row_batches(rows: Sequence[_Row], requests: Sequence[Request], size: int) -> Iterator[Sequence[_Row]]:
    """Group up to `size` rows of similar length, all with pictures or all without."""
    for pictured in (True, False):
        group = [row for row in rows if bool(requests[row.request].pictures) is pictured]
        group.sort(key=lambda row: (len(requests[row.request].pictures), len(row.text)))
        for start in range(0, len(group), size):
            yield group[start : start + size]


def _batches(requests: Sequence[Request], size: int) -> Iterator[list[int]]:
    """Group indices of requests of similar length that can share one ``generate`` call. A sampled request is alone."""
    groups: defaultdict[object, list[int]] = defaultdict(list)
    for i, request in enumerate(requests):
        alone = i if request.temperature else None
        groups[request.max_tokens, request.stop, bool(request.pictures), alone].append(i)
    for indices in groups.values():
        indices.sort(key=lambda i: (len(requests[i].pictures), len(requests[i].text)))
        for start in range(0, len(indices), size):
            yield indices[start : start + size]


def _shared_length(left: Sequence[int], right: Sequence[int]) -> int:
    for i, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return i
    return min(len(left), len(right))


@contextmanager
def _seeded(request: Request) -> Iterator[None]:
    """Sample with the request's seed, and restore the global random state afterwards."""
    import torch

    if not request.temperature:
        yield
        return
    if request.seed is None:
        raise UsageError("sampling from a local model needs a seed; set the request's seed")
    devices = list(range(torch.cuda.device_count()))
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(request.seed)
        yield
