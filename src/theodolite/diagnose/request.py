"""The request for a diagnosis: models, instruments, sample size, data and folder."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from theodolite.attribution import capability_of
from theodolite.core.errors import StorageError, UsageError
from theodolite.core.scores import CAPABILITIES, Capability, covers
from theodolite.diagnose.record import LeftOut
from theodolite.diagnose.separation import Twins
from theodolite.instruments.instrument import Instrument, Study, UserData, instruments
from theodolite.models import (
    ModelName,
    ServedModel,
    VisionLanguageModel,
    check_source,
    loaded_model,
    open_model,
)
from theodolite.models.tables import SUFFIXES, fields_of, naming, read_rows, split_options
from theodolite.runs import EngineOptions, Tally, run_async, slug

__all__ = [
    "DiagnosisRequest",
    "ModelLike",
    "Opened",
    "Progress",
    "check_folder",
    "check_models",
    "find_user_data",
    "given_models",
    "left_out",
    "opened",
]


# Open the models of a diagnosis, and find out their capabilities.


ModelLike: TypeAlias = str | VisionLanguageModel | Any
"""A name, an object that fulfils the model contract, or a transformers model in memory."""

_SMALL, _LARGE_BATCH = 50_000_000, 32


@dataclass(frozen=True, slots=True)
class Opened:
    """An open model with its capability."""

    name: str
    model: VisionLanguageModel
    gives: Capability

    @property
    def identity(self) -> str:
        """The model's identity, which distinguishes models of the same name: a hash of the weights, for example."""
        return self.model.identity

    @property
    def capabilities(self) -> tuple[Capability, ...]:
        """All capabilities of the model, from text on."""
        return tuple(need for need in CAPABILITIES if covers(self.gives, need))


def check_models(names: Iterable[str]) -> None:
    """Check names, folders and servers before the first model is measured.

    Large models are not loaded.

    Raises:
        TheodoliteError: If a model cannot be opened.
    """
    for name in names:
        parsed = ModelName.parse(name)
        if parsed.scheme == "hf":
            check_source(parsed.target)
        else:
            with opened(name):
                pass


@contextmanager
def given_models(
    model: ModelLike | Sequence[ModelLike], processor: Any = None
) -> Iterator[dict[str, VisionLanguageModel | None]]:
    """Yield models by name: in memory, or None if the model is to be opened by its name.

    Raises:
        UsageError: If an object is not a model, or a name is given twice.
    """
    listed = list(model) if isinstance(model, list | tuple) else [model]
    if processor is not None and (len(listed) != 1 or isinstance(listed[0], str | VisionLanguageModel)):
        raise UsageError(
            "processor belongs to one transformers model in memory; for several, wrap each with "
            "theodolite.models.loaded_model(model, processor)"
        )
    models: dict[str, VisionLanguageModel | None] = {}
    with ExitStack() as stack:
        for entry in listed:
            own = None if isinstance(entry, str) else _in_memory(entry, processor, stack)
            name = entry if isinstance(entry, str) else str(own and own.name)
            if name in models:
                raise UsageError(
                    f"the model {name} is given twice; to compare two seeds of one model use two folders, and give models in "
                    "memory different names with theodolite.models.loaded_model(model, processor, name=…)"
                )
            models[name] = own
        if not models:
            raise UsageError("no model is given; name one, such as hf:PATH or pocket:grounded")
        yield models


def _in_memory(model: Any, processor: Any, stack: ExitStack) -> VisionLanguageModel:
    """Return a model that fulfils the contract. A transformers model is wrapped, and restored at the end."""
    if isinstance(model, VisionLanguageModel):
        return model
    if not (hasattr(model, "generate") and hasattr(model, "config")):
        raise UsageError(
            f"a {type(model).__name__} is not a model: give a name such as hf:PATH, a transformers model with its processor, "
            "or an object that fulfils the model contract (theodolite.testing.check_model lists what is missing)"
        )
    if processor is None:
        raise UsageError("a transformers model in memory needs its processor: diagnose(model=…, processor=…)")
    wrapped = loaded_model(model, processor)
    stack.callback(wrapped.close)
    return wrapped


@contextmanager
def opened(name: str, given: Mapping[str, VisionLanguageModel] | None = None) -> Iterator[Opened]:
    """Open a model for all instruments, and close it at the end. A given model stays open."""
    own = (given or {}).get(name)
    model = own if own is not None else open_model(name)
    try:
        if isinstance(model, ServedModel):
            run_async(partial(_check_server, model))
        with _fast_if_small(model):
            yield Opened(name, model, capability_of(model))
    finally:
        if own is None:
            model.close()


