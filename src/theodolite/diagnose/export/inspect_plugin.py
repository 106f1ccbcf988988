"""Theodolite in inspect_ai (entry point ``inspect_ai``): scorers, a task that asks pairs, and Theodolite's models.

``theodolite/answer``    reads and scores answers as Theodolite does; metrics: the mean of each condition
``theodolite/looking``   followed minus inverted pairs; works on any run: questions with the same words, other pictures and targets
``theodolite/pairs``     a task of an instrument's items, or of a data set's (``-T data=PATH``)
``theodolite/MODEL``     any model of Theodolite, such as ``theodolite/pocket:mixed``

This module can be imported without inspect_ai; then nothing is registered.
"""

from __future__ import annotations

import base64
import tempfile
import threading
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any

from theodolite.answers import Answer, AnswerFormat, normal_form
from theodolite.answers.grading import Grade, gold_labels, grader_of, rubric_of
from theodolite.answers.options import LONGEST_ANSWER, NoSuchOption, named_option, options_in_words
from theodolite.core.errors import UsageError
from theodolite.core.registry import registry
from theodolite.core.types import Message, Picture, Request
from theodolite.diagnose.export.inspect_log import PROVIDER, sample_json, score_metadata
from theodolite.diagnose.export.samples import plan_runs, read_samples
from theodolite.diagnose.export.shares import (
    FAILED,
    Graded,
    by_condition,
    pair_outcomes,
    short_hash,
    targets_of,
)
from theodolite.instruments.instrument import find_instruments

__all__ = ["graded_state", "pair_samples"]

_LONGEST_TEXT = 10_000
"""The longest free text that a score keeps."""


def graded_state(state: Any, targets: Sequence[str], right: str = "") -> Graded:
    """Read and score the answer of a sample, by its rubric or, in a foreign task, by its choices and target.

    Args:
        state: The sample, as inspect_ai gives it to scorers.
        targets: Its right answers.
        right: The name of another score of the sample, which says if the answer is right. Default: read it.

    Raises:
        UsageError: If the sample has no score of that name.
    """
    about: Mapping[str, Any] = state.metadata or {}
    if not isinstance(about.get("rubric"), Mapping):
        return _graded_foreign(state, targets, right)
    rubric: Mapping[str, Any] = about["rubric"]
    grade = _grade(state, about, rubric)
    return Graded(
        str(state.sample_id),
        grade.value if grade is not None else None,
        grade.answer.status if grade is not None else FAILED,
        grade.answer.value if grade is not None else None,
        grade.answer.reason if grade is not None else "",
        str(about.get("condition") or "plain"),
        str(about.get("split") or ""),
        str(rubric.get("group") or ""),
        tuple((str(pair["before"]), bool(pair["relevant"])) for pair in about.get("pairs") or ()),
        cluster=str(about.get("cluster") or ""),
        words=short_hash(state.input_text),
        targets=targets_of(rubric),
        epoch=state.epoch,
    )


def _graded_foreign(state: Any, targets: Sequence[str], right: str) -> Graded:
    """Read and score a sample of a foreign task. Answers are texts of options, since their order may differ."""
    shown = _shown(state)
    choices = [choice.value for choice in state.choices]
    expected, golds = _foreign_format(choices or _texts(shown), targets, are_choices=bool(choices))
    grade = _grade(state, {}, rubric_of(expected, golds))
    if right:
        grade = _graded_by(state, right)
    unpaired = _unpaired(shown, expected, targets, is_read=not right)
    answer = grade.answer if grade is not None else Answer("unreadable")
    value = expected.options.get(str(answer.value), answer.value) if not right else answer.value
    text = state.output.choices[0].message.text if grade is not None and expected.kind == "text" else ""
    return Graded(
        str(state.sample_id),
        grade.value if grade is not None else None,
        answer.status if grade is not None else FAILED,
        value,
        "; ".join(filter(None, (answer.reason, unpaired and f"not paired: {unpaired}"))),
        words=short_hash(*_texts(shown), *sorted(choices)),
        pictures=short_hash(*_images(shown)),
        targets=() if unpaired else tuple(expected.options.get(gold, gold) for gold in golds),
        text="" if right else text[:_LONGEST_TEXT],
        epoch=state.epoch,
    )


def _unpaired(shown: Any, expected: AnswerFormat, targets: Sequence[str], *, is_read: bool) -> str:
    """Return why a sample of a foreign task is in no pair. Empty if it may be in one."""
    if not _images(shown):
        return "it has no picture"
    if not any(target.strip() for target in targets):
        return "it has no target"
    if is_read and expected.kind == "choice" and len(targets) > 1:
        return "it has several right choices"
    if (
        is_read
        and expected.kind == "text"
        and max(len(target.split()) for target in targets) > LONGEST_ANSWER
    ):
        return f"its target has more than {LONGEST_ANSWER} words"
    return ""


