"""An answer in words: its tokens, its words, and how probable a model finds each of them (teacher forcing).

The answer's own tokens follow the prompt, so one forward pass gives the logits of all of them: the logits at a position
belong to the token after it. Greedy decoding writes exactly this answer if every token is the most probable one there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from theodolite.attribution.flow import upcast
from theodolite.attribution.maps import SpanTargets
from theodolite.core.errors import UnsupportedError, UsageError
from theodolite.core.types import Picture, Request
from theodolite.models import Checkpoint

if TYPE_CHECKING:
    import torch

_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(
    rf"[{_IDEOGRAPHS}]|(?:(?![{_IDEOGRAPHS}])\w)+(?:['’\-](?:(?![{_IDEOGRAPHS}])\w)+|[.,]\d+)*"
)
"""A word, a number, or one ideograph, since languages written with those put no spaces between words."""
RERUN_BATCH = 16
"""Variants of a request that a model reads at a time."""
_UNFINISHED = "\ufffd"
"""Stands for the bytes of a character of which a token holds only some."""


@dataclass(frozen=True, slots=True)
class WrittenAnswer:
    """An answer as a model writes it."""

    text: str
    ids: tuple[int, ...]
    """The tokens that follow the prompt."""
    spans: tuple[tuple[int, int], ...]
    """Start and end of each token in the text, in characters."""
    replaced: int = 0
    """Tokens at the end of the bare prompt that the tokenizer merges with the answer's first."""

    @classmethod
    def of_tokens(cls, checkpoint: Checkpoint, ids: Sequence[int], *, replaced: int = 0) -> WrittenAnswer:
        """Create an answer from its tokens."""
        prefixes = [
            checkpoint.tokenizer.decode(
                ids[:n], skip_special_tokens=True, clean_up_tokenization_spaces=False
            ).rstrip(_UNFINISHED)
            for n in range(len(ids) + 1)
        ]
        text = prefixes[-1]
        ends = np.maximum.accumulate([_shared_length(prefix, text) for prefix in prefixes])
        return cls(text, tuple(ids), tuple(pairwise(ends.tolist())), replaced)

    @classmethod
    def of_text(cls, checkpoint: Checkpoint, request: Request, text: str) -> WrittenAnswer:
        """Tokenise an answer as it would follow the prompt of a request.

        Raises:
            UsageError: If it is empty.
        """
        if not text.strip():
            raise UsageError(
                "the answer is empty; give the words to explain, or leave it out to explain the model's own"
            )
        prompt = checkpoint.prompt(request)
        bare, joint = checkpoint.token_ids(prompt), checkpoint.token_ids(prompt + text)
        shared = _shared_length(bare, joint)
        answer = cls.of_tokens(checkpoint, joint[shared:], replaced=len(bare) - shared)
        start = max(answer.text.find(text), 0)  # after what the first token shares with the prompt
        spans = tuple((max(a - start, 0), max(b - start, 0)) for a, b in answer.spans)
        return cls(answer.text[start:], answer.ids, spans, answer.replaced)

    def words(self) -> list[tuple[int, int]]:
        """Return start and end of each word, in characters; punctuation belongs to none.

        >>> answer = WrittenAnswer("No: it's 1.5 m.", (), ())
        >>> [answer.text[a:b] for a, b in answer.words()]
        ['No', "it's", '1.5', 'm']
        """
        return [match.span() for match in _WORD.finditer(self.text)]

    def tokens_of(self, span: tuple[int, int]) -> tuple[int, ...]:
        """Return the tokens that write some characters: those whose own characters, without spaces, begin in the span."""
        start, end = span
        found = []
        for i, (low, high) in enumerate(self.spans):
            letters = [k for k in range(low, high) if not self.text[k].isspace()]
            if letters and any(start <= k < end for k in letters):
                found.append(i)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Span:
    """What is explained: some tokens of an answer, or one of them against another token in its place."""

    tokens: tuple[int, ...]
    """Indices in the answer."""
    instead: int | None = None
    """The token that could stand in place of the first."""

    def __post_init__(self) -> None:
        if not self.tokens:
            raise UsageError("a span of an answer needs at least one token")


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The logits that are kept of a pass over an answer: of its tokens, of their best rivals, and of given ones."""

    offsets: torch.Tensor
    """The token of the answer in whose place each stands, (logits,)."""
    ids: torch.Tensor

    @classmethod
    def of(cls, spans: Mapping[str, Span], own: torch.Tensor, rivals: torch.Tensor) -> Columns:
        """Choose the logits that some spans need.

        Args:
            spans: The spans, by name.
            own: The tokens of the answer.
            rivals: The most probable other token in place of each.
        """
        import torch

        places = torch.arange(len(own), device=own.device)
        given = [(span.tokens[0], span.instead) for span in spans.values() if span.instead is not None]
        extra = torch.tensor(given, dtype=own.dtype, device=own.device).reshape(-1, 2)
        return cls(torch.cat([places, places, extra[:, 0]]), torch.cat([own, rivals.to(own), extra[:, 1]]))

    def targets(self, spans: Mapping[str, Span]) -> SpanTargets:
        """Return the spans as weights of the kept logits.

        A span counts the logits of its tokens, or the difference to the token that is given instead. Its rival, for
        contrastive methods, are the most probable other tokens; a difference has none.
        """
        import torch

        n = (len(self.ids) - sum(span.instead is not None for span in spans.values())) // 2
        weights, rivals = {}, {}
        given = 2 * n
        for name, span in spans.items():
            own, rival = (torch.zeros(len(self.ids), device=self.ids.device) for _ in range(2))
            if span.instead is None:
                own[list(span.tokens)] = 1
                rival[[n + token for token in span.tokens]] = 1
            else:
                own[span.tokens[0]], own[given] = 1, -1
                given += 1
            weights[name], rivals[name] = own, f"{name}: rival"
            weights[rivals[name]] = rival
        return SpanTargets(weights, rivals)

    @staticmethod
    def seeds(spans: Mapping[str, Span], rows: torch.Tensor, n_tokens: int) -> dict[str, torch.Tensor]:
        """Return, for each span and its rival, 1 at the positions before its tokens, (1, tokens)."""
        import torch

        seeds = {}
        for name, span in spans.items():
            seed = torch.zeros(1, n_tokens, device=rows.device)
            explained = span.tokens if span.instead is None else span.tokens[:1]
            seed[0, rows[list(explained)]] = 1
            seeds[name] = seeds[f"{name}: rival"] = seed
        return seeds


@dataclass(frozen=True, slots=True, eq=False)
class AnswerScores:
    """How probable the tokens of an answer are, each after those before it; all of shape (requests, answer tokens)."""

    log_probabilities: NDArray[np.float64]
    is_best: NDArray[np.bool_]
    """True if no other token is more probable."""
    rank: NDArray[np.int64]
    """Number of tokens that are more probable."""
    best_other: torch.Tensor
    """The most probable other token."""


def answer_scores(scores: torch.Tensor, own: torch.Tensor) -> AnswerScores:
    """Score the tokens of an answer.

    Args:
        scores: Logits before each token, (requests, answer tokens, vocabulary).
        own: The answer's tokens.
    """
    import torch

    ids = own.to(scores.device)[:, None]
    log_p, rank, others = [], [], []
    for row in scores:  # one by one: in float32 a batch may not fit into memory
        wide = upcast(row)
        chosen = wide.gather(1, ids)
        log_p.append(chosen[:, 0] - torch.logsumexp(wide, dim=-1))
        rank.append((wide > chosen).sum(dim=-1))
        others.append(wide.scatter(1, ids, float("-inf")).argmax(dim=-1))
    ranks = torch.stack(rank).cpu().numpy()
    return AnswerScores(torch.stack(log_p).double().cpu().numpy(), ranks == 0, ranks, torch.stack(others))


def encode_answer(checkpoint: Checkpoint, requests: Sequence[Request], answer: WrittenAnswer | None) -> Any:
    """Return the inputs of requests followed by an answer, without its last token, after which nothing is explained.

    Args:
        checkpoint: The model and its processor.
        requests: Requests whose prompts have as many tokens, since their pictures have the same sizes.
        answer: The answer; None for the bare prompts.
    """
    import torch

    inputs = checkpoint.encode(
        [checkpoint.prompt(request) for request in requests], requests, padding_side="left"
    )
    if answer is None:
        return inputs
    ids = inputs["input_ids"]
    if not bool(inputs["attention_mask"].all()):
        raise UsageError("requests with the same answer need pictures of the same sizes")
    kept = ids.shape[1] - answer.replaced
    tokens = torch.tensor(answer.ids[:-1], dtype=ids.dtype, device=ids.device)
    for name, values in list(inputs.items()):
        if not isinstance(values, torch.Tensor) or values.shape != ids.shape:
            continue
        fill = tokens if name == "input_ids" else torch.full_like(tokens, int(name == "attention_mask"))
        rows = fill.to(values.dtype).expand(len(ids), -1)
        inputs[name] = torch.cat([values[:, :kept], rows], dim=1)
    return inputs


def answer_logits(checkpoint: Checkpoint, inputs: Any, answer: WrittenAnswer | None) -> torch.Tensor:
    """Return the logits before each token of an answer, or at the end of bare prompts, (requests, positions, vocabulary)."""
    logits: torch.Tensor = checkpoint.logits(inputs, 1 if answer is None else answer_rows(inputs, answer))
    return logits


def logits_of_variants(
    checkpoint: Checkpoint,
    request: Request,
    answer: WrittenAnswer | None,
    variants: Iterable[Sequence[Picture]],
) -> Iterator[torch.Tensor]:
    """Yield the `answer_logits` of a request with other pictures of the same sizes, a batch at a time.

    The next batch is drawn and encoded while the model reads one.

    Args:
        checkpoint: The model and its processor.
        request: The request.
        answer: The answer that follows it; None for the bare prompt.
        variants: Its pictures, in other versions.
    """
    left = iter(variants)

    def encode(pictures: Sequence[Sequence[Picture]]) -> Any:
        return encode_answer(checkpoint, [request.with_pictures(each) for each in pictures], answer)

    with ThreadPoolExecutor(max_workers=1) as pool:  # a tokenizer cannot be used by two threads at once
        batch = list(islice(left, RERUN_BATCH))
        ready = pool.submit(encode, batch)
        while batch:
            inputs = ready.result()
            batch = list(islice(left, RERUN_BATCH))
            ready = pool.submit(encode, batch) if batch else ready
            yield answer_logits(checkpoint, inputs, answer)


def answer_rows(inputs: Any, answer: WrittenAnswer) -> torch.Tensor:
    """Return the position before each token of an answer that ends the inputs, (answer tokens,)."""
    import torch

    ids = inputs["input_ids"]
    return torch.arange(ids.shape[1] - len(answer.ids), ids.shape[1], device=ids.device)


def score_answer(checkpoint: Checkpoint, requests: Sequence[Request], answer: WrittenAnswer) -> AnswerScores:
    """Return how probable an answer is after each of some requests, whose pictures have the same sizes."""
    import torch

    with torch.inference_mode():
        scores = answer_logits(checkpoint, encode_answer(checkpoint, requests, answer), answer)
        return answer_scores(scores, torch.tensor(answer.ids))


# Which tokens of a prompt belong to the question, and which to the chat template.


@dataclass(frozen=True, slots=True)
class TextToken:
    """A token of the request's text."""

    position: int
    """In the input."""
    low: int
    """Start in the text, in characters. Negative, or beyond the text, if the token also holds what stands beside it."""
    high: int
    n_letters: int
    """Its characters other than blanks."""


