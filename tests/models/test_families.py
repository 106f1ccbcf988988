"""Where image tokens lie, tried on the real processors and the real architectures, with random weights.

Three independent witnesses: the prompt (how many tokens), the processed pixels of a picture whose colours are its
coordinates (where each cell lies, to a fraction of a pixel), and the model itself (which token answers to a change).
"""

import copy
import json
import shutil

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import CLIPImageProcessorPil, LlavaImageProcessorPil

from theodolite.core.errors import ContractError, ModelError, UnsupportedError
from theodolite.core.registry import Registry, registry
from theodolite.core.types import Picture, Request
from theodolite.geometry import Box, TokenGrid
from theodolite.models import Family, find_family, open_model, place_pictures
from theodolite.models import family as _family
from theodolite.models.families.phi4_multimodal import Canvas, CanvasProcessor, Phi4Multimodal
from theodolite.models.families.qwen2_vl import Qwen2VL

FAMILIES = [entry.name for entry in registry().entries("family")]
SIZES = [(37, 91), (640, 480), (333, 500), (1000, 300), (64, 64), (29, 640)]
LEFT_OVER = {"llava_onevision": 6 / 62}
"""The share of a frame's side that no patch sees."""


class Case:
    """A tiny checkpoint with its family, and what happens inside when it reads a batch."""

    def __init__(self, name, folder):
        self.name = name
        self.checkpoint = open_model(f"hf:{folder}").checkpoint
        self.family = find_family(self.checkpoint.model)

    def encode(self, requests, padding_side="left"):
        texts = [self.checkpoint.prompt(request) for request in requests]
        return self.checkpoint.encode(texts, requests, padding_side=padding_side)

    def place(self, requests, padding_side="left"):
        inputs = self.encode(requests, padding_side)
        return inputs, place_pictures(self.checkpoint, requests, inputs, self.family)

    def look(self, requests):
        """For each picture its grids, and what stands at its tokens in the language model and in the projector."""
        inputs, placed = self.place(requests)
        sizes = [picture.size for request in requests for picture in request.pictures]
        grids = self.family.feature_grids(self.checkpoint.processor, sizes, inputs)
        hidden, features = self._capture(inputs)
        assert len(features) == sum(grid.n_tokens for grid in grids)
        ends = np.cumsum([grid.n_tokens for grid in grids])
        tokens = [(each.grid, hidden[row, each.positions]) for row, own in enumerate(placed) for each in own]
        return tokens, list(zip(grids, np.split(features, ends[:-1]), strict=True))

    def _capture(self, inputs):
        caught = {}

        class Enough(Exception):  # noqa: N818 - nothing is wrong
            pass

        def keep_features(_, positional):
            flat = positional[0].reshape(-1, positional[0].shape[-1])
            caught["features"] = torch.cat([*([caught["features"]] if "features" in caught else []), flat])

        def keep_hidden(_, positional, named):
            caught["hidden"] = positional[0] if positional else named["hidden_states"]
            raise Enough

        model = self.checkpoint.model
        hooks = [
            self.family.projector(model).register_forward_pre_hook(keep_features),
            self.family.decoder(model).layers[0].register_forward_pre_hook(keep_hidden, with_kwargs=True),
        ]
        try:
            with torch.inference_mode():
                model(**inputs, use_cache=False)
        except Enough:
            pass
        finally:
            for hook in hooks:
                hook.remove()
        return caught["hidden"].float().numpy(), caught["features"].float().numpy()


@pytest.fixture(scope="module")
def cases(tiny):
    made = {}

    def case(name):
        if name not in made:
            made[name] = Case(name, tiny(name))
        return made[name]

    return case


@pytest.fixture(params=FAMILIES)
def case(request, cases):
    return cases(request.param)


def noise(size, seed=0):
    width, height = size
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def ask(*pixels, words=1):
    return Request.ask(*map(Picture.from_array, pixels), "where is the red one? " * words)


# Counts


def test_every_architecture_has_a_tiny_checkpoint_and_a_family(cases):
    for name in FAMILIES:
        assert cases(name).checkpoint.model.config.model_type == name


