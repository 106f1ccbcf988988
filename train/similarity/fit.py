"""Training of the small CLIP.

With s_ij the scaled cosine of picture i and caption j, three losses are added:

- *things*: for each true caption of an object, −log e^{s⁺} / (e^{s⁺} + Σ e^{s⁻}) against all captions of objects that the
  picture does not show; and the binary cross-entropy of s_ij − b, with true and false captions weighted equally, so that
  the scores of true captions become comparable;
- *sides and states*: the cross-entropy of the true caption among its alternatives, which is the share that the verifier reads;
- *patches*: a linear layer on the patch features, discarded after training, predicts the object and colour of each patch.
  Without it, small vision transformers stay on a plateau for thousands of steps.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from train.similarity.arrays import Arrays
from train.similarity.checkpoint import N_PATCHES

_WARM_UP, _DECAY, _CLIP = 200, 0.05, 1.0
_SHARPEST = math.log(100)
"""Maximum scale of the cosines, as in CLIP."""
_INNER = 0.8
"""A patch shows an object if its centre lies in this share of the object's box."""
_PER_PICTURE = 6
"""Groups drawn per picture and step."""


@dataclass(frozen=True, slots=True)
class FitOptions:
    """Training settings."""

    steps: int = 6000
    batch: int = 256
    learning_rate: float = 1e-3
    seed: int = 0
    device: str = "cpu"
    """A torch device. `train_similarity` also accepts ``auto``: a GPU if there is one."""
    most_s: float = math.inf
    """Time limit in seconds. If training would take longer, the learning rate decreases faster and there are fewer steps.
    The weights then depend on the speed of the machine."""


def fit(
    model: Any,
    tokenizer: Any,
    data: Arrays,
    options: FitOptions,
    *,
    progress: Callable[[int, dict[str, float]], None] | None = None,
) -> Any:
    """Train the model in place and return it in evaluation mode.

    Args:
        model: The CLIP.
        tokenizer: Its tokenizer.
        data: Training samples.
        options: Training settings.
        progress: Called with the step and the losses.
    """
    import torch
    from torch import nn

    device = torch.device(options.device)
    generator = torch.Generator(device=device).manual_seed(options.seed)
    held = _DeviceData.of(data, tokenizer, device)
    model = model.to(device).train()
    width = model.config.vision_config.hidden_size
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        sizes = {"category": len(data.categories) + 1, "colour": len(data.colours)}
        heads = nn.ModuleDict({name: nn.Linear(width, size) for name, size in sizes.items()}).to(device)
    level = nn.Parameter(torch.tensor(5.0, device=device))
    weights = [*model.parameters(), *heads.parameters(), level]
    optimizer = torch.optim.AdamW(weights, lr=options.learning_rate, betas=(0.9, 0.98), weight_decay=_DECAY)
    started = time.perf_counter()
    for step in range(options.steps):
        spent = (time.perf_counter() - started) / options.most_s
        is_last = step == options.steps - 1 or spent >= 1
        for group in optimizer.param_groups:
            group["lr"] = options.learning_rate * _rate(step, options.steps, spent)
        chosen = torch.randint(held.pixels.shape[0], (options.batch,), generator=generator, device=device)
        batch = held.batch(chosen, generator)
        losses = _losses(model, heads, level, held, batch)
        optimizer.zero_grad(set_to_none=True)
        loss: Any = torch.stack(list(losses.values())).sum()
        loss.backward()
        nn.utils.clip_grad_norm_(weights, _CLIP)
        optimizer.step()
        with torch.no_grad():
            model.logit_scale.clamp_(max=_SHARPEST)
        if progress is not None and (step % 50 == 0 or is_last):
            progress(step + 1, {name: value.item() for name, value in losses.items()})
        if is_last:
            break
    return model.float().eval()


