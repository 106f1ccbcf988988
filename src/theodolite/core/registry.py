"""The plug-in registry: tables of ``"name" -> "module:attribute"``, loaded on first use.

Built-in and third-party entries are registered the same way: by a function that receives a `Registrar` and calls it
once per entry. A third party points an entry point of the group ``theodolite.plugins`` at such a function:

    [project.entry-points."theodolite.plugins"]
    my_lab = "my_lab.theodolite_plugin:register"

    def register(add):
        add("model", "mylab", "my_lab.client:open_model", summary="our in-house server")
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal, Protocol, TypeAlias, TypeVar, cast, get_args

from theodolite.core.errors import ContractError, MissingExtraError, UsageError

ENTRY_POINT_GROUP = "theodolite.plugins"

Kind: TypeAlias = Literal[
    "instrument",
    "model",
    "family",
    "method",
    "explainer",
    "extractor",
    "verifier",
    "source",
    "behaviour",
    "command",
    "figure",
    "grader",
    "edit",
    "older",
]
"""The kinds of plug-ins. A model entry is the scheme of a model name, such as ``hf`` in ``hf:path``. A family entry is
a transformers model type, such as ``qwen2_vl``. A behaviour is a function from a request to an answer, used as
``scripted:<name>``. A command is a Typer app or a function for the command line. A figure is
a function that draws a diagnosis. A grader reads and scores one answer. An edit is a function that fills a part of a
photograph, given the picture, the part and a seed. An extractor finds the claims of a trace, and a verifier judges them. An older entry, named after a kind of run, is a
function that completes an item, given the settings of its run, that was stored before items carried their truth."""

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered name."""

    kind: Kind
    name: str
    target: str
    """``module:attribute``, imported on first use."""
    summary: str
    """One line for listings."""
    example: str = ""
    """How a user writes it."""
    extra: str = ""
    """The optional dependency group that it needs; empty if none."""
    needs: tuple[str, ...] = ()
    """The libraries of that group that must be importable."""
    group: str = ""
    """The heading under which it is listed."""
    origin: str = "theodolite"
    """The distribution that registered it."""

    @property
    def is_available(self) -> bool:
        """True if its libraries are installed. Nothing is imported."""
        return not self.missing

    @property
    def missing(self) -> tuple[str, ...]:
        """The required libraries that are not installed."""
        return tuple(library for library in self.needs if importlib.util.find_spec(library) is None)

    def load(self) -> object:
        """Import and return the target."""
        if self.missing:
            raise MissingExtraError(", ".join(self.missing), self.extra, f"the {self.kind} {self.name!r}")
        module_name, _, attribute = self.target.partition(":")
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            raise ContractError(
                f"the {self.kind} {self.name!r} of {self.origin} points at {self.target!r}, but {error}"
            ) from error
        try:
            return cast("object", getattr(module, attribute))
        except AttributeError:
            raise ContractError(
                f"the {self.kind} {self.name!r} of {self.origin} points at {self.target!r}, which does not exist"
            ) from None


class Registrar(Protocol):
    """The callable that a plug-in's ``register`` function receives."""

    def __call__(  # noqa: D102, PLR0913 - one row of a table, written as one call
        self,
        kind: Kind,
        name: str,
        target: str,
        *,
        summary: str,
        example: str = "",
        extra: str = "",
        needs: tuple[str, ...] = (),
        group: str = "",
    ) -> None: ...


