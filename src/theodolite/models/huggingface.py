"""Image-text-to-text checkpoints of transformers, from a folder or the hub: ``hf:<path or id>``.

Decoding is greedy unless a request sets a temperature. Sampling settings, penalties and similar settings in a
checkpoint's generation config are ignored, so that the same request means the same for all models.

Requests about one picture share its encoding and the beginning of their prompts (`theodolite.models.prefixes`) if the
model's family allows it; ``?share=false`` reads every prompt on its own. The answers are the same.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

from theodolite.core.errors import UsageError
from theodolite.core.types import Choice, Request, Response
from theodolite.models.checkpoint import Checkpoint, LoadOptions, load_checkpoint, wrap_checkpoint
from theodolite.models.contract import Capability, ModelName, ModelOptions, read_options
from theodolite.models.family import known_family
from theodolite.models.prefixes import (
    Branches,
    Prefixes,
    PromptTokens,
    Trunk,
    batches_of,
    encode_prefixes,
)
from theodolite.runs import bisect_failures

RowT = TypeVar("RowT")
ResultT = TypeVar("ResultT")
_Encoded: TypeAlias = tuple[list[PromptTokens], Prefixes | None]


class HuggingFaceOptions(ModelOptions):
    """The options after ``?`` in ``hf:path?…``."""

    dtype: Literal["auto", "float64", "float32", "bfloat16", "float16"] = "auto"
    """``auto``: the checkpoint's own dtype on a GPU, float32 on a CPU."""
    device: str = "auto"
    """``auto``: the GPU if there is one."""
    device_map: str = ""
    """``auto`` distributes one model over several GPUs (needs accelerate)."""
    batch_size: int | None = None
    """Default: found by the free memory on a GPU, 8 on a CPU."""
    share: bool = True
    """Computes a picture and the common beginning of prompts once for all requests of a batch."""
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
    load = LoadOptions(**options.model_dump(exclude={"batch_size", "share"}))
    checkpoint = load_checkpoint(name.target, load)
    return HuggingFaceModel(name.text, checkpoint, batch_size=options.batch_size, share=options.share)


