"""Prompts, settings, modes of answering, and the plan of a run and of its later rounds.

No prompt contains a category, a 2D box, a coordinate or anything about the camera. A prompt without a picture says so, and
asks for the best guess.

Every item carries its `Truth`, so that a run can be scored without its data set: the subject is the question or the scene, the
cluster is the scene, and the condition is one of `QA_SETTINGS` or `GRAPH_SETTINGS` (*plain* for ``base``), `OTHER_PICTURE`, or,
of pairs, ``before`` or the name of an edit. Besides, its ``meta`` holds:

=============  ==========================================================================================
``mode``       ``direct``, ``chain of thought`` or ``thinking``
``domain``     of the scene
``question``   of a question: what else makes it, for `question_of`
``graph``      of a question with a graph in its prompt: that graph, as `StarGraph.as_json` writes it
``noise``      of a question in the setting ``noisy graph``: the noise level
``rubric``     of a question: its group. Of a graph: the task, the true star graph, and the mark of its centre object
=============  ==========================================================================================

An item is named ``<scene>/graph/<setting>/<mode>`` or ``<question>/qa/<setting>/<mode>`` (with ``/<level>`` for a noisy graph).
A question whose setting needs a graph that the model did not give has no item in that setting: scoring finds it by its item
in the base setting, and counts it as failed because there is no graph.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np

from theodolite.answers.grading import format_of, gold_labels
from theodolite.core.errors import UsageError
from theodolite.core.files import check, dump
from theodolite.core.scores import ALIGNED, CROSSED
from theodolite.core.types import PLAIN, Item, Json, Message, Picture, Record, Request, Truth
from theodolite.instruments.instrument import RunPlan
from theodolite.instruments.scene.data.files import Option, SceneData, SceneQuestion, is_aligned, read_data
from theodolite.instruments.scene.data.make import BEFORE, read_pairs
from theodolite.instruments.scene.experiments.noise import NOISE_LEVELS, noisy_graphs
from theodolite.instruments.scene.graph_parser import parse_graph, star_from_json
from theodolite.instruments.scene.kinds import Form
from theodolite.models import ask_factory, ask_measurer
from theodolite.pairs.outcomes import EDITS, with_repeats
from theodolite.runs import Run
from theodolite.worlds.scene_graph import PREDICATES, SceneGraph, StarGraph

# Items of runs that were stored before items carried their truth.


def with_truth(item: Item, _: Mapping[str, Any]) -> Item:
    """Return an item with its truth, rebuilt from its meta."""
    meta = cast("Mapping[str, Any]", item.meta)
    setting, mode = str(meta["setting"]), str(meta.get("mode", "direct"))
    if meta["task"] == "graph":
        new = graph_meta(meta["graph"], int(meta["centre"]), mode, str(meta["domain"]))
        return replace(item, meta=new, truth=graph_truth(str(meta["scene"]), setting))
    question = check(SceneQuestion, meta["question"])
    is_edited = setting in EDITS
    truth = replace(
        qa_truth(question, setting),
        split=str(meta.get("split", "")),
        edit=setting if is_edited else "",
        base=qa_name(question.id, BEFORE, mode) if is_edited else "",
        repeats=str(meta.get("repeats", "")),
    )
    return replace(item, meta=qa_meta(question, mode, meta.get("graph"), meta.get("noise")), truth=truth)


QaSetting: TypeAlias = Literal[
    "base", "blind", "predicted graph", "true graph", "true graph alone", "noisy graph"
]
"""``base``: the marked picture. ``blind``: no picture. ``predicted graph``: the picture and the model's own graph. ``true
graph``: the picture and the true graph. ``true graph alone``: the true graph without the picture. ``noisy graph``: the
picture and the true graph with graded noise (the threshold experiment; only on request)."""
QA_SETTINGS: tuple[QaSetting, ...] = get_args(QaSetting)

GraphSetting: TypeAlias = Literal["base", "blind"]
"""``base``: the marked picture. ``blind``: only the list of marks."""
GRAPH_SETTINGS: tuple[GraphSetting, ...] = get_args(GraphSetting)

BASE = "base"
"""The setting of an item that shows its own marked picture and nothing else."""
OTHER_PICTURE = "other picture"
"""The setting of an item that shows another scene's picture."""
PICTURES = "scene-pictures"
"""The kind of run that asks everything with its own picture and with another scene's."""
PAIRS = "scene-pairs"
"""The kind of run that asks questions before and after edits."""

