"""Verifiers that look: detectors with calibrated recall, tracks, ego-motion, similarity."""

import json
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from made_worlds import made, read
from PIL import Image

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.geometry import Box
from theodolite.instruments.trace.claims.types import Claim, Mention
from theodolite.instruments.trace.data.dataset import read_episodes, write_episodes
from theodolite.instruments.trace.verifiers.detection import (
    Detection,
    DetectorVerifier,
    calibrate_recall,
    colour_histogram,
    read_recall,
    write_recall,
)
from theodolite.instruments.trace.verifiers.judging import open_verifier
from theodolite.instruments.trace.verifiers.similarity import Bounds, SimilarityVerifier, captions_of
from theodolite.instruments.trace.verifiers.tracks import (
    EgoMotionVerifier,
    TrackVerifier,
    flow_between,
    track_all,
)
from theodolite.instruments.trace.verifiers.video_classifier import VideoClassifierVerifier
from theodolite.worlds.episodes import Episode, Frame, FrameObject


class Finder:
    """A detector that finds squares of pure red (*cup*) and pure blue (*book*), but misses small ones."""

    labels = ("cup", "book", "dog")
    identity = "finder"

    def __init__(self, least=6):
        self.least = least
        self.n_calls = 0

    def detect(self, pixels, threshold):
        self.n_calls += 1
        found = []
        for label, channel in (("cup", 0), ("book", 2)):
            rows, columns = np.nonzero((pixels[..., channel] > 200) & (pixels.sum(axis=2) < 330))
            if len(rows) and np.ptp(columns) + 1 >= self.least:
                box = Box(
                    float(columns.min()), float(rows.min()), float(columns.max() + 1), float(rows.max() + 1)
                )
                found.append(Detection(label, 0.9, box))
        return found


def picture(*squares, size=(48, 64)):
    pixels = np.full((*size, 3), 90, np.uint8)
    for (x, y, side), paint in squares:
        pixels[y : y + side, x : x + side] = paint
    return pixels


RED, BLUE = (230, 20, 20), (20, 20, 230)


def episode_of(*frames, **more):
    return Episode(
        "e", "?", tuple(Frame(float(i), Picture.from_array(p)) for i, p in enumerate(frames)), **more
    )


def labels(verifier, claims, episode):
    return [v.label if v.reason is None else v.reason for v in verifier.verify(claims, episode)]


CUP, BOOK, DOG = (Mention(word) for word in ("cup", "book", "dog"))


def test_a_detector_supports_what_it_finds_and_refutes_only_what_it_would_have_found():
    episode = episode_of(picture(((5, 10, 10), RED), ((40, 10, 10), BLUE)))
    claims = [
        Claim("entity", CUP),
        Claim("entity", DOG),
        Claim("spatial", CUP, "left of", BOOK),
        Claim("spatial", CUP, "right of", BOOK),
        Claim("count", CUP, "1"),
        Claim("count", CUP, "3"),
        Claim("attribute", CUP, "red"),
        Claim("attribute", CUP, "green"),
        Claim("entity", DOG, is_negated=True),
        Claim("entity", Mention("piano")),
        Claim("action", CUP, "fall"),
    ]
    blind = DetectorVerifier("d", Finder())
    assert labels(blind, claims, episode) == [
        "supported", "low recall", "supported", "unsupported", "supported", "low recall", "supported", "unsupported",
        "low recall", "out of vocabulary", "complex",
    ]  # fmt: skip
    sure = DetectorVerifier("d", Finder(), recall={"dog": 0.95, "cup": 0.95})
    told = labels(sure, claims, episode)
    assert (told[1], told[5], told[8]) == ("unsupported", "unsupported", "supported")
    unsure = DetectorVerifier("d", Finder(), recall={"dog": 0.85})
    assert labels(unsure, claims, episode)[1] == "low recall"


def test_of_two_things_the_missing_one_decides_and_is_named():
    episode = episode_of(picture(((5, 10, 10), RED)))
    claims = [
        Claim("spatial", CUP, "left of", DOG),
        Claim("spatial", DOG, "left of", CUP),
        Claim("spatial", CUP, "left of", Mention("book")),
        Claim("spatial", CUP, "left of", Mention("cup", ("blue",))),
    ]
    found = DetectorVerifier("d", Finder(), recall={"cup": 0.95, "book": 0.95}).verify(claims, episode)
    assert [verdict.reason for verdict in found] == ["low recall", "low recall", None, None]
    assert all("often missed: dog" in verdict.evidence for verdict in found[:2])
    assert found[2].label == "unsupported"
    unsure = DetectorVerifier("d", Finder(), recall={"book": 0.95}).verify(claims, episode)
    assert [verdict.reason for verdict in unsure] == ["low recall", "low recall", None, "low recall"]