class HuggingFaceModel:
    """A local checkpoint that answers in batches."""

    lacks: ClassVar[Mapping[Capability, str]] = {}

    def __init__(
        self, name: str, checkpoint: Checkpoint, *, batch_size: int | None = None, share: bool = True
    ) -> None:
        if batch_size is not None and batch_size < 1:
            raise UsageError(f"batch_size must be at least 1, not {batch_size}")
        self.name = name
        self.checkpoint = checkpoint
        self.identity = checkpoint.identity
        self.batch_size = batch_size or fitting_batch(checkpoint.model)
        family = known_family(checkpoint.model) if share else None
        self._family = family if family is not None and family.shares_prefixes else None

    def close(self) -> None:
        """Release the weights."""
        del self.checkpoint

    def generate(self, requests: Sequence[Request]) -> list[Response]:
        """Answer in batches. The requests of a batch share decoding settings; all have pictures, or none has."""
        responses: dict[int, Response] = {}
        index_batches = list(_batches(requests, self.batch_size))
        batches = ([requests[i] for i in indices] for indices in index_batches)
        for indices, (batch, encoded) in zip(index_batches, _ahead(self._encode, batches), strict=True):
            answers = bisect_failures(
                partial(self._generate_batch, batch, encoded),
                batch,
                on_failure=lambda _, reason: Response.failed(reason),
            )
            responses.update(zip(indices, answers, strict=True))
        return [responses[i] for i in range(len(requests))]

    def write(self, requests: Sequence[Request]) -> list[tuple[Response, list[int]]]:
        """Answer a batch of requests that share decoding settings, and also return the tokens of each answer."""
        return self._write(*self._encode(requests))

    def choose(self, requests: Sequence[Request], options: Sequence[Sequence[str]]) -> list[Choice]:
        """Score each option by ``log p(option) = sum_t log p(token_t | prompt, tokens before t)``.

        Prompt and option are tokenised together. If the tokeniser merges across the boundary, all options of a request
        are scored from the first token at which any of them differs from the bare prompt, so that they are comparable.
        If every option is one token, a single pass scores all of them.
        """
        asked = [self._tails(request, tuple(each)) for request, each in zip(requests, options, strict=True)]
        scores: list[list[float]] = [[0.0] * len(each.options) for each in asked]
        rows = _rows(asked, requests)
        batches = (
            [rows[i] for i in indices]
            for indices in batches_of([row.prompt.request for row in rows], self.batch_size)
        )
        for batch, encoded in _ahead(lambda part: self._prefixes([row.prompt for row in part]), batches):
            for row, values in zip(batch, self._score_rows(batch, encoded.result()), strict=True):
                for option, value in zip(row.scored, values, strict=True):
                    scores[row.request][option] = value
        return [Choice(each.options, tuple(values)) for each, values in zip(asked, scores, strict=True)]

    def _prompt(self, request: Request, text: str) -> PromptTokens:
        return PromptTokens(request, text, tuple(self.checkpoint.token_ids(text)))

    def _prefixes(self, prompts: Sequence[PromptTokens]) -> Prefixes | None:
        return None if self._family is None else encode_prefixes(self.checkpoint, self._family, prompts)

    def _encode(self, requests: Sequence[Request]) -> _Encoded:
        prompts = [self._prompt(request, self.checkpoint.prompt(request)) for request in requests]
        is_greedy = all(request.is_deterministic for request in requests)
        return prompts, self._prefixes(prompts) if is_greedy else None

    def _write(
        self, prompts: Sequence[PromptTokens], prefixes: Prefixes | None
    ) -> list[tuple[Response, list[int]]]:
        started = time.monotonic()
        if prefixes is None:
            parts = _parts(prompts, self.batch_size)
            written = [answer for part in parts for answer in self._write_apart(part)]
        else:
            written = self._write_together(prompts, prefixes)
        seconds = (time.monotonic() - started) / len(prompts)
        return [(replace(answer, seconds=seconds), ids) for answer, ids in written]

    def _write_apart(self, prompts: Sequence[PromptTokens]) -> list[tuple[Response, list[int]]]:
        """Read each prompt as a whole, and decode as transformers does."""
        import torch

        requests = [prompt.request for prompt in prompts]
        inputs = self.checkpoint.encode([p.text for p in prompts], requests, padding_side="left")
        width = inputs["input_ids"].shape[1]
        with torch.inference_mode(), _seeded(requests[0]):
            watched = _LogitsWatch()
            output = self.checkpoint.model.generate(
                **inputs, **self._decoding(requests[0]), logits_processor=[watched]
            )
        prompt_tokens = inputs["attention_mask"].sum(dim=1).tolist()
        written = []
        for i, (row, request) in enumerate(zip(output[:, width:].tolist(), requests, strict=True)):
            ids = self._ids_before_end(row)
            answer = watched.checked(i, self._response(ids, len(row), request))
            written.append((replace(answer, prompt_tokens=int(prompt_tokens[i])), ids))
        return written

    def _write_together(
        self, prompts: Sequence[PromptTokens], prefixes: Prefixes
    ) -> list[tuple[Response, list[int]]]:
        """Branch from the prefixes, and decode until each answer is complete."""
        import torch

        written: dict[int, tuple[Response, list[int]]] = {}
        with torch.inference_mode():
            trunk = Trunk(self.checkpoint, prefixes)
            most = max(prompt.request.max_tokens for prompt in prompts)
            for part, branches in trunk.branches(self.batch_size, most):
                requests = [prompts[i].request for i in part]
                rows, broken = self._decode(branches, [prefixes.tails[i] for i in part], requests)
                for i, request, row, is_broken in zip(part, requests, rows, broken, strict=True):
                    ids = self._ids_before_end(row)
                    answer = _NAN if is_broken else self._response(ids, len(row), request)
                    written[i] = replace(answer, prompt_tokens=prefixes.length(i)), ids
        return [written[i] for i in range(len(prompts))]

    def _decode(
        self, branches: Branches, tails: Sequence[Sequence[int]], requests: Sequence[Request]
    ) -> tuple[list[list[int]], list[bool]]:
        """Return the most probable next tokens of each branch, and whether one of them came from NaN logits.

        A branch whose answer is complete is not read any further.
        """
        rows: list[list[int]] = [[] for _ in tails]
        broken = [False] * len(rows)
        running, following = list(range(len(rows))), list(tails)
        while running:
            logits = branches.read(following, 1)[:, -1]
            chosen, is_nan = logits.argmax(dim=-1).tolist(), logits.isnan().any(dim=-1).tolist()
            for i, token, is_broken in zip(running, chosen, is_nan, strict=True):
                rows[i].append(token)
                broken[i] |= is_broken
            kept = [
                n for n, i in enumerate(running) if not (broken[i] or self._is_over(rows[i], requests[i]))
            ]
            if kept and len(kept) < len(running):
                branches.keep(kept)
            running = [running[n] for n in kept]
            following = [rows[i][-1:] for i in running]
        return rows, broken

    def _is_over(self, ids: Sequence[int], request: Request) -> bool:
        if ids[-1] in self.checkpoint.end_ids or len(ids) >= request.max_tokens:
            return True
        if not request.stop:
            return False
        text = self.checkpoint.decode(ids)
        return any(word in text for word in request.stop)

    def _generate_batch(
        self, batch: Sequence[Request], encoded: Future[_Encoded], requests: Sequence[Request]
    ) -> list[Response]:
        """Answer a batch, or, after a failure, a part of it, which is then encoded anew."""
        import torch

        try:
            prompts, prefixes = encoded.result() if len(requests) == len(batch) else self._encode(requests)
            return [answer for answer, _ in self._write(prompts, prefixes)]
        except (
            torch.OutOfMemoryError
        ):  # whoever called halves the batch; the next ones are smaller from the start
            self.batch_size = max(1, min(self.batch_size, len(requests)) // 2)
            raise

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
        text = self.checkpoint.decode(ids)
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
        one_pass = shared == len(bare) and all(len(tail) == 1 for tail in tails)
        ids = [bare] if one_pass else joint
        return _Tails(prompt, options, tuple(map(tuple, ids)), tails, one_pass=one_pass)

    def _score_rows(self, rows: Sequence[_Row], prefixes: Prefixes | None) -> list[list[float]]:
        """Return the log-probabilities of each row's scored tokens: one value per option of the row."""
        if prefixes is not None:
            return self._score_together(rows, prefixes)
        return [scores for part in _parts(rows, self.batch_size) for scores in self._score_apart(part)]

    def _score_together(self, rows: Sequence[_Row], prefixes: Prefixes) -> list[list[float]]:
        """Branch from the prefixes: only what differs is read for each row."""
        import torch

        scores: dict[int, list[float]] = {}
        with torch.inference_mode():
            for part, branches in Trunk(self.checkpoint, prefixes).branches(self.batch_size):
                keep = max(rows[i].prompt.n_read for i in part)
                logits = branches.read([prefixes.tails[i] for i in part], keep)
                log_p = torch.log_softmax(logits.float(), dim=-1)
                scores.update((i, rows[i].scores(own)) for i, own in zip(part, log_p, strict=True))
        return [scores[i] for i in range(len(rows))]

    def _score_apart(self, rows: Sequence[_Row]) -> list[list[float]]:
        """Read each row as a whole."""
        import torch

        requests = [row.prompt.request for row in rows]
        inputs = self.checkpoint.encode([row.prompt.text for row in rows], requests, padding_side="right")
        ends = inputs["attention_mask"].sum(dim=1).tolist()
        first, last = min(end - row.prompt.n_read for end, row in zip(ends, rows, strict=True)), max(ends)
        with torch.inference_mode():
            kept = torch.arange(first, last, device=inputs["input_ids"].device)
            logits = self.checkpoint.logits(inputs, kept)
            log_p = torch.log_softmax(logits.float(), dim=-1)
        return [row.scores(log_p[i, : ends[i] - first]) for i, row in enumerate(rows)]


class LoadedModel(HuggingFaceModel):
    """A transformers model that the caller has loaded. Closing it leaves the model as it was given."""

    def __init__(self, name: str, model: Any, processor: Any, *, batch_size: int | None = None) -> None:
        self._found = model, model.generation_config, model.training
        super().__init__(name, wrap_checkpoint(model, processor), batch_size=batch_size)

    def close(self) -> None:
        """Restore the model's generation config and mode. The weights stay with the caller."""
        model, generation, is_training = self._found
        model.generation_config = generation
        model.train(is_training)


def loaded_model(model: Any, processor: Any, *, name: str = "", batch_size: int | None = None) -> LoadedModel:
    """Use a transformers model that is already in memory.

    Args:
        model: The model, as from ``AutoModelForImageTextToText.from_pretrained``.
        processor: Its processor, as from ``AutoProcessor.from_pretrained``.
        name: A short name for reports. Default: the name of its folder or hub id.
        batch_size: Number of requests per batch. Default: found by the free memory on a GPU, 8 on a CPU.

    Raises:
        ModelError: If the processor cannot be used.
    """
    given = name or Path(getattr(model, "name_or_path", "") or "").name or type(model).__name__
    return LoadedModel(f"memory:{given}", model, processor, batch_size=batch_size)


_NAN = Response.failed("the model's logits are NaN; its weights are damaged, or its precision is too low")


def fitting_batch(model: Any) -> int:
    """Return how many long prompts surely fit into the free memory of a model's GPU. 8 on a CPU, which gains little by more.

    Half of the free memory is for keys and values; the other half is for what a pass needs besides.
    """
    import torch

    if model.device.type != "cuda":
        return _ON_CPU
    text = model.config.get_text_config()
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    width = heads * (getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads)
    row = 2 * text.num_hidden_layers * width * model.dtype.itemsize * _LONG_PROMPT
    free, _ = torch.cuda.mem_get_info(model.device)
    return int(min(_MOST, max(1, free // 2 // row)))


_ON_CPU, _MOST = 8, 64
"""The batch size on a CPU, and the largest that is chosen: a killed run loses a batch, so batches stay small."""
_LONG_PROMPT = 4096
"""Tokens of a long prompt with a large picture."""


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
            return _NAN
        return answer


@dataclass(frozen=True, slots=True)
class _Tails:
    """The options of a request as tokens: what each adds to the common prefix."""

    prompt: str
    options: tuple[str, ...]
    ids: tuple[tuple[int, ...], ...]
    """The tokens of the bare prompt if it takes one pass, else of the prompt with each option."""
    tails: tuple[tuple[int, ...], ...]
    one_pass: bool
    """True if every option is one token after the whole prompt."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One input sequence: a bare prompt for all options, or a prompt with one option."""

    request: int
    prompt: PromptTokens
    scored: tuple[int, ...]
    """Indices of the options that this row scores."""
    tails: tuple[tuple[int, ...], ...]
    one_pass: bool

    def scores(self, log_p: Any) -> list[float]:
        """Return the log-probability of each scored option.

        The logits at position t - 1 predict token t. A one-pass row predicts the token after its last.

        Args:
            log_p: Log-probabilities at the row's last positions, (positions, vocabulary).
        """
        if self.one_pass:
            return [float(log_p[-1, tail[0]]) for tail in self.tails]
        (tail,) = self.tails
        return [sum(float(log_p[t - len(tail) - 1, token]) for t, token in enumerate(tail))]


def _rows(asked: Sequence[_Tails], requests: Sequence[Request]) -> list[_Row]:
    rows: list[_Row] = []
    for i, each in enumerate(asked):
        if each.one_pass:
            prompt = PromptTokens(requests[i], each.prompt, each.ids[0])
            rows.append(_Row(i, prompt, tuple(range(len(each.options))), each.tails, one_pass=True))
            continue
        for j, (option, ids, tail) in enumerate(zip(each.options, each.ids, each.tails, strict=True)):
            prompt = PromptTokens(requests[i], each.prompt + option, ids, n_read=len(tail) + 1)
            rows.append(_Row(i, prompt, (j,), (tail,), one_pass=False))
    return rows


def _batches(requests: Sequence[Request], size: int) -> Iterator[list[int]]:
    """Group indices of requests that can share one pass. A sampled request is alone."""
    kinds: defaultdict[object, list[int]] = defaultdict(list)
    for i, request in enumerate(requests):
        kinds[request.max_tokens, request.stop, i if request.temperature else None].append(i)
    for indices in kinds.values():
        for part in batches_of([requests[i] for i in indices], size):
            yield [indices[i] for i in part]


def _ahead(
    prepare: Callable[[list[RowT]], ResultT], batches: Iterable[list[RowT]]
) -> Iterator[tuple[list[RowT], Future[ResultT]]]:
    """Yield each batch and what is prepared for it, which a thread does while the batch before is computed."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        waiting: deque[tuple[list[RowT], Future[ResultT]]] = deque()
        for batch in batches:
            waiting.append((batch, pool.submit(prepare, batch)))
            if len(waiting) > 1:
                yield waiting.popleft()
        yield from waiting


def _parts(rows: Sequence[RowT], size: int) -> Iterator[Sequence[RowT]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


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