WITHOUT_PICTURE: frozenset[str] = frozenset({"blind", "true graph alone"})
"""Settings that show no picture."""
_TRUE: tuple[QaSetting, ...] = ("true graph", "true graph alone")
_LATER: tuple[QaSetting, ...] = ("predicted graph", "noisy graph")

ModeName: TypeAlias = Literal["direct", "chain of thought", "thinking"]
MODE_NAMES: tuple[ModeName, ...] = get_args(ModeName)

THINKING_BUDGET = 1024
"""Tokens; the budget that the paper gives to models that always think."""


@dataclass(frozen=True, slots=True)
class Mode:
    """How a model should answer."""

    name: ModeName = "direct"
    budget_tokens: int = THINKING_BUDGET
    """For ``chain of thought`` and ``thinking``: the tokens for reasoning, besides the answer."""

    def __post_init__(self) -> None:
        if self.name not in MODE_NAMES:
            known = ", ".join(name.replace(" ", "-") for name in MODE_NAMES)
            raise UsageError(f"there is no mode {self.name!r}; there are {known}")
        if self.budget_tokens < 1:
            raise UsageError(f"a budget is at least one token, not {self.budget_tokens}")


@dataclass(frozen=True, slots=True)
class Settings:
    """Which graphs and questions to ask for, and how."""

    qa: tuple[QaSetting, ...] = ("base", "blind", "predicted graph", "true graph", "true graph alone")
    graph: tuple[GraphSetting, ...] = GRAPH_SETTINGS
    mode: Mode = field(default_factory=Mode)

    def __post_init__(self) -> None:
        wrong = [s for s in self.qa if s not in QA_SETTINGS] + [
            s for s in self.graph if s not in GRAPH_SETTINGS
        ]
        if wrong or not (self.qa or self.graph):
            raise UsageError(f"settings are some of {', '.join(QA_SETTINGS)}, not {wrong or 'none'}")
        if "predicted graph" in self.qa and "base" not in self.graph:
            raise UsageError("the setting 'predicted graph' needs the model's own graphs: ask for graphs too")
        if "predicted graph" in self.qa and "base" not in self.qa:
            raise UsageError(
                "the setting 'predicted graph' needs the setting 'base': questions without a graph are counted there"
            )

    @classmethod
    def parse(cls, text: str, mode: Mode) -> Settings:
        """Parse a comma-separated list of words with hyphens; ``all`` for every setting except noisy graphs.

        ``graphs`` asks for the model's own graphs. Graphs and base questions are added where other settings need them.
        """
        if text == "all":
            return cls(mode=mode)
        words = {word.strip().replace("-", " ") for word in text.split(",") if word.strip()}
        if not words or words - {*QA_SETTINGS, "graphs"}:
            known = ", ".join(s.replace(" ", "-") for s in QA_SETTINGS)
            raise UsageError(f"--settings takes all, or some of {known} and graphs, not {text!r}")
        is_own = "predicted graph" in words
        qa = tuple(s for s in QA_SETTINGS if s in words or (s == "base" and is_own))
        graph = GRAPH_SETTINGS if "graphs" in words else GRAPH_SETTINGS[:1] if is_own else ()
        return cls(qa, graph, mode)


QA_TOKENS, GRAPH_TOKENS = 2048, 4096
"""The longest direct answer, as in the published runs."""
_FINAL_TOKENS = 64
"""Room for a short final answer after the reasoning budget."""