@contextmanager
def _fast_if_small(model: VisionLanguageModel) -> Iterator[None]:
    """Run a small checkpoint with one thread and, unless its name sets one, a larger batch size.

    A model of four million parameters takes about as long for 32 requests as for 8. With a second thread, a diagnosis of
    the twins took twice the CPU time, and longer.
    """
    checkpoint = getattr(model, "checkpoint", None)
    parameters = list(checkpoint.model.parameters()) if checkpoint is not None else []
    if not parameters or sum(weights.numel() for weights in parameters) >= _SMALL:
        yield
        return
    import torch

    before = model.batch_size
    if "batch_size=" not in model.name and model.batch_size < _LARGE_BATCH:
        object.__setattr__(model, "batch_size", _LARGE_BATCH)
    threads = torch.get_num_threads()
    torch.set_num_threads(1 if parameters[0].device.type == "cpu" else threads)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        object.__setattr__(model, "batch_size", before)


async def _check_server(model: ServedModel) -> None:
    """Raise an error if the server cannot be reached."""
    try:
        await model.check()
    finally:
        await model.aclose()


_WHY: Mapping[Capability, tuple[str, str]] = {
    "gradients": (
        "it gives no gradients and no attention",
        "open the same weights in this process, with hf:PATH",
    ),
    "choices": (
        "it gives no log-probabilities of options",
        "open the same weights in this process, with hf:PATH",
    ),
}


def left_out(instruments: Iterable[Instrument], gives: Capability, name: str) -> tuple[LeftOut, ...]:
    """List the metrics that a model does not support, by instrument, with the reason and a remedy.

    Args:
        instruments: The instruments.
        gives: The model's capability.
        name: The name of the model, for the reason.
    """
    entries = []
    for instrument in instruments:
        for need, (why, remedy) in _WHY.items():
            missing = [
                metric for metric in instrument.metrics if metric.needs == need and not covers(gives, need)
            ]
            if missing:
                shown = "; ".join(metric.name for metric in missing[:2])
                more = f" and {len(missing) - 2} more" if len(missing) > 2 else ""
                what = f"{len(missing)} metrics that need {_NAMES[need]}: {shown}{more}"
                entries.append(
                    LeftOut(instrument=instrument.name, what=what, why=f"{name}: {why}", remedy=remedy)
                )
    return tuple(entries)


_NAMES: Mapping[Capability, str] = {
    "text": "answers in words",
    "choices": "log-probabilities",
    "gradients": "gradients and attention",
}


# The user's own data sets, and the instrument that each one is for.


_LONGEST = 300


def find_user_data(
    given: Iterable[str | Path], images: Path | None = None, wanted: Collection[str] = ()
) -> tuple[UserData, ...]:
    """Find the instruments of each data set. There can be one data set per instrument.

    Args:
        given: Files or folders. ``instrument=path`` names the instrument; ``annotations@folder`` names the folder of
            the pictures if it is another one.
        images: The folder of the pictures, for all data sets that do not name their own.
        wanted: The instruments that are used. Of several that can read a data set, the others are left out. Default: all.

    Raises:
        UsageError: If one does not exist, if no instrument can read it, or if two are for the same instrument.
    """
    by_instrument: dict[str, UserData] = {}
    for text in given:
        name, equals, rest = str(text).partition("=")
        is_named = bool(equals) and name in {instrument.name for instrument in instruments()}
        known = _find(rest if is_named else str(text), name if is_named else "", images)
        for own in [data for data in known if not wanted or data.instrument in wanted] or known:
            if own.instrument in by_instrument:
                raise UsageError(
                    f"--data has two data sets for {own.instrument}: {by_instrument[own.instrument].path} and {own.path}; "
                    "diagnose them one at a time"
                )
            by_instrument[own.instrument] = own
    return tuple(by_instrument.values())