def _grade(state: Any, about: Mapping[str, Any], rubric: Mapping[str, Any]) -> Grade | None:
    if not state.output.choices:
        return None
    choice = state.output.choices[0]
    if choice.stop_reason == "content_filter":
        return Grade(Answer("refused", reason="content filter"), None if rubric.get("golds") == [] else 0.0)
    parts = choice.message.content if isinstance(choice.message.content, list) else []
    reasoning = "\n".join(part.reasoning for part in parts if part.type == "reasoning")
    how: dict[str, Any] = {"is_cut_off": choice.stop_reason == "max_tokens", "reasoning": reasoning}
    own = about.get("instrument")  # an instrument with a grader of its own registers it under its name
    named = next((entry.name for entry in registry().entries("grader") if entry.name == own), "")
    return grader_of(named)(choice.message.text, rubric, **how)


def _graded_by(state: Any, right: str) -> Grade | None:
    """Return the text of an answer, with the value from another scorer."""
    if not state.output.choices:
        return None
    scores = state.scores or {}
    if right not in scores:
        known = ", ".join(scores) or "none; --action append keeps them"
        raise UsageError(f"sample {state.sample_id} has no score {right!r}; it has: {known}")
    text = state.output.choices[0].message.text
    reading = Answer("value", text) if text.strip() else Answer("unreadable", reason="empty")
    return Grade(reading, float(scores[right].value in (1, "C")))  # C is inspect_ai's letter for correct


def _foreign_format(
    asked: Sequence[str], targets: Sequence[str], *, are_choices: bool
) -> tuple[AnswerFormat, list[str]]:
    """Return the form of answer of a foreign task, and the right answers: options, yes or no, a number, or words."""
    golds = [target.strip() for target in targets]
    words = {normal_form(gold) for gold in golds}
    options, has_letters = (tuple(asked), True) if are_choices else options_in_words("\n".join(asked))
    if options:
        expected = AnswerFormat.choice(options, style="letter" if has_letters else "word")
        try:
            named = [named_option(gold, options) for gold in golds]
        except NoSuchOption:
            if are_choices:
                return expected, golds
        else:
            return expected, gold_labels(expected, named)
    if words and words <= {"yes", "no"}:
        return AnswerFormat.yes_no(), golds
    if words and all(_is_number(word) for word in words):
        return AnswerFormat.number(), golds
    return AnswerFormat.text(), golds


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _shown(state: Any) -> Any:
    """Return the input, or the messages if a solver added the pictures to them."""
    return state.input if _images(state.input) else state.messages


def _parts(given: Any) -> list[Any]:
    """Return the parts of the user's messages."""
    if isinstance(given, str):
        return [given]
    parts: list[Any] = []
    for message in given:
        if message.role == "user":
            parts += [message.content] if isinstance(message.content, str) else message.content
    return parts


def _texts(given: Any) -> list[str]:
    parts = _parts(given)
    return [
        part if isinstance(part, str) else part.text
        for part in parts
        if isinstance(part, str) or part.type == "text"
    ]


def _images(given: Any) -> list[str]:
    """Return the pictures and videos."""
    return [
        str(getattr(part, part.type))
        for part in _parts(given)
        if not isinstance(part, str) and part.type in {"image", "video"}
    ]


def pair_samples(instrument: str, data: str, size: str, seed: int) -> list[dict[str, Any]]:
    """Return the samples that a diagnosis would ask, in the form of inspect_ai."""
    made: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        (chosen,) = find_instruments([instrument])
        own = chosen.find_data(Path(data), None) if data else None
        if data and own is None:
            raise UsageError(f"{instrument} cannot read {data}; -T instrument=NAME names another instrument")
        how = int(size) if size.isdecimal() else size
        folders = list(plan_runs(chosen, Path(scratch), data=own, size=how, seed=seed))
        for folder in folders:
            prefix = f"{folder.name}/" if len(folders) > 1 else ""  # ids are unique in their run only
            for sample in read_samples(folder, folder.name).samples:
                own_json = sample_json(sample, instrument)
                about = own_json["metadata"]
                about |= {"run": folder.name, "max_tokens": sample.item.request.max_tokens}
                about["pairs"] = [{**pair, "before": prefix + pair["before"]} for pair in about["pairs"]]
                made.append({**own_json, "id": prefix + own_json["id"]})
    if not made:
        raise UsageError(f"{instrument} has no items; -T data=PATH names a data set")
    return made


def _request(messages: Sequence[Any], max_tokens: int | None) -> Request:
    """Convert the messages of a chat to a request."""
    turns = []
    for message in messages:
        parts = [message.content] if isinstance(message.content, str) else message.content
        content = tuple(
            part if isinstance(part, str) else _picture(part.image) if part.type == "image" else part.text
            for part in parts
            if isinstance(part, str) or part.type in {"text", "image"}
        )
        turns.append(Message(message.role, content))
    return Request(tuple(turns), max_tokens=max_tokens or 512)


def _picture(image: str) -> Picture:
    if not image.startswith("data:"):
        return Picture.from_path(image)
    return Picture.from_bytes(base64.b64decode(image.partition(",")[2]))


def _from_scores(scores: Sequence[Any]) -> list[Graded]:
    return [
        Graded.from_json(
            str(sample_score.sample_id), sample_score.score.as_float(), sample_score.score.metadata or {}
        )
        for sample_score in scores
    ]