_WITH_PICTURE = "The picture shows a place. Some objects in it carry a round mark with a number; object 3 is the one marked 3."
_WITHOUT_PICTURE = (
    "There is a place with objects that are known only by their numbers, 1 to {n}. There is no picture of it. "
    "Give the answer that you think most likely; do not decline."
)
_WITH_GRAPH_ALONE = (
    "There is a place with objects that are known only by their numbers, 1 to {n}. There is no picture of it, but there is a "
    "description of it in numbers."
)

GRAPH_KEY = (
    "In this 3D scene graph all lengths are in metres. For each object: its distance from the camera (dist_to_cam, to its "
    "middle) and its size as width w (the shorter horizontal side), length l (the longer horizontal side) and height h. For "
    "each edge: the distance between the middles of both objects, and where the object `to` is, seen from the camera, "
    "relative to the object `from`: left, right, in front of (nearer to the camera), behind (farther from it), up, down."
)

_HOW: Mapping[Form, Mapping[ModeName, str]] = {
    "choice": {
        "direct": "Answer with the letter of the right option only.",
        "chain of thought": "Think step by step. Then end with a line of the form: Answer: <letter>",
        "thinking": "You may think for up to about {budget} tokens. Then answer with the letter of the right option only.",
    },
    "number": {
        "direct": "Answer with a single number only.",
        "chain of thought": "Think step by step. Then end with a line of the form: Answer: <number>",
        "thinking": "You may think for up to about {budget} tokens. Then answer with a single number only.",
    },
}

_SCHEMA = """{
  "objects": [{"id": <number>, "dist_to_cam": <metres>, "size": {"w": <metres>, "l": <metres>, "h": <metres>}}],
  "edges": [{"from": <number>, "to": <number>, "distance": <metres>, "relation": [<words>]}]
}"""

_GRAPH_TASK = """Write down the layout of this place as a 3D scene graph in JSON.

- objects: one entry for each of the objects {marks}. `dist_to_cam` is the distance from the camera to the object's middle. \
`size` holds the real width (the shorter horizontal side), length (the longer horizontal side) and height. All in metres.
- edges: one entry from object {centre} to each of the other objects. `distance` is the distance between the two middles, in \
metres. `relation` lists every word that is true of the object `to`, seen from the camera, relative to object {centre}. Use \
only these words: {words}. "in front of" means nearer to the camera, "behind" farther from it.

The form:
```json
{schema}
```
"""

_GRAPH_HOW: Mapping[ModeName, str] = {
    "direct": "Answer with the JSON only.",
    "chain of thought": "Think step by step first. Then end with the JSON in a fenced block.",
    "thinking": "You may think for up to about {budget} tokens. Then answer with the JSON only.",
}


def qa_prompt(
    question: SceneQuestion,
    n_objects: int,
    *,
    setting: QaSetting | str = "base",
    mode: Mode | None = None,
    graph: StarGraph | None = None,
) -> str:
    """Return the whole text of a question.

    Args:
        question: What to ask.
        n_objects: Number of objects in its scene.
        setting: Decides what is said about a picture.
        mode: How to answer; directly by default.
        graph: Put before the question, in settings with a graph.
    """
    mode = mode or Mode()
    parts = [_opening(setting, n_objects)]
    if graph is not None:
        parts += [GRAPH_KEY, f"```json\n{graph_text(graph)}\n```"]
    parts += [question.lines, _HOW[question.form][mode.name].format(budget=mode.budget_tokens)]
    return "\n\n".join(parts)


def graph_prompt(scene: SceneGraph, *, setting: GraphSetting = "base", mode: Mode | None = None) -> str:
    """Return the whole text that asks for a scene's star graph."""
    mode = mode or Mode()
    task = _GRAPH_TASK.format(
        marks=", ".join(str(thing.id) for thing in scene.objects),
        centre=scene.centre,
        words=", ".join(PREDICATES),
        schema=_SCHEMA,
    )
    how = _GRAPH_HOW[mode.name].format(budget=mode.budget_tokens)
    return "\n\n".join([_opening(setting, len(scene.objects)), task.strip(), how])