def test_each_frame_is_looked_at_once_and_only_if_it_is_spoken_of():
    finder = Finder()
    episode = episode_of(*[picture(((5, 5, 8), RED))] * 5)
    claims = [
        Claim("entity", CUP, frames=(1,)),
        Claim("entity", BOOK, frames=(1, 3)),
        Claim("action", CUP, "fall"),
    ]
    DetectorVerifier("d", finder).verify(claims, episode)
    assert finder.n_calls == 2


def test_recall_is_counted_by_class_and_by_place(tmp_path):
    def shot(side, box):
        thing = FrameObject("c", "cup", box)
        return Frame(0.0, Picture.from_array(picture(((10, 10, side), RED))), (64, 48), (thing,))

    frames = [shot(side, Box(10, 10, 10 + side, 10 + side)) for side in (3, 4, 8, 9, 10)]
    frames.append(shot(11, Box(40, 30, 50, 40)))  # annotated elsewhere: something else was found
    frames.append(frames[2])  # the same picture again
    found = calibrate_recall(
        Finder(), [Episode(f"e{i}", "?", (f,)) for i, f in enumerate(frames)], threshold=0.5
    ).classes
    assert set(found) == {"cup"}
    cup = found["cup"]
    assert (cup.anywhere.value, cup.recall.value, cup.recall.n) == (
        pytest.approx(4 / 6),
        pytest.approx(3 / 6),
        6,
    )
    one_video = [Episode(f"e{i}", "?", (f,), cluster="v") for i, f in enumerate(frames)]
    shared = calibrate_recall(Finder(), one_video, threshold=0.5).classes["cup"].recall
    assert (shared.value, shared.n, shared.n_items) == (cup.recall.value, 1, 6)
    assert (shared.low, shared.high) != (
        cup.recall.low,
        cup.recall.high,
    )  # frames of one video are not independent
    file = tmp_path / "r.json"
    write_recall(found, file, detector="d", identity="1f", threshold=0.5)
    assert read_recall(file, identity="1f", threshold=0.5) == {"cup": pytest.approx(cup.recall.low)}
    with pytest.raises(UsageError, match=r"at the threshold 0.5, not 0.95; .*calibrate --threshold 0.95"):
        read_recall(file, identity="1f", threshold=0.95)
    with pytest.raises(UsageError, match="recall of another detector, d"):
        read_recall(file, identity="2e", threshold=0.5)
    for text in ("[]", '{"detector": "d", "threshold": 0.5, "classes": {}}'):
        file.write_text(text)
        with pytest.raises(UsageError, match="not a recall file"):
            read_recall(file, identity="1f", threshold=0.5)


def cut_short(file):
    """The header can be read, the pixels cannot."""
    file.write_bytes(file.read_bytes()[:50])


def test_what_lies_in_a_picture_that_cannot_be_read_is_unclear(tmp_path):
    pixels = picture(((5, 10, 10), RED))
    Image.fromarray(pixels).save(tmp_path / "cut.png")
    cut_short(tmp_path / "cut.png")
    whole, broken = Picture.from_array(pixels), Picture.from_path(tmp_path / "cut.png")
    episode = Episode("e", "?", (Frame(0.0, whole), Frame(1.0, broken)))
    claims = [
        Claim("entity", CUP, frames=(0,)),
        Claim("entity", CUP, frames=(1,)),
        Claim("entity", CUP),
        Claim("entity", DOG, frames=(0,)),
        Claim("entity", DOG),  # not in the first, perhaps in the second
        Claim("entity", DOG, is_negated=True),
        Claim("attribute", CUP, "green"),
    ]
    verifier = DetectorVerifier("d", Finder(), recall={"dog": 0.95, "cup": 0.95})
    assert labels(verifier, claims, episode) == [
        "supported", "unclear", "supported", "unsupported", "unclear", "unclear", "unclear",
    ]  # fmt: skip
    assert "picture of frame 2 cannot be read" in verifier.verify(claims[1:2], episode)[0].evidence