if find_spec("inspect_ai") is not None:
    import anyio.to_thread
    from inspect_ai import Task, task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import (
        ChatMessage,
        ChatMessageAssistant,
        GenerateConfig,
        ModelAPI,
        ModelOutput,
        ModelUsage,
        modelapi,
    )
    from inspect_ai.model._model_output import ChatCompletionChoice
    from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, metric, scorer
    from inspect_ai.solver import TaskState, generate
    from inspect_ai.tool import ToolChoice, ToolInfo

    @metric
    def mean_by_condition() -> Metric:
        """Return the mean score of each condition, and split."""

        def compute(scores: list[SampleScore]) -> Any:
            return by_condition(_from_scores(scores))

        return compute

    _HAS_EPOCHS = "scores" in signature(metric).parameters  # else metrics get one score for all epochs
    _EVERY_EPOCH: Any = {"scores": "unreduced"} if _HAS_EPOCHS else {}

    @metric("outcomes", **_EVERY_EPOCH)
    def outcomes() -> Metric:
        """Return looking with its interval, the share of each outcome, and the number of pairs."""

        def compute(scores: list[SampleScore]) -> Any:
            return pair_outcomes(_from_scores(scores), has_interval=True) or {"pairs": 0.0}

        return compute

    def _score(state: TaskState, target: Target, right: str = "") -> tuple[Graded, dict[str, Any]]:
        graded = graded_state(state, list(target), right)
        value = str(graded.said) if graded.status == "value" else None
        explanation = f"{graded.status}: {graded.reason}".removesuffix(": ")
        return graded, {"answer": value, "explanation": explanation, "metadata": score_metadata(graded)}

    @scorer(metrics=[mean_by_condition()])
    def answer() -> Scorer:
        """Read the answer as Theodolite does, and score it."""

        async def score(state: TaskState, target: Target) -> Score:
            graded, fields = _score(state, target)
            if graded.value is None:
                return Score.unscored(reason=graded.status, **fields)
            return Score(value=graded.value, **fields)

        return score

    @scorer(metrics=[outcomes()])
    def looking(right: str = "") -> Scorer:
        """Read the answer as Theodolite does, for the outcomes of pairs.

        Args:
            right: The name of another score of the log, which says whether an answer is right. Default: answers are read.
        """

        async def score(state: TaskState, target: Target) -> Score:
            if state.epoch > 1 and not _HAS_EPOCHS:
                raise UsageError("theodolite/looking needs a newer inspect_ai for runs of several epochs")
            graded, fields = _score(state, target, right)
            return Score(value=float(graded.value or 0.0), **fields)

        return score

    @task
    def pairs(instrument: str = "compass", data: str = "", size: str = "standard", seed: int = 0) -> Task:
        """Ask the items of an instrument, before and after edits with known truth.

        Args:
            instrument: compass, grid, scene, trace or ask.
            data: Your own data set. Default: the built-in data.
            size: quick, standard, large or a number of items.
            seed: Seed of the data.
        """
        made = pair_samples(instrument, data, str(size), seed)
        longest = max(sample["metadata"]["max_tokens"] for sample in made)
        return Task(
            dataset=MemoryDataset([Sample(**sample) for sample in made], name=f"theodolite {instrument}"),
            solver=generate(),
            scorer=[answer(), looking()],
            config=GenerateConfig(max_tokens=longest, temperature=0),
        )

    @modelapi(name=PROVIDER)
    class TheodoliteModels(ModelAPI):
        """Models of Theodolite, opened at the first request."""

        def __init__(self, model_name: str, config: GenerateConfig = GenerateConfig(), **_: Any) -> None:  # noqa: B008
            super().__init__(model_name, config=config)
            self._model: Any = None
            self._lock = threading.Lock()

        async def generate(
            self,
            input: list[ChatMessage],  # noqa: A002 - the name in inspect_ai
            tools: list[ToolInfo],  # noqa: ARG002
            tool_choice: ToolChoice,  # noqa: ARG002
            config: GenerateConfig,
        ) -> ModelOutput:
            """Answer one conversation."""
            request = _request(input, config.max_tokens)
            response = await anyio.to_thread.run_sync(self._answer, request)
            if response.status == "failed":
                raise RuntimeError(response.reason)
            stops = {"length": "max_tokens"}
            stop: Any = (
                "content_filter" if response.status == "refused" else stops.get(response.finish, "stop")
            )
            message = ChatMessageAssistant(content=response.text, source="generate", model=self.model_name)
            n_prompt, n_answer = response.prompt_tokens, response.completion_tokens
            return ModelOutput(
                model=self.model_name,
                choices=[ChatCompletionChoice(message=message, stop_reason=stop)],
                usage=ModelUsage(
                    input_tokens=n_prompt, output_tokens=n_answer, total_tokens=n_prompt + n_answer
                ),
            )

        def _answer(self, request: Request) -> Any:
            from theodolite.models import open_model

            with self._lock:  # models are opened once, and asked one request at a time
                self._model = self._model or open_model(self.model_name)
                return self._model.generate([request])[0]

        def max_connections(self) -> int:
            """Return 1, since the model runs in this process."""
            return 1