def graph_text(graph: StarGraph) -> str:
    """Return a graph as prompts show it: JSON, one object or edge per line.

    >>> from theodolite.worlds.scene_graph import Edge, Node
    >>> print(graph_text(StarGraph(1, (Node(1, 5.0, 1.0, 2.0, 0.5),), (Edge(2, 3.0, frozenset({"left"})),))))
    {"objects": [
      {"id": 1, "dist_to_cam": 5.0, "size": {"w": 1.0, "l": 2.0, "h": 0.5}}],
     "edges": [
      {"from": 1, "to": 2, "distance": 3.0, "relation": ["left"]}]}
    """
    whole = graph.as_json()
    lines = {key: ",\n".join(f"  {json.dumps(row)}" for row in rows) for key, rows in whole.items()}
    return f'{{"objects": [\n{lines["objects"]}],\n "edges": [\n{lines["edges"]}]}}'


def _longest_answer(task: str, mode: Mode) -> int:
    """Return the longest answer in tokens; with a thinking budget, the budget plus room for the answer."""
    direct = QA_TOKENS if task == "qa" else GRAPH_TOKENS
    if mode.name == "thinking":
        return mode.budget_tokens + (_FINAL_TOKENS if task == "qa" else GRAPH_TOKENS)
    return direct


def _opening(setting: str, n_objects: int) -> str:
    if setting == "blind":
        return _WITHOUT_PICTURE.format(n=n_objects)
    if setting == "true graph alone":
        return _WITH_GRAPH_ALONE.format(n=n_objects)
    return _WITH_PICTURE


def plan_run(
    data: SceneData,
    settings: Settings,
    measured: Iterable[tuple[Item, Record | None]] = (),
    *,
    noise_levels: Sequence[float] = NOISE_LEVELS,
    seed: int = 0,
) -> Iterator[Item]:
    """Yield all items of a run that are known so far; questions with the model's own graph follow once it has given its graphs.

    Args:
        data: The data set.
        settings: What to ask.
        measured: What the run holds so far.
        noise_levels: Noise levels of the setting ``noisy graph``.
        seed: Seed of the noise.
    """
    yield from plan_scenes(data, settings)
    if "predicted graph" in settings.qa:
        yield from plan_with_graphs(data, _predicted_graphs(measured, settings.mode), mode=settings.mode)
    if "noisy graph" in settings.qa:
        stars = {scene.id: scene.star() for scene in data.scenes.values()}
        for level in noise_levels:
            graphs = noisy_graphs(stars, level, seed=seed)
            yield from plan_with_graphs(data, graphs, setting="noisy graph", mode=settings.mode, noise=level)


def plan_scenes(data: SceneData, settings: Settings | None = None) -> Iterator[Item]:
    """Yield the items scene by scene: graphs in each setting, then questions, so that any first part of the plan has all settings.

    Questions that need the model's own graph or a noisy one are not included: see `plan_with_graphs`.
    """
    settings = settings or Settings()
    by_scene: defaultdict[str, list[SceneQuestion]] = defaultdict(list)
    for question in data.questions:
        by_scene[question.scene].append(question)
    is_shown = any(s not in WITHOUT_PICTURE for s in (*settings.graph, *settings.qa))
    for scene in data.scenes.values():
        picture = _picture(data, scene) if is_shown else None
        star = scene.star()
        for graph_setting in settings.graph:
            yield _graph_item(scene, star, graph_setting, settings.mode, picture)
        for question in by_scene[scene.id]:
            for setting in settings.qa:
                if setting not in _LATER:
                    graph = star if setting in _TRUE else None
                    yield _qa_item(question, scene, setting, settings.mode, picture, graph)