def held_out(model: Any, tokenizer: Any, data: Arrays) -> tuple[float, float]:
    """Return how often a true object caption beats a false one, and a true side or state all its alternatives.

    Both are means over pictures that were not used in training. See `calibrate_similarity` for the accuracy of verdicts.
    """
    import torch

    device = model.device
    held = _DeviceData.of(data, tokenizer, device)
    with torch.inference_mode():
        read = model.text_model(input_ids=held.ids, attention_mask=held.mask)
        texts = torch.nn.functional.normalize(model.text_projection(read.pooler_output), dim=-1)
        wins: list[float] = []
        firsts: list[float] = []
        every: Any = torch.arange(len(held.pixels), device=device)
        for chosen in every.split(64):
            pixels = held.pixels[chosen].permute(0, 3, 1, 2).float() / 127.5 - 1
            seen = model.visual_projection(model.vision_model(pixel_values=pixels).pooler_output)
            scores = torch.nn.functional.normalize(seen, dim=-1) @ texts.T
            for row, fits, groups in zip(scores, held.fits[chosen], held.groups[chosen], strict=True):
                things = row[: len(fits)]
                wins.append((things[fits][:, None] > things[~fits]).float().mean().item())
                present = groups[groups[:, 0] >= 0]
                among = row[present.clamp(min=0)].masked_fill(present < 0, -2.0)
                firsts += (among.argmax(1) == 0).float().tolist()
    return sum(wins) / len(wins), sum(firsts) / max(1, len(firsts))


def _rate(step: int, steps: int, spent: float = 0.0) -> float:
    """Return a learning-rate factor: linear warm-up, then a cosine decay to a hundredth, by steps or by the time spent.

    >>> [round(_rate(step, 1000), 3) for step in (0, 99, 550, 1000)]
    [0.01, 1.0, 0.505, 0.01]
    >>> round(_rate(550, 1000, 1.0), 3)
    0.01
    """
    warm = min(_WARM_UP, max(1, steps // 10))
    if step < warm:
        return (step + 1) / warm
    done = min(1.0, max((step - warm) / max(1, steps - warm), spent))
    return 0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * done))


@dataclass(frozen=True, slots=True)
class _Batch:
    pixels: Any
    fits: Any
    groups: Any
    categories: Any
    """(B, P): the object of each patch; the last class is none."""
    colours: Any
    """(B, P): its colour; −100 for none."""


@dataclass(frozen=True, slots=True)
class _DeviceData:
    """All data on the device."""

    pixels: Any
    ids: Any
    mask: Any
    mirrored: Any
    fits: Any
    groups: Any
    spots: Any
    names: Any
    n_categories: int

    @classmethod
    def of(cls, data: Arrays, tokenizer: Any, device: Any) -> _DeviceData:
        import torch

        tokens = tokenizer(list(data.captions), padding=True, truncation=True, return_tensors="pt")
        mirrored, fits, groups, spots, names = (
            torch.from_numpy(a).to(device)
            for a in (data.mirrored, data.fits, data.groups, data.spots, data.names)
        )
        return cls(
            torch.from_numpy(data.pixels).to(device),
            tokens["input_ids"].to(device),
            tokens["attention_mask"].to(device),
            mirrored,
            fits,
            groups,
            spots,
            names,
            len(data.categories),
        )

    def batch(self, chosen: Any, generator: Any) -> _Batch:
        """Return a batch. Half of the pictures are mirrored, with their captions; brightness varies slightly."""
        import torch

        device, n = chosen.device, len(chosen)
        flip = torch.rand(n, generator=generator, device=device) < 0.5
        light = 1 + 0.1 * torch.randn((n, 1, 1, 1), generator=generator, device=device)
        pixels = (self.pixels[chosen].permute(0, 3, 1, 2).float() / 127.5 - 1) * light
        pixels = torch.where(flip[:, None, None, None], pixels.flip(3), pixels)
        order = torch.rand((n, self.groups.shape[1]), generator=generator, device=device)
        order = torch.where(self.groups[chosen, :, 0] < 0, 2.0, order).argsort(1)[:, :_PER_PICTURE]
        groups = self.groups[chosen].gather(1, order[..., None].expand(-1, -1, self.groups.shape[2]))
        swapped = torch.where(groups >= 0, self.mirrored[groups.clamp(min=0)], groups)
        groups = torch.where(flip[:, None, None], swapped, groups)
        spots = self.spots[chosen]
        turned = torch.stack([1 - spots[..., 2], spots[..., 1], 1 - spots[..., 0], spots[..., 3]], -1)
        spots = torch.where(flip[:, None, None], turned, spots)
        return _Batch(pixels, self.fits[chosen], groups, *self._patches(spots, self.names[chosen]))

    def _patches(self, spots: Any, names: Any) -> tuple[Any, Any]:
        """Return the object of each patch: the smallest one whose inner box contains the patch's centre."""
        import torch

        middles = (torch.arange(N_PATCHES, device=spots.device) + 0.5) / N_PATCHES
        y, x = (m.flatten() for m in torch.meshgrid(middles, middles, indexing="ij"))
        centre = (spots[..., :2] + spots[..., 2:]) / 2
        half = (spots[..., 2:] - spots[..., :2]) / 2 * _INNER
        half = half.clamp(min=0.5 / N_PATCHES)  # an object smaller than a patch is still shown by one
        inside = ((x - centre[..., :1]).abs() <= half[..., :1]) & (
            (y - centre[..., 1:]).abs() <= half[..., 1:]
        )
        inside &= names[..., :1] >= 0
        area = (half[..., 0] * half[..., 1])[..., None].expand_as(inside)
        smallest = torch.where(inside, area, torch.inf).min(1)
        nothing = torch.isinf(smallest.values)
        shown = names.gather(1, smallest.indices[..., None].expand(-1, -1, 2))
        categories = torch.where(nothing, self.n_categories, shown[..., 0])
        return categories, torch.where(nothing | (shown[..., 1] < 0), -100, shown[..., 1])


