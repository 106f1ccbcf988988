"""Making data sets of drawn rooms and streets.

A scene is built, seen through its camera, and kept if enough objects are well visible; otherwise the next attempt is made.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.processes import worker_pool
from theodolite.core.types import Pixels
from theodolite.geometry import SE3, Box, PinholeCamera
from theodolite.instruments.scene.data.files import (
    LETTERS,
    MARKED,
    TRUTH,
    Manifest,
    Option,
    SceneData,
    SceneQuestion,
    new_folder,
    read_data,
    tally,
    write_data,
    write_pictures,
)
from theodolite.instruments.scene.data.pipeline import Candidate, KeepOptions, View, build_graph, drop_alike
from theodolite.instruments.scene.kinds import COMPETENCIES, KINDS, Competency, Draft, drafts
from theodolite.pairs.outcomes import (
    EXCHANGE,
    EXCHANGE_MARKS,
    IN_KIND,
    LIGHT,
    MOVE_OBJECT,
    OTHER_CAMERA,
    WALLS,
    Edit,
)
from theodolite.worlds.marks import RADII, Radii, draw_marks, place_marks
from theodolite.worlds.render.parts import Part
from theodolite.worlds.render.raster import NEAR, Lattice, visible_shares
from theodolite.worlds.render.shade import Render, Solid, render
from theodolite.worlds.rooms import make_room
from theodolite.worlds.scene_graph import Crowding, Difficulty, Domain, SceneGraph
from theodolite.worlds.streets import make_street
from theodolite.worlds.things import Thing, World

# From scene graphs to questions. Right answers are balanced by the choice of questions, never by editing an answer.


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
    """Ask about each scene up to its quota, and only what its graph answers clearly.

    Args:
        scenes: With distinct ids. Their order matters: what was asked about one affects what is asked about the next.
        seed: Seed of every choice.
        quotas: Questions of each competency, by difficulty.
    """
    ledger, questions = _Ledger(), []
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
        questions += [
            _question(draft, f"{scene.id}-q{index:02d}", scene, ledger, rng)
            for index, draft in enumerate(asked, 1)
        ]
    return MadeQuestions(tuple(questions), dict(unmet))


def answer_anew(questions: Iterable[SceneQuestion], scene: SceneGraph) -> Iterator[SceneQuestion]:
    """Yield the same questions with the answers of another scene; only those that it answers clearly.

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
    """Return the content of a question, without its words and options."""
    objects: Any = asked.objects if KINDS[asked.kind].shape.is_directed else frozenset(asked.objects)
    return asked.kind, objects, asked.relation, asked.distance_m


def _pick(
    possible: Sequence[Draft],
    asked: Sequence[Draft],
    scene: SceneGraph,
    ledger: _Ledger,
    rng: np.random.Generator,
) -> Draft | None:
    """Return a draft of the least used kind and meaning that was not asked about this scene yet."""
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
    """Return True if this answer to a yes-or-no question was right more often than the other so far."""
    if not KINDS[draft.kind].shape.is_yes_no:
        return False
    return ledger.tags[draft.kind, draft.answer] > ledger.tags[draft.kind, draft.others[0]]


def _answers_another(draft: Draft, asked: Sequence[Draft]) -> bool:
    """Return True if a question that was asked about the same objects tells the answer."""
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
    """Return the options in order, and the letter of the right one: the letter that was right least often.

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
    """Choose three counts that form four in a row with the right one, whose rank among them is balanced."""
    possible = _possible_ranks(draft)
    ranks = [possible[i] for i in rng.permutation(len(possible))]
    rank = min(ranks, key=lambda r: ledger.ranks[r])
    ledger.ranks[rank] += 1
    first = int(draft.answer) - rank
    return tuple(str(first + step) for step in range(4) if step != rank)


def _possible_ranks(draft: Draft) -> list[int]:
    """Return the ranks that a right count can have among four in a row from 0 to the number of other objects."""
    if not KINDS[draft.kind].shape.is_count:
        return []
    answer, most = int(draft.answer), len(draft.others)
    return [rank for rank in range(4) if answer - rank >= 0 and answer - rank + 3 <= most]


def thin_questions(questions: Sequence[SceneQuestion], n: int, *, seed: int = 0) -> tuple[SceneQuestion, ...]:
    """Keep n questions, balanced by domain, group and right letter, in their old order.

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
    for index, question in enumerate(questions):
        letter = question.gold if question.options else ""
        cells[question.domain, question.group, len(question.options), letter].append(index)
    rng = np.random.default_rng(seed)
    shares = {key: len(indices) * n / len(questions) for key, indices in cells.items()}
    keep = {key: int(share) for key, share in shares.items()}
    rest = sorted(shares, key=lambda key: keep[key] - shares[key])[: n - sum(keep.values())]
    for key in rest:
        keep[key] += 1
    kept = [index for key, indices in cells.items() for index in rng.permutation(indices)[: keep[key]]]
    return tuple(questions[index] for index in sorted(kept))


