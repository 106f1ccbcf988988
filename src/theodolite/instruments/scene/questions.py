"""The items of a scene run: every graph and every question, in every setting that was asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from theodolite.core.errors import UsageError
from theodolite.core.types import Item, Json, Message, Picture, Request
from theodolite.instruments.scene.data.files import SceneData, question_to_json
from theodolite.instruments.scene.data.graph import SceneGraph, StarGraph
from theodolite.instruments.scene.data.questions import Question
from theodolite.instruments.scene.prompts import graph_prompt, graph_text, longest_answer, qa_prompt
from theodolite.instruments.scene.settings import (
    GRAPH_SETTINGS,
    QA_SETTINGS,
    WITH_PICTURE,
    GraphSetting,
    Mode,
    QaSetting,
)

_TRUE: tuple[QaSetting, ...] = ("true graph", "true graph alone")
_LATER: tuple[QaSetting, ...] = ("predicted graph", "noisy graph")


@dataclass(frozen=True, slots=True)
class Settings:
    """Which graphs and which questions to ask, and how."""

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
                "the setting 'predicted graph' needs the setting 'base': a question that cannot be asked for want of a graph is "
                "counted by what was asked there"
            )


def plan_scenes(data: SceneData, settings: Settings | None = None) -> Iterator[Item]:
    """Scene by scene: its graph in each setting, then its questions, so that any first part of the plan holds all settings.

    Questions that need a graph of the model's own, or a noisy one, come later, by `plan_with_graphs`.
    """
    settings = settings or Settings()
    by_scene: defaultdict[str, list[Question]] = defaultdict(list)
    for question in data.questions:
        by_scene[question.scene].append(question)
    for scene in data.scenes.values():
        picture = _needed_picture(data, scene, settings)
        star = scene.star()
        for graph_setting in settings.graph:
            yield _graph_item(scene, star, graph_setting, settings.mode, picture)
        for question in by_scene[scene.id]:
            for setting in settings.qa:
                if setting not in _LATER:
                    graph = star if setting in _TRUE else None
                    yield qa_item(
                        question, scene, setting=setting, mode=settings.mode, picture=picture, graph=graph
                    )


def plan_with_graphs(
    data: SceneData,
    graphs: Mapping[str, StarGraph],
    *,
    setting: QaSetting = "predicted graph",
    mode: Mode | None = None,
    noise: float | None = None,
) -> Iterator[Item]:
    """Every question of every scene that has a graph, with that graph in the prompt.

    Args:
        data: the data set.
        graphs: by scene. A scene that is missing here has no items: its questions are failed for want of a graph.
        setting: what these graphs are.
        mode: how to answer.
        noise: the level of noise, of a noisy graph.
    """
    for question in data.questions:
        graph = graphs.get(question.scene)
        if graph is None:
            continue
        scene = data.scenes[question.scene]
        picture = _picture(data, scene) if WITH_PICTURE[setting] else None
        yield qa_item(
            question, scene, setting=setting, mode=mode or Mode(), picture=picture, graph=graph, noise=noise
        )


def qa_item(
    question: Question,
    scene: SceneGraph,
    *,
    setting: QaSetting,
    mode: Mode,
    picture: Picture | None,
    graph: StarGraph | None = None,
    noise: float | None = None,
) -> Item:
    """One question in one setting."""
    text = qa_prompt(question, len(scene.objects), setting=setting, mode=mode, graph=graph)
    name = f"{question.id}/qa/{setting}/{mode.name}" + (f"/{noise:g}" if noise is not None else "")
    meta: dict[str, Json] = {
        "task": "qa",
        "setting": setting,
        "mode": mode.name,
        "scene": scene.id,
        "domain": scene.domain,
        "question": question_to_json(question),
    }
    if graph is not None:
        meta["graph"] = graph.as_json()
    if noise is not None:
        meta["noise"] = noise
    shown = (picture,) if picture is not None and WITH_PICTURE[setting] else ()
    return _item(name, (*shown, text), meta, gold=question.gold, max_tokens=longest_answer("qa", mode))


def _graph_item(
    scene: SceneGraph, star: StarGraph, setting: GraphSetting, mode: Mode, picture: Picture | None
) -> Item:
    meta: dict[str, Json] = {
        "task": "graph",
        "setting": setting,
        "mode": mode.name,
        "scene": scene.id,
        "domain": scene.domain,
        "graph": star.as_json(),
        "centre": star.centre,
    }
    text = graph_prompt(scene, setting=setting, mode=mode)
    shown = (picture,) if picture is not None and setting == "base" else ()
    name = f"{scene.id}/graph/{setting}/{mode.name}"
    return _item(name, (*shown, text), meta, gold=graph_text(star), max_tokens=longest_answer("graph", mode))


def _item(
    name: str, content: Sequence[str | Picture], meta: Mapping[str, Json], *, gold: str, max_tokens: int
) -> Item:
    """An item whose request a log finds again by its own content alone.

    The same words are asked of many pictures, and the same question with many graphs: so no record is found by its words, and
    the id that an exported task and its log carry ends in a hash of all that the model sees.
    """
    hint = {
        "gold": gold,
        **{key: meta[key] for key in ("task", "setting", "scene", "question") if key in meta},
    }
    request = Request((Message.user(*content),), max_tokens=max_tokens, recall="id", hint=hint)
    return Item(name, replace(request, ref=f"{name}#{request.digest[:12]}"), meta=meta)


def _needed_picture(data: SceneData, scene: SceneGraph, settings: Settings) -> Picture | None:
    is_shown = "base" in settings.graph or any(WITH_PICTURE[setting] for setting in settings.qa)
    return _picture(data, scene) if is_shown else None


def _picture(data: SceneData, scene: SceneGraph) -> Picture:
    picture = data.picture(scene.id)
    if picture is None:
        raise UsageError(
            f"scene {scene.id!r} has no marked picture; make the data set with pictures (without --no-render), or ask only "
            "in the settings 'blind' and 'true graph alone'"
        )
    return picture
