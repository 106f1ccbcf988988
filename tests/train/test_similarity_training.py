"""The small CLIP: what it is trained on, how, and how its verdicts are measured."""

import json
import math
from collections import OrderedDict
from dataclasses import replace

import numpy as np
import pytest

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.instruments.trace.claims.lexicon import OPPOSITES
from theodolite.instruments.trace.claims.types import Claim, Mention
from theodolite.instruments.trace.verifiers import similarity
from theodolite.instruments.trace.verifiers import similarity as say
from theodolite.instruments.trace.verifiers.judging import open_verifier
from theodolite.instruments.trace.verifiers.similarity import Bounds, SimilarityVerifier, read_bounds
from theodolite.instruments.trace.verifiers.similarity_calibration import (
    _ask,
    calibrate_similarity,
    write_calibration,
)
from theodolite.worlds.episodes import Episode, Frame, FrameObject
from theodolite.worlds.stories import make_world
from train.__main__ import main as train
from train.similarity import checkpoint as _checkpoint
from train.similarity import fit as _fit
from train.similarity.arrays import GROUP_SIZE, arrays_of
from train.similarity.drawings import draw_parts, parts, read_parts
from train.similarity.fit import FitOptions
from train.similarity.samples import Sample, sample_of, samples_of
from train.similarity.train import train_similarity

SMALL = _checkpoint.Size(16, 16, 1, 2)


def drawn(seed):
    wanted = parts(1, side=36, seed=seed)
    return [s for p in wanted for s in samples_of(p.world, p.split, range(1), seed=seed, side=36)]


def same(one, other):
    told = one.looks, one.groups, one.spots
    return told == (other.looks, other.groups, other.spots) and np.array_equal(one.pixels, other.pixels)


@pytest.fixture(scope="module")
def made():
    return drawn(3)


@pytest.fixture
def tiny_sizes(monkeypatch):
    monkeypatch.setattr(_checkpoint, "PICTURES", SMALL)
    monkeypatch.setattr(_checkpoint, "WORDS", SMALL)


def thing(name, box, colour="red", **more):
    return FrameObject(f"{colour}-{name}", name, Box(*box), attributes={"colour": colour}, **more)


def still(*things, size=(100, 50), world="video"):
    pixels = np.zeros((size[1], size[0], 3), np.uint8)
    frame = Frame(0.0, Picture.from_array(pixels), size, things)
    return Episode("e", "?", (frame,), known={"objects": "complete"}, world=world)


def test_what_a_sample_says_is_what_the_frame_shows():
    hidden = FrameObject("blue-cube", "cube", None, is_visible=False, attributes={"colour": "blue"})
    door = thing("door", (60, 10, 90, 40), "green", states={"open": True})
    sample = sample_of(still(thing("ball", (0, 0, 20, 10)), hidden, door), 0, 24)
    assert sample.pixels.shape == (24, 24, 3)
    assert set(sample.looks) == {"ball", "red ball", "door", "green door"}
    assert sample.spots[0] == (0.0, 0.0, 0.2, 0.2, "ball", "red")
    firsts = [group[0] for group in sample.groups]
    assert "a picture of an open green door" in firsts
    assert "a picture of a red ball left of a green door" in firsts
    assert "a picture of a green door right of a red ball" in firsts
    assert not any("cube" in text for group in sample.groups for text in group)


def test_two_things_alike_are_not_told_by_their_looks():
    twins = (
        thing("ball", (0, 0, 10, 10)),
        FrameObject("b2", "ball", Box(80, 0, 90, 10), attributes={"colour": "red"}),
    )
    assert sample_of(still(*twins), 0, 12).groups == ()


def test_drawings_give_back_what_was_drawn_by_any_number_of_processes(made, tmp_path):
    wanted = parts(1, side=36, seed=3)
    draw_parts(wanted, tmp_path, workers=2)
    found = read_parts(wanted, tmp_path)
    assert all(same(a, b) for a, b in zip(made, found.samples, strict=True))
    assert np.array_equal(found.pixels, np.stack([sample.pixels for sample in made]))
    assert {file.name for file in tmp_path.iterdir()} == {part.file_name for part in wanted}
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < found.pixels.nbytes / 2
    other = drawn(4)
    assert not all(same(a, b) for a, b in zip(made, other, strict=False))


