"""Explain one answer: maps from one shared pass, and the tests beside each of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from theodolite.attribution import (
    AnswerAttribution,
    Method,
    Need,
    RelevanceMap,
    Span,
    WrittenAnswer,
    attribute_answer,
    find_methods,
    is_white_box,
)
from theodolite.attribution.hiding import Fill, Raster, Windows
from theodolite.attribution.written import answer_logits, encode_answer
from theodolite.core.errors import ModelError, UnsupportedError, UsageError
from theodolite.core.pictures import decode
from theodolite.core.tables import percent
from theodolite.core.types import Picture, Request
from theodolite.diagnose.request import ModelLike, given_models, opened
from theodolite.explanation.reading import AnswerReader, Reading, TextReader, TokenReader
from theodolite.explanation.record import ALIKE, ANSWER, Explanation, Finding, MapTest, Word
from theodolite.explanation.shuffled import shuffled
from theodolite.explanation.truth import (
    TRIES,
    Cells,
    HidingPlan,
    HidingResult,
    HidingScene,
    likeness,
    pointing,
)
from theodolite.instruments.trace.data.sources.videos import length_s, shots, spread
from theodolite.models import Checkpoint, VisionLanguageModel, find_family, place_pictures

Floats = NDArray[np.float64]
Box: TypeAlias = tuple[float, float, float, float]
PictureLike: TypeAlias = "Picture | str | Path | NDArray[np.uint8] | Any"
"""A picture, its file, a video, its pixels, or a picture of Pillow."""
Progress: TypeAlias = Callable[[str, int, "int | None"], None]

METHODS = ("chefer", "grad-act-absolute", "occlusion")
"""The method that a map is made with, unless another is asked for: the first that a model allows. `theodolite explain bench`
found that every map by the first held, with the largest loss of all methods of one pass that are always on the evidence."""
PANEL = ("attnlrp", "chefer", "gradcam", "grad-act-absolute", "tam", "attention-rollout")
"""The methods whose agreement is told."""
MOST_WORDS = 64
"""Words with a map of their own."""
FRAMES = 8
VIDEOS = frozenset({".mp4", ".mov", ".avi", ".mkv", ".webm", ".m4v", ".gif"})
_KEY, _OTHER = "key word", "other answer"
_BY_WORDS = "chefer"
_NAMES = {_OTHER: "another answer", "blank picture": "a blank picture"}


@dataclass(frozen=True, slots=True)
class Choices:
    """How an answer is explained."""

    methods: tuple[str, ...] = ()
    answer: str = ""
    instead: str = ""
    words: bool = True
    spans: tuple[str, ...] = ()
    boxes: tuple[Box, ...] = ()
    mask: Path | None = None
    tries: int = TRIES
    max_tokens: int = 256
    fill: Fill = "grey"
    seed: int = 0


def explain(  # noqa: PLR0913 - one parameter per choice
    model: ModelLike,
    picture: PictureLike | Sequence[PictureLike],
    question: str,
    *,
    processor: Any = None,
    method: str | Sequence[str] = (),
    answer: str = "",
    instead: str = "",
    words: bool = True,
    spans: Sequence[str] = (),
    boxes: Sequence[Box] = (),
    mask: str | Path | None = None,
    tries: int = TRIES,
    max_tokens: int = 256,
    fill: Fill = "grey",
    frames: int = FRAMES,
    seed: int = 0,
    progress: Progress | None = None,
) -> Explanation:
    """Show where a model looks for its answer to a question, and test whether that map is true.

    Args:
        model: A name such as ``hf:PATH``, an open model, or a transformers model in memory with its `processor`.
        picture: A picture, its file, its pixels, or a video; or several of them.
        question: The question.
        processor: The processor of a transformers model in memory.
        method: One or several methods; the first is shown. Default: the first of `METHODS` that the model allows.
        answer: The answer to explain. Default: the model's own.
        instead: An alternative; the answer is then explained against it, in the place where it is the most probable.
        words: True for a map of each word.
        spans: Parts of the answer that get a map of their own.
        boxes: Where the evidence is, as x0, y0, x1, y1 in pixels of the first picture: maps are compared with it.
        mask: The same as a picture of the size of the first: what is not black.
        tries: Number of places to which the marked part is moved, for comparison.
        max_tokens: Maximum length of the model's own answer.
        fill: What hidden pixels become: middle grey, or a strong blur.
        frames: Number of frames of a video.
        seed: Seed of the places.
        progress: Called with a step, the number done and the total.

    Raises:
        UsageError: If there is no picture, no question, or no such method or part of the answer.
        ModelError: If the model gives no answer.
    """
    if not question.strip():
        raise UsageError("the question is empty; ask something about the picture")
    pictures = read_pictures(picture, frames)
    choices = Choices(
        (method,) if isinstance(method, str) and method else tuple(method),
        answer,
        instead,
        words,
        tuple(spans),
        tuple(boxes),
        Path(mask) if mask is not None else None,
        tries,
        max_tokens,
        fill,
        seed,
    )
    if tries < 1:
        raise UsageError(f"a map is compared with at least one other place, not {tries}")
    find_methods(choices.methods or METHODS)  # before a model is opened
    with given_models(model, processor) as given:
        ((name, own),) = given.items()
        with opened(name, {} if own is None else {name: own}) as ready:
            return explain_request(ready.model, question, pictures, choices, progress or (lambda *_: None))


def explain_request(
    model: VisionLanguageModel,
    question: str,
    pictures: Sequence[Picture],
    choices: Choices,
    progress: Progress = lambda *_: None,
) -> Explanation:
    """Explain the answer of an open model."""
    started = time.monotonic()
    request = Request.ask(*pictures, question, max_tokens=choices.max_tokens)
    for each in pictures:
        each.size  # noqa: B018 - a picture that cannot be read is told before the model works
    why_not = _why_no_maps(model)
    if why_not:
        wanted = [name for name in choices.methods if name != "occlusion"]
        if wanted:
            raise UnsupportedError(f"{why_not}; of the methods it allows occlusion alone, not {wanted[0]}")
    task = (_Outside if why_not else _Inside)(model, request, choices, progress)
    if why_not:
        task.notes.append(f"The map is made by hiding parts of the picture (occlusion), since {why_not}.")
    found = task.explained()
    settings = {
        "method": list(found.methods),
        "tries": choices.tries,
        "fill": choices.fill,
        "seed": choices.seed,
        "boxes": [list(box) for box in choices.boxes],
    }
    return replace(
        found,
        model=model.name,
        question=question,
        pictures=tuple(pictures),
        n_read=task.reader.n_calls,
        notes=tuple(task.notes),
        settings=settings,
        seconds=time.monotonic() - started,
    )


def read_pictures(given: PictureLike | Sequence[PictureLike], frames: int = FRAMES) -> tuple[Picture, ...]:
    """Return the pictures that are given in any way; of a video some frames.

    Raises:
        UsageError: If there is none, or one cannot be read.
    """
    listed = list(given) if isinstance(given, list | tuple) else [given]
    found = tuple(picture for each in listed for picture in _pictures_of(each, frames))
    if not found:
        raise UsageError("there is no picture; give at least one")
    return found


def _pictures_of(given: PictureLike, frames: int) -> Iterable[Picture]:
    if isinstance(given, Picture):
        return [given]
    if isinstance(given, str | Path):
        path = Path(given)
        if path.suffix.casefold() in VIDEOS and path.is_file():
            return [Picture.from_array(each) for each in shots(path, spread(length_s(path), frames))]
        return [Picture.from_path(path)]
    pixels = np.asarray(given.convert("RGB") if hasattr(given, "convert") else given)
    return [Picture.from_array(pixels)]


def _why_no_maps(model: VisionLanguageModel) -> str:
    """Return why a model gives no gradients; empty if it does."""
    if not is_white_box(model):
        return f"{model.name} gives no gradients or attention"
    try:
        find_family(model.checkpoint.model)  # type: ignore[attr-defined]
    except UnsupportedError:
        return f"the architecture of {model.name} is not known, so its picture tokens cannot be placed"
    return ""


class _Task:
    """What both kinds of models share: the scene, the plan of what is hidden, and the tests."""

    reader: AnswerReader

    def __init__(
        self, model: VisionLanguageModel, request: Request, choices: Choices, progress: Progress
    ) -> None:
        self.model = model
        self.request = request
        self.choices = choices
        self.progress = progress
        self.notes: list[str] = []
        self.rng = np.random.default_rng(choices.seed)

    def explained(self) -> Explanation:
        """Explain the answer."""
        raise NotImplementedError

    def tell(self, step: str, total: int) -> None:
        """Tell how many versions of the pictures are read, of a total that begins now."""
        before = self.reader.n_calls
        self.reader.told = lambda n: self.progress(step, n - before, total)
        self.progress(step, 0, total)

    def plan_for(self, rasters: Sequence[Raster]) -> HidingPlan:
        scene = HidingScene(self.request.pictures, tuple(rasters), self.choices.fill)
        return HidingPlan(scene, self.rng, self.choices.tries)

    def read_whole(self, scene: HidingScene) -> tuple[Reading, Reading]:
        """Read the pictures themselves, and with all of them hidden."""
        both = self.reader.read([list(self.request.pictures), scene.hidden(scene.everything)])
        whole, blank = both.row(0), both.row(1)
        return whole, blank

    def evidence_cells(self, scene: HidingScene) -> Cells | None:
        """Return the cells of the given boxes and mask; None if there is none."""
        choices = self.choices
        if not choices.boxes and choices.mask is None:
            return None
        raster = scene.rasters[0]
        centres = raster.grid.centres_px
        inside = np.zeros(raster.n_cells, bool)
        for x0, y0, x1, y1 in choices.boxes:
            inside |= (
                (x0 <= centres[:, 0]) & (centres[:, 0] < x1) & (y0 <= centres[:, 1]) & (centres[:, 1] < y1)
            )
            inside[raster.grid.tokens_at((x0 + x1) / 2, (y0 + y1) / 2)] = (
                True  # a box may lie between centres
            )
        if choices.mask is not None:
            marked = np.asarray(decode(choices.mask).any(axis=2))
            if marked.shape[::-1] != raster.size_px:
                raise UsageError(
                    f"the mask {choices.mask} has {marked.shape[1]}×{marked.shape[0]} pixels, the picture "
                    f"{raster.size_px[0]}×{raster.size_px[1]}"
                )
            columns, rows = centres.astype(int).T
            inside |= marked[rows, columns]
        if not inside.any() or inside.all():
            raise UsageError("the given evidence covers none or all of what the model sees of the picture")
        return [inside.reshape(raster.shape), *(np.zeros(each.shape, bool) for each in scene.rasters[1:])]

    def evidence_findings(self, amounts: Sequence[Floats], inside: Cells | None) -> list[Finding]:
        """Compare a map with the given evidence."""
        if inside is None:
            return []
        hit, mass, area = pointing(amounts, inside)
        beyond = (mass - area) / (1 - area)
        share = (
            f"{percent(mass)} of the map lies on the given evidence, which is {percent(area)} of the picture"
        )
        return [
            Finding(
                "pointing",
                float(hit),
                f"the largest value lies {'on' if hit else 'off'} the given evidence",
                hit,
            ),
            Finding("RMA beyond", beyond, share, mass > area),
        ]

    def word_parts(self, answer: WrittenAnswer) -> list[tuple[str, int, int]]:
        """Return name, start and end of each span of the answer that gets a map of its own."""
        parts = []
        for text in self.choices.spans:
            start = answer.text.find(text)
            if start < 0 or not text:
                raise UsageError(f"the answer does not contain {text!r}; it is {answer.text!r}")
            parts.append((f"part: {text}", start, start + len(text)))
        if self.choices.words:
            words = answer.words()
            if len(words) > MOST_WORDS:
                self.notes.append(f"The first {MOST_WORDS} of {len(words)} words have a map of their own.")
            parts += [(f"{i} {answer.text[a:b]}", a, b) for i, (a, b) in enumerate(words[:MOST_WORDS], 1)]
        return parts


class _Inside(_Task):
    """A model with gradients: maps from the shared pass."""

    def __init__(
        self, model: VisionLanguageModel, request: Request, choices: Choices, progress: Progress
    ) -> None:
        super().__init__(model, request, choices, progress)
        self.checkpoint: Checkpoint = model.checkpoint  # type: ignore[attr-defined]
        self.n_passes = 0
        self.n_windows = 0
        """Versions of the pictures that occlusion reads."""
        progress("answering", 0, None)
        self.answer, self.own_text = self._answered()
        self.contrast = self._contrast() if choices.instead else None
        self.reader = TokenReader(self.checkpoint, request, self.answer, self.contrast)

    def _answered(self) -> tuple[WrittenAnswer, str]:
        """Return the answer to explain, and the model's own text if another is given."""
        if self.choices.answer:
            return WrittenAnswer.of_text(self.checkpoint, self.request, self.choices.answer), ""
        ((response, ids),) = self.model.write([self.request])  # type: ignore[attr-defined]
        if not response.is_answered:
            raise ModelError(f"{self.model.name} gave no answer: {response.reason}")
        family = find_family(self.checkpoint.model)
        is_picture = family.is_image_token(self.checkpoint.model, np.array(ids, np.int64).reshape(1, -1))[0]
        if is_picture.any():  # it cannot be read again: there is no picture for it
            ids = ids[: int(is_picture.argmax())]
            self.notes.append("The answer was cut where the model wrote a token that stands for a picture.")
        answer = WrittenAnswer.of_tokens(self.checkpoint, ids)
        if not answer.text.strip():
            raise ModelError(
                f"{self.model.name} gave an empty answer; give the answer to explain with --answer"
            )
        if response.finish == "length":
            self.notes.append(f"The answer was cut after {len(ids)} tokens.")
        return answer, answer.text

    def _contrast(self) -> Span:
        """Return the place where the alternative is the most probable, and its token there."""
        import torch

        text, answer = self.choices.instead, self.answer
        places: dict[tuple[int, int], str] = {}
        for start, end in answer.words():
            other = WrittenAnswer.of_text(self.checkpoint, self.request, answer.text[:start] + text)
            pairs = zip(answer.ids, other.ids, strict=False)
            at = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
            if at is not None and other.replaced == answer.replaced:
                places.setdefault((at, other.ids[at]), answer.text[start:end])
        if not places:
            raise UsageError(f"the alternative {text!r} does not differ from the answer {answer.text!r}")
        with torch.inference_mode():
            inputs = encode_answer(self.checkpoint, [self.request], answer)
            table = torch.log_softmax(answer_logits(self.checkpoint, inputs, answer)[0].double(), dim=-1)
        at, token = max(places, key=lambda place: float(table[place]))
        self.instead = f"{text!r} in place of {places[at, token]!r}"
        return Span((at,), token)

    def explained(self) -> Explanation:
        """Explain the answer."""
        answer, choices = self.answer, self.choices
        everything = tuple(range(len(answer.ids)))
        explained = self.contrast or Span(everything)
        parts = [(name, a, b, answer.tokens_of((a, b))) for name, a, b in self.word_parts(answer)]
        parts = [part for part in parts if part[3]]
        inputs = encode_answer(self.checkpoint, [self.request], answer)
        rasters = [
            Raster.seen_by(each.grid) for each in place_pictures(self.checkpoint, [self.request], inputs)[0]
        ]
        self.n_windows = len(
            Windows.over([each.size_px for each in rasters], [each.region_px for each in rasters])
        )
        plan = self.plan_for(rasters)
        whole, blank = self.read_whole(plan.scene)
        key = self.contrast.tokens[0] if self.contrast else int((whole.values - blank.values)[0].argmax())

        self.progress("maps", 0, None)
        methods, main = self._main({ANSWER: explained, _KEY: Span((key,))})
        is_own = bool(main.scores.is_best.all())
        if choices.answer and not is_own:
            self._say_own(main)
        sharing = self._sharing(methods[0]) if parts else []
        spans = {name: Span(tokens) for name, _, _, tokens in parts}
        words = self._maps(spans, [methods[0], *sharing]) if parts else main
        panel = self._panel(methods, {ANSWER: explained})
        self.progress("comparing maps", 0, None)
        sanity = self._sanity(methods, {ANSWER: explained}, key, plan.scene, main)

        def amounts(found: AnswerAttribution, method: str, span: str) -> list[Floats]:
            maps = found.find(method, span)
            return [r.spread(m.grid, np.abs(m.values)) for r, m in zip(rasters, maps, strict=True)]

        for method in methods:
            plan.add_map(method.name, amounts(main, method.name, ANSWER))
        for name, *_ in parts:
            plan.add_word(name, amounts(words, methods[0].name, name))
        self.tell("hiding parts of the picture", len(plan.versions))
        outcome = plan.read(self.reader, whole, blank)

        inside = self.evidence_cells(plan.scene)
        of_panel = {} if panel is None else {m.method: amounts(panel, m.method, ANSWER) for m in panel.maps}
        tests = []
        for method in methods:
            own = amounts(main, method.name, ANSWER)
            findings = self.evidence_findings(own, inside)
            if not method.needs & Need.PICTURES:
                key_map = amounts(main, method.name, _KEY)
                others = {name: amounts(each, method.name, ANSWER) for name, each in sanity.items()}
                findings += sanity_findings(
                    {name: (key_map if name == _OTHER else own, each) for name, each in others.items()}
                )
            findings.append(agreement(own, list(of_panel.values())))
            test = outcome.test(method.name, explained.tokens, is_own=is_own)
            tests.append(replace(test, findings=tuple(findings)))
        shares_by = (sharing or methods)[0].name
        found = [main, *([words] if parts else []), *([panel] if panel else [])]
        return Explanation(
            model="",
            question="",
            pictures=(),
            answer=answer.text,
            is_own=is_own,
            maps=tuple(
                m
                for each in found
                for m in each.maps
                if m.target != _KEY and m.method not in {s.name for s in sharing}
            ),
            tests=tuple(tests),
            words=tuple(self._word(part, words, outcome, methods[0].name, shares_by) for part in parts),
            instead=self.instead if self.contrast else "",
            shares_by=shares_by if parts and words.shares else "",
            n_passes=self.n_passes,
        )

    def _word(
        self,
        part: tuple[str, int, int, tuple[int, ...]],
        found: AnswerAttribution,
        outcome: HidingResult,
        method: str,
        shares_by: str,
    ) -> Word:
        name, start, end, tokens = part
        loss = outcome.loss(("word", name), tokens)
        return Word(
            self.answer.text[start:end],
            start,
            end,
            name,
            log_probability=float(found.scores.log_probabilities[0, list(tokens)].sum()),
            shares=found.shares.get((shares_by, name)),
            loss=loss,
            n_as_large=sum(each >= loss for each in outcome.others(method, tokens)),
        )

    def _main(self, spans: dict[str, Span]) -> tuple[list[Method], AnswerAttribution]:
        """Return the methods to test, and their maps: those asked for, or the first that the model allows."""
        if self.choices.methods:
            methods = list(find_methods(self.choices.methods))
            return methods, self._maps(spans, methods)
        *candidates, last = find_methods(METHODS)
        for method in candidates:
            try:
                return [method], self._maps(spans, [method])
            except UnsupportedError as error:
                self.notes.append(f"No map by {method.name}: {error}.")
        return [last], self._maps(spans, [last])

    def _maps(
        self,
        spans: dict[str, Span],
        methods: Sequence[Method],
        *,
        request: Request | None = None,
        answer: WrittenAnswer | None = None,
    ) -> AnswerAttribution:
        self.n_passes += 1
        if any(method.needs & Need.PICTURES for method in methods):
            self.reader.n_calls += self.n_windows
        return attribute_answer(
            self.model, request or self.request, answer or self.answer, spans, methods=methods
        )

    def _sharing(self, first: Method) -> list[Method]:
        """Return the further method that divides a word among picture, question and words before it, if one is needed."""
        if first.scores_on == "tokens" and not first.needs & Need.PICTURES:
            return []
        methods = list(find_methods([_BY_WORDS]))
        try:
            self._maps({_KEY: Span((0,))}, methods)
        except UnsupportedError:
            return []
        return methods

    def _panel(self, methods: Sequence[Method], spans: dict[str, Span]) -> AnswerAttribution | None:
        """Return maps of further methods, to tell how far methods agree."""
        further = [m for m in find_methods(PANEL) if m.name not in {own.name for own in methods}]
        while further:
            try:
                return self._maps(spans, further)
            except UnsupportedError:  # not every architecture allows every method
                further = further[1:]
        return None

    def _sanity(
        self,
        methods: Sequence[Method],
        spans: dict[str, Span],
        key: int,
        scene: HidingScene,
        main: AnswerAttribution,
    ) -> dict[str, AnswerAttribution]:
        """Return the maps of the other answer, of a blank picture, and of shuffled weights."""
        methods = [method for method in methods if not method.needs & Need.PICTURES]
        if not methods:
            return {}
        instead = self.contrast.instead if self.contrast else None
        token = int(main.scores.best_other[0, key]) if instead is None else instead
        other = WrittenAnswer("", (*self.answer.ids[:key], token), (), self.answer.replaced)
        found = {_OTHER: self._maps({ANSWER: Span((key,))}, methods, answer=other)}
        grey = self.request.with_pictures(scene.hidden(scene.everything))
        found["blank picture"] = self._maps(spans, methods, request=grey)
        layers = find_family(self.checkpoint.model).decoder(self.checkpoint.model).layers
        try:
            with shuffled(layers):
                found["shuffled weights"] = self._maps(spans, methods)
        except (UnsupportedError, UsageError) as error:  # or maps that are not finite
            self.notes.append(f"Not compared with shuffled weights: {error}.")
        return found

    def _say_own(self, found: AnswerAttribution) -> None:
        """Tell that the model would not give this answer, and what it says instead."""
        ((response, _),) = self.model.write([self.request])  # type: ignore[attr-defined]
        log_p = float(found.scores.log_probabilities.sum())
        self.notes.append(
            f"The model would not give this answer: it says {response.text[:80]!r}. The given one has a probability of "
            f"{np.exp(log_p):.1g}."
        )