def _losses(model: Any, heads: Any, level: Any, held: _DeviceData, batch: _Batch) -> dict[str, Any]:
    import torch
    from torch.nn import functional

    used, inverse = torch.unique(batch.groups.clamp(min=0), return_inverse=True)
    n_looks = held.fits.shape[1]
    wanted = torch.cat([torch.arange(n_looks, device=used.device), used])
    kind = used.device.type
    # The cosines below need higher precision and are computed outside.
    with torch.autocast(kind, dtype=torch.bfloat16, enabled=kind == "cuda"):
        seen = model.vision_model(pixel_values=batch.pixels)
        read = model.text_model(input_ids=held.ids[wanted], attention_mask=held.mask[wanted])
        shown, read_features = (
            model.visual_projection(seen.pooler_output),
            model.text_projection(read.pooler_output),
        )
        patches = seen.last_hidden_state[:, 1:]
        predicted = {name: head(patches).flatten(0, 1).float() for name, head in heads.items()}
    pictures, texts = (functional.normalize(side.float(), dim=-1) for side in (shown, read_features))
    scale = model.logit_scale.exp()
    things = scale * pictures @ texts[:n_looks].T  # (B, L)
    among = scale * torch.einsum("bd,bgkd->bgk", pictures, texts[n_looks:][inverse])
    among = among.masked_fill(batch.groups < 0, -1e4)
    is_group = batch.groups[..., 0] >= 0
    return {
        "things": _contrast(things, batch.fits),
        "levels": _levels(things - level, batch.fits),
        "sides and states": functional.cross_entropy(
            among[is_group], torch.zeros(int(is_group.sum()), dtype=torch.long, device=among.device)
        )
        if bool(is_group.any())
        else among.sum() * 0,
        "patches": functional.cross_entropy(predicted["category"], batch.categories.flatten())
        + functional.cross_entropy(
            predicted["colour"], batch.colours.flatten(), ignore_index=-100
        ).nan_to_num(),  # NaN if no patch has a colour
    }


def _contrast(scores: Any, fits: Any) -> Any:
    """Return the mean over true captions of −log e^{s⁺} / (e^{s⁺} + Σ e^{s⁻})."""
    import torch

    false = scores.masked_fill(fits, float("-inf")).logsumexp(1, keepdim=True)
    return (torch.logaddexp(scores, false) - scores)[fits].mean()


def _levels(scores: Any, fits: Any) -> Any:
    """Return the binary cross-entropy with true and false captions weighted equally."""
    from torch.nn import functional

    loss = functional.binary_cross_entropy_with_logits(scores, fits.float(), reduction="none")
    return (loss[fits].mean() + loss[~fits].mean()) / 2
