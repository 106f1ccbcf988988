"""Hugging Face checkpoints: loaded, checked, and identified by their content."""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import Any, Literal
from urllib.request import getproxies

from theodolite.core.errors import (
    DamageWarning,
    MissingExtraError,
    ModelError,
    TheodoliteError,
    UnsupportedError,
    UsageError,
)
from theodolite.core.files import file_hash
from theodolite.core.registry import registry
from theodolite.core.types import Request
from theodolite.models.checkpoint_check import (
    check_extent,
    check_files,
    check_processor,
    check_values,
    find_gaps,
)

# The fingerprint of a checkpoint: a hash of every byte that can affect its answers.


_ENDINGS = frozenset(
    {".safetensors", ".json", ".jinja", ".txt", ".py", ".model", ".spm", ".tiktoken", ".bpe", ".vocab"}
)
"""Weights, configurations, templates, tokenisers and the repository's own code."""
_IGNORED = "certificate.json"
"""Measurements stored next to a checkpoint. They do not affect its answers."""


def fingerprint(source: str, commit: str | None) -> str:
    """Return the commit of a hub checkpoint, or a hash of all files in a folder.

    Weights are hashed in full, since a change to a single tensor makes a different model.

    Args:
        source: A folder, or an id on the hub.
        commit: The commit of the hub checkpoint, if known.
    """
    folder = Path(source)
    if not folder.is_dir():
        return commit or f"{source}@unknown"
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        is_hidden = any(part.startswith(".") for part in name.parts)
        if path.suffix in _ENDINGS and path.name != _IGNORED and not is_hidden and path.is_file():
            stat = path.stat()
            content = _file_digest(path.absolute(), stat.st_size, stat.st_mtime_ns)
            digest.update(f"{name.as_posix()}\0{content}\n".encode())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=4096)
def _file_digest(path: Path, size: int, mtime_ns: int) -> str:  # noqa: ARG001 - size and time are part of the cache key
    return file_hash(path)


def loaded_fingerprint(model: Any, processor: Any) -> str:
    """Return a hash of a loaded model: every weight, its config, and its processor with tokenizer and chat template.

    Raises:
        ModelError: If some weights are not in memory.
    """
    import torch

    digest = hashlib.sha256(model.config.to_json_string().encode())
    for name, weights in sorted(model.state_dict().items()):
        digest.update(name.encode())
        if not isinstance(weights, torch.Tensor):
            digest.update(repr(weights).encode())
            continue
        if weights.is_meta:
            raise ModelError(
                f"the weights {name} are not in memory but offloaded; name the checkpoint instead, as hf:PATH"
            )
        plain = weights.detach().cpu().contiguous().reshape(-1)
        digest.update(f"{weights.dtype}{tuple(weights.shape)}".encode())
        digest.update(plain.view(torch.uint8).numpy().data)
    for part in (processor, getattr(processor, "image_processor", None)):
        if part is not None and hasattr(part, "to_json_string"):
            digest.update(part.to_json_string().encode())
    tokenizer = processor.tokenizer
    backend = getattr(tokenizer, "backend_tokenizer", None)
    words = backend.to_str() if backend is not None else repr(sorted(tokenizer.get_vocab().items()))
    template = getattr(processor, "chat_template", None) or getattr(tokenizer, "chat_template", None)
    digest.update(f"{words}\0{template}".encode())
    return digest.hexdigest()[:16]