@pytest.mark.parametrize("padding_side", ["left", "right"])
def test_the_prompt_has_as_many_tokens_as_the_grids(case, padding_side):
    """One and several pictures per request, in one padded batch."""
    requests = [
        ask(*(noise(size) for size in SIZES[i : i + 1 + i % 3]), words=1 + i) for i in range(len(SIZES))
    ]
    inputs, placed = case.place(requests, padding_side)
    ids = inputs["input_ids"].numpy()
    for row, (request, own) in enumerate(zip(requests, placed, strict=True)):
        assert [(each.grid.width_px, each.grid.height_px) for each in own] == [
            p.size for p in request.pictures
        ]
        positions = np.concatenate([each.positions for each in own])
        assert (np.diff(positions) > 0).all()
        assert (ids[row, positions] == case.family.image_token_id(case.checkpoint.model)).all()
        assert inputs["attention_mask"].numpy()[row, positions].all()
        alone = case.place([request], padding_side)[1][0]
        for one, other in zip(own, alone, strict=True):
            assert np.array_equal(one.grid.rects_px, other.grid.rects_px, equal_nan=True)


def test_the_count_is_right_for_any_size(case):
    rng = np.random.default_rng(7)
    sizes = np.exp(rng.uniform(np.log(16), np.log(500), (60, 2))).astype(int)
    sizes = [(w, h) for w, h in sizes.tolist() if max(w, h) < 20 * min(w, h)]
    for start in range(0, len(sizes), 10):
        case.place([ask(noise(size)) for size in sizes[start : start + 10]])


def test_a_request_without_a_picture_has_none(case):
    assert case.place([Request.ask("where?"), Request.ask("how many?")])[1] == [[], []]


# Rectangles


def is_contiguous(starts, stops, gap):
    order = np.argsort(starts)
    between = starts[order][1:] - stops[order][:-1]
    return bool((between > -1e-6).all() and (between < gap + 1e-6).all())


@pytest.mark.parametrize("size", SIZES)
def test_the_rectangles_of_a_part_tile_their_region(case, size):
    inputs, placed = case.place([ask(noise(size))])
    features = case.family.feature_grids(case.checkpoint.processor, [size], inputs)
    for grid in (placed[0][0].grid, *features):
        assert np.isnan(grid.rects_px[~grid.has_place]).all()
        assert np.isfinite(grid.rects_px[grid.has_place]).all()
        for part in range(grid.part.max() + 1):
            rects = grid.rects_px[grid.part == part].round(9)
            if not len(rects):
                continue  # a tile of padding only
            assert (rects[:, 2:] > rects[:, :2]).all()
            across, down = np.unique(rects[:, [0, 2]], axis=0), np.unique(rects[:, [1, 3]], axis=0)
            assert len(rects) == len(across) * len(down) == len(np.unique(rects, axis=0))
            # tokens that were shrunk over several tiles leave out what no patch of a tile sees
            spread = (rects[:, 2:] - rects[:, :2]).max(axis=0) * LEFT_OVER.get(case.name, 0) * 4
            assert is_contiguous(across[:, 0], across[:, 1], spread[0])
            assert is_contiguous(down[:, 0], down[:, 1], spread[1])


@pytest.mark.parametrize("size", SIZES)
def test_from_a_pixel_to_its_tokens_and_back(case, size):
    grid = case.place([ask(noise(size))])[1][0][0].grid
    rng = np.random.default_rng(3)
    n_named = 0
    for x, y in rng.uniform((0, 0), size, (200, 2)):
        named = grid.tokens_at(x, y)
        assert len(set(grid.part[named])) == len(named), "two tokens of one part claim a pixel"
        x0, y0, x1, y1 = grid.rects_px[named].T
        assert ((x0 <= x) & (x < x1) & (y0 <= y) & (y < y1)).all()
        n_named += len(named) > 0
    if case.name not in {"llava", *LEFT_OVER}:  # which do not see all of a picture
        assert n_named == 200
    for token in np.flatnonzero(grid.has_place):
        assert token in grid.tokens_at(*grid.centres_px[token])


@pytest.mark.parametrize("size", SIZES)
def test_a_token_is_made_of_whole_features(case, size):
    inputs, placed = case.place([ask(noise(size))])
    tokens = placed[0][0].grid
    features = case.family.feature_grids(case.checkpoint.processor, [size], inputs)[0]
    for token in np.flatnonzero(tokens.has_place):
        x0, y0, x1, y1 = tokens.rects_px[token]
        part = tokens.part[token]
        if case.name == "llava_onevision" and part == 1 == tokens.part.max() < features.part.max():
            continue  # shrunk
        x, y = features.centres_px.T
        own = (features.part == part) & (x0 < x) & (x < x1) & (y0 < y) & (y < y1)
        corners = features.rects_px[own]
        bounds = [*corners[:, :2].min(axis=0), *corners[:, 2:].max(axis=0)]
        assert np.allclose(bounds, tokens.rects_px[token])


