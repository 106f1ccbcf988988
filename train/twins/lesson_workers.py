"""Worker processes that make and tokenise lessons. They do not need torch, so they start while it is being loaded."""

from __future__ import annotations

import multiprocessing
import os
import queue
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import WorkerError
from theodolite.core.processes import describe_exit, end_with_parent
from train.twins import lessons
from train.twins.curriculum import N_SIDE, TWINS, Curriculum
from train.twins.tokens import ASSISTANT, END, IMAGE, USER

_CHUNK = {"relation": 64, "grid": 8, "scene": 16, "video": 4, "navigation": 4, "instruction": 8}


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of a row."""

    tokens: int
    said: int
    """Maximum number of target tokens of a row."""


SHAPES = {1: Shape(256, 112), 4: Shape(576, 192)}
"""By the number of pictures."""
PACKS = {"g": 3, "s": 2, "m": 3}
"""How many times each twin's questions of one lesson are packed, in different orders."""


@dataclass(frozen=True, slots=True, eq=False)
class Pack:
    """One row: an opening with pictures, then questions. Each question attends to the opening and to itself."""

    ids: NDArray[np.int16]
    part: NDArray[np.int16]
    """0 for the opening, from 1 for the questions, −1 for padding."""
    sees: NDArray[np.bool_]
    place: NDArray[np.int16]
    """Position. Each question starts where the opening ends, or at 0 if it does not see the opening."""
    at: NDArray[np.int16]
    """Where each target token is predicted."""
    words: NDArray[np.int16]
    """The target tokens; −100 for padding."""
    first: NDArray[np.bool_]
    """True for the first token of an answer."""
    weight: NDArray[np.float16]
    """Weight of a target token in the loss: 1 / √(tokens of its answer), so that long answers do not dominate."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenisedLesson:
    """A lesson in tokens."""

    task: str
    frames: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    marks: NDArray[np.uint8]
    sizes: NDArray[np.float16]
    packs: dict[str, list[Pack]]
    """By twin: g, s, m."""


PICTURED = ("frames", "labels", "marks", "sizes")
PACKED = tuple(field.name for field in fields(Pack))


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Stacked lessons of one task. Few large arrays pass between processes faster than many small ones."""

    task: str
    pictures: dict[str, NDArray[Any]]
    """`PICTURED`, (lessons, frames, …)."""
    packs: dict[str, dict[str, NDArray[Any]]]
    """By twin, `PACKED`, (lessons, packs, …)."""
    has: dict[str, NDArray[np.bool_]]
    """By twin, True for lessons with questions for it."""

    def __len__(self) -> int:
        return len(self.pictures["frames"])


def stack_lessons(made: Sequence[TokenisedLesson]) -> list[Chunk]:
    """Stack lessons into one chunk per task."""
    chunks = []
    for task in dict.fromkeys(lesson.task for lesson in made):
        mine = [lesson for lesson in made if lesson.task == task]
        empty = pack([], [], SHAPES[len(mine[0].frames)], np.random.default_rng(0))
        packs = {
            who: {
                name: np.stack([[getattr(p, name) for p in w.packs[who] or [empty] * n] for w in mine])
                for name in PACKED
            }
            for who, n in PACKS.items()
        }
        pictures = {name: np.stack([getattr(lesson, name) for lesson in mine]) for name in PICTURED}
        has = {who: np.array([bool(lesson.packs[who]) for lesson in mine]) for who in PACKS}
        chunks.append(Chunk(task, pictures, packs, has))
    return chunks


def write(lesson: lessons.Lesson, backend: Any, rng: np.random.Generator) -> TokenisedLesson:
    """Tokenise a lesson and pack its questions."""
    image, n_patches = backend.token_to_id(IMAGE), lesson.labels.shape[1]
    opening: list[int] = [backend.token_to_id(USER)]
    for part in lesson.opening:
        opening += [image] * n_patches if part is None else backend.encode(part, add_special_tokens=False).ids
    questions = [(a.text if a.sees else USER + a.text) + ASSISTANT for a in lesson.asks]
    asked = backend.encode_batch(questions, add_special_tokens=False)
    answered = backend.encode_batch([a.answer + END for a in lesson.asks], add_special_tokens=False)
    packs: dict[str, list[Pack]] = {}
    for who, n in PACKS.items():
        mine = [
            (q.ids, r.ids, a.sees)
            for q, r, a in zip(asked, answered, lesson.asks, strict=True)
            if who in a.to
        ]
        packs[who] = [pack(opening, mine, SHAPES[len(lesson.frames)], rng) for _ in range(n if mine else 0)]
    sizes = lesson.sizes.astype(np.float16)
    return TokenisedLesson(lesson.task, lesson.frames, lesson.labels, lesson.marks, sizes, packs)