# Loading of transformers checkpoints: weights, processor, prompt and encoding.


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """Load options, as in ``hf:…?field=value``."""

    dtype: str = "auto"
    device: str = "auto"
    device_map: str = ""
    attention: str = "sdpa"
    revision: str = "main"
    trust_remote_code: bool = False
    allow_missing: bool = False


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model with its processor, ready to encode requests."""

    model: Any
    processor: Any
    identity: str
    end_ids: frozenset[int]
    """The token ids that end an answer."""
    _turn: RLock = field(default_factory=RLock, compare=False, repr=False)
    """Tokenizers cannot be used by two threads at once, and a batch is encoded while another is computed."""

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the processor."""
        return self.processor.tokenizer

    def prompt(self, request: Request) -> str:
        """Return the request formatted by the checkpoint's chat template, up to the start of the answer."""
        conversation = [
            {
                "role": message.role,
                "content": [
                    {"type": "text", "text": part} if isinstance(part, str) else {"type": "image"}
                    for part in message.content
                ],
            }
            for message in request.messages
        ]
        return str(
            self.processor.apply_chat_template(conversation, tokenize=False, add_generation_prompt=True)
        )

    def token_ids(self, text: str) -> list[int]:
        """Return the tokens of a templated text. Each picture is still one placeholder."""
        with self._turn:
            return list(self.tokenizer(text, add_special_tokens=self._adds_special_tokens(text))["input_ids"])

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of some tokens, without special ones."""
        with self._turn:
            return str(self.tokenizer.decode(ids, skip_special_tokens=True))

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Return the character span of each of these tokens in the text, end exclusive.

        Raises:
            UnsupportedError: If the tokenizer does not provide it.
        """
        if not self.tokenizer.is_fast:
            raise UnsupportedError(
                "this checkpoint's tokenizer does not provide the positions of its tokens in the text"
            )
        special = self._adds_special_tokens(text)
        with self._turn:
            encoded = self.tokenizer(text, add_special_tokens=special, return_offsets_mapping=True)
        return [(int(low), int(high)) for low, high in encoded["offset_mapping"]]

    def encode(
        self, texts: Sequence[str], requests: Sequence[Request], *, padding_side: Literal["left", "right"]
    ) -> Any:
        """Return tensors for templated texts and the pictures of their requests, on the model's device and dtype.

        Args:
            texts: The prompts, as formatted by `prompt`.
            requests: The requests, for their pictures. Either all have pictures or none has.
            padding_side: The side on which shorter prompts are padded.
        """
        pictures = [[picture.load() for picture in request.pictures] for request in requests]
        with self._turn:
            inputs = self.processor(
                text=list(texts),
                images=pictures if any(pictures) else None,
                padding=True,
                padding_side=padding_side,
                add_special_tokens=self._adds_special_tokens(texts[0]),
                return_tensors="pt",
            )
        inputs.pop("token_type_ids", None) if "token_type_ids" not in _forward_names(self.model) else None
        return inputs.to(self.model.device, dtype=self.model.dtype)

    def logits(self, inputs: Any, keep: Any) -> Any:
        """Return the model's logits at some positions of a batch, (batch, positions, vocabulary).

        Args:
            inputs: The output of `encode`.
            keep: The number of last positions, or a tensor of positions. If the model cannot compute only these, they
                are selected afterwards.
        """
        logits = self._forward(inputs, keep, use_cache=False).logits
        wanted = keep if isinstance(keep, int) else len(keep)
        if logits.shape[1] == wanted:
            return logits
        return logits[:, -keep:] if isinstance(keep, int) else logits[:, keep]

    def step(self, inputs: Mapping[str, Any], keep: int) -> tuple[Any, Any]:
        """Return the logits of the last `keep` positions, and the keys and values of everything read so far."""
        output = self._forward(inputs, keep, use_cache=True)
        return output.logits[:, -keep:], output.past_key_values

    def _forward(self, inputs: Mapping[str, Any], keep: Any, *, use_cache: bool) -> Any:
        named = {"logits_to_keep": keep} if _takes(self.model, "logits_to_keep") else {}
        return self.model(**inputs, use_cache=use_cache, **named)

    def _adds_special_tokens(self, text: str) -> bool:
        start = self.tokenizer.bos_token
        return start is None or not text.startswith(start)