class Registry:
    """All entries of all kinds. Immutable after construction."""

    def __init__(self, sources: Mapping[str, Callable[[Registrar], None]]) -> None:
        """Call each source's ``register`` function.

        Args:
            sources: Maps the name of a distribution to its register function.
        """
        self._entries: dict[tuple[Kind, str], Entry] = {}
        for origin, register in sources.items():
            register(self._registrar(origin))

    def _registrar(self, origin: str) -> Registrar:
        def add(  # noqa: PLR0913 - one row of a table, written as one call
            kind: Kind,
            name: str,
            target: str,
            *,
            summary: str,
            example: str = "",
            extra: str = "",
            needs: tuple[str, ...] = (),
            group: str = "",
        ) -> None:
            if kind not in KINDS:
                raise ContractError(
                    f"{origin} registers the unknown kind {kind!r}; the kinds are {', '.join(KINDS)}"
                )
            if target.count(":") != 1:
                raise ContractError(f"{origin} registers {target!r}; a target is written 'module:attribute'")
            if (kind, name) in self._entries:
                first = self._entries[kind, name].origin
                raise ContractError(f"both {first} and {origin} register the {kind} {name!r}; rename one")
            self._entries[kind, name] = Entry(
                kind, name, target, summary, example, extra, needs, group, origin
            )

        return add

    def entries(self, kind: Kind) -> tuple[Entry, ...]:
        """All entries of a kind, in the order of registration."""
        return tuple(entry for entry in self._entries.values() if entry.kind == kind)

    def entry(self, kind: Kind, name: str) -> Entry:
        """Return an entry by kind and name.

        Raises:
            UsageError: If there is none. The message suggests the closest name.
        """
        if (kind, name) in self._entries:
            return self._entries[kind, name]
        names = [entry.name for entry in self.entries(kind)]
        near = difflib.get_close_matches(name, names, n=1)
        advice = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(names) or 'none'}"
        raise UsageError(f"there is no {kind} {name!r}; {advice}")


@cache
def registry() -> Registry:
    """Return the registry of this process: the built-in entries, then those of installed plug-ins."""
    sources: dict[str, Callable[[Registrar], None]] = {"theodolite": register}
    for point in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP):
        origin = point.dist.name if point.dist is not None else point.name
        try:
            target = point.load()
        except Exception as error:
            raise ContractError(
                f"the plug-in {point.value!r} of {origin} cannot be imported: {error}"
            ) from error
        if not callable(target):
            raise ContractError(f"the plug-in {point.value!r} of {origin} is not a function that takes `add`")
        sources[f"{origin} ({point.name})" if origin in sources else origin] = target
    return Registry(sources)


PartT = TypeVar("PartT")


def open_part(kind: Kind, name: str, contract: type[PartT], method: str) -> PartT:
    """Open what is registered under ``name``, or ``name:options``, by a function of the options.

    Args:
        kind: The kind of plug-in.
        name: Its name, perhaps with options.
        contract: The protocol that it keeps.
        method: What the protocol asks for beside a name, for the message.

    Raises:
        UsageError: If there is none of that name.
        ContractError: If it does not keep the contract.
    """
    own, _, options = name.partition(":")
    target = registry().entry(kind, own).load()
    if not callable(target):
        raise ContractError(f"the {kind} {own!r} is not a function that takes options: {target!r}")
    part = target(options)
    if not isinstance(part, contract):
        raise ContractError(f"the {kind} {own!r} has no name, or no {method}")
    return part


# The built-in plug-ins, one line each. A new method needs one file and one line here.


def register(add: Registrar) -> None:
    """Register everything built in."""
    for instrument, summary in INSTRUMENTS:
        target = f"theodolite.instruments.{instrument}.instrument:{instrument.upper()}"
        add("instrument", instrument, target, summary=summary)
    for command, target, group, summary in COMMANDS:
        add("command", command, f"theodolite.cli.{target}", summary=summary, group=group)
    _models(add)
    for model_type, reference, summary in FAMILIES:
        add("family", model_type, f"theodolite.models.families.{reference}", summary=summary)
    for method, reference in METHODS:
        add("method", method, f"theodolite.attribution.methods.{reference}", summary="")
    for method, reference in METHODS_BY_NAME:
        add("method", method, f"theodolite.attribution.methods.{reference}", summary="", group="by name")
    for explainer, reference in EXPLAINERS:
        add("explainer", explainer, f"theodolite.instruments.grid.explainers.{reference}", summary="")
    _judging(add)
    for source, function, summary in SOURCES:
        add("source", source, f"theodolite.{function}", summary=summary)
    for behaviour, function, summary in BEHAVIOURS:
        add("behaviour", behaviour, f"theodolite.{function}", summary=summary)
    _readers(add)
    _edits(add)
    add("figure", "looking", "theodolite.report.slide:looking_figure", summary="outcomes of all pairs")


