"""Training of one paired model: two phases, in legs that can be resumed.

Phase 1 (grounding) learns the positions of anchors and targets; phase 2 adds the answer. Both models, pure and spur, are
trained by this module with the same settings and the same seed. Only their scenes differ.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional

from theodolite.instruments.grid.models.paired import NetworkOutput, PairedNetwork
from train.grid.matching import set_loss
from train.grid.sheets import Masking, Sheet, mask, objects_of


@dataclass(frozen=True, slots=True)
class Schedule:
    """The training settings. Every number that a certificate depends on is here."""

    steps: int = 14_000
    cooling: int = 5_000
    """Number of final steps over which the learning rate decreases to zero."""
    batch: int = 2048
    grounding_steps: int = 500
    """Phase 1: steps without the answer loss."""
    warm_up: int = 300
    rate: float = 1e-3
    decay: float = 0.05
    betas: tuple[float, float] = (0.9, 0.98)
    clip: float = 1.0
    matched: int = 256
    """Rows of a batch used for Hungarian matching."""
    match_every: int = 4
    """Number of steps between matchings."""
    role_weight: float = 2.0
    set_weight: float = 0.2
    heaviest: float = 10.0
    """Maximum weight of a rare answer."""
    masked_share: float = 0.25
    seed: int = 0

    def rate_at(self, step: int) -> float:
        """Return the learning rate: linear warm-up, constant, linear decay."""
        return self.rate * min(1.0, (step + 1) / self.warm_up, max(0.0, (self.steps - step) / self.cooling))


def answer_loss(logits: Tensor, answer: Tensor, *, heaviest: float) -> Tensor:
    """Return the cross-entropy with answers weighted inversely to their frequency in the batch.

    ``w_c = min(1 / f_c, heaviest / mean)``, normalised to a mean of one over the batch.
    """
    frequency = functional.one_hot(answer, logits.shape[-1]).float().mean(0)
    weight = (1.0 / frequency.clamp(min=1e-6))[answer]
    weight = (weight / weight.mean()).clamp(max=heaviest)
    return (weight / weight.mean() * functional.cross_entropy(logits, answer, reduction="none")).mean()


class Trainer:
    """Weights, optimiser and current step."""

    def __init__(self, network: PairedNetwork, schedule: Schedule, atlas: Tensor) -> None:
        self.schedule = schedule
        self.network = network
        self.atlas = atlas
        self.step = 0
        decayed = [p for p in network.parameters() if p.ndim > 1]
        plain = [p for p in network.parameters() if p.ndim <= 1]
        self.optimiser = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": schedule.decay}, {"params": plain, "weight_decay": 0.0}],
            lr=schedule.rate,
            betas=schedule.betas,
            fused=atlas.is_cuda,
        )
        self.generator = torch.Generator(device=atlas.device)
        self.forward: Callable[[Tensor, Tensor], NetworkOutput] = network

    def compile(self) -> None:
        """Compile the network. This takes half a minute once and makes training several times faster."""
        self.forward = torch.compile(self.network)

    def read(self, sheet: Sheet) -> NetworkOutput:
        """Run the network on a sheet. The stem is computed once per tile instead of once per cell."""
        with torch.autocast(self.atlas.device.type, torch.bfloat16):
            tiles = self.network.tiles(self.atlas).flatten(0, 2)
            picked = functional.one_hot(sheet.cells, len(tiles)).to(tiles.dtype) @ tiles
            return self.forward(picked.view(len(sheet), *sheet.side, -1), self.network.embed(sheet.words))

    def losses(self, sheet: Sheet, masking: Masking) -> dict[str, Tensor]:
        """Return all losses of one batch, weighted."""
        plan = self.schedule
        hidden = mask(sheet, masking, self.generator, spare=plan.matched)
        reading = self.read(hidden)
        losses = {
            "role": plan.role_weight
            * functional.cross_entropy(reading.roles.flatten(0, 1), hidden.roles.flatten())
        }
        if plan.matched and self.step % plan.match_every == 0:
            some = slice(0, plan.matched)
            few = NetworkOutput(
                **{name: getattr(reading, name)[some] for name in NetworkOutput.__dataclass_fields__}
            )
            for name, loss in set_loss(few, objects_of(sheet.part(some))).items():
                losses[name] = plan.set_weight * loss
        if self.step >= plan.grounding_steps:
            losses["answer"] = answer_loss(reading.answer, hidden.answer, heaviest=plan.heaviest)
        return losses

    def leg(
        self,
        sheets: Iterator[Sheet],
        masking: Masking,
        *,
        until: int,
        seconds: float,
        log: Callable[[str], None],
    ) -> None:
        """Train until a step or a time limit is reached.

        Args:
            sheets: Batches.
            masking: How much is masked.
            until: Step at which to stop.
            seconds: Time limit.
            log: Called with a line every 250 steps.
        """
        began = time.monotonic()
        while self.step < until and time.monotonic() - began < seconds:
            self.generator.manual_seed(self.schedule.seed * 1_000_003 + self.step)
            for group in self.optimiser.param_groups:
                group["lr"] = self.schedule.rate_at(self.step)
            losses = self.losses(next(sheets), masking)
            total = torch.stack(list(losses.values())).sum()
            self.optimiser.zero_grad(set_to_none=True)
            torch.autograd.backward(total)
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.schedule.clip)
            self.optimiser.step()
            self.step += 1
            if self.step % 250 == 0:
                row = {name: round(float(loss), 4) for name, loss in losses.items()}
                log(json.dumps({"step": self.step, "seconds": round(time.monotonic() - began, 1), **row}))

    def save(self, folder: Path, kind: str) -> None:
        """Write weights and both moments to separate files, with the kind of the model."""
        folder.mkdir(parents=True, exist_ok=True)
        names = dict(self.network.named_parameters())
        state = self.optimiser.state
        save_file({n: p.detach().cpu() for n, p in names.items()}, folder / "weights.safetensors")
        for moment in ("exp_avg", "exp_avg_sq"):
            values = {n: state[p][moment].cpu() for n, p in names.items() if p in state}
            save_file(values, folder / f"{moment}.safetensors")
        where = {
            "kind": kind,
            "step": self.step,
            "schedule": asdict(self.schedule),
            "size": asdict(self.network.size),
        }
        (folder / "training.json").write_text(json.dumps(where, indent=1))

    def load(self, folder: Path) -> None:
        """Restore the state written by `save`."""
        device = self.atlas.device.type
        self.network.load_state_dict(load_file(folder / "weights.safetensors", device=device))
        moments = {
            m: load_file(folder / f"{m}.safetensors", device=device) for m in ("exp_avg", "exp_avg_sq")
        }
        self.step = int(json.loads((folder / "training.json").read_text())["step"])
        for name, parameter in self.network.named_parameters():
            if name in moments["exp_avg"]:
                self.optimiser.state[parameter] = {
                    "step": torch.tensor(float(self.step), device=device),
                    **{moment: values[name] for moment, values in moments.items()},
                }