def with_one_cut(tmp_path, frames, broken):
    """An episode of these frames, one of which cannot be decoded."""
    Image.fromarray(frames[broken]).save(tmp_path / "cut.png")
    cut_short(tmp_path / "cut.png")
    whole = episode_of(*frames)
    cut = replace(whole.frames[broken], picture=Picture.from_path(tmp_path / "cut.png"))
    return replace(whole, frames=(*whole.frames[:broken], cut, *whole.frames[broken + 1 :]))


def test_tracks_do_not_end_at_a_picture_that_cannot_be_read(tmp_path):
    """The cup is there throughout: a broken picture must not make it leave, and what is far from it is judged."""
    frames = [picture(((5 + 9 * i, 10, 10), RED), size=(48, 96)) for i in range(7)]
    verifier = TrackVerifier("t", Finder())
    claims = [
        Claim("action", CUP, "move", frames=(0,)),
        Claim("action", CUP, "move", frames=(4,)),
        Claim("action", CUP, "leave", frames=(4,)),
        Claim("action", CUP, "leave", frames=(1,)),
    ]
    assert labels(verifier, claims, episode_of(*frames)) == [
        "supported",
        "supported",
        "unsupported",
        "unsupported",
    ]
    broken = with_one_cut(tmp_path, frames, 5)
    assert labels(verifier, claims, broken) == ["supported", "unclear", "unclear", "unsupported"]
    assert "frame 6 cannot be read" in verifier.verify(claims[1:2], broken)[0].evidence
    gone = [*frames[:5], *[picture(size=(48, 96))] * 2]
    assert labels(verifier, claims[2:3], episode_of(*gone)) == ["supported"]


def test_looks_are_optional_frame_by_frame(tmp_path):
    frames = [picture(((5 + 9 * i, 10, 10), RED)) for i in range(4)]
    things = [FrameObject("c", "cup", Box(5 + 9 * i, 10, 15 + 9 * i, 20)) for i in range(4)]
    broken = with_one_cut(tmp_path, frames, 2)
    shown = tuple(replace(f, objects=(t,)) for f, t in zip(broken.frames, things, strict=True))
    verifier = open_verifier("tracks:annotation?looks=colours")
    claim = Claim("action", CUP, "move", frames=(1,))
    assert labels(verifier, [claim], replace(broken, frames=shown)) == ["supported"]


def test_ego_motion_refutes_nothing_at_a_picture_that_cannot_be_read(tmp_path):
    image = textured()
    frames = [cropped(image, left, 30) for left in (20, 40, 60, 80)]
    claims = [Claim("ego-motion", Mention("i"), f"turn {side}") for side in ("right", "left")]
    flow = open_verifier("ego-motion:flow")
    assert labels(flow, claims, episode_of(*frames)) == ["supported", "unsupported"]
    broken = with_one_cut(tmp_path, frames, 3)
    assert labels(flow, claims, broken) == ["supported", "unclear"]
    only = [replace(claim, frames=(3,)) for claim in claims]
    assert labels(flow, only, broken) == ["unclear", "unclear"]


def test_a_video_classifier_takes_the_pictures_that_can_be_read(tmp_path):
    seen = []

    def classify(clip):
        seen.append([int(pixels[0, 0, 0]) for pixels in clip])
        return {"eating": 1.0}

    verifier = VideoClassifierVerifier("c", classify, ("eating",), 3)
    frames = [np.full((24, 24, 3), 10 * i, np.uint8) for i in range(4)]
    claims = [Claim("action", Mention("person"), "eat", frames=f) for f in ((), (3,))]
    broken = with_one_cut(tmp_path, frames, 3)
    assert labels(verifier, claims, broken) == ["supported", "unclear"]
    assert seen == [[0, 10, 20]]