def _find(text: str, named: str, images: Path | None) -> list[UserData]:
    """Return the data set for every instrument that can read it, or for the named one."""
    path = Path(text)
    file, _ = split_options(path)
    if not file.exists() and "@" in text:
        first, _, second = text.rpartition("@")
        path, images = Path(first), Path(second)
        file, _ = split_options(path)
    if not file.exists():
        raise UsageError(f"{file} does not exist; {_takes()}")
    if images is not None and not images.is_dir():
        raise UsageError(
            f"there is no folder of pictures {images}; --images takes the folder of the pictures"
        )
    if path.is_dir() and (path / "run.json").is_file():
        raise UsageError(
            f"{path} is a run, not a data set; to diagnose its answers, use --model replay:{path}"
        )
    known = [own for instrument in instruments() if (own := instrument.find_data(path, images)) is not None]
    if not known and (fields := _fields(path)):
        raise UsageError(
            f"no instrument can read {path}{fields}; questions need a picture, a question and an answer: {naming(path)}"
        )
    if not known:
        raise UsageError(f"no instrument can read the data set {path}; {_takes()}")
    wanted = [data for data in known if named in {"", data.instrument}]
    if not wanted:
        raise UsageError(f"{path} is for {known[0].instrument}, not for {named}; remove {named}=")
    return wanted


def _fields(path: Path) -> str:
    """Describe the fields of a table that no instrument can read."""
    if path.suffix not in SUFFIXES or not path.is_file():
        return ""
    try:
        return f", which has the fields {', '.join(fields_of(read_rows(path, [])))[:_LONGEST]}"
    except UsageError as error:
        return f" ({error})"


def _takes() -> str:
    taken = "; ".join(
        f"{instrument.takes} ({instrument.name})" for instrument in instruments() if instrument.takes
    )
    return f"--data takes {taken}"


Progress = Callable[[str, str, "Tally | str"], None]
"""Called with the model, the instrument, and its progress: a tally, or a word for another step, such as ``scoring``.

Every model and instrument is announced as ``waiting`` before the first is measured."""

RUNS, DATA, CACHE = "runs", "data", "cache"


@dataclass(frozen=True, slots=True)
class DiagnosisRequest:
    """A request for a diagnosis."""

    models: tuple[str, ...]
    folder: Path
    instruments: tuple[Instrument, ...]
    size: str | int = "standard"
    """A size from `find_size`; a number is one of pairs."""
    seed: int = 0
    data: tuple[UserData, ...] = ()
    options: EngineOptions = field(default_factory=EngineOptions)
    twins: Twins = field(default_factory=Twins)
    progress: Progress = lambda *_: None
    given: Mapping[str, VisionLanguageModel] = field(default_factory=dict)
    """Models in memory, by name. The others are opened by name."""

    def __post_init__(self) -> None:
        if self.given and self.options.engine != "local":
            raise UsageError(
                f"{next(iter(self.given))} is in memory and cannot be sent to workers; name a checkpoint, as hf:PATH"
            )
        asked = {instrument.name for instrument in self.instruments}
        unused = next((own for own in self.data if own.instrument not in asked), None)
        if unused is not None:
            raise UsageError(
                f"{unused.path} is for {unused.instrument}, which is not in --instruments; add it, or leave out the data"
            )

    def study(self, instrument: Instrument) -> Study:
        """Return the part of the request for one instrument."""
        own = next((data for data in self.data if data.instrument == instrument.name), None)
        size = self.size if isinstance(self.size, str) else instrument.size_for(self.size)
        return Study(self.folder / DATA, size, self.seed, data=own)

    def run_folder(self, model: str, name: str) -> Path:
        """Return the folder of a run."""
        return self.folder / RUNS / slug(model) / name

    def described(self) -> dict[str, str]:
        """Describe the items of each instrument."""
        return {
            instrument.name: instrument.describe(self.study(instrument)) for instrument in self.instruments
        }

    def settings(self) -> dict[str, object]:
        """Return the settings that are stored in the diagnosis."""
        pictures = [own.images for own in self.data if own.images is not None]
        return {
            "models": list(self.models),
            "instruments": [instrument.name for instrument in self.instruments],
            "size": self.size,
            "seed": self.seed,
            "data": {own.instrument: str(own.path) for own in self.data},
            **({"images": str(pictures[0])} if pictures else {}),
            "engine": self.options.engine,
        }


def check_folder(folder: Path) -> None:
    """Check that a diagnosis can be written to the folder, before anything is measured.

    Raises:
        StorageError: If it cannot.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / ".probe"
        probe.write_bytes(b"0" * 4096)
        probe.unlink()
    except OSError as error:
        raise StorageError(
            f"cannot write into {folder}: {error.strerror}; choose another folder with --out"
        ) from error
