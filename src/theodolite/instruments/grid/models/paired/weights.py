"""The weights: one safetensors file per model, in half precision."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeAlias

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from theodolite.core.errors import UsageError
from theodolite.instruments.grid.data.words import MAX_WORDS, VOCABULARY
from theodolite.instruments.grid.data.world import World
from theodolite.instruments.grid.models.paired.network import NetworkSize, PairedNetwork

Kind: TypeAlias = Literal["pure", "spur"]
FORMAT = "theodolite grid model 1"


def released(kind: Kind) -> Path:
    """The path of the weights that ship with the package."""
    return Path(str(files("theodolite.instruments.grid.models").joinpath("weights", f"{kind}.safetensors")))


def new_network(seed: int, device: str = "cpu") -> PairedNetwork:
    """An untrained network; the same seed gives the same weights."""
    torch.manual_seed(seed)
    size = NetworkSize(vocabulary=len(VOCABULARY), answers=len(World().answers), longest=MAX_WORDS)
    return PairedNetwork(size).to(device)


def write_weights(network: PairedNetwork, path: Path, *, training: dict[str, object]) -> None:
    """Writes a network in half precision; `training` goes into the header."""
    values = {
        name: p.detach().to("cpu", torch.float16).contiguous() for name, p in network.named_parameters()
    }
    about = {"format": FORMAT, "size": json.dumps(network.size.as_json()), "training": json.dumps(training)}
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(values, path, metadata=about)


def open_network(path: Path, device: str = "cpu") -> tuple[PairedNetwork, str]:
    """The network of a file, and the hash of its bytes.

    Raises:
        UsageError: There is no such file, or it holds something else.
    """
    try:
        with safe_open(path, framework="pt", device=device) as file:
            about = file.metadata() or {}
            if about.get("format") != FORMAT:
                raise UsageError(f"{path} holds no model of the grid; `python -m train grid` writes one")
            network = PairedNetwork(NetworkSize(**json.loads(about["size"])))
            values = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118 - not a dict
    except (OSError, SafetensorError) as error:
        raise UsageError(f"cannot read the weights {path}: {error}") from error
    network.load_state_dict(values)
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return network.to(device).eval().requires_grad_(requires_grad=False), digest[:16]