def test_a_picture_that_cannot_be_read_stops_no_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("theodolite.instruments.trace.verifiers.detection.open_detector", lambda _: Finder())
    monkeypatch.setattr("theodolite.instruments.trace.verifiers.detection.open_detector", lambda _: Finder())
    episodes = []
    for i in range(3):
        cup = FrameObject("c", "cup", Box(5 + i, 10, 15 + i, 20))
        frames = [
            Frame(float(t), Picture.from_array(picture(((5 + i, 10, 10), RED), ((40, 20 + t, 8), BLUE))), (64, 48), (cup,))
            for t in range(3)
        ]  # fmt: skip
        episodes.append(Episode(f"e{i}", "?", tuple(frames), known={"objects": "complete"}))
    data = write_episodes(episodes, tmp_path / "data")
    lines = [json.loads(line) for line in (data / "episodes.jsonl").read_text().splitlines()]
    cut_short(data / lines[1]["frames"][2]["picture"])
    said = "\n".join(f"Step {t} (frame {t}): The cup is left of the book." for t in (1, 2, 3))
    traces = tmp_path / "traces.jsonl"
    traces.write_text("\n".join(json.dumps({"episode": e.id, "text": said}) for e in episodes))
    where = ["--data", str(data), "--json"]
    line = ["trace", "verify", str(traces), "--verifier", "detector:x", "--tables", "claims"]
    assert main([*line, *where]) == 0
    found = {t["name"]: t["rows"][0] for t in json.loads(capsys.readouterr().out)["tables"]}
    assert (found["trace.grounding"]["traces"], found["trace.grounding"]["sgr"]["value"]) == (3, 1.0)
    assert found["trace.claims"]["unclear"] == 1
    assert found["trace.consistency"]["transitions"] == 6
    assert found["trace.consistency"]["unverifiable"] == 1
    assert main(["trace", "calibrate", "--detector", "x", "--out", str(tmp_path / "r.json"), *where]) == 0
    found = json.loads(capsys.readouterr().out)
    cup, problem = (table["rows"][0] for table in found["tables"])
    assert (cup["class"], cup["boxes"], cup["recall"]["n"]) == ("cup", 8, 3)  # clustered by episode
    assert problem["where"] == "e1, frame 3"


class Still:
    """A detector that always finds the same cup."""

    labels = ("cup",)

    def __init__(self):
        self.n_calls = 0

    def detect(self, pixels, threshold):
        self.n_calls += 1
        return [Detection("cup", 0.9, Box(1, 1, 5, 5))]


def test_memory_stays_flat_over_ten_thousand_frames(tmp_path):
    """Frames are read and let go: together their pixels would be 92 MB."""
    file = tmp_path / "frame.bmp"
    Image.fromarray(picture(((5, 5, 10), RED))).save(file)
    shot = Picture.from_path(file)
    episode = Episode("long", "?", tuple(Frame(float(i), shot) for i in range(10_000)))
    verifier = DetectorVerifier("d", Still())
    tracemalloc.start()
    try:
        verdict = verifier.verify([Claim("entity", CUP)], episode)[0]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert verdict.label == "supported"
    assert verifier.detector.n_calls == 10_000
    assert peak < 50e6


def test_fastestdet_on_real_frames(shared_data, tmp_path, capsys):
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    from theodolite.instruments.trace.data.dataset import write_episodes
    from theodolite.instruments.trace.data.sources.star import read_star

    detector = shared_data / "detector" / "FastestDet.onnx"
    write_episodes(read_star(shared_data / "star", video_fps=30).episodes[:3], tmp_path / "star")
    out = tmp_path / "recall.json"
    command = [
        "trace",
        "calibrate",
        "--data",
        str(tmp_path / "star"),
        "--detector",
        str(detector),
        "--out",
        str(out),
    ]
    assert main([*command, "--json"]) == 0
    told = {row["class"]: row for row in json.loads(capsys.readouterr().out)["tables"][0]["rows"]}
    assert told["person"]["located"]["value"] > 0.9
    assert told["phone/camera"]["recall"]["value"] < 0.5
    with pytest.raises(UsageError, match=r"threshold 0.4, not 0.95"):
        open_verifier(f"detector:{detector}?recall={out}&threshold=0.95")
    verifier = open_verifier(f"detector:{detector}?recall={out}&trusted=0.7")
    episode = read_episodes(tmp_path / "star").episodes[0]
    claims = [Claim("entity", Mention(w), frames=(0,)) for w in ("person", "giraffe", "broom")]
    assert labels(verifier, claims, episode) == ["supported", "low recall", "out of vocabulary"]
    (tmp_path / "bad.onnx").write_bytes(b"no model")
    with pytest.raises(UsageError, match="not an ONNX model"):
        open_verifier(f"detector:{tmp_path / 'bad.onnx'}")