# Pairs of scenes: questions before and after an edit of the scene or of its marks, with both right answers.


BEFORE = "before"
EDITS: Mapping[str, Edit] = {
    edit.name: edit
    for relevant in (EXCHANGE_MARKS, EXCHANGE, MOVE_OBJECT, OTHER_CAMERA)
    for edit in (relevant, IN_KIND[relevant.name])
} | {edit.name: edit for edit in (WALLS, LIGHT)}
"""The edits of scenes, by name."""


@dataclass(frozen=True, slots=True, eq=False)
class SceneVersion:
    """A scene, unedited or edited."""

    graph: SceneGraph
    draw: Callable[[], Pixels]
    """Draws its marked picture."""


@dataclass(frozen=True, slots=True, eq=False)
class EditableScene:
    """A scene, the questions about it, and its edits."""

    before: SceneVersion
    questions: Sequence[SceneQuestion]
    edits: Mapping[Edit, Sequence[SceneVersion]]
    """The edits in order of preference, and for each of them the versions that can be shown."""


def editable_data(data: SceneData, *, seed: int = 0) -> Iterator[EditableScene]:
    """Yield the scenes of a data set that have a picture without marks, with the edits that only redraw marks or pixels.

    Args:
        data: With marked pictures.
        seed: Seed of the order in which marks are exchanged.
    """
    rng = np.random.default_rng(seed)
    for graph in data.scenes.values():
        is_there = bool(graph.picture) and data.folder is not None and (data.folder / graph.picture).is_file()
        picture = data.picture(graph.id, is_marked=False) if is_there else None
        if picture is not None:
            yield EditableScene(
                marked_version(graph, picture.pixels),
                [question for question in data.questions if question.scene == graph.id],
                picture_edits(graph, picture.pixels, rng),
            )


def picture_edits(
    graph: SceneGraph,
    plain: Callable[[], Pixels],
    rng: np.random.Generator,
    *,
    radii: Radii = RADII,
) -> dict[Edit, list[SceneVersion]]:
    """Return the edits of marks and pixels: every exchange of two marks, in random order, and a brighter picture.

    Args:
        graph: The scene.
        plain: Returns its picture without marks.
        rng: Decides the order.
        radii: Of the marks, as shares of the picture's width.
    """
    from theodolite.pairs.pictures import light  # needs more than making scenes does

    pairs = list(combinations([thing.id for thing in graph.objects], 2))
    exchanged = [exchange_marks(graph, *pairs[i]) for i in rng.permutation(len(pairs))]
    return {
        EXCHANGE_MARKS: [marked_version(each, plain, radii=radii) for each in exchanged],
        LIGHT: [marked_version(graph, lambda: light(plain()).pixels(), radii=radii)],
    }


def marked_version(graph: SceneGraph, plain: Callable[[], Pixels], *, radii: Radii = RADII) -> SceneVersion:
    """Return the version of a scene that is its picture with marks.

    Args:
        graph: The scene.
        plain: Returns its picture without marks.
        radii: Of the marks, as shares of the picture's width.
    """
    return SceneVersion(graph, lambda: mark_picture(plain(), graph, radii=radii))


def mark_picture(plain: Pixels, graph: SceneGraph, *, radii: Radii = RADII) -> Pixels:
    """Return the picture of a scene with its marks."""
    height, width = plain.shape[:2]
    boxes = {thing.id: thing.box_px for thing in graph.objects}
    distances = {thing.id: thing.distance_m for thing in graph.objects}
    return draw_marks(plain, place_marks(boxes, (width, height), radii=radii, distances_m=distances))


def exchange_marks(graph: SceneGraph, first: int, second: int) -> SceneGraph:
    """Return the same scene with two marks exchanged."""
    other = {first: second, second: first}
    things = [replace(thing, id=other.get(thing.id, thing.id)) for thing in graph.objects]
    return replace(graph, objects=tuple(sorted(things, key=lambda thing: thing.id)))


