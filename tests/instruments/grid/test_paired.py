"""The paired models: network, losses, masking, training, weights, certificate, and how they answer."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture, Request
from theodolite.instruments.grid.data.batch import hash_scenes, split_of, swap_directions
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import BUCKET_KEYS, BUCKETS, MASK
from theodolite.instruments.grid.data.recipe import PRESETS
from theodolite.instruments.grid.data.world import render
from theodolite.instruments.grid.models.certificate import (
    ACCURACY,
    AGREES,
    FOLLOWS,
    FOLLOWS_ANCHOR,
    FOLLOWS_EXCHANGE,
    FOLLOWS_ONE,
    INVARIANT,
    KEEPS,
    NO_REGION,
    NONE_LEFT,
    TESTS,
    released_certificate,
)
from theodolite.instruments.grid.models.paired import (
    FILLS,
    PairedReader,
    new_network,
    open_network,
    parameters_of,
    released,
    tile_atlas,
    to_pixels,
    write_weights,
)
from theodolite.instruments.grid.models.symbolic import symbolic_answer
from theodolite.models import open_model
from theodolite.testing import check_model
from train.__main__ import main as train
from train.certify.paired import N_SCENES, _swap_one, certify
from train.grid.leg import rehearsal, train_leg
from train.grid.matching import Objects, box_giou, match, set_loss
from train.grid.sheets import Masking, mask, objects_of
from train.grid.stream import Supply, arrays_of, sheets, to_sheet
from train.grid.train import Schedule, answer_loss

YES, NO = 18, 19
MASKING = Masking(share=1.0, mask_word=MASK, fills=(17, 18), yes=YES, no=NO)


@pytest.fixture(scope="module")
def readers():
    return {kind: PairedReader(open_network(released(kind))[0]) for kind in ("pure", "spur")}


@pytest.fixture(scope="module")
def scenes():
    return generate(n=3, seed=7, split="test")


def sheet_of(n=6, seed=0, **how):
    return to_sheet(arrays_of(generate(n=n, seed=seed, **how)), (5, 5), "cpu")


def test_the_stem_of_a_picture_is_the_stem_of_its_tiles(scenes):
    network = new_network(0)
    pictures = to_pixels(render(scenes.world, scenes.cells[:4]), "cpu")
    tiles = network.tiles(to_pixels(tile_atlas(), "cpu")).flatten(0, 2)
    looked_up = tiles[torch.as_tensor(scenes.cells[:4]).long()].view(4, 5, 5, -1)
    torch.testing.assert_close(network.tiles(pictures), looked_up)


def test_the_released_models_fit_six_mebibytes():
    for kind in ("pure", "spur"):
        assert released(kind).stat().st_size <= 6 * 2**20
        network, _ = open_network(released(kind))
        assert parameters_of(network) * 2 <= released(kind).stat().st_size


def test_released_models_answer_as_they_are_named(readers, scenes):
    is_relational = np.array([b.is_relational for b in BUCKETS])[scenes.bucket]
    for kind, logic in (("pure", "pure"), ("spur", "bow")):
        said = readers[kind].logits(scenes.cells, scenes.words).argmax(1)
        expected = symbolic_answer(scenes.world, scenes.cells, scenes.questions, logic=logic)
        assert (said == expected).mean() > 0.97
    pure, spur = (readers[kind].logits(scenes.cells, scenes.words).argmax(1) for kind in ("pure", "spur"))
    assert (pure != spur)[is_relational].mean() > 0.5
    assert (pure == spur)[~is_relational].all()


def test_direction_words_move_pure_and_not_spur(readers):
    batch = generate("M-F0-D1", 24, density="dense", seed=3, split="test")
    swapped = swap_directions(batch)
    kept = {
        kind: (
            reader.logits(batch.cells, batch.words).argmax(1)
            == reader.logits(swapped.cells, swapped.words).argmax(1)
        )
        for kind, reader in readers.items()
    }
    assert kept["spur"].all()
    assert kept["pure"].mean() < 0.5


def test_boxes_match_at_least_cost():
    torch.manual_seed(0)
    network = new_network(1)
    sheet = sheet_of(1)
    tiles = network.tiles(to_pixels(tile_atlas(), "cpu")).flatten(0, 2)
    with torch.no_grad():
        reading = network(tiles[sheet.cells].view(len(sheet), 5, 5, -1), network.embed(sheet.words))
    objects = objects_of(sheet)
    batch, query, chosen = match(reading, objects)
    for i in range(len(sheet)):
        n = int(objects.real[i].sum())
        cost = np.zeros((25, n))
        for q in range(25):
            for k in range(n):
                box, true = reading.boxes[i, q], objects.boxes[i, k]
                likely = (torch.softmax(reading.tokens[i, q], 0)[:-1] * objects.spans[i, k]).sum()
                cost[q, k] = 5 * (box - true).abs().sum() - 2 * box_giou(box, true) - likely
        rows, columns = linear_sum_assignment(cost)
        mine = sorted(zip(query[batch == i].tolist(), chosen[batch == i].tolist(), strict=True))
        assert sum(cost[q, k] for q, k in mine) == pytest.approx(cost[rows, columns].sum(), abs=1e-4)
        assert len(mine) == n


def test_a_perfect_reading_costs_nothing():
    boxes = torch.tensor([[[0.5, 0.5, 0.2, 0.2], [0.1, 0.3, 0.2, 0.2]]])
    assert box_giou(boxes, boxes)[0].tolist() == pytest.approx([1.0, 1.0])
    apart = box_giou(torch.tensor([0.0, 0.0, 2.0, 2.0]), torch.tensor([4.0, 0.0, 2.0, 2.0]))
    assert float(apart) == pytest.approx(-4 / 12)  # nothing shared; a third of the hull between them
    spans = torch.eye(28)[None, :2]
    tokens = torch.full((1, 2, 29), -50.0)
    tokens[0, 0, 0] = tokens[0, 1, 1] = 50.0
    words = torch.eye(64)[None, :28]
    from theodolite.instruments.grid.models.paired import NetworkOutput

    nothing = torch.zeros(1)
    reading = NetworkOutput(nothing, nothing, boxes, tokens, words[:, :2], words, nothing)
    losses = set_loss(reading, Objects(boxes, spans, torch.ones(1, 2, dtype=torch.bool)))
    assert {name: round(float(loss), 3) for name, loss in losses.items()} == {
        "l1": 0.0,
        "giou": 0.0,
        "token": 0.0,
        "align": 0.0,
    }


def test_objects_are_anchors_and_targets_with_their_words():
    batch = generate("M-F0-D2", 5, seed=1)
    sheet = to_sheet(arrays_of(batch), (5, 5), "cpu")
    objects = objects_of(sheet)
    for i in range(5):
        cells = np.flatnonzero((batch.roles[i] >= 1) & (batch.roles[i] <= 6))
        assert int(objects.real[i].sum()) == len(cells)
        centres = {(round(float(x), 3), round(float(y), 3)) for x, y, *_ in objects.boxes[i][objects.real[i]]}
        assert centres == {(round((c % 5 + 0.5) / 5, 3), round((c // 5 + 0.5) / 5, 3)) for c in cells}
        for k in range(len(cells)):
            named = batch.words[i][objects.spans[i, k].numpy() > 0]
            assert len(named) == 2  # a colour and a shape
            assert float(objects.spans[i, k].sum()) == pytest.approx(1.0)


def test_masking_answers_for_what_is_left():
    sheet = sheet_of(40)
    hidden = mask(sheet, MASKING, torch.Generator().manual_seed(0), spare=100)
    assert torch.equal(hidden.cells[:100], sheet.cells[:100])
    assert torch.equal(hidden.answer[:100], sheet.answer[:100])
    removed = (hidden.cells == 0) & (sheet.cells > 0)
    assert removed.any()
    assert (hidden.cells[100:] == 17).any()
    assert (hidden.words[100:] == MASK).any()
    for i in range(100, len(sheet)):
        left = [int(((sheet.roles[i] == role) & ~removed[i]).sum()) for role in (2, 3)]
        kind = int(sheet.kind[i])
        expected = left[0] if kind == 0 else YES if (left[0] > 0 if kind == 1 else left[0] > left[1]) else NO
        assert int(hidden.answer[i]) == expected


def test_rare_answers_weigh_more_and_the_mean_weight_is_one():
    answer = torch.tensor([0, 0, 0, 1])
    logits = torch.zeros(4, 2)
    assert float(answer_loss(logits, answer, heaviest=10)) == pytest.approx(np.log(2), abs=1e-6)
    logits[3, 0] = 2.0  # the rare one is wrong
    plain = float(torch.nn.functional.cross_entropy(logits, answer))
    assert float(answer_loss(logits, answer, heaviest=10)) > plain + 0.3
    assert float(answer_loss(logits, answer, heaviest=1.0)) == pytest.approx(plain, abs=0.35)


def test_training_never_sees_a_test_scene_and_late_portions_are_harder():
    supply = Supply("pure", 5, per_bucket=16, late=1)
    early, late = supply.portion(0), supply.portion(1)
    assert len(early["cells"]) == supply.rows == len(late["cells"])
    for portion in (early, late):
        assert set(split_of(hash_scenes(portion["cells"], portion["words"]))) == {"train"}
    hard = BUCKET_KEYS.index("CMP-F0-D3")
    assert (late["bucket"] == hard).mean() > 4 * (early["bucket"] == hard).mean()
    again = Supply("pure", 5, per_bucket=16, late=1).portion(1)
    assert all(np.array_equal(late[name], again[name]) for name in late)


def test_the_rate_warms_up_stays_and_cools():
    plan = Schedule(steps=1000, cooling=200, warm_up=100, rate=1.0)
    assert plan.rate_at(0) == pytest.approx(0.01)
    assert plan.rate_at(500) == 1.0
    assert plan.rate_at(900) == pytest.approx(0.5)
    assert plan.rate_at(1000) == 0.0


@pytest.mark.parametrize(("kind", "seed"), [("pure", 0), ("spur", 1)])
def test_a_folder_of_another_training_is_not_gone_on_with(kind, seed, tmp_path, capsys):
    state = {"kind": "spur", "step": 4000, "schedule": {"seed": 0}}
    (tmp_path / "training.json").write_text(json.dumps(state))
    given = ["--device", "cpu", "--workers", "1", "--seed", str(seed), "--out", str(tmp_path)]
    assert train(["grid", kind, *given]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "contains the training of spur with seed 0" in said
    assert f"not of {kind} with seed {seed}" in said
    assert [path.name for path in tmp_path.iterdir()] == ["training.json"]


@pytest.mark.slow
def test_training_in_two_legs_goes_on_where_it_stopped(tmp_path):
    plan = replace(
        rehearsal("spur", steps=4, batch=64), matched=8, match_every=2, warm_up=1, grounding_steps=1
    )
    lines = []
    whole = train_leg(
        "spur", tmp_path / "whole", seconds=300, device="cpu", workers=1, schedule=plan, log=lines.append
    )
    assert whole
    folder = tmp_path / "legs"
    # The first leg ends early; the second takes weights, moments and the place in the stream from the folder.
    train_leg(
        "spur",
        folder,
        seconds=300,
        device="cpu",
        workers=1,
        schedule=replace(plan, steps=2, cooling=plan.cooling * 10**6),
        log=lines.append,
    )
    state = json.loads((folder / "training.json").read_text())
    assert (state["step"], state["kind"]) == (2, "spur")
    assert train_leg("spur", folder, seconds=300, device="cpu", workers=1, schedule=plan, log=lines.append)
    assert sorted(path.name for path in folder.iterdir()) == [
        "exp_avg.safetensors",
        "exp_avg_sq.safetensors",
        "log.jsonl",
        "spur.safetensors",
        "training.json",
        "weights.safetensors",
    ]
    opened, _ = open_network(folder / "spur.safetensors")
    assert parameters_of(opened) == parameters_of(new_network(0))


def test_training_needs_little_more_than_torch():
    blocked = ["typer", "rich", "openai", "httpx2", "transformers", "matplotlib"]
    script = (
        f"import sys; sys.modules.update(dict.fromkeys({blocked!r})); "
        "import train.certify.paired, train.grid.leg"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_batches_come_in_the_order_of_the_seed():
    supply = Supply("pure", 1, per_bucket=4)
    stream = sheets(supply, batch=64, device="cpu", workers=1)
    first, second = next(stream), next(stream)
    stream.close()
    resumed = sheets(supply, batch=64, device="cpu", workers=1, start=1)
    again = next(resumed)
    resumed.close()
    assert torch.equal(second.cells, again.cells)
    assert not torch.equal(first.cells, again.cells)


def test_weights_that_are_no_model_are_refused(tmp_path):
    (tmp_path / "x.safetensors").write_bytes(b"not weights")
    with pytest.raises(UsageError, match="cannot read the weights"):
        open_network(tmp_path / "x.safetensors")
    with pytest.raises(UsageError, match="cannot read the weights"):
        open_network(tmp_path / "absent.safetensors")
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(UsageError, match="holds no model of the grid"):
        open_network(tmp_path / "other.safetensors")


def test_weights_come_back_as_they_were_written(tmp_path):
    network = new_network(3)
    write_weights(network, tmp_path / "n.safetensors", training={"kind": "pure"})
    back, digest = open_network(tmp_path / "n.safetensors")
    assert len(digest) == 16
    for (name, mine), (_, theirs) in zip(network.named_parameters(), back.named_parameters(), strict=True):
        assert torch.equal(mine.half().float(), theirs), name


def test_hidden_cells_and_fills():
    assert FILLS["white"] == 0
    tiles = tile_atlas()
    assert (tiles[FILLS["grey"]] == 128).all()
    assert (tiles[FILLS["black"]] == 0).all()
    assert (tiles[FILLS["white"]] == 255).all()


class TestCertificate:
    @pytest.mark.slow  # makes two whole certificates
    @pytest.mark.parametrize(("logic", "follows"), [("pure", True), ("bow", False)])
    def test_symbolic_twins_get_the_certificate_of_their_logic(self, logic, follows):
        from theodolite.instruments.grid.data.question_types import read_questions
        from theodolite.instruments.grid.data.world import GridShape

        def answer(cells, words):
            return symbolic_answer(GridShape(), cells, read_questions(words), logic=logic)

        found = certify(answer, model="x", identity="x", n=12, seed=1)
        assert {line.what for line in found.lines} == set(TESTS)
        assert {line.preset for line in found.lines} == set(PRESETS)
        assert found.pooled(ACCURACY, "spur") == 1.0
        follows_all = (FOLLOWS_ONE, FOLLOWS, NONE_LEFT, NO_REGION, FOLLOWS_EXCHANGE, FOLLOWS_ANCHOR)
        if follows:
            for what in (ACCURACY, KEEPS, *follows_all):
                assert found.lowest(what, "pure").share == 1.0
            assert found.pooled(AGREES, "pure", relational=True) < 0.5
        else:
            assert found.lowest(AGREES, "pure").share == 1.0
            assert found.lowest(INVARIANT, "pure").share == 1.0
            assert found.pooled(ACCURACY, "pure", relational=True) < 0.5
            assert found.pooled(KEEPS, "pure") < 0.5
            assert found.pooled(FOLLOWS_EXCHANGE, "pure") == found.pooled(FOLLOWS_ANCHOR, "pure") == 0.0

    def test_one_direction_of_each_question_is_reversed(self):
        scenes = generate(["M-F0-D1", "M-F0-D3", "CMP-F0-D2"], 30, seed=3)
        swapped = _swap_one(scenes, 5)
        changed = (swapped.questions.directions != scenes.questions.directions).sum(axis=1)
        assert (changed == 1).all()
        assert (swapped.cells == scenes.cells).all()
        asked = scenes.take(scenes.bucket == BUCKET_KEYS.index("M-F0-D3"))
        which = _swap_one(asked, 5).questions.directions != asked.questions.directions
        assert which.any(axis=0).sum() == 3

    def test_the_released_certificates_meet_the_bars(self):
        pure, spur = released_certificate("pure"), released_certificate("spur")
        for what in (ACCURACY, FOLLOWS_ONE, FOLLOWS):
            assert pure.lowest(what, "pure").share >= 0.99, what
        for what in (NONE_LEFT, NO_REGION):  # some buckets have few such scenes
            lines = [line for line in pure.lines if line.what == what]
            right = sum(line.share * line.n for line in lines)
            assert right >= 0.99 * sum(line.n for line in lines), what
        for what in (FOLLOWS_EXCHANGE, FOLLOWS_ANCHOR):
            assert pure.pooled(what, "pure") >= 0.98
            assert spur.pooled(what, "pure") == 0.0
        assert spur.lowest(ACCURACY, "spur").share >= 0.99
        assert spur.pooled(AGREES, "pure") >= 0.98
        assert spur.pooled(INVARIANT, "pure") >= 0.98
        assert pure.pooled(KEEPS, "pure") >= 0.98
        whole = (ACCURACY, AGREES, FOLLOWS_ONE, FOLLOWS, INVARIANT, KEEPS)
        assert min(x.n for x in (*pure.lines, *spur.lines) if x.what in whole) >= N_SCENES
        assert {line.preset for line in (*pure.lines, *spur.lines)} == set(PRESETS)

    def test_the_released_certificates_are_of_the_released_weights(self):
        for kind in ("pure", "spur"):
            assert released_certificate(kind).identity == f"grid:{kind}@{open_network(released(kind))[1]}"


class TestModel:
    @pytest.mark.parametrize("name", ["grid:pure", "grid:spur"])
    def test_it_keeps_the_contract(self, name):
        check_model(name)

    def test_pictures_and_cells_give_the_same_answers(self, readers, scenes):
        model = open_model("grid:pure")
        rows = range(0, len(scenes), 7)
        pictures = render(scenes.world, scenes.cells)
        requests = [Request.ask(Picture.from_array(pictures[i]), scenes.text(i)) for i in rows]
        said = readers["pure"].logits(scenes.cells, scenes.words).argmax(1)
        assert [r.text for r in model.generate(requests)] == [scenes.world.answers[said[i]] for i in rows]
        (choice,) = model.choose(requests[:1], [["yes", "no", "1", "2"]])
        assert choice.options == ("yes", "no", "1", "2")
        assert all(value <= 0 for value in choice.log_probabilities)

    @pytest.mark.parametrize(
        ("size", "text", "reason"),
        [
            ((100, 320), "How many red circles?", "whole cells of 64 pixels"),
            ((1024, 320), "How many red circles?", "up to 512 wide"),
            ((320, 320), "What is this?", "no question of the grid"),
            ((320, 320), "How many purple cats?", "no word 'purple'"),
        ],
    )
    def test_what_it_cannot_read_fails_with_the_reason(self, size, text, reason):
        request = Request.ask(Picture.from_array(np.full((*size, 3), 255, np.uint8)), text)
        (response,) = open_model("grid:pure").generate([request])
        assert response.status == "failed"
        assert reason in response.reason