def test_a_hugging_face_detector_is_loaded_and_asked(tmp_path):
    """Random weights: what it finds means nothing, that it is found in the picture does."""
    from transformers import YolosConfig, YolosForObjectDetection
    from transformers.models.yolos.image_processing_pil_yolos import YolosImageProcessorPil

    config = YolosConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=37, image_size=[32, 32],
        patch_size=8, num_detection_tokens=6, id2label={0: "Cup", 1: "book"}, label2id={"Cup": 0, "book": 1},
    )  # fmt: skip
    YolosForObjectDetection(config).save_pretrained(tmp_path)
    YolosImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(tmp_path)
    verifier = open_verifier(f"detector:{tmp_path}?threshold=0.0")
    assert verifier.detector.labels == ("cup", "book")
    found = verifier.detector.detect(picture(), 0.0)
    assert found
    assert {d.label for d in found} <= {"cup", "book"}
    assert all(-64 < d.box.x0 < 128 for d in found)
    with pytest.raises(UsageError, match="cannot load"):
        open_verifier(f"detector:{tmp_path / 'nothing'}")
    with pytest.raises(UsageError, match="no option"):
        open_verifier(f"detector:{tmp_path}?colour=1")


def boxes_at(*centres, label="ball", size=10):
    return [
        Detection(label, 1.0, Box(x - size / 2, y - size / 2, x + size / 2, y + size / 2)) for x, y in centres
    ]


def test_tracks_cross_and_keep_who_is_who():
    frames = [boxes_at((10 + 8 * t, 50), (170 - 8 * t, 50 + 0.1 * t)) for t in range(20)]
    tracks = track_all(frames)
    assert len(tracks) == 2
    for track in tracks:
        xs = [track.boxes[t].centre_px[0] for t in sorted(track.boxes)]
        assert abs(xs[-1] - xs[0]) == pytest.approx(8 * 19)


def test_tracks_bridge_gaps_and_labels_part_them():
    frames = [boxes_at((10 + 6 * t, 20)) if t not in {5, 6} else [] for t in range(12)]
    assert [len(t.boxes) for t in track_all(frames)] == [10]
    mixed = [boxes_at((50, 50), label="cup" if t % 2 else "ball") for t in range(6)]
    assert sorted(t.label for t in track_all(mixed)) == ["ball", "cup"]
    far = [boxes_at((10, 10)), boxes_at((300, 200))]
    assert len(track_all(far)) == 2


def test_looks_keep_who_is_who_where_places_cannot():
    """Two things of one label in nearly the same place come out of it the other way round: only their colours tell."""
    paints = {"red": (200, 20, 20), "blue": (20, 20, 200)}
    frames, looks = [], []
    for t in range(6):
        names = ("red", "blue") if t < 3 else ("blue", "red")
        boxes = [Box(10, 5, 20, 15), Box(12, 5, 22, 15)]
        frames.append([Detection("ball", 1.0, box) for box in boxes])
        looks.append(
            [
                colour_histogram(np.full((20, 30, 3), paints[n], np.uint8), b)
                for n, b in zip(names, boxes, strict=True)
            ]
        )

    def ends(tracks):
        return {t.boxes[0].x0: t.boxes[5].x0 for t in tracks}

    assert ends(track_all(frames)) == {10: 10, 12: 12}
    assert ends(track_all(frames, looks=looks)) == {10: 12, 12: 10}


def test_tracks_take_looks_by_name():
    with pytest.raises(UsageError, match="none or colours"):
        open_verifier("tracks:annotation?looks=nice")
    episode = made("video")[0]
    claims = [c for s in read([str(episode.meta["oracle"])], [episode])[0].steps for c in s.claims]
    plain, coloured = (open_verifier(f"tracks:annotation{o}") for o in ("", "?looks=colours"))
    assert coloured.has_looks
    assert labels(plain, claims, episode) == labels(
        coloured, claims, episode
    )  # labels tell these apart already


def test_tracks_agree_with_the_truth_of_clips():
    """Identities forgotten: of what the truth says of motion and coming, most is found again, of its contrary little."""
    episodes = made("video")
    verifier = open_verifier("tracks:annotation")
    shares = []
    for turn in (False, True):
        counts = {"supported": 0, "unsupported": 0, "unverifiable": 0}
        for episode in episodes:
            for claims in [
                [c for s in t.steps for c in s.claims if c.kind in {"action", "state"}]
                for t in read([told(episode, turn)], [episode])
            ]:
                for verdict in verifier.verify(claims, episode):
                    counts[verdict.label] += 1
        shares.append(counts["supported"] / (counts["supported"] + counts["unsupported"]))
        assert counts["supported"] + counts["unsupported"] > 20
    assert shares[0] > 0.75
    assert shares[1] < 0.45