def write_pairs(folder: str | Path, scenes: Iterable[EditableScene], *, per_scene: int = 1) -> Path:
    """Make a data set of pairs: for each scene one relevant edit and neutral ones, with the same questions.

    The relevant edit is the first one that changes an answer for which the scene has a turned question: another one about the same two
    pictures, whose right answers are the other way round, so that no cue of the pictures alone explains both. Scenes without one
    are left out. Kinds of question that were asked least so far come first. One neutral edit is of the same kind as the relevant
    one, where a version of it leaves all answers as they are.

    Args:
        folder: New or empty.
        scenes: With their questions and edits.
        per_scene: The most questions about a scene.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    parts: defaultdict[str, _Part] = defaultdict(_Part)
    ledger: Counter[str] = Counter()
    for scene in scenes:
        found = _with_other_answers(scene, ledger, per_scene)
        if found is None:
            continue
        edit, version, asked = found
        same = [before for before, _, _ in asked]
        turned = [each for _, _, each in asked]
        parts[BEFORE].add(_place(folder, BEFORE), scene.before, [*same, *(before for before, _ in turned)])
        after = [*(after for _, after, _ in asked), *(after for _, after in turned)]
        parts[edit.name].add(_place(folder, edit.name), version, after)
        neutral = [(other, scene.edits[other][0]) for other in scene.edits if not other.is_relevant][:1]
        neutral += [(IN_KIND[edit.name], other) for other in _with_same_answers(scene, edit, same)]
        for other, version in neutral:
            parts[other.name].add(_place(folder, other.name), version, same)
    for name, part in parts.items():
        write_data(_place(folder, name), part.graphs, part.questions, Manifest(made={"edit": name}))
    return folder


def read_pairs(folder: str | Path) -> dict[str, SceneData]:
    """Read a data set of pairs: the unedited scenes under `BEFORE`, and the scenes after each edit under its name."""
    folders = {name: _place(folder, name) for name in (BEFORE, *EDITS)}
    return {name: read_data(part) for name, part in folders.items() if part.is_dir()}


def _place(folder: str | Path, edit: str) -> Path:
    return Path(folder) / edit.replace(",", "").replace(" ", "-")


@dataclass(slots=True)
class _Part:
    """The scenes and questions of one edit."""

    graphs: list[SceneGraph] = field(default_factory=list)
    questions: list[SceneQuestion] = field(default_factory=list)

    def add(self, folder: Path, version: SceneVersion, questions: Iterable[SceneQuestion]) -> None:
        from PIL import Image

        name = f"{MARKED}/{version.graph.id}.png"
        (folder / MARKED).mkdir(parents=True, exist_ok=True)
        Image.fromarray(version.draw()).save(folder / name)
        self.graphs.append(replace(version.graph, picture="", marked=name))
        self.questions += questions


_Changed: TypeAlias = tuple[SceneQuestion, SceneQuestion]
"""A question before and after an edit."""


def _with_other_answers(
    scene: EditableScene, ledger: Counter[str], most: int
) -> tuple[Edit, SceneVersion, list[tuple[SceneQuestion, SceneQuestion, _Changed]]] | None:
    """Return the relevant edit of a scene, its version, and the questions whose answers it clearly changes.

    Each question is given before and after the edit, with its turned question.
    """
    closed = {question.id: question for question in scene.questions if question.form == "choice"}
    pool = {question.id: question for question in _all_questions(scene.before.graph)}
    for edit, versions in scene.edits.items():
        options = [
            (version, question)
            for version in (versions if edit.is_relevant else ())
            for question in _changed(closed, version.graph)
        ]
        counts = Counter(id(version) for version, _ in options)
        options.sort(key=lambda each: (-min(most, counts[id(each[0])]), ledger[each[1].kind]))
        tried: dict[int, list[tuple[SceneQuestion, SceneQuestion, _Changed]]] = {}
        for version, _ in options:
            if id(version) in tried:
                continue
            turned = [(pool[question.id], question) for question in _changed(pool, version.graph)]
            asked = [
                (closed[question.id], question, other)
                for each, question in options
                if each is version and (other := _turned((closed[question.id], question), turned)) is not None
            ]
            tried[id(version)] = asked[:most]
            if asked:
                ledger.update(question.kind for _, question, _ in asked[:most])
                return edit, version, asked[:most]
    return None


def _all_questions(scene: SceneGraph) -> Iterator[SceneQuestion]:
    """Yield all questions with options that a scene answers clearly."""
    rng, ledger = np.random.default_rng(0), _Ledger()
    possible = (draft for competency in COMPETENCIES for draft in drafts(competency, scene, rng))
    for number, draft in enumerate(possible):
        if KINDS[draft.kind].form == "choice":
            yield _question(draft, f"{scene.id}-{number:04d}", scene, ledger, rng)


def _changed(questions: Mapping[str, SceneQuestion], scene: SceneGraph) -> Iterator[SceneQuestion]:
    """Yield the questions that a scene answers clearly and otherwise, with these answers."""
    for question in answer_anew(questions.values(), scene):
        if question.gold != questions[question.id].gold:
            yield question


def _turned(asked: _Changed, others: Iterable[_Changed]) -> _Changed | None:
    """Return another question with the same two answers the other way round, of the same kind if there is one."""
    before, after = asked
    wanted = right_option(after), right_option(before)
    fitting = [each for each in others if (right_option(each[0]), right_option(each[1])) == wanted]
    if not fitting:
        return None

    def otherness(each: _Changed) -> tuple[bool, bool, bool]:
        kind, other = before.kind, each[0]
        return other.kind != kind, set(other.objects) != set(before.objects), other.group != before.group

    first, second = min(fitting, key=otherness)
    name = f"{before.id}-turned"
    return replace(first, id=name), replace(second, id=name)


def right_option(question: SceneQuestion) -> str:
    """Return the text of the right option."""
    return question.options[question.letters.index(question.gold)].text


def _with_same_answers(
    scene: EditableScene, edit: Edit, asked: Sequence[SceneQuestion]
) -> list[SceneVersion]:
    """Return the first version of an edit that clearly leaves all answers as they are; none if there is none."""
    for version in scene.edits[edit]:
        if list(answer_anew(asked, version.graph)) == list(asked):
            return [version]
    return []


In = TypeVar("In")
Out = TypeVar("Out")

CROWDING: Mapping[Crowding, tuple[int, int]] = {"sparse": (2, 3), "common": (4, 8), "dense": (9, 12)}
PATTERN: tuple[Crowding, ...] = ("sparse", "common", "dense", "common", "dense")
"""The crowding of consecutive scenes: 1 : 2 : 2."""
_TRIES = 60
_FEWEST_FOR_PROCESSES = 64
"""Starting processes takes a few seconds; fewer items are done in this one."""
_ROUNDS = 12
_RASTER_WIDTH_PX = 320
_MAKERS: Mapping[Domain, Callable[[np.random.Generator, int], World]] = {
    "indoor": make_room,
    "outdoor": make_street,
}


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that a made scene depends on; the same world can be built from it again."""

    domain: Domain
    seed: int
    number: int
    attempt: int

    @property
    def id(self) -> str:
        """The scene's name."""
        return f"{self.domain}-{self.seed}-{self.number:05d}"

    @property
    def crowding(self) -> Crowding:
        """How crowded the scene should be."""
        return PATTERN[self.number % len(PATTERN)]


