"""Damaged model folders: a tiny checkpoint with one of its files changed is opened, and asked a question if it opens.

Each is opened in a process of its own, since the libraries that read weights and tokenizers are not written in Python.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.files import damaged
from fuzz.tally import READ, REFUSED, Tally, in_a_process
from theodolite.core.types import Picture, Request
from theodolite.models import open_model
from theodolite.testing import tiny_checkpoint

SECONDS = 20.0
MEGABYTES = 2500
_FAMILIES: tuple[Any, ...] = (
    "llava",
    "qwen2_vl",
    "internvl",
    "gemma3",
    "idefics3",
    "llava_onevision",
    "qwen3_vl",
)
_FILES = {
    "config.json": 6,
    "processor_config.json": 4,
    "preprocessor_config.json": 4,
    "tokenizer.json": 3,
    "tokenizer_config.json": 3,
    "generation_config.json": 2,
    "chat_template.jinja": 2,
    "model.safetensors": 4,
    "model.safetensors.index.json": 2,
}
"""How often each is changed."""
_NAMES = ("../x", "/etc/passwd", "../../x.safetensors", ".hidden.safetensors", "config.json", ".", "..")


def run(seed: int, count: int, seconds: float | None = None) -> Tally:
    """Open damaged model folders until `count` were tried or `seconds` have passed."""
    tally, begun = Tally(), time.monotonic()
    with tempfile.TemporaryDirectory() as home, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.environ["HF_HUB_OFFLINE"] = "1"
        whole = {name: tiny_checkpoint(Path(home) / name, name) for name in _FAMILIES}
        ask(whole["llava"])  # loads the libraries
        for number in range(count):
            if seconds is not None and time.monotonic() - begun > seconds:
                break
            family, folder = _FAMILIES[number % len(_FAMILIES)], Path(home) / str(number)
            what = damage(shutil.copytree(whole[family], folder), random.Random(f"models/{seed}/{number}"))
            tally.inputs += 1
            text, status, used = in_a_process(lambda folder=folder: ask(folder))  # type: ignore[misc]
            place = f"{family} {what} {seed}/{number}"
            if status not in {READ, REFUSED}:
                tally.add("uncaught", f"{place}: {text or f'status {status}'}")
            if used.ru_utime + used.ru_stime > SECONDS:
                tally.add("over_time", f"{place}: {used.ru_utime + used.ru_stime:.1f} s")
            if used.ru_maxrss >> 10 > MEGABYTES:
                tally.add("over_memory", f"{place}: {used.ru_maxrss >> 10} MB")
            shutil.rmtree(folder)
    return tally


def ask(folder: Path) -> None:
    """Open a checkpoint, write an answer with it and choose one."""
    _quiet()
    model = open_model(f"hf:{folder}")
    grey = Picture.from_array(np.full((40, 60, 3), 90, np.uint8))
    request = Request.ask(grey, "Where is the cup?", max_tokens=3)
    model.generate([request])


def _quiet() -> None:
    """Keep what transformers prints about damaged checkpoints off the terminal."""
    import logging

    logging.disable(logging.CRITICAL)
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 2)


def damage(folder: Path, rng: random.Random) -> str:
    """Change one file of a checkpoint, and return its name."""
    known = [name for name in _FILES if (folder / name).exists() or name == "model.safetensors.index.json"]
    name = rng.choices(known, [_FILES[each] for each in known])[0]
    path = folder / name
    if name == "model.safetensors.index.json":
        index = {
            "metadata": {"total_size": 1000},
            "weight_map": dict.fromkeys(_tensors(folder), "model.safetensors"),
        }
        path.write_text(json.dumps(index))
        if rng.random() < 0.5:
            (folder / "model.safetensors").rename(folder / "model-1.safetensors")
    if rng.random() < 0.05:
        path.unlink()
        rng.choice(
            (lambda: None, path.mkdir, lambda: os.mkfifo(path), lambda: path.symlink_to("/dev/zero"))
        )()
        return f"{name} replaced"
    content = path.read_bytes()
    changed = _weights(content, rng) if name == "model.safetensors" else damaged(name, content, rng, _NAMES)
    path.write_bytes(changed)
    return name


def _tensors(folder: Path) -> list[str]:
    content = (folder / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    return [name for name in json.loads(content[8 : 8 + size]) if name != "__metadata__"]


def _weights(content: bytes, rng: random.Random) -> bytes:
    """Change the header of a file of weights, or its bytes."""
    size = struct.unpack("<Q", content[:8])[0]
    header, data = content[8 : 8 + size], content[8 + size :]
    kind = rng.randrange(6)
    if kind == 0:
        data = np.random.default_rng(rng.randrange(2**32)).bytes(len(data))
    elif kind == 1:
        return (
            struct.pack("<Q", rng.choice((0, 1, size - 1, size + 1, 2**31, 2**63, 2**64 - 1))) + header + data
        )
    elif kind == 2:
        data = data[: rng.randrange(len(data))]
    elif kind == 3:
        about = json.loads(header)
        for name in rng.sample(sorted(about), rng.randint(1, len(about) // 2)):
            del about[name]
        header = json.dumps(about).encode()
    else:
        header = damaged("header.json", header, rng, _NAMES)
    return struct.pack("<Q", len(header)) + header + data