def load_checkpoint(source: str, options: LoadOptions) -> Checkpoint:
    """Load weights and processor from a folder or a hub id; safetensors only.

    Raises:
        ModelError: If there is no such checkpoint, or transformers cannot load it.
    """
    import torch
    from transformers import AutoConfig

    if options.device_map:
        _need_accelerate()
    check_source(source)
    device = _device(options.device)
    hub: dict[str, Any] = {"revision": options.revision, "trust_remote_code": options.trust_remote_code}
    dtype: Any = getattr(torch, options.dtype) if options.dtype != "auto" else "auto"
    if dtype == "auto" and device == "cpu" and not options.device_map:
        dtype = torch.float32
    check_files(source)
    # Weights that a checkpoint lacks are the same in every process, so that its identity holds.
    with _readable_errors(source), quiet_transformers(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = AutoConfig.from_pretrained(source, **hub)
        processor = _adapted(_load_processor(source, config, hub), config)
        auto_class = _auto_class(config, options)
        if not options.trust_remote_code:
            check_extent(source, config, auto_class)
        model, info = auto_class.from_pretrained(
            source,
            config=config,
            dtype=dtype,
            device_map=options.device_map or None,
            attn_implementation=options.attention,
            use_safetensors=True,
            ignore_mismatched_sizes=True,  # they are found among the gaps
            output_loading_info=True,
            **hub,
        )
        gaps = find_gaps(source, info, is_allowed=options.allow_missing)
        check_values(source, model)
        adapt = getattr(_family_of(config), "adapt_model", None)
        model = model if adapt is None else adapt(model)
        if not options.device_map:
            model.to(device)
        files = fingerprint(source, getattr(config, "_commit_hash", None))
        precision = str(model.dtype).removeprefix("torch.")
        drawn = f"/incomplete-{gaps.identity(model)}" if gaps else ""
        ready = ready_checkpoint(
            model, processor, source=source, identity=f"hf:{files}/{precision}/{options.attention}{drawn}"
        )
        check_processor(source, ready)
    if gaps:
        warnings.warn(f"{source} is measured as it is: {gaps}", DamageWarning, stacklevel=2)
    return ready


def wrap_checkpoint(model: Any, processor: Any) -> Checkpoint:
    """Return a checkpoint of a loaded model and its processor. The processor is copied, the model is not.

    Raises:
        ModelError: If the processor has no tokenizer or no chat template, or if weights are not in memory.
    """
    if getattr(processor, "tokenizer", None) is None:
        raise ModelError(
            f"a {type(processor).__name__} has no tokenizer; pass the processor of the model, as from "
            "AutoProcessor.from_pretrained"
        )
    own = _adapted(deepcopy(processor), model.config)
    source = getattr(model, "name_or_path", "") or type(model).__name__
    adapt = getattr(_family_of(model.config), "adapt_model", None)
    precision = str(model.dtype).removeprefix("torch.")
    attention = getattr(model.config, "_attn_implementation", None)
    known = f"memory:{loaded_fingerprint(model, own)}/{precision}/{attention}"
    return ready_checkpoint(model if adapt is None else adapt(model), own, source=source, identity=known)


def ready_checkpoint(model: Any, processor: Any, *, source: str, identity: str) -> Checkpoint:
    """Prepare a loaded model and its processor for answering.

    Args:
        model: The model. Its generation config is replaced.
        processor: Its processor. Its padding token is set if there is none.
        source: Where it comes from, for messages.
        identity: What identifies weights, processor, precision and attention.

    Raises:
        ModelError: If there is no chat template.
    """
    from transformers import GenerationConfig

    model.eval()
    if (
        getattr(processor, "chat_template", None) is None
        and getattr(processor.tokenizer, "chat_template", None) is None
    ):
        raise ModelError(
            f"{source} has no chat template, so its prompt format is unknown; add a chat_template.jinja"
        )
    if getattr(processor, "chat_template", None) is None:
        processor.chat_template = processor.tokenizer.chat_template
    if processor.tokenizer.pad_token_id is None:
        processor.tokenizer.pad_token = processor.tokenizer.eos_token
    end_ids = _end_ids(model, processor.tokenizer)
    # Settings that a call leaves open are taken from here, so sampling settings and penalties must not remain.
    model.generation_config = GenerationConfig(
        eos_token_id=sorted(end_ids), pad_token_id=processor.tokenizer.pad_token_id
    )
    return Checkpoint(model, processor, identity, end_ids)


def _auto_class(config: Any, options: LoadOptions) -> Any:
    """Return the auto class for a model. Some are registered only as a causal language model."""
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING,
        MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
    )

    own = (getattr(config, "auto_map", None) or {}) if options.trust_remote_code else {}
    is_language_model = "AutoModelForCausalLM" in own and "AutoModelForImageTextToText" not in own
    if not own and hasattr(config, "vision_config"):
        is_language_model = (
            type(config) in MODEL_FOR_CAUSAL_LM_MAPPING
            and type(config) not in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
        )
    return AutoModelForCausalLM if is_language_model else AutoModelForImageTextToText


def _load_processor(source: str, config: Any, hub: dict[str, Any]) -> Any:
    """Load the checkpoint's processor, without parts that would need torchvision and are not used."""
    from transformers import AutoProcessor
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING
    from transformers.utils import is_torchvision_available

    kind = PROCESSOR_MAPPING.get(type(config), None)
    if kind is None:
        return AutoProcessor.from_pretrained(source, **hub)
    own = getattr(_family_of(config), "image_processor", None)
    needs_torchvision = "video_processor" in kind.get_attributes() and not is_torchvision_available()
    with _number_words(kind):
        loader = _of_parts(kind, own) if needs_torchvision or own is not None else AutoProcessor
        return loader.from_pretrained(source, **hub)


def _family_of(config: Any) -> Any:
    """Return the family class of the architecture, if there is one."""
    for entry in registry().entries("family"):
        if entry.name == config.model_type:
            return entry.load()
    return None


def _adapted(processor: Any, config: Any) -> Any:
    """Adapt the processor if the architecture's family requires it."""
    adapt = getattr(_family_of(config), "adapt_processor", None)
    return processor if adapt is None else adapt(processor)


class _NoPart(dict[str, Any]):
    """Replaces the video or audio part of a processor.

    A dictionary, so that the processor can still be serialised as JSON.
    """

    model_input_names = ()
    num_frames = fps = None