def _judging(add: Registrar) -> None:
    for extractor, reference, summary, example in EXTRACTORS:
        add(
            "extractor",
            extractor,
            f"theodolite.instruments.trace.claims.extractors:{reference}",
            summary=summary,
            example=example,
        )
    for verifier, reference, summary, example in VERIFIERS:
        add(
            "verifier",
            verifier,
            f"theodolite.instruments.trace.{reference}",
            summary=summary,
            example=example,
        )


def _edits(add: Registrar) -> None:
    for fill, summary in EDITS:
        add("edit", fill, f"theodolite.pairs.pictures.filling:{fill}", summary=summary)


def _readers(add: Registrar) -> None:
    for name, reference, summary in GRADERS:
        add("grader", name, f"theodolite.instruments.{reference}", summary=summary)
    for kind, reference in OLDER:
        words = f"items of {kind} runs that earlier versions stored"
        add("older", kind, f"theodolite.instruments.{reference}", summary=words)


INSTRUMENTS = (
    ("ask", "Do answers to your own questions depend on your pictures?"),
    ("compass", "Is attribution organised by the queried direction, or by image layout? (CREG)"),
    ("grid", "Do explainers tell spatial reasoning from a shortcut, where the truth is known? (GridVQA-X)"),
    ("scene", "Do answers agree with the model's own 3D scene graph? (CRISP)"),
    ("trace", "Is each step of the reasoning supported by the frames? (step grounding)"),
)
"""The instruments, in the order of reports."""


COMMANDS = (
    (
        "explain",
        "explain:app",
        "everyday",
        "Show where a model looks for one answer, and whether that is true.",
    ),
    ("diagnose", "diagnose:app", "everyday", "Run every instrument on a model: does it look?"),
    ("report", "report:app", "everyday", "Write the page of a diagnosis or of runs."),
    ("view", "view:app", "everyday", "Serve runs and diagnoses to this machine's browser."),
    ("compare", "compare:app", "everyday", "Compare two models, paired by item."),
    ("export", "export:app", "everyday", "Write runs, diagnoses or data for other tools."),
    (
        "list",
        "listing:app",
        "everyday",
        "List what can be used: instruments, models, methods and more.",
    ),
    ("runs", "runs:app", "everyday", "List runs and look into them."),
    ("data", "data:app", "everyday", "Public data sets: list them, and get one by its name."),
    ("twins", "twins:app", "advanced", "The shipped models of known reasoning: certificate, separate."),
    ("check", "check:app", "advanced", "Check that a model or another plug-in keeps its contract."),
)
"""The commands: name, place in `theodolite.cli`, heading, summary."""


EXPLAINERS = (
    ("dime", "dime:DIME"),
    ("dime-unimodal", "dime:DIME_UNIMODAL"),
    ("dime-multiviz", "dime:DIME_MULTIVIZ"),
    ("dime-mdetr", "dime:DIME_MDETR"),
    ("multishap", "multishap:MULTISHAP"),
    ("multishap-mean", "multishap:MULTISHAP_MEAN"),
    ("multishap-reference", "multishap:MULTISHAP_REFERENCE"),
    ("multiviz", "multiviz:MULTIVIZ"),
    ("multiviz-sum", "multiviz:MULTIVIZ_SUM"),
    ("multiviz-mixed", "multiviz:MULTIVIZ_MIXED"),
    ("pixelshap-shapley", "multishap:PIXEL_TOKEN_SHAPLEY"),
    ("pixelshap-banzhaf", "multishap:PIXEL_TOKEN_BANZHAF"),
    ("pixelshap-reference", "multishap:PIXEL_TOKEN_REFERENCE"),
    ("alike-removal", "removal:ALIKE_REMOVAL"),
    ("interacting-words", "interacting_words:INTERACTING_WORDS"),
    ("removal", "removal:REMOVAL"),
    ("uniform", "removal:UNIFORM"),
    ("random", "removal:RANDOM"),
    ("all-objects", "removal:ALL_OBJECTS"),
    ("oracle", "removal:ORACLE"),
    ("bow-oracle", "removal:BOW_ORACLE"),
    ("emap", "emap:EMAP"),
    ("intershap", "emap:INTERSHAP"),
    ("pid-convex", "pid:PID_CONVEX"),
    ("pid-gaussian", "pid:PID_GAUSSIAN"),
    ("pid-batch", "pid:PID_BATCH"),
)
"""The explainers of the grid: name and place. Each has its own summary."""