def plan_with_graphs(
    data: SceneData,
    graphs: Mapping[str, StarGraph],
    *,
    setting: QaSetting = "predicted graph",
    mode: Mode | None = None,
    noise: float | None = None,
) -> Iterator[Item]:
    """Yield the questions about every scene that has a graph, with that graph in the prompt.

    Args:
        data: The data set.
        graphs: By scene. The questions of other scenes are not asked.
        setting: What these graphs are.
        mode: How to answer.
        noise: The noise level of noisy graphs.
    """
    for question in data.questions:
        graph = graphs.get(question.scene)
        if graph is not None:
            scene = data.scenes[question.scene]
            yield _qa_item(question, scene, setting, mode or Mode(), _picture(data, scene), graph, noise)


def plan_pictures(data: SceneData, *, seed: int = 0) -> Iterator[Item]:
    """Yield every question and graph with its own picture, and with that of another scene with as many marks, if there is one.

    Args:
        data: With marked pictures.
        seed: Seed of the choice of the other scene.
    """
    others = _other_pictures(data, seed)
    for item in plan_scenes(data, Settings(qa=("base",), graph=("base",))):
        yield item
        other = others.get(item.cluster)
        if other is not None:
            yield with_picture(item, other)


def plan_pairs(pairs: Mapping[str, SceneData], *, split: str = "") -> Iterator[Item]:
    """Yield every question before and after its edits.

    Args:
        pairs: From `theodolite.instruments.scene.data.make.read_pairs`.
        split: Split of the data. By default each question has its own: whether the shortcut rule is right before the edit.
    """
    asked = [(setting, data, question) for setting, data in pairs.items() for question in data.questions]
    golds = {question.id: question.gold for setting, _, question in asked if setting == BEFORE}
    for setting, data, question in sorted(asked, key=lambda each: each[2].id):
        scene = data.scenes[question.scene]
        item = _qa_item(question, scene, setting, Mode(), _picture(data, scene))
        is_right = is_aligned(replace(question, gold=golds[question.id]))
        truth = replace(item.truth, split=split or (ALIGNED if is_right else CROSSED))
        if setting != BEFORE:
            truth = replace(truth, edit=setting, base=qa_name(question.id, BEFORE))
        yield replace(item, truth=truth)


def with_picture(item: Item, picture: Picture, *, setting: str = OTHER_PICTURE) -> Item:
    """Return the same question or graph with another picture, as a separate item.

    Args:
        item: The question or graph.
        picture: The other picture.
        setting: Setting of the new item.
    """
    words = [part for part in item.request.messages[0].content if isinstance(part, str)]
    name = f"{item.name}/{setting}"
    hint = {
        **item.request.hint,
        "setting": "blind",
    }  # another picture tells a script nothing about this scene
    request = replace(item.request, messages=(Message.user(picture, *words),), recall="content", hint=hint)
    return Item(
        name,
        replace(request, ref=f"{name}#{request.digest[:12]}"),
        item.options,
        item.meta,
        replace(item.truth, condition=setting),
    )


def _other_pictures(data: SceneData, seed: int) -> dict[str, Picture]:
    """Return for every scene the picture of the next one with as many marks, in random order."""
    rng = np.random.default_rng(seed)
    by_size: dict[int, list[str]] = {}
    for scene in data.scenes.values():
        by_size.setdefault(len(scene.objects), []).append(scene.id)
    pictures: dict[str, Picture] = {}
    for names in by_size.values():
        order = [names[i] for i in rng.permutation(len(names))]
        for name, other in zip(order, [*order[1:], order[0]], strict=True):
            picture = data.picture(other) if other != name else None
            if picture is not None:
                pictures[name] = picture
    return pictures


def _predicted_graphs(measured: Iterable[tuple[Item, Record | None]], mode: Mode) -> dict[str, StarGraph]:
    """Return the model's own graphs, given with the picture, by scene; scenes without a readable graph are left out."""
    graphs: dict[str, StarGraph] = {}
    for item, record in measured:
        is_asked = is_graph(item) and item.truth.is_plain and item.meta["mode"] == mode.name
        if not is_asked or record is None or not record.response.is_answered:
            continue
        true = true_graph(item)
        reading = parse_graph(record.response.text, true.centre, [node.id for node in true.nodes])
        if reading.graph is not None:
            graphs[item.cluster] = reading.graph
    return graphs


