"""From scene graphs to questions. Right answers are balanced by the choice of questions, never by editing an answer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.instruments.scene.data.questions import LETTERS, Option, SceneQuestion
from theodolite.instruments.scene.kinds import COMPETENCIES, KINDS, Competency, Draft, drafts
from theodolite.worlds.scene_graph import Difficulty, SceneGraph

QUOTAS: Mapping[Difficulty, Mapping[Competency, int]] = {
    "easy": {"size": 1, "distance": 1, "direction": 1, "deduction": 1},
    "medium": {
        "size": 2,
        "distance": 1,
        "direction": 2,
        "ranking": 1,
        "counting": 1,
        "deduction": 1,
        "transformation": 1,
    },
    "hard": {
        "size": 3,
        "distance": 2,
        "direction": 2,
        "ranking": 2,
        "counting": 1,
        "deduction": 1,
        "transformation": 2,
    },
}
"""Questions of each competency per scene."""


@dataclass(frozen=True, slots=True)
class MadeQuestions:
    """The questions, and how many could not be made."""

    questions: tuple[SceneQuestion, ...]
    unmet: Mapping[Competency, int]
    """By competency: questions missing from the quotas, because the scenes have no clear answer."""


@dataclass(slots=True)
class _Ledger:
    """What was asked so far. Every choice prefers what was used least."""

    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    tags: Counter[tuple[str, str]] = field(default_factory=Counter)
    letters: Counter[tuple[Competency, int, str]] = field(default_factory=Counter)
    ranks: Counter[int] = field(default_factory=Counter)


def make_questions(
    scenes: Iterable[SceneGraph],
    *,
    seed: int = 0,
    quotas: Mapping[Difficulty, Mapping[Competency, int]] = QUOTAS,
) -> MadeQuestions:
    """Asks about each scene up to its quota, only what its graph answers clearly.

    Args:
        scenes: With distinct ids. Their order matters: what was asked about one affects what is asked about the next.
        seed: Seed of every choice.
        quotas: Questions of each competency, by difficulty.
    """
    ledger, found = _Ledger(), []
    unmet: Counter[Competency] = Counter()
    for number, scene in enumerate(scenes):
        rng = np.random.default_rng([seed, number])
        asked: list[Draft] = []
        for competency, n in quotas[scene.difficulty].items():
            possible = list(drafts(competency, scene, rng))
            for _ in range(n):
                draft = _pick(possible, asked, scene, ledger, rng)
                if draft is None:
                    unmet[competency] += 1
                    continue
                asked.append(draft)
        found += [
            _question(draft, f"{scene.id}-q{place:02d}", scene, ledger, rng)
            for place, draft in enumerate(asked, 1)
        ]
    return MadeQuestions(tuple(found), dict(unmet))


def answer_anew(questions: Iterable[SceneQuestion], scene: SceneGraph) -> Iterator[SceneQuestion]:
    """The same questions with the answers of another scene; only those that it answers clearly.

    A question about the centre of its own scene is left out if another object is the centre of this one.

    Args:
        questions: About a scene with the same marks.
        scene: The scene that gives the answers.
    """
    rng = np.random.default_rng(0)  # for wrong options, which are not used
    known = {_matter(d): d.answer for competency in COMPETENCIES for d in drafts(competency, scene, rng)}
    for question in questions:
        answer = known.get(_matter(question))
        if answer is not None:
            gold = answer if question.form == "number" else question.letter_of(answer)
            if gold is not None:
                yield replace(question, gold=gold)


def _matter(asked: Draft | SceneQuestion) -> tuple[Any, ...]:
    """What is asked, without its words and options."""
    objects: Any = asked.objects if KINDS[asked.kind].shape.is_directed else frozenset(asked.objects)
    return asked.kind, objects, asked.relation, asked.distance_m


def _pick(
    possible: Sequence[Draft],
    asked: Sequence[Draft],
    scene: SceneGraph,
    ledger: _Ledger,
    rng: np.random.Generator,
) -> Draft | None:
    """A draft of the least used kind and meaning that was not asked about this scene yet."""
    taken = {(draft.kind, frozenset(draft.objects), draft.relation, draft.distance_m) for draft in asked}
    free = [
        draft
        for draft in possible
        if (draft.kind, frozenset(draft.objects), draft.relation, draft.distance_m) not in taken
        and not _answers_another(draft, asked)
    ]
    if not free:
        return None
    order = rng.permutation(len(free))
    best = min(
        order,
        key=lambda i: (
            _is_lopsided(free[i], ledger),
            ledger.kinds[scene.domain, free[i].kind],
            min((ledger.ranks[rank] for rank in _possible_ranks(free[i])), default=0),
            ledger.tags[free[i].kind, free[i].tag],
        ),
    )
    chosen = free[int(best)]
    ledger.kinds[scene.domain, chosen.kind] += 1
    ledger.tags[chosen.kind, chosen.tag] += 1
    return chosen


def _is_lopsided(draft: Draft, ledger: _Ledger) -> bool:
    """True if this answer to a yes-or-no question was right more often than the other so far."""
    if not KINDS[draft.kind].shape.is_yes_no:
        return False
    return ledger.tags[draft.kind, draft.answer] > ledger.tags[draft.kind, draft.others[0]]


def _answers_another(draft: Draft, asked: Sequence[Draft]) -> bool:
    """True if a question that was asked about the same objects tells the answer."""
    reveals = KINDS[draft.kind].shape.reveals
    return bool(reveals) and any(
        KINDS[other.kind].shape.reveals == reveals
        and set(other.objects) == set(draft.objects)
        and other.distance_m == draft.distance_m
        for other in asked
    )


def _question(
    draft: Draft, name: str, scene: SceneGraph, ledger: _Ledger, rng: np.random.Generator
) -> SceneQuestion:
    kind, objects, gold = KINDS[draft.kind], draft.objects, draft.answer
    options: tuple[Option, ...] = ()
    if kind.form == "choice":
        keys, gold = _arranged(draft, ledger, rng)
        options = tuple(Option(kind.shape.option_text(key), key) for key in keys)
        if kind.shape.is_named_in_order:
            objects = (*draft.objects[:-2], int(keys[0]), int(keys[1]))
    text = kind.words(objects, draft.relation, draft.distance_m)
    return SceneQuestion(
        id=name,
        scene=scene.id,
        domain=scene.domain,
        kind=draft.kind,
        text=text,
        objects=objects,
        gold=gold,
        difficulty=scene.difficulty,
        options=options,
        relation=draft.relation,
        distance_m=draft.distance_m,
    )


def _arranged(draft: Draft, ledger: _Ledger, rng: np.random.Generator) -> tuple[list[str], str]:
    """The options in order, and the letter of the right one: the letter that was right least often.

    Yes always comes before No; there the balance comes from the choice of questions.
    """
    kind = KINDS[draft.kind]
    if kind.shape.is_yes_no:
        return ["yes", "no"], "A" if draft.answer == "yes" else "B"
    others = _neighbours(draft, ledger, rng) if kind.shape.is_count else draft.others
    competency = kind.competency
    letters = [LETTERS[i] for i in rng.permutation(len(others) + 1)]
    gold = min(letters, key=lambda letter: ledger.letters[competency, len(others), letter])
    ledger.letters[competency, len(others), gold] += 1
    keys = [others[i] for i in rng.permutation(len(others))]
    keys.insert(LETTERS.index(gold), draft.answer)
    return keys, gold


def _neighbours(draft: Draft, ledger: _Ledger, rng: np.random.Generator) -> tuple[str, ...]:
    """Three counts that form four in a row with the right one, whose rank among them is balanced."""
    possible = _possible_ranks(draft)
    ranks = [possible[i] for i in rng.permutation(len(possible))]
    rank = min(ranks, key=lambda r: ledger.ranks[r])
    ledger.ranks[rank] += 1
    first = int(draft.answer) - rank
    return tuple(str(first + step) for step in range(4) if step != rank)


def _possible_ranks(draft: Draft) -> list[int]:
    """The ranks that a right count can have among four in a row from 0 to the number of other objects."""
    if not KINDS[draft.kind].shape.is_count:
        return []
    answer, most = int(draft.answer), len(draft.others)
    return [rank for rank in range(4) if answer - rank >= 0 and answer - rank + 3 <= most]


def thin_questions(questions: Sequence[SceneQuestion], n: int, *, seed: int = 0) -> tuple[SceneQuestion, ...]:
    """Keeps n questions, balanced by domain, group and right letter, in their old order.

    Args:
        questions: At least n.
        n: How many to keep.
        seed: Seed of the choice.
    """
    if n > len(questions):
        raise UsageError(
            f"{n} questions were asked for, but the scenes yield {len(questions)}; make more scenes"
        )
    cells: defaultdict[tuple[Any, ...], list[int]] = defaultdict(list)
    for place, question in enumerate(questions):
        letter = question.gold if question.options else ""
        cells[question.domain, question.group, len(question.options), letter].append(place)
    rng = np.random.default_rng(seed)
    shares = {key: len(places) * n / len(questions) for key, places in cells.items()}
    keep = {key: int(share) for key, share in shares.items()}
    rest = sorted(shares, key=lambda key: keep[key] - shares[key])[: n - sum(keep.values())]
    for key in rest:
        keep[key] += 1
    kept = [place for key, places in cells.items() for place in rng.permutation(places)[: keep[key]]]
    return tuple(questions[place] for place in sorted(kept))