def test_tracks_judge_verbs_by_the_lexicon():
    """The same and wider words by what is shown; narrower ones can only be refuted; others are not judged."""

    dog, box = (
        FrameObject("c", "dog", Box(300, 100, 330, 130)),
        FrameObject("b", "box", Box(135, 10, 175, 50)),
    )
    frames = []
    for i in range(6):
        ball = FrameObject("a", "ball", Box(10 + 20 * i, 10, 30 + 20 * i, 30))
        frames.append(Frame(float(i), size_px=(400, 300), objects=(ball, box, dog) if i < 4 else (ball, box)))
    episode = Episode("e", "?", tuple(frames))
    said = {
        ("ball", "move"): "supported",
        ("ball", "roll"): "unverifiable",
        ("ball", "stop"): "unsupported",
        ("box", "rest"): "supported",
        ("box", "roll"): "unsupported",
        ("dog", "exit"): "supported",
        ("dog", "disappear"): "supported",
        ("dog", "enter"): "unsupported",
        ("ball", "hit", "box"): "supported",
        ("ball", "touch", "box"): "supported",
        ("ball", "touch", "dog"): "unsupported",
        ("ball", "approach", "box"): "unverifiable",
        ("ball", "sing"): "unverifiable",
    }
    claims = [Claim("action", Mention(who), verb, *map(Mention, what)) for who, verb, *what in said]
    verdicts = open_verifier("tracks:annotation").verify(claims, episode)
    assert {key: verdict.label for key, verdict in zip(said, verdicts, strict=True)} == said


def told(episode, turn):
    lines = [line for line in episode.meta["oracle"].splitlines() if "before" not in line]
    text = "\n".join(lines)
    if not turn:
        return text
    swaps = {
        "is moving": "is stationary",
        "is stationary": "is moving",
        "enters": "leaves",
        "leaves": "enters",
    }
    for a, b in swaps.items():
        text = text.replace(a, f"<{b}>")
    text = text.replace("<", "").replace(">", "")
    return "\n".join(
        ". ".join(s for s in line.split(". ") if "collides" not in s) for line in text.splitlines()
    )