def _qa_item(
    question: SceneQuestion,
    scene: SceneGraph,
    setting: QaSetting | str,
    mode: Mode,
    picture: Picture | None,
    graph: StarGraph | None = None,
    noise: float | None = None,
) -> Item:
    text = qa_prompt(question, len(scene.objects), setting=setting, mode=mode, graph=graph)
    stated = None if graph is None else graph.as_json()
    about: dict[str, Json] = {
        "task": "qa",
        "setting": setting,
        "scene": scene.id,
        "question": dump(question, exclude_defaults=True),
    }
    return _item(
        qa_name(question.id, setting, mode.name, noise),
        _shown(text, setting, picture),
        _longest_answer("qa", mode),
        {"gold": question.gold, **about},
        qa_meta(question, mode.name, stated, noise),
        qa_truth(question, setting),
    )


def qa_name(question: str, setting: str, mode: str = "direct", noise: float | None = None) -> str:
    """Return the name of the item of a question."""
    return f"{question}/qa/{setting}/{mode}" + (f"/{noise:g}" if noise is not None else "")


def qa_meta(
    question: SceneQuestion, mode: str, graph: Json = None, noise: float | None = None
) -> dict[str, Json]:
    """Return the meta of the item of a question."""
    about: dict[str, Json] = {
        "text": question.text,
        "objects": list(question.objects),
        "keys": [option.key for option in question.options],
        "difficulty": question.difficulty,
        "relation": question.relation,
        "distance_m": question.distance_m,
    }
    meta: dict[str, Json] = {
        "mode": mode,
        "domain": question.domain,
        "question": {key: value for key, value in about.items() if value not in (None, [])},
        "graph": graph,
        "noise": noise,
        "rubric": {"group": question.group_name},
    }
    return {key: value for key, value in meta.items() if value is not None}


def qa_truth(question: SceneQuestion, setting: str) -> Truth:
    """Return the truth of the item of a question."""
    is_number = question.form == "number"
    gold = question.gold if is_number else question.options[question.letters.index(question.gold)].text
    return Truth(
        (gold,),
        question.format,
        subject=question.id,
        cluster=question.scene,
        group=question.kind,
        relation=question.competency,
        condition=PLAIN if setting == BASE else setting,
        grader="scene" if is_number else "",
    )


def question_of(item: Item) -> SceneQuestion:
    """Return the question of an item."""
    truth, meta = item.truth, cast("Mapping[str, Any]", item.meta)
    about, expected = meta["question"], format_of(item)
    texts = expected.options.values()
    return SceneQuestion(
        id=truth.subject,
        scene=truth.cluster,
        domain=meta["domain"],
        kind=cast("Any", truth.group),
        text=about["text"],
        objects=tuple(about["objects"]),
        gold=gold_labels(expected, truth.golds)[0],
        difficulty=about["difficulty"],
        options=tuple(Option(text, key) for text, key in zip(texts, about.get("keys", ()), strict=True)),
        relation=about.get("relation"),
        distance_m=about.get("distance_m"),
    )


def _graph_item(
    scene: SceneGraph, star: StarGraph, setting: GraphSetting, mode: Mode, picture: Picture | None
) -> Item:
    text = graph_prompt(scene, setting=setting, mode=mode)
    return _item(
        f"{scene.id}/graph/{setting}/{mode.name}",
        _shown(text, setting, picture),
        _longest_answer("graph", mode),
        {"gold": graph_text(star), "task": "graph", "setting": setting, "scene": scene.id},
        graph_meta(star.as_json(), star.centre, mode.name, scene.domain),
        graph_truth(scene.id, setting),
    )


def graph_meta(graph: Json, centre: int, mode: str, domain: str) -> dict[str, Json]:
    """Return the meta of the item of a scene graph."""
    return {"mode": mode, "domain": domain, "rubric": {"task": "graph", "graph": graph, "centre": centre}}