def pack(
    opening: list[int], asks: list[tuple[list[int], list[int], bool]], shape: Shape, rng: np.random.Generator
) -> Pack:
    """Pack the opening and questions in random order, as many as fit.

    Args:
        opening: Tokens of the opening with the pictures.
        asks: Tokens of each question and of its answer, and whether it sees the pictures.
        shape: Shape of a row.
        rng: Random generator.
    """
    row = Pack(
        np.zeros(shape.tokens, np.int16),
        np.full(shape.tokens, -1, np.int16),
        np.zeros(shape.tokens, bool),
        np.zeros(shape.tokens, np.int16),
        np.zeros(shape.said, np.int16),
        np.full(shape.said, -100, np.int16),
        np.zeros(shape.said, bool),
        np.zeros(shape.said, np.float16),
    )
    start = len(opening)
    row.ids[:start], row.part[:start], row.place[:start] = opening, 0, np.arange(start)
    here, n_said, part = start, 0, 0
    for index in rng.permutation(len(asks)):
        question, answer, sees = asks[index]
        n, n_answer = len(question) + len(answer), len(answer)
        if here + n > shape.tokens or n_said + n_answer > shape.said:
            continue
        part += 1
        span, targets = slice(here, here + n), slice(n_said, n_said + n_answer)
        row.ids[span], row.part[span], row.sees[span] = question + answer, part, sees
        row.place[span] = np.arange(n) + (start if sees else 0)
        row.at[targets] = np.arange(here + len(question) - 1, here + n - 1)
        row.words[targets], row.weight[targets], row.first[n_said] = answer, n_answer**-0.5, True
        here, n_said = here + n, n_said + n_answer
    return row


def lessons_of(kind: str, seed: int, number: int, *, n_side: int = N_SIDE) -> Iterator[lessons.Lesson]:
    """Yield one chunk of lessons of a kind.

    Args:
        kind: A key of `Curriculum.workers`.
        seed: Seed of all chunks.
        number: Number of the chunk.
        n_side: Patches along a side of a picture; only relation and grid have others than the twins.
    """
    rng = np.random.default_rng([seed, number, 9])
    n = _CHUNK[kind]
    if kind == "relation":
        yield from (lessons.relation_lesson(rng, n_side=n_side) for _ in range(n))
    elif kind == "grid":
        yield from lessons.grid_lessons(seed * 100_003 + number, n, n_side=n_side)
    elif kind == "scene":
        yield from (lessons.room_lesson(rng, f"lesson-{seed}-{number}-{i}") for i in range(n))
    else:
        for i in range(n):
            is_aligned = True if (number * n + i) % 5 == 4 else None
            yield from lessons.story_lessons(kind, number * n + i, seed=seed, is_aligned=is_aligned)


def _work(
    tokenizer_json: str, kinds: list[str], seed: int, first: int, step: int, n_side: int, out: Any
) -> None:
    """Make chunks of some kinds in turn, forever. An error is passed on through the queue."""
    from tokenizers import Tokenizer

    end_with_parent()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.nice(5)  # the training process has priority
    number = first
    try:
        backend = Tokenizer.from_str(tokenizer_json)
        while True:
            for kind in kinds:
                rng = np.random.default_rng([seed, number, 10])
                chunk = lessons_of(kind, seed, number, n_side=n_side)
                out.put(stack_lessons([write(lesson, backend, rng) for lesson in chunk]))
            number += step
    except Exception as error:
        out.put(f"{', '.join(kinds)}: {type(error).__name__}: {error}")
        raise


def assign_kinds(workers: int, curriculum: Curriculum = TWINS) -> list[list[str]]:
    """Return the kinds of lessons that each worker makes.

    >>> assign_kinds(1)
    [['relation', 'grid', 'scene', 'video', 'navigation', 'instruction']]
    """
    plan = [kind for kind, n in curriculum.workers.items() for _ in range(n)]
    if workers < len(plan):
        return [list(curriculum.workers)] * max(1, workers)
    more = curriculum.more
    return [[kind] for kind in plan + [more[i % len(more)] for i in range(workers - len(plan))]]


class LessonWorkers:
    """Worker processes and their output queue."""

    def __init__(
        self,
        tokenizer_json: str,
        *,
        workers: int,
        seed: int,
        curriculum: Curriculum = TWINS,
        n_side: int = N_SIDE,
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self._made = context.Queue(maxsize=512)
        self._failure = ""
        duties = assign_kinds(workers, curriculum)
        self._processes = [
            context.Process(
                target=_work,
                args=(tokenizer_json, kinds, seed, number, len(duties), n_side, self._made),
                daemon=True,
            )
            for number, kinds in enumerate(duties)
        ]
        for process in self._processes:
            process.start()

    def get(self, *, wait_s: float = 0.5) -> list[Chunk]:
        """Return the next chunks, if a worker has some ready.

        Raises:
            WorkerError: If a worker failed, with its error.
        """
        try:
            result = self._made.get(timeout=wait_s)
        except queue.Empty:
            return []
        if isinstance(result, str):
            self._failure = result
            self.check()
        return list(result)

    def check(self) -> None:
        """Raise an error if a worker has died. Its lessons would be missing without notice."""
        if self._failure:
            raise WorkerError(f"a lesson worker failed ({self._failure})")
        died = [process.exitcode for process in self._processes if process.exitcode is not None]
        if died:
            raise WorkerError(f"a lesson worker of {len(self._processes)} {describe_exit(died[0])}")

    def stop(self) -> None:
        """Stop the workers."""
        for process in self._processes:
            process.terminate()