def text_tokens(
    checkpoint: Checkpoint,
    request: Request,
    input_ids: Sequence[int],
    within: Sequence[tuple[int, int]] | None = None,
) -> list[TextToken]:
    """Locate the tokens of the last text of a request.

    A picture is one token in the prompt but many in the input, so tokens after it are counted from the end.

    Args:
        checkpoint: The model and its processor.
        request: A request with its text after the pictures.
        input_ids: The tokens of its input, without an answer; padding may come before them.
        within: Parts of the text, in characters; others are passed over, and so are blanks. Default: all of it.

    Raises:
        UnsupportedError: If they cannot be located.
    """
    text = next(part for part in reversed(request.messages[-1].content) if isinstance(part, str))
    prompt = checkpoint.prompt(request)
    start = prompt.rfind(text)
    if start < 0:
        raise UnsupportedError(
            "the chat template changes the text of the request, so its words cannot be located"
        )
    ids, spans = checkpoint.token_ids(prompt), checkpoint.token_spans(prompt)
    tokens = []
    for index, (low, high) in enumerate(spans):
        if within is None:
            belongs = low < start + len(text) and high > start
        else:
            belongs = any(prompt[max(low, start + a) : min(high, start + b)].strip() for a, b in within)
        if not belongs:
            continue
        position = len(input_ids) - len(ids) + index
        if position < 0 or input_ids[position] != ids[index]:
            raise UnsupportedError(
                f"the processor replaces the token {prompt[low:high]!r}; the words must come after the picture"
            )
        tokens.append(TextToken(position, low - start, high - start, len("".join(prompt[low:high].split()))))
    return tokens


def question_tokens(
    checkpoint: Checkpoint,
    requests: Sequence[Request],
    input_ids: torch.Tensor,
    answer: WrittenAnswer | None = None,
) -> torch.Tensor | None:
    """Mark the tokens of each request's text, (requests, tokens); None if they cannot be located."""
    import torch

    n_answer = 0 if answer is None else len(answer.ids) - 1 - answer.replaced
    is_question = torch.zeros_like(input_ids, dtype=torch.bool)
    try:
        for row, request in enumerate(requests):
            ids = input_ids[row].tolist()
            for token in text_tokens(checkpoint, request, ids[: len(ids) - n_answer]):
                is_question[row, token.position] = True
    except UnsupportedError:
        return None
    return is_question


def _shared_length(left: Sequence[Any], right: Sequence[Any]) -> int:
    return next(_differences(left, right), min(len(left), len(right)))


def _differences(left: Sequence[Any], right: Sequence[Any]) -> Iterator[int]:
    return (i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b)