# Places: a picture whose colours are its coordinates


def ramp(size):
    """Red grows from left to right, green from top to bottom."""
    width, height = size
    pixels = np.zeros((height, width, 3))
    pixels[..., 0] = (np.arange(width)[None, :] + 0.5) / width
    pixels[..., 1] = (np.arange(height)[:, None] + 0.5) / height
    return (pixels * 255).round().astype(np.uint8)


def colours(processor, pixels):
    """Processed pixels (…, channels, height, width) as shares of the width and the height."""
    image_processor = processor.image_processor
    mean, std = (
        np.asarray(each)[:, None, None] for each in (image_processor.image_mean, image_processor.image_std)
    )
    return (pixels * std + mean)[..., :2, :, :]


def cells_of(family, processor, inputs, size):
    """Where the processed pixels say that the features' cells lie: centres (n, 2) in pixels, in the tower's order."""
    vision = family.config.vision_config
    patch = vision.patch_size if isinstance(vision.patch_size, int) else vision.patch_size[0]
    if isinstance(family, Phi4Multimodal):
        return canvas_cells(processor, inputs, 2 * patch) * np.array(size)
    pixels = inputs["pixel_values"].float().numpy()
    if isinstance(family, Qwen2VL):
        found = colours(processor, pixels.reshape(len(pixels), 3, -1, patch)).mean(axis=(2, 3))
        return found * np.array(size)
    cell = round(patch / getattr(family.config, "downsample_ratio", 1))
    frames = pixels.reshape(-1, *pixels.shape[-3:])
    if "pixel_attention_mask" in inputs:
        mask = inputs["pixel_attention_mask"].numpy()
        frames = frames[mask.reshape(-1, *mask.shape[-2:]).any(axis=(1, 2))]
    side = np.array(frames.shape[-2:]) // cell
    shown = colours(processor, frames)[..., : side[0] * cell, : side[1] * cell]
    blocks = shown.reshape(len(frames), 2, side[0], cell, side[1], cell).mean(axis=(3, 5))
    return blocks.transpose(0, 2, 3, 1).reshape(-1, 2) * np.array(size)


def canvas_cells(processor, inputs, cell):
    """The same of Phi-4: crops put together and cut off where the mask ends, a break after each row, then the whole."""
    frames = colours(processor, inputs["image_pixel_values"][0].float().numpy())
    height, width = inputs["image_sizes"][0].tolist()
    side = frames.shape[-1]
    rows, columns = height // side, width // side
    crops = frames[1 : 1 + rows * columns].reshape(rows, columns, 2, side, side)
    canvas = crops.transpose(2, 0, 3, 1, 4).reshape(2, height, width)
    mask = inputs["image_attention_mask"][0, 1 : 1 + rows * columns, ::2, ::2].numpy()
    n = mask.shape[-1]
    seen = mask.reshape(rows, columns, n, n).transpose(0, 2, 1, 3).reshape(rows * n, columns * n)
    found = []
    for pixels, (down, across) in ((canvas, (seen.any(1).sum(), seen.any(0).sum())), (frames[0], (n, n))):
        shown = (
            pixels[:, : down * cell, : across * cell].reshape(2, down, cell, across, cell).mean(axis=(2, 4))
        )
        line = np.pad(shown.transpose(1, 2, 0), ((0, 0), (0, 1), (0, 0)), constant_values=np.nan)
        found += [line.reshape(-1, 2), np.full((1, 2), np.nan)]
    return np.concatenate(found[:-1])


def assert_places(grid, centres, size):
    """The grid's centres are the measured ones, where a cell lies wholly in the picture.

    A colour has 255 levels; at the borders of a picture a resampling filter leans inward by a part of a pixel.
    """
    assert grid.n_tokens == len(centres)
    rects = grid.rects_px
    inside = grid.has_place & (rects[:, :2] >= -1e-6).all(1) & (rects[:, 2:] <= np.array(size) + 1e-6).all(1)
    assert inside.any()
    length = (rects[:, 2:] - rects[:, :2])[inside]
    slack = 0.7 * np.array(size) / 255 + 0.3 + 0.03 * length
    off = np.abs(grid.centres_px[inside] - centres[inside])
    assert (off < slack).all(), f"{off.max(axis=0)} pixels off at {size}"