def test_drawing_goes_on_where_it_was_stopped(tmp_path):
    wanted = parts(2, side=12, seed=5, worlds=["instruction"])
    draw_parts(wanted[:1], tmp_path)
    kept = (tmp_path / wanted[0].file_name).stat().st_mtime_ns
    told = []
    draw_parts(wanted, tmp_path, progress=lambda done, n: told.append((done, n)))
    assert told == [(2, 2)]
    assert (tmp_path / wanted[0].file_name).stat().st_mtime_ns == kept
    assert len(read_parts(wanted, tmp_path).samples) > len(read_parts(wanted[:1], tmp_path).samples)


def test_episodes_of_a_part_do_not_depend_on_how_many_there_are():
    """So that more of them can be added later."""
    three = samples_of("instruction", "ood", range(3), seed=1, side=12)
    last = samples_of("instruction", "ood", range(2, 3), seed=1, side=12)
    assert all(same(a, b) for a, b in zip(three[-len(last) :], last, strict=True))


def test_broken_drawings_are_named(tmp_path):
    wanted = parts(1, side=12, worlds=["instruction"])
    draw_parts(wanted, tmp_path)
    file = tmp_path / wanted[1].file_name
    whole = file.read_bytes()
    for broken in (b"no xz", whole[: len(whole) // 2], whole[:-40]):
        file.write_bytes(broken)
        with pytest.raises(UsageError, match="draw it again"):
            read_parts(wanted, tmp_path)
    file.write_bytes(whole)
    read_parts(wanted, tmp_path)
    small = parts(1, side=10, worlds=["instruction"])
    (tmp_path / small[0].file_name).write_bytes(whole)
    with pytest.raises(UsageError, match="bytes of pixels"):
        read_parts(small[:1], tmp_path)
    with pytest.raises(UsageError, match="cannot store drawings"):
        draw_parts(wanted, file)


@pytest.mark.usefixtures("tiny_sizes")
def test_a_fit_that_may_take_no_longer_ends_in_time():
    pixels = np.zeros((180, 180, 3), np.uint8)
    data = arrays_of([Sample(pixels, ("ball",), (), ((0.0, 0.0, 1.0, 1.0, "ball", "red"),))])
    tokenizer = _checkpoint.build_tokenizer(data.captions)
    told = []
    options = FitOptions(steps=100_000, batch=2, most_s=0.5)
    model = _checkpoint.build_model(tokenizer)
    _fit.fit(model, tokenizer, data, options, progress=lambda step, _: told.append(step))
    assert told[-1] < 100_000
    rates = [_fit._rate(300, 500, spent) for spent in (0.0, 0.6, 0.9, 1.0)]
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] == pytest.approx(0.01)


def test_true_captions_come_first_in_every_world(made):
    """By the annotations of made episodes, read as claims: an independent way to the same truth."""
    from theodolite.instruments.trace.claims.reading import extract_claims

    judge = open_verifier("annotation")
    for world in ("video", "navigation", "instruction"):
        episode = next(iter(make_world(world, 1, seed=8)))
        for index in (0, 3, 6):
            said = sample_of(episode, index, 12).groups
            of_me = [group for group in said if group[0].endswith(("left", "right", "me"))]
            for group in (*said[:4], *of_me[:6]):
                labels = []
                for text in group:
                    plain = (
                        text.removeprefix("a picture of ")
                        .replace("an open", "the open")
                        .replace("a closed", "the closed")
                    )
                    words = plain.split(" ", 1)[1]
                    sentence = _sentence(words)
                    claims = [c for c in extract_claims(sentence) if c.kind in {"spatial", "state"}]
                    assert len(claims) == 1, (sentence, claims)
                    verdicts = judge.verify([Claim(**_at(claims[0], index))], episode)
                    labels.append(verdicts[0].label)
                assert labels[0] == "supported", (episode.id, index, group, labels)
                assert "supported" not in labels[1:], (episode.id, index, group, labels)


def _sentence(words):
    for state in ("open", "closed"):
        if words.startswith(f"{state} "):
            return f"The {words.removeprefix(f'{state} ')} is {state}."
    for place in ("left of", "right of", "on my left", "on my right", "in front of me", "behind me"):
        if f" {place}" in words:
            first, second = words.split(f" {place}")
            second = second.strip().split(" ", 1)[-1]
            return f"The {first} is {place}{' the ' + second if second else ''}."
    raise AssertionError(words)


def _at(claim, frame):
    return {
        "kind": claim.kind,
        "subject": claim.subject,
        "predicate": claim.predicate,
        "object": claim.object,
        "frames": (frame,),
    }


def test_arrays_hold_what_samples_say(made):
    data = arrays_of(made)
    place = {text: i for i, text in enumerate(data.captions)}
    for i in (0, 11, len(made) - 1):
        true = {data.captions[k] for k in np.flatnonzero(data.fits[i])}
        assert true == {say.caption(look) for look in made[i].looks}
        kept = [tuple(data.captions[k] for k in group if k >= 0) for group in data.groups[i] if group[0] >= 0]
        assert set(kept) <= set(made[i].groups)
        assert len(kept) == min(len(made[i].groups), data.groups.shape[1])
    assert data.groups.shape[2] == GROUP_SIZE
    left = place.get("a picture of a red ball left of a grey screen")
    if left is not None:
        assert data.captions[data.mirrored[left]] == "a picture of a red ball right of a grey screen"
    assert all(data.mirrored[data.mirrored[i]] == i for i in range(len(data.captions)))


def test_every_known_word_is_one_token_and_others_are_spelled():
    tokenizer = _checkpoint.build_tokenizer(["a picture of an orange ball", "a red cone on my left"])
    assert tokenizer.tokenize("an orange ball on my left") == [
        "an</w>",
        "orange</w>",
        "ball</w>",
        "on</w>",
        "my</w>",
        "left</w>",
    ]
    assert tokenizer.unk_token not in tokenizer.tokenize("a quick zebra")
    ids = tokenizer(["a ball"])["input_ids"][0]
    assert (ids[0], ids[-1]) == (tokenizer.bos_token_id, tokenizer.eos_token_id)


def test_losses_are_their_formulas():
    import torch

    scores = torch.tensor([[2.0, -1.0, 0.5], [0.0, 1.0, 3.0]], dtype=torch.float64)
    fits = torch.tensor([[True, False, True], [False, False, True]])
    terms = [
        -math.log(math.exp(2) / (math.exp(2) + math.exp(-1))),
        -math.log(math.exp(0.5) / (math.exp(0.5) + math.exp(-1))),
        -math.log(math.exp(3) / (math.exp(3) + math.exp(0) + math.exp(1))),
    ]
    assert _fit._contrast(scores, fits).item() == pytest.approx(sum(terms) / 3)

    def sigmoid(s):
        return 1 / (1 + math.exp(-s))

    true = [-math.log(sigmoid(s)) for s in (2, 0.5, 3)]
    false = [-math.log(1 - sigmoid(s)) for s in (-1, 0, 1)]
    assert _fit._levels(scores, fits).item() == pytest.approx((sum(true) / 3 + sum(false) / 3) / 2)


def test_patches_show_the_smallest_thing_at_their_middle():
    import torch

    big, small = (0.0, 0.0, 1.0, 1.0, "room", ""), (0.5, 0.5, 0.75, 0.75, "ball", "red")
    pixels = np.zeros((12, 12, 3), np.uint8)
    data = arrays_of([Sample(pixels, ("ball", "red ball", "room"), (), (big, small))])
    tokenizer = _checkpoint.build_tokenizer(data.captions)
    held = _fit._DeviceData.of(data, tokenizer, torch.device("cpu"))
    categories, colours = held._patches(held.spots, held.names)
    n = _checkpoint.N_PATCHES
    for row in range(n):
        for column in range(n):
            x, y = (column + 0.5) / n, (row + 0.5) / n
            in_small = abs(x - 0.625) <= 0.1 and abs(y - 0.625) <= 0.1
            in_big = abs(x - 0.5) <= 0.4 and abs(y - 0.5) <= 0.4
            wanted = "ball" if in_small else "room" if in_big else None
            index = data.categories.index(wanted) if wanted else len(data.categories)
            assert categories[0, row * n + column] == index
            assert colours[0, row * n + column] == (data.colours.index("red") if in_small else -100)


def test_a_mirrored_batch_has_mirrored_captions_and_boxes():
    import torch

    pixels = np.zeros((12, 12, 3), np.uint8)
    pixels[:, 0] = 255
    group = ("a picture of a red ball left of a blue cube", "a picture of a red ball right of a blue cube")
    data = arrays_of([Sample(pixels, ("ball",), (group,), ((0.0, 0.0, 0.2, 1.0, "ball", "red"),))])
    held = _fit._DeviceData.of(data, _checkpoint.build_tokenizer(data.captions), torch.device("cpu"))
    batch = held.batch(torch.zeros(64, dtype=torch.long), torch.Generator().manual_seed(0))
    flipped = batch.pixels[:, 0, 0, -1] > batch.pixels[:, 0, 0, 0]
    assert 0 < flipped.sum() < 64
    first = [data.captions[i] for i in batch.groups[:, 0, 0]]
    assert [text == group[1] for text in first] == flipped.tolist()
    middle = _checkpoint.N_PATCHES**2 // 2
    at_left = batch.categories[:, middle] == data.categories.index("ball")
    assert at_left.tolist() == (~flipped).tolist()


@pytest.mark.usefixtures("tiny_sizes")
def test_training_learns_what_the_pictures_show():
    """Two pictures, one red and one blue: the loss falls, and the captions come apart."""
    pictures = [np.full((180, 180, 3), paint, np.uint8) for paint in ((220, 30, 30), (30, 30, 220))]
    spot = (0.0, 0.0, 1.0, 1.0, "ball")
    data = arrays_of(
        [
            Sample(pictures[0], ("ball", "red ball"), (), ((*spot, "red"),)),
            Sample(pictures[1], ("ball", "blue ball"), (), ((*spot, "blue"),)),
        ]
    )
    tokenizer = _checkpoint.build_tokenizer(data.captions)
    told = []
    model = _fit.fit(
        _checkpoint.build_model(tokenizer),
        tokenizer,
        data,
        FitOptions(steps=60, batch=8, learning_rate=3e-3),
        progress=lambda _, losses: told.append(losses),
    )
    assert told[-1]["things"] < told[0]["things"] / 2
    things, _ = _fit.held_out(model, tokenizer, data)
    assert things == 1.0


@pytest.mark.usefixtures("tiny_sizes")
def test_one_seed_gives_one_model():
    import torch

    pixels = np.zeros((180, 180, 3), np.uint8)
    data = arrays_of([Sample(pixels, ("ball",), (), ((0.0, 0.0, 1.0, 1.0, "ball", "red"),))])
    tokenizer = _checkpoint.build_tokenizer(data.captions)

    def weights(seed):
        torch.manual_seed(len(torch.get_rng_state()) + seed)  # whatever went before
        torch.rand(3 + seed)
        options = FitOptions(steps=2, batch=2, seed=seed % 2)
        model = _fit.fit(_checkpoint.build_model(tokenizer), tokenizer, data, options)
        return torch.cat([weight.flatten() for weight in model.parameters()])

    first, again, other = weights(0), weights(2), weights(1)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.usefixtures("tiny_sizes")
def test_a_trained_checkpoint_is_a_clip_like_any_other(tmp_path):
    out = tmp_path / "clip"
    result = train_similarity(out, episodes=1, workers=1, options=FitOptions(steps=2, batch=4))
    assert result.n_pictures >= 40
    assert json.loads((out / "training.json").read_text())["n_pictures"] == result.n_pictures
    verifier = open_verifier(f"similarity:{out}")
    episode = next(iter(make_world("video", 1, seed=1)))
    claim = Claim("attribute", Mention("ball"), "red", frames=(0,))
    assert verifier.verify([claim], episode)[0].label in {"supported", "unsupported", "unverifiable"}
    pixels = episode.frames[0].picture.pixels()
    alone = verifier.likeness([pixels], ["a picture of a red ball"])
    among = verifier.likeness(
        [pixels, pixels], ["a picture of a red ball left of a blue cube", "a picture of a red ball"]
    )
    assert among[:, 1] == pytest.approx(alone[0, 0], abs=1e-4)  # padding changes nothing
    with pytest.raises(UsageError, match="not a checkpoint"):
        train_similarity(tmp_path, episodes=1)
    with pytest.raises(UsageError, match="no device 'gpu'"):
        train_similarity(tmp_path / "new", episodes=1, options=FitOptions(device="gpu"))
    assert not (tmp_path / "new").exists()


def test_features_are_computed_once_and_those_unused_for_longest_are_dropped(monkeypatch):
    import torch

    monkeypatch.setattr(similarity, "_REMEMBERED", 3)
    kept, computed = OrderedDict(), []

    def features(keys):
        computed.append(list(keys))
        return torch.tensor([[float(key)] for key in keys])

    def asked(*keys):
        return similarity._remembered(kept, keys, features).flatten().tolist()

    assert asked("1", "2", "1") == [1, 2, 1]
    assert asked("3", "1") == [3, 1]
    assert asked("4", "1") == [4, 1]  # the second is dropped
    assert asked("2", "3", "4", "5") == [2, 3, 4, 5]  # more than are kept
    assert computed == [["1", "2"], ["3"], ["4"], ["2", "5"]]
    assert list(kept) == ["3", "4", "5"]


class Knows:
    """A model that reads the truth from the pictures' first pixel: an index into a list of true captions."""

    def __init__(self, truths, noise=0.0):
        self.truths, self.noise, self.rng = truths, noise, np.random.default_rng(0)

    def __call__(self, pictures, captions):
        rows = [[4.0 * (c in self.truths[int(p[0, 0, 0])]) for c in captions] for p in pictures]
        return np.array(rows) + self.noise * self.rng.normal(size=(len(pictures), len(captions)))


def marked(n):
    """Episodes of two frames, each with a red ball or a blue cube, left or right of a green cone."""
    episodes, truths = [], []
    for i in range(n):
        frames = []
        for k in range(2):
            name, colour = (("ball", "red"), ("cube", "blue"))[(i + k) % 2]
            x = 5 if i % 3 else 80
            other = thing("cone", (45, 0, 55, 10), "green")
            mark = len(truths)
            pixels = np.full((20, 100, 3), mark, np.uint8)
            it = thing(name, (x, 0, x + 10, 10), colour)
            frames.append(Frame(float(k), Picture.from_array(pixels), (100, 20), (it, other)))
            side = "left of" if x == 5 else "right of"
            truths.append(
                {
                    *(say.caption(look) for look in (name, f"{colour} {name}", "cone", "green cone")),
                    say.beside(f"{colour} {name}", side, "green cone"),
                    say.beside("green cone", OPPOSITES[side], f"{colour} {name}"),
                }
            )
        known = {"objects": "complete", "attributes": "complete", "boxes": "complete"}
        vocabulary = {"objects": ("ball", "cube", "cone")}
        episodes.append(
            Episode(f"e{i}", "?", tuple(frames), known=known, vocabulary=vocabulary, world="video")
        )
    return episodes, truths


def test_calibration_finds_out_who_knows_and_who_guesses():
    episodes, truths = marked(24)
    knows = calibrate_similarity(Knows(truths), episodes)
    assert set(knows.by_world["video"]) == {"entity", "attribute", "spatial, two things"}
    assert not knows.left_out
    for told in knows.by_world["video"].values():
        assert told.auc.value == 1.0
        assert told.judged.value == 1.0
        assert told.right.value == 1.0
        assert told.n_true > 10
        assert told.n_false > 10
    episodes, truths = marked(100)
    guesses = calibrate_similarity(Knows([set()] * len(truths), noise=1.0), episodes)
    assert set(guesses.left_out) == {f"video: {form}" for form in guesses.by_world["video"]}
    for told in (*guesses.by_world["video"].values(), *guesses.pooled.values()):
        assert told.auc.value == pytest.approx(0.5, abs=0.1)
        assert (told.high, told.low, told.judged, told.right) == (None,) * 4


def test_bounds_keep_to_the_error_and_are_read_back(tmp_path):
    episodes, truths = marked(40)
    result = calibrate_similarity(Knows(truths, noise=1.0), episodes, error=0.1, seed=1)
    file = tmp_path / "similarity.json"
    write_calibration(result, file, model="knows", words=["a", "red"])
    bounds = read_bounds(file)
    assert set(bounds.worlds) == {"video"}
    assert bounds.words == {"a", "red"}
    asked = _ask(Knows(truths, noise=1.0), episodes, 2, 1).rows  # the same draws once more, counted by hand
    assert len(bounds.worlds["video"]) == 3
    for form, (high, low) in bounds.worlds["video"].items():
        told = result.by_world["video"][form]
        assert (high, low) == (told.high, told.low)
        rows = [row for row in asked if row.form == form]
        units = sorted({row.unit for row in rows})
        ours, rest = ([r for r in rows if (r.unit in units[::2]) is own] for own in (True, False))
        true, false = ([r.share for r in ours if r.is_true is t] for t in (True, False))
        assert sum(p >= high for p in false) / len(false) <= 0.1
        assert sum(p <= low for p in true) / len(true) <= 0.1
        judged = [r for r in rest if r.share >= high or r.share <= low]
        assert told.judged.value == pytest.approx(len(judged) / len(rest))
        assert told.right.value == pytest.approx(
            sum((r.share >= high) == r.is_true for r in judged) / len(judged)
        )
        wins = [
            (a.share > b.share) + (a.share == b.share) / 2
            for a in rows
            if a.is_true
            for b in rows
            if not b.is_true
        ]
        assert told.auc.value == pytest.approx(sum(wins) / len(wins))
        assert told.auc.n == len(units)
    file.write_text("{}")
    with pytest.raises(UsageError, match="not a calibration"):
        read_bounds(file)


def test_each_world_has_bounds_of_its_own_and_those_that_name_none_have_the_pooled_ones(tmp_path):
    """A model that knows one world and guesses in another."""
    episodes, truths = marked(60)
    worlds = ["here", "there", ""]
    episodes = [replace(e, world=worlds[i % 3]) for i, e in enumerate(episodes)]
    blind = [set() if (i // 2) % 3 == 1 else said for i, said in enumerate(truths)]
    result = calibrate_similarity(Knows(blind, noise=0.5), episodes)
    assert set(result.by_world) == set(worlds)
    assert {where.split(": ")[0] for where in result.left_out} == {"there"}
    file = tmp_path / "similarity.json"
    write_calibration(result, file, model="own")
    bounds = read_bounds(file)
    verifier = SimilarityVerifier("s", Knows(truths), bounds=bounds)
    claim = Claim("attribute", Mention("ball"), "red", frames=(0,))

    def told(index, world):
        verdict = verifier.verify([claim], replace(episodes[index], world=world))[0]
        return verdict.reason or verdict.label

    assert told(0, "here") == "supported"
    assert told(0, "there") == "complex"
    assert told(0, "elsewhere") == "out of vocabulary"
    pooled = result.pooled["attribute"]
    assert bounds.of("", "attribute") == (None if pooled.high is None else (pooled.high, pooled.low))


def test_a_model_of_language_at_large_measured_where_no_world_is_named_judges_there(tmp_path):
    episodes, truths = marked(24)
    episodes = [replace(e, world="") for e in episodes]
    file = tmp_path / "similarity.json"
    write_calibration(calibrate_similarity(Knows(truths), episodes), file, model="own")
    verifier = SimilarityVerifier("s", Knows(truths), bounds=read_bounds(file))
    claims = [Claim("attribute", Mention("ball"), hue, frames=(0,)) for hue in ("red", "green")]
    assert [v.label for v in verifier.verify(claims, episodes[0])] == ["supported", "unsupported"]


def test_a_calibrated_model_judges_by_its_bounds_and_only_what_it_was_measured_on():
    episodes, truths = marked(2)
    words = frozenset(
        ["a", "an", "picture", "of", "red", "blue", "green", "ball", "cube", "cone", "left", "right"]
    )
    claims = [
        Claim("entity", Mention("ball", ("red",)), frames=(0,)),
        Claim("entity", Mention("dog"), frames=(0,)),
        Claim("spatial", Mention("cone", ("green",)), "left of", Mention("ball", ("red",)), frames=(0,)),
        Claim("spatial", Mention("cone", ("green",)), "left of", Mention("i"), frames=(0,)),
        Claim("state", Mention("cone"), "open", frames=(0,)),
    ]

    def told(bounds, **given):
        verdicts = SimilarityVerifier("s", Knows(truths), bounds=bounds, **given).verify(claims, episodes[0])
        return [verdict.reason or verdict.label for verdict in verdicts]

    forms = {"entity": (0.3, 0.1), "spatial, two things": (0.5, 0.5)}
    more = words | {"on", "my", "open", "closed"}
    bounds = Bounds({"video": forms}, more)
    assert told(bounds) == ["supported", "out of vocabulary", "supported", "complex", "complex"]
    assert told(Bounds({"video": {"entity": (0.99, 0.1)}}, words))[0] == "unclear"
    assert told(None)[2] == "complex"
    assert told(Bounds({"navigation": forms}, words))[0] == "out of vocabulary"
    given = told(bounds, high=0.99, low=0.9)  # other bounds, the same guards
    assert given == ["unclear", "out of vocabulary", "unclear", "complex", "complex"]


def test_pictures_that_are_cut_off_are_counted_and_left_out():
    episodes, truths = marked(24)
    first = episodes[0]
    cut = Picture.from_bytes(first.frames[0].picture.data[:50])
    broken = replace(first, frames=(replace(first.frames[0], picture=cut), *first.frames[1:]))
    whole, less = (calibrate_similarity(Knows(truths), [one, *episodes[1:]]) for one in (first, broken))
    assert (whole.n_unread, less.n_unread) == (0, 1)
    n = [sum(k.n_true + k.n_false for k in r.by_world["video"].values()) for r in (whole, less)]
    assert n[0] > n[1] > 0.9 * n[0]


def test_without_its_weights_the_default_says_what_to_do(tmp_path, monkeypatch):
    from theodolite.instruments.trace.verifiers import similarity as _similarity

    monkeypatch.setattr(_similarity, "SHIPPED", tmp_path)
    with pytest.raises(UsageError, match="name the model"):
        open_verifier("similarity")


def test_calibrating_nothing_is_refused(tmp_path):
    empty = Episode("e", "?", (Frame(0.0),))
    with pytest.raises(UsageError, match="nothing to calibrate"):
        calibrate_similarity(Knows([]), [empty])
    with pytest.raises(UsageError, match="at least one episode"):
        parts(0, side=12)


@pytest.mark.usefixtures("tiny_sizes")
def test_both_commands(tmp_path, capsys):
    out, data = tmp_path / "clip", tmp_path / "data"
    line = ["similarity", "--out", str(out), "--episodes", "1", "--steps", "1", "--batch", "2"]
    assert train([*line, "--workers", "1", "--only-draw"]) == 0
    kept = tmp_path / "clip-drawings"
    assert str(kept) in capsys.readouterr().out
    assert not out.exists()
    stamps = {file: file.stat().st_mtime_ns for file in kept.iterdir()}
    assert train([*line, "--workers", "1"]) == 0
    assert json.loads((out / "training.json").read_text())["steps"] == 1
    assert stamps == {file: file.stat().st_mtime_ns for file in kept.iterdir()}
    assert main(["trace", "make", "--world", "instruction", "--size", "2", "--out", str(data)]) in {0, 1}
    capsys.readouterr()
    assert main(["trace", "calibrate", "--model", str(out), "--data", str(data), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["tables"][0]["rows"]
    told = {row["form"]: row for row in rows if row["world"] == "instruction"}
    assert {"entity", "attribute", "spatial, two things", "spatial, from me", "state"} == set(told)
    card = (out / "README.md").read_text()
    assert f"| instruction | entity | {told['entity']['auc']['value']:.3f}" in card
    assert main(["trace", "calibrate", "--model", str(out), "--data", str(data)]) == 0
    assert "AUC" in capsys.readouterr().out
    verdicts = open_verifier(f"similarity:{out}").bounds
    assert set(verdicts.worlds) == {"instruction"}
    assert "door" in verdicts.words