def _of_parts(kind: Any, image_processor: Any) -> Any:
    """Return the processor class built from image processor and tokenizer only.

    Everything else, such as the expansion of image tokens, is inherited.

    Args:
        kind: The class of transformers.
        image_processor: The family's own image processor, if it has one.
    """
    from transformers import AutoImageProcessor, AutoTokenizer

    loaders = {"image_processor": image_processor or AutoImageProcessor, "tokenizer": AutoTokenizer}

    class OfParts(kind):  # type: ignore[misc]
        @classmethod
        def _get_arguments_from_pretrained(cls, source: str, *_: object, **kwargs: Any) -> list[Any]:
            hub = {
                key: kwargs[key]
                for key in ("revision", "trust_remote_code", "local_files_only")
                if key in kwargs
            }
            return [
                loaders[part].from_pretrained(source, **hub) if part in loaders else _NoPart()
                for part in kind.get_attributes()
            ]

        @classmethod
        def get_attributes(cls) -> list[str]:
            return list(kind.get_attributes())

        def check_argument_for_proper_class(self, name: str, argument: object) -> object:
            is_ours = isinstance(argument, _NoPart) or type(argument) is image_processor
            return None if is_ours else super().check_argument_for_proper_class(name, argument)

    OfParts.__name__ = kind.__name__
    return OfParts


@contextmanager
def _number_words(kind: Any) -> Iterator[None]:
    """Allow SmolVLM's processor to be built without num2words, which it only needs for videos."""
    module = sys.modules[kind.__module__]
    is_missing = getattr(module, "num2words", ...) is None
    if is_missing:
        module.num2words = str  # type: ignore[attr-defined]
    try:
        yield
    finally:
        if is_missing:
            module.num2words = None  # type: ignore[attr-defined]


def _end_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    ids = model.generation_config.eos_token_id
    listed = ids if isinstance(ids, list) else [ids]
    end_ids = frozenset(int(i) for i in [*listed, tokenizer.eos_token_id] if i is not None)
    if not end_ids:
        raise ModelError(
            f"{model.name_or_path} has no end-of-text token; set eos_token_id in generation_config.json"
        )
    return end_ids


def _forward_names(model: Any) -> frozenset[str]:
    import inspect

    return frozenset(inspect.signature(model.forward).parameters)


def _takes(model: Any, name: str) -> bool:
    """Return True if a model's forward accepts an argument of that name."""
    import inspect

    parameters = inspect.signature(model.forward).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _device(wanted: str) -> str:
    import torch

    if wanted == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if wanted.startswith("cuda") and not torch.cuda.is_available():
        raise ModelError(f"device={wanted} was requested, but this machine has no CUDA GPU; omit device")
    try:
        torch.device(wanted)
    except RuntimeError:
        raise UsageError(f"there is no device {wanted!r}; use cpu, cuda or cuda:0") from None
    return wanted


def _need_accelerate() -> None:
    from importlib.util import find_spec

    if find_spec("accelerate") is None:
        raise MissingExtraError("accelerate", "device-map", "device_map")


def check_source(source: str) -> None:
    """Check that a checkpoint can be found. The hub client itself would retry for half a minute before failing.

    Raises:
        ModelError: If there is no such folder and the hub cannot be reached.
    """
    import socket
    from urllib.parse import urlsplit

    from huggingface_hub import constants, try_to_load_from_cache

    if Path(source).is_dir():
        return
    if source.startswith((".", "/", "~")) or source.count("/") != 1:
        raise ModelError(
            f"there is no checkpoint folder {source}; pass a folder with a config.json, or OWNER/NAME on the hub"
        )
    if try_to_load_from_cache(source, "config.json") is not None or constants.HF_HUB_OFFLINE or getproxies():
        return
    try:
        socket.getaddrinfo(urlsplit(constants.ENDPOINT).hostname, 443)
    except OSError:
        raise ModelError(
            f"there is no checkpoint folder {source}, and the Hugging Face hub cannot be reached; pass a folder "
            "with a checkpoint, or try again when the network is available"
        ) from None


@contextmanager
def _readable_errors(source: str) -> Iterator[None]:
    try:
        yield
    except TheodoliteError:
        raise
    except BaseException as error:
        # Any error can come of files that somebody else wrote; the tokenizer's library even panics.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if "contains custom code" in first:
            raise ModelError(
                f"{source} is not part of transformers: it comes with its own Python code, as Phi-3.5-Vision does; read that "
                "code, then add ?trust_remote_code=true"
            ) from error
        if "Unrecognized configuration class" in first:
            raise ModelError(
                f"{source} takes no pictures: transformers knows no model of pictures and text of its kind"
            ) from error
        raise ModelError(f"cannot load the checkpoint {source}: {first}") from error


@contextmanager
def quiet_transformers() -> Iterator[None]:
    """Disable transformers' progress bars. Warnings are still shown."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