def assert_ramp(family, processor, inputs, size):
    centres = cells_of(family, processor, inputs, size)
    if isinstance(family, Qwen2VL):
        family = Qwen2VL(family.config)  # windows are made inside the model, after the processor
        merged = centres.reshape(-1, 4, 2).mean(axis=1)
        assert_places(family.token_grids(processor, [size], inputs)[0], merged, size)
    assert_places(family.feature_grids(processor, [size], inputs)[0], centres, size)


@pytest.mark.parametrize("size", [*SIZES, (61, 97), (301, 299)])
def test_features_lie_where_the_processed_pixels_come_from(case, size):
    size = unblurred(case, size)
    assert_ramp(case.family, case.checkpoint.processor, case.encode([ask(ramp(size))]), size)


def unblurred(case, size):
    """Idefics first shrinks a picture to its longest side: the tiny one's would make 29×640 six pixels wide."""
    return (58, 640) if size == (29, 640) and case.name in {"idefics3", "smolvlm"} else size


# The decisive witness: the model


def is_clear(grid, x, y, side):
    """Whether a square lies well within one token of every frame that shows it."""
    named = grid.tokens_at(x, y)
    if len(named) != 1 + (grid.part > 0).any():
        return False  # in a part of the picture that some frame does not see
    square = Box(x - side / 2, y - side / 2, x + side / 2, y + side / 2)
    x0, y0, x1, y1 = grid.rects_px[named].T
    sides = np.stack([(x - x0) / (x1 - x0), (x1 - x) / (x1 - x0), (y - y0) / (y1 - y0), (y1 - y) / (y1 - y0)])
    return sides.min() > 0.2 and np.array_equal(np.flatnonzero(square.covers(grid.rects_px)), named)


def plain(size):
    """One colour everywhere, so that every token has as much to lose."""
    return np.full((size[1], size[0], 3), (190, 80, 120), np.uint8)