def graph_truth(scene: str, setting: str) -> Truth:
    """Return the truth of the item of a scene graph."""
    condition = PLAIN if setting == BASE else setting
    return Truth(subject=scene, cluster=scene, group="scene graph", condition=condition, grader="scene")


def is_graph(item: Item) -> bool:
    """Return True if an item asks for a scene graph, False if it asks a question."""
    return "task" in cast("Mapping[str, Any]", item.meta["rubric"])


def true_graph(item: Item) -> StarGraph:
    """Return the true star graph of an item that asks for it."""
    rubric = cast("Mapping[str, Any]", item.meta["rubric"])
    return star_from_json(rubric["graph"], int(rubric["centre"]))


def setting_of(item: Item) -> str:
    """Return the setting of an item: its condition, and ``base`` for the plain one."""
    return BASE if item.truth.condition == PLAIN else item.truth.condition


def _item(
    name: str,
    content: Sequence[str | Picture],
    max_tokens: int,
    hint: Mapping[str, Json],
    meta: Mapping[str, Json],
    truth: Truth,
) -> Item:
    """Return an item that a log identifies only by its content.

    The same words are asked about many pictures and with many graphs, so no record can be found by its words; the id that
    exported tasks and their logs carry ends in a hash of everything that the model sees.
    """
    request = Request((Message.user(*content),), max_tokens=max_tokens, recall="id", hint=hint)
    return Item(name, replace(request, ref=f"{name}#{request.digest[:12]}"), meta=meta, truth=truth)


def _shown(text: str, setting: str, picture: Picture | None) -> tuple[str | Picture, ...]:
    """Return what a model receives: the picture, if there is one and the setting shows it, and the text."""
    return (text,) if picture is None or setting in WITHOUT_PICTURE else (picture, text)


def _picture(data: SceneData, scene: SceneGraph) -> Picture:
    picture = data.picture(scene.id)
    if picture is None:
        raise UsageError(
            f"scene {scene.id!r} has no marked picture; make the data set with pictures (without --no-render), or ask only "
            "in the settings 'blind' and 'true graph alone'"
        )
    return picture


# What a model is asked in a diagnosis, and what measures it: the model's answers in its own words.


def run_plans(folder: Path, *, split: str, settings: Sequence[str], seed: int) -> Iterator[RunPlan]:
    """Yield the runs on one data set: its questions and graphs, and the same with another scene's picture.

    Args:
        folder: The data set.
        split: Split of the data.
        settings: In which questions are asked.
        seed: Seed of the choice of other pictures.
    """
    data = read_data(folder)
    asked = Settings(qa=cast("Any", tuple(settings)))
    about = {"data": str(folder.absolute()), "split": split}
    name = split.replace(" ", "-")
    yield RunPlan(
        f"scene-{name}",
        "scene",
        {**about, "settings": [*settings, "graphs"]},
        partial(next_items, data, asked),
        ask_measurer,
        ask_factory,
        more=len(data.questions) if "predicted graph" in settings else 0,
    )
    yield RunPlan(
        f"scene-pictures-{name}",
        PICTURES,
        about,
        lambda _: plan_pictures(data, seed=seed),
        ask_measurer,
        ask_factory,
    )


def pairs_plan(folder: Path, *, name: str, split: str = "") -> RunPlan:
    """Return the run on a data set of pairs.

    Args:
        folder: From `theodolite.instruments.scene.data.make.write_pairs`.
        name: The name of the run.
        split: Split of the data; by default each question has its own.
    """
    return RunPlan(
        name,
        PAIRS,
        {"data": str(folder.absolute())},
        lambda run: with_repeats(
            plan_pairs(read_pairs(folder), split=split),
            lambda item: item.truth.condition == BEFORE,
            model=run.info.model,
        ),
        ask_measurer,
        ask_factory,
    )


def next_items(data: SceneData, settings: Settings, run: Run, *, seed: int = 0) -> Iterator[Item]:
    """Return the plan of a run, which grows once the model has given its graphs."""
    measured = ((result.item, result.record) for result in run.results())
    return plan_run(data, settings, measured, seed=seed)