@dataclass(frozen=True, slots=True)
class MadeScene:
    """A scene graph and how to draw it."""

    graph: SceneGraph
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class MadeScenes:
    """Scenes, and what was left out on the way."""

    scenes: tuple[MadeScene, ...]
    left_out: Mapping[str, int]


def make_scenes(
    n_indoor: int,
    n_outdoor: int,
    *,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[int], None] | None = None,
) -> MadeScenes:
    """Make indoor and outdoor scenes, no two alike, with sparse, common and dense ones as 1 : 2 : 2.

    Args:
        n_indoor: Number of rooms.
        n_outdoor: Number of streets.
        seed: Seed of every draw. The scenes do not depend on `workers`.
        workers: Number of processes.
        progress: Called with the number of scenes made so far.
    """
    if min(n_indoor, n_outdoor) < 0 or n_indoor + n_outdoor < 1:
        raise UsageError(
            f"cannot make {n_indoor} indoor and {n_outdoor} outdoor scenes; ask for at least one"
        )
    wanted: list[Recipe] = []
    for domain, n in (("indoor", n_indoor), ("outdoor", n_outdoor)):
        wanted += [Recipe(domain, seed, number, 0) for number in range(n)]  # type: ignore[arg-type]
    counts: Counter[str] = Counter()
    by_id: dict[str, MadeScene] = {}
    with processes(workers if len(wanted) >= _FEWEST_FOR_PROCESSES else 1) as spread:
        for _ in range(_ROUNDS):
            for made, left_out in spread(_make_one, wanted):
                by_id[made.recipe.id] = made
                counts.update(left_out)
                if progress is not None:
                    progress(len(by_id))
            distinct, alike = drop_alike([made.graph for made in by_id.values()])
            kept = {graph.id for graph in distinct}
            again = [made.recipe for made in by_id.values() if made.graph.id not in kept]
            wanted = [replace(recipe, attempt=recipe.attempt + 1) for recipe in again]
            if not wanted:
                break
            counts += alike
    counts["scenes that stayed alike"] += len(wanted)
    return MadeScenes(tuple(by_id.values()), dict(+counts))