EXTRACTORS = (
    ("rules", "open_rules", "our rules and the parser that ships: no download, no request", "rules"),
    ("spacy", "open_spacy", "our rules on another spaCy pipeline", "spacy:en_core_web_sm"),
    (
        "model",
        "open_model_extractor",
        "any model: one request per trace; claims whose words are not in the step are dropped",
        "model:openai:NAME@URL",
    ),
)
"""The extractors of trace claims: name, place, summary, example."""


VERIFIERS = (
    (
        "annotation",
        "verifiers.annotation:open_annotation",
        "the episode's own annotations: boxes, relations, actions, poses; annotation:closed-world refutes what they do not list",
        "annotation",
    ),
    (
        "detector",
        "verifiers.detection:open_detector_verifier",
        "an object detector, ONNX file or Hugging Face checkpoint: things, numbers, places, colours",
        "detector:FILE.onnx?recall=RECALL.json",
    ),
    (
        "actions",
        "verifiers.video_classifier:open_video_classifier",
        "any video classifier of transformers: actions",
        "actions:FOLDER",
    ),
    (
        "similarity",
        "verifiers.similarity:open_similarity",
        "any CLIP of transformers, by default a small one of the embedded worlds: things, colours; sides and states if calibrated",
        "similarity",
    ),
    (
        "tracks",
        "verifiers.tracks:open_track_verifier",
        "boxes tracked from frame to frame: motion, appearance, disappearance, contact",
        "tracks:annotation",
    ),
    (
        "judge",
        "verifiers.judge:open_judge",
        "any vision-language model: gets the sentence and the frames, asked about the claim and its opposite",
        "judge:openai:NAME@URL",
    ),
    (
        "informed-judge",
        "verifiers.judge:open_informed_judge",
        "the same, told the annotation as text",
        "informed-judge:openai:NAME@URL",
    ),
    (
        "panel",
        "verifiers.panel:open_panel",
        "several verifiers by their measured error rates, the annotation first",
        "panel:PANEL.json",
    ),
    (
        "ego-motion",
        "verifiers.tracks:open_ego_motion",
        "the camera's own movements, by poses or by optical flow",
        "ego-motion",
    ),
)
"""The verifiers of trace claims: name, place, summary, example."""


GRADERS = (
    ("scene", "scene.results:grade", "numbers by their relative error, and scene graphs"),
    ("trace", "trace.claims.steps:grade", "the final answer of a trace"),
)
"""The graders of answers that are not simply equal to the right one, or are no answers: name, place, summary."""


EDITS = (
    ("copied", "a piece of the background beside it, blended at the rim"),
    ("blurred", "a blur of the background around it"),
)
"""What fills the place of an object that was cut out of a photograph: name, summary."""


OLDER = (
    ("ask", "ask.questions:with_truth"),
    ("compass", "compass.questions:with_truth"),
    ("compass-faithfulness", "compass.questions:hidden_with_truth"),
    ("trace", "trace.questions:with_truth"),
    ("trace-pairs", "trace.questions:with_truth"),
    ("trace relevance", "trace.questions:relevance_with_truth"),
    ("grid", "grid.questions:with_truth"),
    ("grid-behaviour", "grid.questions:with_truth"),
    ("grid-anchors", "grid.questions:with_truth"),
    ("grid-explain", "grid.questions:with_truth"),
    ("scene", "scene.questions:with_truth"),
    ("scene-pictures", "scene.questions:with_truth"),
    ("scene-pairs", "scene.questions:with_truth"),
)
"""The kinds of run whose items earlier versions stored without their truth, and what completes them."""