def with_a_square(pixels, x, y, side):
    """The picture with a small square of another colour around a pixel; and the middle of the square."""
    height, width = pixels.shape[:2]
    left, top = min(max(0, x - side // 2), width - side), min(max(0, y - side // 2), height - side)
    other = pixels.copy()
    other[top : top + side, left : left + side] = (20, 250, 30)
    return other, (left + side / 2, top + side / 2)


def variants_of(tokens, features, size, n):
    """Pictures with one square each, off the borders of every token; those in the corners of frames first."""
    rng = np.random.default_rng(5)
    frames = [np.flatnonzero(features.part == part) for part in range(features.part.max() + 1)]
    corners = np.concatenate([frame[[0, -1]] for frame in frames])
    order = dict.fromkeys([*rng.permutation(corners)[: n // 2], *rng.permutation(features.n_tokens)])
    found = []
    for cell in order:
        x0, y0, x1, y1 = features.rects_px[cell]
        x, y = features.centres_px[cell] + rng.uniform(-0.2, 0.2, 2) * (x1 - x0, y1 - y0)
        if 0 <= x < size[0] and 0 <= y < size[1]:
            side = max(1, int(min(x1 - x0, y1 - y0) / 4))
            other, middle = with_a_square(plain(size), int(x), int(y), side)
            if is_clear(tokens, *middle, side) and is_clear(features, *middle, side):
                found.append((other, middle))
        if len(found) == n:
            break
    return found


def assert_named(grid, change, x, y):
    """The token that changed most is named, and so is the one that changed most in every part that shows the point."""
    named = grid.tokens_at(x, y)
    assert change.max() > 0
    assert change.argmax() in named, f"token {change.argmax()} changed most, {named} are named"
    for token in named:
        of_part = np.flatnonzero(grid.part == grid.part[token])
        assert of_part[change[of_part].argmax()] == token
    assert (change[~grid.has_place] == 0).all(), "a token without a place changed"


def assert_the_model_agrees(case, size):
    inputs, placed = case.place([ask(plain(size))])
    features = case.family.feature_grids(case.checkpoint.processor, [size], inputs)[0]
    variants = variants_of(placed[0][0].grid, features, size, 12)
    assert len(variants) >= 6
    requests = [ask(plain(size)), *(ask(other) for other, _ in variants)]
    for (_, before), *after in case.look(requests):
        for (grid, values), (_, middle) in zip(after, variants, strict=True):
            assert_named(grid, np.linalg.norm(values - before, axis=-1), *middle)


@pytest.mark.parametrize("size", SIZES)
def test_the_token_that_changes_is_the_token_that_is_named(case, size):
    assert_the_model_agrees(case, unblurred(case, size))


def test_the_second_of_two_pictures_changes_alone(case):
    first, second = (120, 90), (75, 140)
    request = ask(plain(first), plain(second))
    sizes = [first, second]
    inputs, placed = case.place([request])
    features = case.family.feature_grids(case.checkpoint.processor, sizes, inputs)[1]
    variants = variants_of(placed[0][1].grid, features, second, 6)
    assert len(variants) >= 3
    requests = [request, *(ask(plain(first), other) for other, _ in variants)]
    for seen in case.look(requests):
        before, after = seen[:2], seen[2:]
        for (_, other), one, two in zip(variants, after[::2], after[1::2], strict=True):
            assert np.allclose(one[1], before[0][1], atol=1e-5)
            assert_named(two[0], np.linalg.norm(two[1] - before[1][1], axis=-1), *other)


def test_the_tiny_checkpoints_try_what_the_large_ones_do(cases):
    """Tiles, thumbnails, shrunk tokens, line breaks, windows: each must occur, or the tests above would be blind."""

    def grid(name, size):
        return cases(name).place([ask(noise(size))])[1][0][0].grid

    for name in ("idefics3", "internvl", "smolvlm"):
        assert set(grid(name, (333, 500)).part) == set(range(7)), name
    # two by three tiles, and three by three that are too many
    assert set(grid("llava_onevision", (120, 60)).part) == {-1, 0, 1, 2}
    shrunk = grid("llava_onevision", (500, 490))
    assert set(shrunk.part) == {-1, 0, 1}
    assert (shrunk.part == 1).sum() < 9 * 16
    assert (shrunk.part < 0).sum() == int(12 / np.sqrt(9 / 4))
    assert set(grid("phi4_multimodal", (333, 500)).part) == {-1, 0, 1}
    assert Canvas.fit((333, 500), 56, 6) == Canvas(
        112, 168, 111, 168
    )  # two by three crops, white at the right
    windowed = cases("qwen2_5_vl").family.block_order(3, 5)
    assert windowed.tolist() == [0, 1, 5, 6, 2, 3, 7, 8, 4, 9, 10, 11, 12, 13, 14]


# Settings that the tiny checkpoints do not have


def real(case, **changes):
    """A case's processor and family as a large checkpoint would have them."""
    config = copy.deepcopy(case.checkpoint.model.config)
    for name, value in changes.pop("config", {}).items():
        setattr(config, name, value)
    for name, value in changes.pop("vision", {}).items():
        setattr(config.vision_config, name, value)
    own = case.checkpoint.processor
    kind = changes.pop("kind", type(own.image_processor))
    image = changes.pop("image")
    image_processor = kind(image) if kind is CanvasProcessor else kind(**image)
    parts = {"image_processor": image_processor, "tokenizer": own.tokenizer}
    for unused in ("video_processor", "audio_processor"):
        if hasattr(own, unused):
            parts[unused] = getattr(own, unused)
    processor = type(own)(**parts, chat_template=own.chat_template, **changes)
    return processor, type(case.family)(config)


def square(side):
    return {"height": side, "width": side}


def llava(kind=CLIPImageProcessorPil, **image):
    settings = {"patch_size": 14, "vision_feature_select_strategy": "full"}
    return "llava", {"kind": kind, "image": image, "vision": {"patch_size": 14}, **settings}


REAL = {
    "llava crop": llava(size={"shortest_edge": 336}, crop_size=square(336)),
    "llava crop beyond": llava(size={"shortest_edge": 41}, crop_size=square(56)),
    "llava stretched": llava(size=square(384), do_center_crop=False),
    "llava oblong": llava(size={"height": 280, "width": 420}, do_center_crop=False),
    "llava padded": llava(
        LlavaImageProcessorPil, size={"shortest_edge": 336}, crop_size=square(336), do_pad=True
    ),
    "onevision": (
        "llava_onevision",
        {
            "image": {},
            "num_image_tokens": 729,
            "vision": {"patch_size": 14, "image_size": 384},
            "vision_feature_select_strategy": "full",
            "config": {"vision_aspect_ratio": "anyres_max_9"},
        },
    ),
    "internvl": (
        "internvl",
        {
            "image": {"size": square(448)},
            "image_seq_length": 256,
            "vision": {"patch_size": (14, 14), "image_size": (448, 448)},
        },
    ),
    "idefics3": (
        "idefics3",
        {"image": {}, "image_seq_len": 169, "vision": {"patch_size": 14, "image_size": 364}},
    ),
    "smolvlm": (
        "smolvlm",
        {
            "image": {"size": {"longest_edge": 2048}, "max_image_size": {"longest_edge": 512}},
            "image_seq_len": 64,
            "vision": {"patch_size": 16, "image_size": 512},
            "config": {"scale_factor": 4},
        },
    ),
    "gemma3": (
        "gemma3",
        {
            "image": {"size": square(896)},
            "image_seq_length": 256,
            "vision": {"patch_size": 14, "image_size": 896},
            "config": {"mm_tokens_per_image": 256},
        },
    ),
    "phi4": ("phi4_multimodal", {"image": {}, "vision": {"patch_size": 14}}),
    "qwen2.5": ("qwen2_5_vl", {"image": {}}),
    "qwen3": (
        "qwen3_vl",
        {"image": {"patch_size": 16, "size": {"shortest_edge": 65536, "longest_edge": 1 << 20}}},
    ),
}


@pytest.mark.parametrize("size", [(640, 427), (333, 500), (1000, 301)])
@pytest.mark.parametrize("setting", REAL)
def test_with_the_settings_of_large_checkpoints(cases, monkeypatch, setting, size):
    name, changes = REAL[setting]
    case = cases(name)
    if name == "smolvlm":
        monkeypatch.setattr("transformers.models.smolvlm.processing_smolvlm.num2words", str)
    processor, family = real(case, **copy.deepcopy(changes))
    picture = Picture.from_array(ramp(size)).load()
    prompt = case.checkpoint.prompt(ask(ramp(size)))
    inputs = processor(text=[prompt], images=[[picture]], return_tensors="pt")
    n_tokens = int((inputs["input_ids"] == family.image_token_id(case.checkpoint.model)).sum())
    assert family.token_grids(processor, [size], inputs)[0].n_tokens == n_tokens
    assert_ramp(family, processor, inputs, size)


@pytest.mark.parametrize(
    ("size", "n_crops"), [((200, 61), 3), ((61, 215), 4), ((110, 100), 0), ((640, 480), 2)]
)
def test_gemma_pans_and_scans_if_it_is_told_to(cases, monkeypatch, size, n_crops):
    case = cases("gemma3")
    processor = case.checkpoint.processor
    former = processor.valid_processor_kwargs._defaults.get("images_kwargs")  # transformers below 5.23
    defaults = type(processor).images_kwargs if former is None else former
    monkeypatch.setitem(defaults, "do_pan_and_scan", True)
    monkeypatch.setitem(defaults, "pan_and_scan_min_crop_size", 20)
    placed = case.place([ask(ramp(size)), ask(ramp((64, 64)), ramp(size))])[1]
    grid = placed[0][0].grid
    assert grid.part.max() == n_crops
    assert grid.rects_px[:, 2:].max(axis=0).tolist() == list(size)
    assert_ramp(case.family, case.checkpoint.processor, case.encode([ask(ramp(size))]), size)
    assert_the_model_agrees(case, size)


def test_idefics_tiles_as_its_image_processor_does(cases):
    """Tiles of an odd side, where each rounding decides a row."""
    image = {"size": {"longest_edge": 165}, "max_image_size": {"longest_edge": 55}}
    changes = {"image_seq_len": 121, "vision": {"patch_size": 5}, "config": {"scale_factor": 1}}
    processor, family = real(cases("idefics3"), image=image, **changes)
    rng = np.random.default_rng(2)
    sizes = [(300, 100), (100, 300), (301, 301), *rng.integers(20, 200, (150, 2)).tolist()]
    for width, height in sizes:
        picture = Picture.from_array(noise((width, height))).load()
        inputs = processor.image_processor([[picture]], return_row_col_info=True, return_tensors="pt")
        rows, columns = inputs["rows"][0][0], inputs["cols"][0][0]
        grid = family.token_grids(processor, [(width, height)], inputs)[0]
        assert grid.part.max() == rows * columns
        if rows:
            assert len(np.unique(grid.rects_px[grid.part < rows * columns, 1])) == rows * 11


def test_a_processors_class_overrules_its_checkpoint(cases):
    """The trap that `setting` is for: preprocessor_config.json says no tiles, and there are tiles."""
    case = cases("internvl")
    assert not case.checkpoint.processor.image_processor.crop_to_patches
    assert case.encode([ask(noise((333, 500)))])["pixel_values"].shape[0] == 7


def test_a_summary_token_that_is_kept_has_no_place(cases):
    case = cases("llava")
    changes = llava(size={"shortest_edge": 56}, crop_size=square(56))[1]
    processor, family = real(case, **changes, num_additional_image_tokens=1)
    picture = Picture.from_array(noise((90, 70))).load()
    inputs = processor(text=["<image>"], images=[[picture]], return_tensors="pt")
    grid = family.token_grids(processor, [(90, 70)], inputs)[0]
    assert (
        grid.n_tokens == 17 == int((inputs["input_ids"] == case.checkpoint.model.config.image_token_id).sum())
    )
    assert grid.part.tolist() == [-1] + [0] * 16
    assert np.isnan(grid.rects_px[0]).all()


def test_what_a_crop_leaves_out_has_no_token(cases):
    grid = cases("llava").place([ask(noise((1000, 300)))])[1][0][0].grid
    assert not Box(0, 0, 340, 300).covers(grid.rects_px).any()
    assert not Box(660, 0, 1000, 300).covers(grid.rects_px).any()
    assert len(grid.tokens_at(100, 150)) == 0
    assert len(grid.tokens_at(500, 150)) == 1
    assert grid.paint(np.ones(16)).sum() == pytest.approx(16)


def test_a_canvas_has_as_many_tokens_as_the_large_checkpoint(cases):
    """Counts, sizes and masks of Phi-4-multimodal's own image processor, which needs torchvision."""
    counts = {(640, 480): 1065, (333, 500): 681, (64, 64): 545, (3000, 2900): 9294, (5000, 1200): 9344}
    own = CanvasProcessor({})
    for size, wanted in counts.items():
        made = own([Picture.from_array(np.zeros((size[1], size[0], 3), np.uint8)).load()])
        assert made["num_img_tokens"] == [wanted]
    with pytest.raises(UnsupportedError, match="too elongated"):
        Canvas.fit((9000, 9), 448, 36)


def test_line_breaks_have_no_place(cases):
    grid = cases("llava_onevision").place([ask(noise((124, 62)))])[1][0][0].grid
    # the whole picture, then four rows of eight tokens and a break
    assert (grid.part < 0).nonzero()[0].tolist() == [16 + 8, 16 + 17, 16 + 26, 16 + 35]
    assert np.isnan(grid.rects_px[grid.part < 0]).all()


# Families of others, and families that are wrong


class Stretched(Family):
    """A third party's: the whole picture, four by four tokens."""

    def token_grids(self, processor, sizes_px, inputs):
        return [TokenGrid.regular(size, (4, 4)) for size in sizes_px]


class TooFew(Stretched):
    def token_grids(self, processor, sizes_px, inputs):
        return [TokenGrid.regular(size, (4, 3)) for size in sizes_px]


class OneGrid(Stretched):
    def token_grids(self, processor, sizes_px, inputs):
        return super().token_grids(processor, sizes_px[:1], inputs)


REMOTE = """
from transformers import LlavaConfig, LlavaForConditionalGeneration

class LabConfig(LlavaConfig):
    model_type = "lab_vl"

class LabModel(LlavaForConditionalGeneration):
    config_class = LabConfig
"""


def test_an_architecture_of_its_own_code_is_found_and_used(tmp_path, tiny, monkeypatch):
    """As Phi-3.5-Vision has it: code beside the weights, which calls itself a language model."""
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(tmp_path / "modules")
    folder = shutil.copytree(tiny("llava"), tmp_path / "lab")
    (folder / "lab.py").write_text(REMOTE)
    config = json.loads((folder / "config.json").read_text())
    config |= {
        "model_type": "lab_vl",
        "auto_map": {"AutoConfig": "lab.LabConfig", "AutoModelForCausalLM": "lab.LabModel"},
    }
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=r"1 weight is missing \(lm_head\.weight\)"):  # under another name
        open_model(f"hf:{folder}?trust_remote_code=true")
    weights = load_file(folder / "model.safetensors")
    weights["lm_head.weight"] = weights.pop("language_model.lm_head.weight")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    checkpoint = open_model(f"hf:{folder}?trust_remote_code=true").checkpoint
    assert type(checkpoint.model).__name__ == "LabModel"
    with pytest.raises(UnsupportedError, match="'lab_vl'; it supports gemma3, idefics3, internvl, llava"):
        find_family(checkpoint.model)

    def register(add):
        add("family", "lab_vl", f"{__name__}:Stretched", summary="ours")

    monkeypatch.setattr(_family, "registry", lambda: Registry({"lab": register}))
    request = ask(noise((90, 70)))
    inputs = checkpoint.encode([checkpoint.prompt(request)], [request], padding_side="left")
    (placed,) = place_pictures(checkpoint, [request], inputs)[0]
    assert placed.grid.n_tokens == len(placed.positions) == 16


def test_a_family_may_tell_its_tokens_by_more_than_one_id(cases):
    """Phi-3.5-Vision numbers its pictures downward from -1."""

    class Negative(Stretched):
        def is_image_token(self, model, input_ids):
            return input_ids < 0

    case = cases("llava")
    requests = [ask(noise((90, 70)), noise((40, 40))), ask(noise((50, 50)))]
    inputs = case.encode(requests)
    wanted = place_pictures(case.checkpoint, requests, inputs, case.family)
    for row, own in enumerate(wanted):
        for i, each in enumerate(own):
            inputs["input_ids"][row, each.positions] = -1 - i
    found = place_pictures(case.checkpoint, requests, inputs, Negative(case.checkpoint.model.config))
    for own, others in zip(wanted, found, strict=True):
        for one, other in zip(own, others, strict=True):
            assert np.array_equal(one.positions, other.positions)


def test_what_is_no_family_is_refused(cases, monkeypatch):
    found = Registry({"lab": lambda add: add("family", "llava", "builtins:str", summary="no family")})
    monkeypatch.setattr(_family, "registry", lambda: found)
    with pytest.raises(ContractError, match=r"'llava' of lab is not a theodolite\.models\.Family"):
        find_family(cases("llava").checkpoint.model)


def test_grids_that_do_not_fit_the_prompt_are_refused(cases):
    case = cases("llava")
    config = case.checkpoint.model.config
    requests = [ask(noise((90, 70))), ask(noise((90, 70)), noise((40, 40)))]
    inputs = case.encode(requests)
    with pytest.raises(
        ContractError, match=r"TooFew places 12 image tokens for request 0 .*90×70.* prompt has 16"
    ):
        place_pictures(case.checkpoint, requests, inputs, TooFew(config))
    with pytest.raises(ContractError, match="1 grids for 3 pictures"):
        place_pictures(case.checkpoint, requests, inputs, OneGrid(config))
    with pytest.raises(ContractError, match="1 requests were encoded into 2 prompts"):
        place_pictures(case.checkpoint, requests[:1], inputs, Stretched(config))
    placed = place_pictures(case.checkpoint, requests, inputs, Stretched(config))
    assert [len(own) for own in placed] == [1, 2]


def test_pictures_in_the_prompt_that_no_request_shows_are_refused(cases):
    case = cases("qwen2_vl")
    inputs = case.encode([ask(noise((90, 70)))])
    with pytest.raises(
        ContractError, match=r"places 0 image tokens for request 0 \(no picture\), but its prompt has"
    ):
        place_pictures(case.checkpoint, [Request.ask("where?")], inputs, case.family)


def test_a_tower_for_any_size_is_refused(cases):
    case = cases("llava")
    inputs = {**case.encode([ask(noise((90, 70)))]), "image_sizes": torch.tensor([[56, 56]])}
    with pytest.raises(UnsupportedError, match="Pixtral"):
        case.family.token_grids(case.checkpoint.processor, [(90, 70)], inputs)