def _make_one(recipe: Recipe) -> tuple[MadeScene, Counter[str]]:
    """Return the first attempt with enough visible objects, and what was left out on the way."""
    counts: Counter[str] = Counter()
    for attempt in range(recipe.attempt, recipe.attempt + _TRIES):
        tried = replace(recipe, attempt=attempt)
        graph, left_out = scene_of(tried)
        if graph is not None:
            counts.update(left_out)
            return MadeScene(graph, tried), counts
        counts["worlds with too few objects in view"] += 1
    raise UsageError(f"no {recipe.crowding} scene {recipe.id} in {_TRIES} attempts; choose another seed")


class Spread(Protocol):
    """Applies a function to every item, in order."""

    def __call__(self, work: Callable[[In], Out], items: Sequence[In], /) -> Iterable[Out]:
        """Return the results."""
        ...


@contextmanager
def processes(workers: int) -> Iterator[Spread]:
    """Yield a `map` over several processes; the built-in one for a single worker."""
    if workers <= 1:
        yield map
        return
    with worker_pool(workers) as pool:
        yield lambda work, items: pool.map(work, items, chunksize=max(1, min(8, len(items) // (2 * workers))))


def world_of(recipe: Recipe) -> World:
    """Build the world of a recipe."""
    rng, n_marked = _drawn(recipe)
    n_things = round(n_marked * (1.5 if recipe.domain == "indoor" else 1.7)) + 2 + recipe.attempt // 4
    return _MAKERS[recipe.domain](rng, n_things)


def _drawn(recipe: Recipe) -> tuple[np.random.Generator, int]:
    """Return the random generator of a recipe, and how many objects to mark."""
    code = ("indoor", "outdoor").index(recipe.domain)
    rng = np.random.default_rng([recipe.seed, code, recipe.number, recipe.attempt])
    low, high = CROWDING[recipe.crowding]
    return rng, int(rng.integers(low, high + 1))


def scene_of(recipe: Recipe) -> tuple[SceneGraph | None, Counter[str]]:
    """Return the scene graph of a recipe, or None if too few objects are well visible; and what was left out."""
    _, n_marked = _drawn(recipe)
    world = world_of(recipe)
    options = KeepOptions(fewest_objects=n_marked, most_objects=n_marked)
    view = View(
        recipe.id,
        recipe.domain,
        world.camera,
        _up(world.world_SE3_cam),
        camera_height_m=round(float(world.world_SE3_cam.translation_m[2]), 4),
        source="made",
    )
    return build_graph(view, seen_things(world), options=options, seed=recipe.number)


def seen_things(world: World) -> list[Candidate]:
    """Return every object of a world as its camera sees it, with its true visibility."""
    cam_SE3_world = world.world_SE3_cam.inverse()
    placed = [_parts_cam(thing, cam_SE3_world) for thing in world.things]
    size = _RASTER_WIDTH_PX, round(world.camera.height_px * _RASTER_WIDTH_PX / world.camera.width_px)
    shares, _ = visible_shares(placed, Lattice.of_camera(world.camera.resized(size)))
    return [
        Candidate(
            thing.category,
            thing.cuboid_world.seen_from(cam_SE3_world),
            float(share),
            key="",
            box_px=_silhouette_px(parts, world.camera),
        )
        for thing, parts, share in zip(world.things, placed, shares, strict=True)
    ]


def render_made(made: MadeScene, *, samples: int = 2) -> Render:
    """Draw a made scene: the picture, the depth, and the mark of the object that each pixel shows.

    The mark is 0 where the picture shows no object, and below 0 where it shows one without a mark.
    """
    world = world_of(made.recipe)
    marks = _marks(made.graph, world)
    things = [
        Solid(thing.parts, thing.world_SE3_thing, mark)
        for thing, mark in zip(world.things, marks, strict=True)
    ]
    return render(
        [*world.backdrop(), *things], world.camera, world.world_SE3_cam, world.light, samples=samples
    )


def _marks(graph: SceneGraph, world: World) -> list[int]:
    """Return the mark of each object of a world, matched by its position; objects without a mark count down from −1."""
    cam_SE3_world = world.world_SE3_cam.inverse()
    by_place = {tuple(np.round(thing.centre_cam, 6)): thing.id for thing in graph.objects}
    middles = [thing.cuboid_world.seen_from(cam_SE3_world).centre_m for thing in world.things]
    return [by_place.get(tuple(np.round(middle, 6)), -number) for number, middle in enumerate(middles, 1)]


def _parts_cam(thing: Thing, cam_SE3_world: SE3) -> list[Part]:
    move = cam_SE3_world @ thing.world_SE3_thing
    return [part.placed(move.rotation, move.translation_m) for part in thing.parts]


def _silhouette_px(parts: Sequence[Part], camera: PinholeCamera) -> Box | None:
    """Return the upright box around an object's outline; None if it reaches behind the camera."""
    points = np.concatenate([part.points for part in parts])
    if (points[:, 2] <= max(NEAR, 0.11)).any():
        return None
    pixels = camera.project(points)
    low, high = pixels.min(axis=0), pixels.max(axis=0)
    return Box(*map(float, (*low, *high)))


def _up(world_SE3_cam: SE3) -> tuple[float, float, float]:
    x, y, z = map(float, world_SE3_cam.rotation.T @ np.array([0.0, 0.0, 1.0]))
    return x, y, z


@dataclass(frozen=True, slots=True)
class MakeOptions:
    """What a made data set should hold."""

    n_indoor: int
    n_outdoor: int
    seed: int = 0
    n_questions: int | None = None
    """All that the scenes allow if None."""
    is_rendered: bool = True
    with_truth: bool = False
    """True to write depth and instance maps too."""
    workers: int = 1


def make_data(
    folder: str | Path,
    options: MakeOptions,
    *,
    version: str = "",
    progress: Callable[[str, int], None] | None = None,
) -> SceneData:
    """Make scenes and questions, draw the pictures, and write everything.

    Args:
        folder: New or empty.
        options: How many scenes and questions, the seed, and whether to draw.
        version: Version of the program, for the manifest.
        progress: Called with the stage (``scenes``, ``pictures``) and how many are done.
    """
    folder = new_folder(folder)
    tell = partial(progress, "scenes") if progress is not None else None
    made = make_scenes(
        options.n_indoor, options.n_outdoor, seed=options.seed, workers=options.workers, progress=tell
    )
    graphs = [scene.graph for scene in made.scenes]
    asked = make_questions(graphs, seed=options.seed)
    questions: Sequence[SceneQuestion] = asked.questions
    left_out: dict[str, Any] = dict(made.left_out) | {
        f"questions: no clear {k}": v for k, v in asked.unmet.items()
    }
    if options.n_questions is not None:
        questions = thin_questions(questions, options.n_questions, seed=options.seed)
        left_out["questions beyond the number asked for"] = len(asked.questions) - len(questions)
    if options.is_rendered:
        graphs = _draw_all(folder, made.scenes, options, progress)
    manifest = Manifest(
        made={
            "source": "made",
            "indoor": options.n_indoor,
            "outdoor": options.n_outdoor,
            "seed": options.seed,
            "rendered": options.is_rendered,
            "theodolite": version,
        },
        counts=tally(graphs, questions),
        left_out=left_out,
    )
    return read_data(write_data(folder, graphs, questions, manifest))


def _draw_all(
    folder: Path, made: Sequence[MadeScene], options: MakeOptions, progress: Callable[[str, int], None] | None
) -> list[SceneGraph]:
    graphs = []
    work = partial(_draw_one, folder=folder, with_truth=options.with_truth)
    with processes(min(options.workers, len(made))) as spread:
        for graph in spread(work, made):
            graphs.append(graph)
            if progress is not None:
                progress("pictures", len(graphs))
    return graphs


def _draw_one(made: MadeScene, *, folder: Path, with_truth: bool) -> SceneGraph:
    """Draw one scene, plain and marked; return its graph with the paths of the pictures."""
    drawn = render_made(made)
    if with_truth:
        (folder / TRUTH).mkdir(parents=True, exist_ok=True)
        np.savez_compressed(
            folder / TRUTH / f"{made.graph.id}.npz", depth_m=drawn.depth_m, instance=drawn.instance
        )
    return write_pictures(folder, made.graph, drawn.picture, instance=drawn.instance)