SOURCES = (
    (
        "coco-pairs",
        "instruments.compass.data.coco:coco_pairs",
        "pairs of objects from COCO instances, or any file in that format",
    ),
    ("gqa", "instruments.compass.data.gqa:gqa_pairs", "pairs from GQA scene graphs (VG-Spatial)"),
    ("vsr", "instruments.compass.data.vsr:vsr_pairs", "true VSR captions matched to COCO boxes"),
    ("whatsup", "instruments.compass.data.whatsup:whatsup_pairs", "true WhatsUp captions joined with boxes"),
    (
        "squares",
        "instruments.compass.data.drawn:coloured_squares",
        "drawn: a blue and a red square at sixteen angles",
    ),
    ("jsonl", "instruments.compass.data.pairs:read_pairs", "pairs in your own JSONL file"),
    (
        "scene-nuscenes",
        "instruments.scene.data.sources.nuscenes:nuscenes_views",
        "nuScenes or Lyft tables: cameras with 3D boxes",
    ),
    (
        "scene-scannetpp",
        "instruments.scene.data.sources.scannetpp:scannetpp_views",
        "ScanNet++ scenes: DSLR pictures with 3D boxes",
    ),
    ("scene-kitti", "instruments.scene.data.sources.kitti:kitti_views", "KITTI's object benchmark"),
    (
        "scene-sunrgbd",
        "instruments.scene.data.sources.kitti:sunrgbd_views",
        "SUN RGB-D in the text form of detectors",
    ),
    (
        "scene-camera-boxes",
        "instruments.scene.data.sources.nuscenes:camera_box_views",
        "cameras with 3D boxes in one JSON file",
    ),
)
"""The sources of pairs for the compass and of scenes for ``scene import``."""


BEHAVIOURS = (
    ("looker", "models.scripted:looker", "finds the two coloured objects of the question in the picture"),
    ("guesser", "models.scripted:guesser", "picks an option by the words of the question alone"),
    ("oracle", "models.scripted:oracle", "says the correct answer, from the hint"),
    ("constant", "models.scripted:constant", "always says the same, given as ?text=…"),
    ("refuser", "models.scripted:refuser", "declines everything"),
    ("rambler", "models.scripted:rambler", "talks and never answers"),
    ("flaky", "models.scripted:flaky", "guesses, and fails on one request in ?every=…"),
    ("echo", "models.scripted:echo", "returns the request that it received, as JSON"),
    ("scene-oracle", "instruments.scene.scripts:oracle", "right about everything that it can see"),
    (
        "scene-blind-prior",
        "instruments.scene.scripts:blind_prior",
        "answers from the words of the question only",
    ),
    ("scene-shortcut", "instruments.scene.scripts:shortcut", "right answers with a random graph"),
    ("scene-disconnected", "instruments.scene.scripts:disconnected", "the right graph with random answers"),
    (
        "scene-trusting",
        "instruments.scene.scripts:trusting",
        "right from the picture, but follows any graph in the prompt",
    ),
    ("scene-refuser", "instruments.scene.scripts:refuser", "declines everything"),
    ("scene-rambler", "instruments.scene.scripts:rambler", "talks and never answers"),
    ("trace-looker", "instruments.trace.scripts:looker", "describes what the frames show"),
    ("trace-noise", "instruments.trace.scripts:noise", "random statements, different each time"),
    ("trace-extractor", "instruments.trace.scripts:extractor", "extracts claims as our rules do"),
    (
        "trace-judge",
        "instruments.trace.scripts:judge",
        "judges a claim by the annotation, and where it is silent says yes",
    ),
    ("trace-yes", "instruments.trace.scripts:yes", "calls every claim supported"),
    ("trace-fixed", "instruments.trace.scripts:fixed", "always the same text, whatever the frames show"),
    *(
        (
            f"trace-dial-{p}",
            f"instruments.trace.scripts:dial_{p}",
            f"looks for {p} % of its statements, and recalls the rest",
        )
        for p in (0, 12, 25, 38, 50, 62, 75, 88, 100)
    ),
)
"""Scripted models with known faults: ``scripted:<name>``."""