def sanity_findings(pairs: Mapping[str, tuple[list[Floats], list[Floats]]]) -> list[Finding]:
    """Compare a map with maps that should differ from it, by name."""
    findings = []
    for name, (own, other) in pairs.items():
        value = likeness(own, other)
        is_good = None if value is None else value < ALIKE
        words = f"{'nearly the same map' if is_good is False else 'another map'} for {_NAMES.get(name, name)}"
        findings.append(Finding(name, value, words, is_good))
    return findings


def agreement(own: list[Floats], others: Sequence[list[Floats]]) -> Finding:
    """Compare a map with those of other methods."""
    values = [value for other in others if (value := likeness(own, other)) is not None]
    median = float(np.median(values)) if values else None
    words = f"rank correlation with {len(values)} other methods, the median"
    return Finding("agreement", median, words)


class _Outside(_Task):
    """A model without gradients, or of an unknown architecture: maps by hiding parts of the picture."""

    def explained(self) -> Explanation:
        """Explain the answer."""
        pictures, choices = self.request.pictures, self.choices
        if choices.instead:
            raise UnsupportedError(f"{self.model.name} gives no logits to compare with {choices.instead!r}")
        self.progress("answering", 0, None)
        answer, parts = self._answered()
        sizes = [picture.size for picture in pictures]
        regions = [(0.0, 0.0, float(width), float(height)) for width, height in sizes]
        windows = Windows.over(sizes, regions)
        plan = self.plan_for([Raster.over(size, region) for size, region in zip(sizes, regions, strict=True)])
        whole, blank = self.read_whole(plan.scene)
        self.tell("hiding parts of the picture", len(windows))
        hidden = self.reader.read(windows.variants(pictures, choices.fill))
        everything = tuple(range(whole.values.shape[1]))

        def maps_of(span: str, chosen: Sequence[int]) -> list[RelevanceMap]:
            losses = (whole.values - hidden.values)[:, list(chosen)].sum(axis=1)
            return [
                RelevanceMap("occlusion", span, raster.grid, values.ravel().astype(np.float32), picture=i)
                for i, (raster, values) in enumerate(
                    zip(windows.rasters, windows.amounts(losses), strict=True)
                )
            ]

        def amounts(maps: Sequence[RelevanceMap]) -> list[Floats]:
            return [r.spread(m.grid, m.values) for r, m in zip(plan.scene.rasters, maps, strict=True)]

        maps = {ANSWER: maps_of(ANSWER, everything)}
        maps |= {name: maps_of(name, tokens) for name, _, _, tokens in parts}
        plan.add_map("occlusion", amounts(maps[ANSWER]))
        for name, *_ in parts:
            plan.add_word(name, amounts(maps[name]))
        self.tell("testing the map", len(plan.versions))
        outcome = plan.read(self.reader, whole, blank)
        is_own = bool(whole.is_same[0])
        test: MapTest = outcome.test("occlusion", everything, is_own=is_own)
        findings = self.evidence_findings(amounts(maps[ANSWER]), self.evidence_cells(plan.scene))
        words = []
        for name, a, b, tokens in parts:
            loss = outcome.loss(("word", name), tokens)
            n = sum(each >= loss for each in outcome.others("occlusion", tokens))
            log_p = float(whole.values[0, list(tokens)].sum())
            words.append(Word(answer[a:b], a, b, name, log_probability=log_p, loss=loss, n_as_large=n))
        return Explanation(
            model="",
            question="",
            pictures=(),
            answer=answer,
            is_own=is_own,
            maps=tuple(each for own in maps.values() for each in own),
            tests=(replace(test, findings=tuple(findings)),),
            words=tuple(words),
        )

    def _answered(self) -> tuple[str, list[tuple[str, int, int, tuple[int, ...]]]]:
        """Return the answer, and the spans with a map of their own: only if the probabilities of tokens are known."""
        given = self.choices.answer
        checkpoint = getattr(self.model, "checkpoint", None)
        if not isinstance(checkpoint, Checkpoint):
            if given:
                raise UnsupportedError(
                    f"{self.model.name} gives no probabilities of given answers; leave out the answer to explain its own"
                )
            self.reader = reader = TextReader(self.model, self.request)
            if not reader.text.strip():
                raise ModelError(f"{self.model.name} gave an empty answer")
            return reader.text, []
        if given:
            answer = WrittenAnswer.of_text(checkpoint, self.request, given)
        else:
            ((response, ids),) = self.model.write([self.request])  # type: ignore[attr-defined]
            if not response.is_answered or not response.text.strip():
                raise ModelError(f"{self.model.name} gave no answer: {response.reason or 'it is empty'}")
            answer = WrittenAnswer.of_tokens(checkpoint, ids)
        self.reader = TokenReader(checkpoint, self.request, answer)
        parts = [(name, a, b, answer.tokens_of((a, b))) for name, a, b in self.word_parts(answer)]
        return answer.text, [part for part in parts if part[3]]