def textured(seed=0, size=(260, 340)):
    noise = np.random.default_rng(seed).uniform(0, 255, (size[0] // 4, size[1] // 4, 3)).astype(np.uint8)
    return np.asarray(Image.fromarray(noise).resize(size[::-1], Image.Resampling.BICUBIC))


def cropped(image, left, top, width=240, height=180):
    patch = Image.fromarray(image).crop((left, top, left + width, top + height))
    return np.asarray(patch.resize((240, 180), Image.Resampling.BILINEAR))


@pytest.mark.parametrize(
    ("second", "name", "contrary"),
    [
        ((64, 40, 240, 180), "turn right", "turn left"),
        ((36, 40, 240, 180), "turn left", "turn right"),
        ((56, 44, 228, 171), "move forward", "move backward"),
        ((44, 36, 252, 189), "move backward", "move forward"),
        ((50, 40, 240, 180), "stop", "turn left"),
    ],
)
def test_flow_tells_movements(second, name, contrary):
    image = textured()
    episode = episode_of(cropped(image, 50, 40), cropped(image, *second))
    flow = flow_between(*(f.picture.pixels() for f in episode.frames))
    assert flow.quality > 0.4, flow
    me = Mention("i")
    claims = [Claim("ego-motion", me, name, frames=(0,)), Claim("ego-motion", me, contrary, frames=(0,))]
    assert labels(open_verifier("ego-motion:flow"), claims, episode) == ["supported", "unsupported"]


def test_ego_motion_prefers_poses_and_admits_what_it_cannot_match():
    grey = np.full((180, 240, 3), 120, np.uint8)
    claim = Claim("ego-motion", Mention("i"), "turn left", frames=(0,))
    assert labels(EgoMotionVerifier(), [claim], episode_of(grey, grey)) == ["unclear"]
    posed = made("navigation")[0]
    verbs = [a.verb for a in posed.actions if a.verb != "enter"]
    claims = [Claim("ego-motion", Mention("i"), v, frames=(i,)) for i, v in enumerate(verbs)]
    assert set(labels(open_verifier("ego-motion"), claims, posed)) == {"supported"}
    assert labels(EgoMotionVerifier(), [Claim("entity", CUP)], posed) == ["complex"]


def test_similarity_weighs_a_claim_against_its_like():
    """A stand-in that knows colours: the mean colour of the picture against the colour word."""
    paints = {"red": (230, 20, 20), "blue": (20, 20, 230), "green": (20, 200, 20)}

    def likeness(pictures, captions):
        means = [pixels.reshape(-1, 3).mean(axis=0) for pixels in pictures]
        away = [
            [
                min((np.abs(mean - p).sum() for w, p in paints.items() if w in c.split()), default=600)
                for c in captions
            ]
            for mean in means
        ]
        return -np.array(away) / 20

    verifier = SimilarityVerifier("s", likeness, low=0.5)
    episode = episode_of(np.full((8, 8, 3), RED, np.uint8))
    claims = [
        Claim("attribute", CUP, "red"),
        Claim("attribute", CUP, "blue"),
        Claim("attribute", CUP, "blue", is_negated=True),
        Claim("spatial", CUP, "left of", BOOK),
        Claim("entity", Mention("it")),
    ]
    assert labels(verifier, claims, episode) == [
        "supported",
        "unsupported",
        "supported",
        "complex",
        "complex",
    ]
    red, blue = verifier.verify(claims[:2], episode)
    assert (red.truth, blue.truth) == ("red", "red")
    flat = SimilarityVerifier("s", lambda p, c: np.zeros((len(p), len(c))), low=0.5)
    assert labels(flat, claims[:1], episode) == ["unclear"]
    uncalibrated = SimilarityVerifier("s", likeness)
    assert labels(uncalibrated, claims[:3], episode) == ["supported", "low recall", "low recall"]
    assert "without calibration" in uncalibrated.verify(claims[1:2], episode)[0].evidence


def test_similarity_tells_its_share_beside_the_bound_and_how_sure_it_is():
    """Four captions of which the claim's own has a share of 0.02."""
    odds = np.log([0.02, 0.9, 0.04, 0.04])
    vocabulary = {"objects": ("cup", "book", "lamp", "dog")}
    episode = replace(episode_of(np.full((8, 8, 3), RED, np.uint8)), vocabulary=vocabulary, world="w")
    claim = Claim("entity", Mention("cup", ("blue",)))

    def told(high, low):
        bounds = Bounds({"w": {"entity": (high, low)}})
        return SimilarityVerifier("s", lambda p, _: np.tile(odds, (len(p), 1)), bounds=bounds).verify(
            [claim, replace(claim, is_negated=True)], episode
        )

    there, denied = told(0.01, 0.001)
    assert (there.label, there.truth, denied.label) == ("supported", "present", "unsupported")
    assert "0.02 among 4 captions" in there.evidence
    assert "supported from 0.01" in there.evidence
    own, bound = 0.02 / 0.98, 0.01 / 0.99
    assert there.confidence == pytest.approx(own / (own + bound))
    absent = told(0.5, 0.4)[0]
    assert (absent.label, absent.truth) == ("unsupported", "absent")
    assert "'a picture of a book'" in absent.evidence
    assert absent.confidence > 0.9
    between = told(0.5, 0.01)[0]
    assert (between.reason, "between the bounds 0.01 and 0.5" in between.evidence) == ("unclear", True)


def test_similarity_takes_a_picture_that_is_cut_off_for_one_it_has_not_read():
    whole = Picture.from_array(np.full((40, 40, 3), RED, np.uint8))
    cut = Picture.from_bytes(whole.data[:50])
    assert cut.data.startswith(b"\x89PNG")
    scores = {True: 5.0, False: 0.0}

    def likeness(pictures, captions):
        return np.array([[scores["red" in c.split()] for c in captions] for _ in pictures])

    verifier = SimilarityVerifier("s", likeness, low=0.5)
    frames = tuple(Frame(float(i), picture) for i, picture in enumerate((whole, cut)))
    episode = Episode("e", "?", frames)
    claims = [Claim("attribute", CUP, hue, frames=f) for f in ((0,), (1,), (0, 1)) for hue in ("red", "blue")]
    assert labels(verifier, claims, episode) == [
        "supported",
        "unsupported",
        "unclear",
        "unclear",
        "supported",
        "unclear",  # the frame that was not read may show it
    ]
    assert "cannot decode the picture" in verifier.verify(claims[2:3], episode)[0].evidence


def test_a_clip_of_transformers_is_loaded_and_asked(tmp_path):
    from transformers import CLIPConfig, CLIPModel, CLIPTokenizer
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    words = [
        "<|startoftext|>",
        "<|endoftext|>",
        *"abcdefghijklmnopqrstuvwxyz",
        *(f"{c}</w>" for c in "abcdefghijklmnopqrstuvwxyz"),
    ]
    (tmp_path / "vocab.json").write_text(json.dumps({w: i for i, w in enumerate(words)}))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    config = CLIPConfig(
        text_config={
            **sizes,
            "vocab_size": len(words),
            "max_position_embeddings": 40,
            "eos_token_id": 1,
            "bos_token_id": 0,
            "pad_token_id": 1,
        },
        vision_config={**sizes, "image_size": 16, "patch_size": 8},
        projection_dim=8,
    )
    CLIPModel(config).save_pretrained(tmp_path)
    CLIPTokenizer(str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt")).save_pretrained(tmp_path)
    CLIPImageProcessorPil(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16}).save_pretrained(
        tmp_path
    )
    verifier = open_verifier(f"similarity:{tmp_path}?high=0.01")
    assert (verifier.high, verifier.low, verifier.bounds) == (0.01, None, None)
    scores = verifier.likeness([picture()] * 3, ["a picture of a cup", "a picture of a dog"])
    assert scores.shape == (3, 2)
    assert np.isfinite(scores).all()
    claim, episode = Claim("attribute", CUP, "red"), episode_of(picture())
    captions = captions_of(claim, episode)
    raw = np.exp(verifier.likeness([picture()], captions)[0])
    share = raw[0] / raw.sum()
    wanted = "supported" if share >= 0.01 else "low recall"
    assert labels(verifier, [claim], episode) == [wanted]
    with pytest.raises(UsageError, match="cannot load"):
        open_verifier(f"similarity:{tmp_path / 'nothing'}")
    with pytest.raises(UsageError, match="no calibration"):
        open_verifier(f"similarity:{tmp_path}?calibration={tmp_path / 'nothing.json'}")


def test_a_video_classifier_supports_what_it_names_and_refutes_nothing():
    verifier = VideoClassifierVerifier(
        "c", lambda _: {"opening door": 0.7, "eating": 0.3}, ("opening door", "eating"), 4
    )
    door, person = Mention("door"), Mention("person")
    claims = [
        Claim("action", person, "open", door),
        Claim("action", person, "open", Mention("window")),
        Claim("action", person, "eat"),
        Claim("action", person, "open", door, is_negated=True),
        Claim("entity", door),
    ]
    told = labels(verifier, claims, episode_of(picture(), picture()))
    assert told == ["supported", "out of vocabulary", "low recall", "unsupported", "complex"]


def test_a_video_classifier_of_transformers_is_loaded_and_asked(tmp_path):
    from transformers import VideoMAEConfig, VideoMAEForVideoClassification
    from transformers.models.videomae.image_processing_pil_videomae import VideoMAEImageProcessorPil

    names = {0: "opening_door", 1: "eating"}
    config = VideoMAEConfig(
        image_size=16, patch_size=8, num_frames=4, tubelet_size=2, hidden_size=16, num_hidden_layers=1,
        num_attention_heads=2, intermediate_size=16, id2label=names, label2id={v: k for k, v in names.items()},
    )  # fmt: skip
    VideoMAEForVideoClassification(config).save_pretrained(tmp_path)
    VideoMAEImageProcessorPil(
        size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16}
    ).save_pretrained(tmp_path)
    verifier = open_verifier(f"actions:{tmp_path}?threshold=0")
    shares = verifier.classify([picture()] * verifier.n_frames)
    assert set(shares) == set(names.values())
    assert sum(shares.values()) == pytest.approx(1)
    claim = Claim("action", Mention("person"), "open", Mention("door"))
    assert labels(verifier, [claim], episode_of(picture(), picture(), picture())) == ["supported"]
    with pytest.raises(UsageError, match="name the model"):
        open_verifier("actions")