FAMILIES = (
    ("gemma3", "gemma3:Gemma3", "Gemma 3: one square, pooled patches, optional crops"),
    ("idefics3", "idefics3:Idefics3", "Idefics3: tiles and the whole picture, shuffled patches"),
    ("internvl", "internvl:InternVL", "InternVL (hf): tiles and a thumbnail, shuffled patches"),
    ("llava", "llava:Llava", "LLaVA-1.5: one square crop"),
    (
        "llava_onevision",
        "llava_onevision:LlavaOnevision",
        "LLaVA-OneVision: the whole picture and tiles, line breaks",
    ),
    (
        "phi4_multimodal",
        "phi4_multimodal:Phi4Multimodal",
        "Phi-4-multimodal: crops and the whole picture, line breaks",
    ),
    ("qwen2_vl", "qwen2_vl:Qwen2VL", "Qwen2-VL: any size, merged patches"),
    ("qwen2_5_vl", "qwen2_vl:Qwen25VL", "Qwen2.5-VL: any size, merged patches, windows"),
    ("qwen3_vl", "qwen2_vl:Qwen2VL", "Qwen3-VL: any size, merged patches, deepstack"),
    ("smolvlm", "idefics3:Idefics3", "SmolVLM: tiles and the whole picture, shuffled patches"),
)
"""Model type of transformers, place of its family, summary."""


METHODS = (
    ("chefer", "chefer:CHEFER"),
    ("chefer-normalised", "chefer:CHEFER_NORMALISED"),
    ("contrastive-grad-act", "grad_act:CONTRASTIVE"),
    ("contrastive-grad-act-sound", "grad_act:CONTRASTIVE_SOUND"),
    ("contrastive-grad-act-single", "grad_act:CONTRASTIVE_SINGLE"),
    ("grad-act-layers", "grad_act:LAYERED"),
    ("attnlrp", "attnlrp:ATTNLRP"),
    ("attention-rollout", "rollout:ROLLOUT"),
    ("grad-act", "grad_act:SINGLE"),
    ("grad-act-absolute", "grad_act:ABSOLUTE"),
    ("gradient-norm", "gradient_norm:GRADIENT_NORM"),
    ("gradcam", "gradcam:GRADCAM"),
    ("integrated-gradients", "integrated_gradients:INTEGRATED"),
    ("integrated-gradients-sound", "integrated_gradients:INTEGRATED_SOUND"),
)
"""The relevance methods: name and place. Each has its own summary."""


METHODS_BY_NAME = (
    ("tam", "tam:TAM"),
    ("attention", "attention:ATTENTION"),
    ("occlusion", "occlusion:OCCLUSION"),
)
"""Relevance methods that ``all`` leaves out, since they ask the model again or are of use for answers in words."""


def _models(add: Registrar) -> None:
    add(
        "model",
        "hf",
        "theodolite.models.huggingface:open_model",
        summary="a Hugging Face image-text-to-text checkpoint, folder or hub id",
        example="hf:Qwen/Qwen2-VL-7B-Instruct?dtype=bfloat16",
    )
    add(
        "model",
        "openai",
        "theodolite.models.openai:open_model",
        summary="an OpenAI-compatible server: vLLM, Ollama, SGLang, hosted",
        example="openai:qwen2-vl@http://127.0.0.1:8000/v1",
    )
    add(
        "model",
        "replay",
        "theodolite.models.replay:open_model",
        summary="recorded answers: a Theodolite run, lmms-eval samples or an inspect_ai log",
        example="replay:runs/monday",
    )
    add(
        "model",
        "pocket",
        "theodolite.models.pocket:open_model",
        summary="the shipped twins of known reasoning: grounded and shortcut, and mixed between them",
        example="pocket:grounded",
    )
    add(
        "model",
        "scripted",
        "theodolite.models.scripted:open_model",
        summary="a deterministic behaviour for tests and certification",
        example="scripted:looker",
    )
    add(
        "model",
        "grid",
        "theodolite.instruments.grid.models.symbolic:open_model",
        summary="a grid model of known reasoning: symbolic, or a bag of words",
        example="grid:symbolic-pure",
    )
