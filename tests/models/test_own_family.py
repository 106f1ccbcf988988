"""An architecture that brings its own code and its own processor, added by a plug-in of under a hundred lines."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoConfig

from theodolite.attribution import attribute
from theodolite.cli.main import main
from theodolite.core.errors import ContractError, ModelError, UnsupportedError
from theodolite.core.registry import registry
from theodolite.core.types import Picture, Request
from theodolite.instruments.compass.data.drawn import coloured_squares
from theodolite.instruments.compass.data.pairs import write_pairs
from theodolite.models import find_family, open_model, place_pictures
from theodolite.testing import check_model
from theodolite.testing.tiny.parts import make_tokenizer

HERE = Path(__file__).parent
EXAMPLE = HERE.parents[1] / "examples" / "phi_family.py"
OPTIONS = ("1", "2", "3", "4")
SIZES = [(160, 90), (90, 160), (100, 100), (301, 97), (61, 83)]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] + '\n' + m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A folder as the hub would hold it: weights, tokenizer, settings, and the code that reads them."""
    folder = tmp_path_factory.mktemp("phi") / "phi-like"
    folder.mkdir()
    tokenizer = make_tokenizer("", [])
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    shutil.copy(HERE / "phi_like_code.py", folder)
    own = {
        name: f"phi_like_code.PhiLike{name.removeprefix('Auto')}" for name in ("AutoConfig", "AutoProcessor")
    }
    own["AutoModelForCausalLM"] = "phi_like_code.PhiLikeForCausalLM"
    config = {
        "model_type": "phi3_v",
        "auto_map": own,
        "vocab_size": len(tokenizer),
        "eos_token_id": tokenizer.eos_token_id,
    }
    (folder / "config.json").write_text(json.dumps(config))
    settings = {"auto_map": {"AutoProcessor": own["AutoProcessor"]}, "processor_class": "PhiLikeProcessor"}
    (folder / "processor_config.json").write_text(json.dumps({**settings, "side": 56, "num_crops": 4}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(folder.parent / "modules"))
        patch.syspath_prepend(folder.parent / "modules")
        loaded = AutoConfig.from_pretrained(folder, trust_remote_code=True)
        from transformers import AutoModelForCausalLM

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            model = AutoModelForCausalLM.from_config(loaded, trust_remote_code=True)
        code = folder / "config.json"
        model.save_pretrained(folder)
        code.write_text(json.dumps(config))  # as it was: with the code that it names
        yield folder


@pytest.fixture(scope="module")
def name(checkpoint, tmp_path_factory):
    """The checkpoint's name, with the plug-in installed as any distribution is."""
    site = tmp_path_factory.mktemp("site")
    shutil.copy(EXAMPLE, site)
    info = site / "phi_lab-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: phi-lab\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[theodolite.plugins]\nphi = phi_family:register\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site)
        registry.cache_clear()
        yield f"hf:{checkpoint}?trust_remote_code=true&attention=eager&batch_size=3"
    registry.cache_clear()


@pytest.fixture(scope="module")
def model(name):
    return open_model(name)


def noise(size, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)


def ask(*pixels, words="where is the red one?"):
    return Request.ask(*map(Picture.from_array, pixels), words)


def test_the_example_is_short():
    assert len(EXAMPLE.read_text().splitlines()) < 100


def test_without_the_plug_in_it_is_not_known(checkpoint):
    """Its own processor cannot even be asked in batches."""
    registry.cache_clear()
    with pytest.raises(ModelError, match="cannot encode a question with a picture"):
        open_model(f"hf:{checkpoint}?trust_remote_code=true&attention=eager")
    registry.cache_clear()


def test_its_code_is_not_run_unasked(checkpoint):
    with pytest.raises(ModelError, match=r"comes with its own Python code.*add \?trust_remote_code=true"):
        open_model(f"hf:{checkpoint}")


def test_it_keeps_the_model_contract(model):
    check_model(model)


@pytest.mark.parametrize("padding_side", ["left", "right"])
def test_every_token_of_a_mixed_batch_has_its_place(model, padding_side):
    requests = [ask(noise(size), words="where " * (i + 1)) for i, size in enumerate(SIZES)]
    requests.append(ask(noise(SIZES[0]), noise(SIZES[1])))
    checkpoint = model.checkpoint
    inputs = checkpoint.encode([checkpoint.prompt(r) for r in requests], requests, padding_side=padding_side)
    placed = place_pictures(checkpoint, requests, inputs)  # refuses what does not fit
    for row, (own, request) in enumerate(zip(placed, requests, strict=True)):
        for i, (each, picture) in enumerate(zip(own, request.pictures, strict=True)):
            assert (inputs["input_ids"][row, each.positions] == -1 - i).all()
            assert (each.grid.width_px, each.grid.height_px) == picture.size
            assert set(each.grid.part) == {-1, 0, 1}


@pytest.mark.parametrize("size", SIZES)
def test_the_token_that_changes_is_the_token_that_is_named(model, size):
    checkpoint = model.checkpoint
    plain = np.full((size[1], size[0], 3), (190, 80, 120), np.uint8)
    before, grid = features(checkpoint, plain)
    tried = 0
    rng = np.random.default_rng(1)
    for token in rng.permutation(np.flatnonzero(grid.part == 0)):
        x, y = (grid.rects_px[token, :2] + grid.rects_px[token, 2:]) / 2
        if not (2 < x < size[0] - 2 and 2 < y < size[1] - 2):
            continue
        other = plain.copy()
        other[int(y) - 2 : int(y) + 2, int(x) - 2 : int(x) + 2] = (20, 250, 30)
        change = np.linalg.norm(features(checkpoint, other)[0] - before, axis=-1)
        assert change[grid.part == 0].argmax() == np.flatnonzero(np.flatnonzero(grid.part == 0) == token)[0]
        whole = np.flatnonzero(grid.part == 1)
        assert whole[change[whole].argmax()] in grid.tokens_at(x, y) or near_a_border(grid, whole, x, y)
        assert (change[grid.part == -1] == 0).all()
        tried += 1
        if tried == 6:
            break
    assert tried >= 4


def near_a_border(grid, tokens, x, y):
    """Whether a point is so near to the edge of a coarse token that resizing carries it over."""
    x0, y0, x1, y1 = grid.rects_px[tokens].T
    return (
        min(
            np.abs(np.concatenate([x0, x1]) - x).min() / (x1 - x0).mean(),
            np.abs(np.concatenate([y0, y1]) - y).min() / (y1 - y0).mean(),
        )
        < 0.15
    )


def features(checkpoint, pixels):
    """What enters the projector, and where it lies."""
    request = ask(pixels)
    family = find_family(checkpoint.model)
    inputs = checkpoint.encode([checkpoint.prompt(request)], [request], padding_side="left")
    caught = []
    hook = family.projector(checkpoint.model).register_forward_pre_hook(
        lambda _, given: caught.append(given[0])
    )
    with torch.inference_mode():
        checkpoint.model(**inputs)
    hook.remove()
    (grid,) = family.token_grids(checkpoint.processor, [request.pictures[0].size], inputs)
    return caught[0].numpy(), grid


def test_gradient_methods_work_and_a_batch_is_its_requests(model):
    methods = ["contrastive-grad-act-sound", "gradient-norm", "gradcam", "integrated-gradients-sound"]
    requests = [ask(noise(size, i)) for i, size in enumerate(SIZES[:3])]
    found = attribute(model, requests, [OPTIONS] * 3, methods=methods, targets=["pred", "gt"], gold=[0, 1, 2])
    for i, each in enumerate(found):
        (alone,) = attribute(
            model, [requests[i]], [OPTIONS], methods=methods, targets=["pred", "gt"], gold=[i]
        )
        for one, other in zip(each.maps, alone.maps, strict=True):
            scale = np.abs(other.values).max()
            assert scale > 0
            np.testing.assert_allclose(one.values, other.values, atol=2e-4 * scale)


def test_what_reads_attention_is_refused_with_the_reason(model):
    with pytest.raises(ContractError, match="attention was recorded in 0 of 4 language layers"):
        attribute(model, [ask(noise((90, 70)))], [OPTIONS], methods=["chefer"])


def test_from_pairs_to_a_score(name, tmp_path, capsys):
    write_pairs(coloured_squares(6, seed=0).pairs, tmp_path / "pairs")
    words = ["compass", "run", "--data", tmp_path / "pairs", "--model", name, "--out", tmp_path / "run"]
    methods = {"gradcam", "contrastive-grad-act-sound"}
    assert main([*map(str, words), "--methods", ",".join(methods)]) == 0
    capsys.readouterr()
    assert main(["compass", "score", str(tmp_path / "run"), "--json"]) == 0
    score = json.loads(capsys.readouterr().out)
    assert (score["instrument"], score["model"]) == ("compass", name)
    rows = [row for table in score["tables"] for row in table["rows"] if row.get("method") in methods]
    counts = {(row["method"], row["n"]) for row in rows if "n" in row}
    assert {method for method, _ in counts} == methods
    assert ("contrastive-grad-act-sound", 6) in counts
    assert all(0 < n <= 6 for _, n in counts)


def test_a_wrong_place_is_refused(model, monkeypatch):
    family = type(find_family(model.checkpoint.model))
    right = family.token_grids
    monkeypatch.setattr(family, "token_grids", lambda *given: [right(*given)[0]] * 2)
    with pytest.raises(ContractError, match="2 grids for 1 pictures"):
        attribute(model, [ask(noise((90, 70)))], [OPTIONS], methods=["gradient-norm"])
    monkeypatch.undo()
    with pytest.raises(UnsupportedError, match="supports gemma3"):
        find_family(type("M", (), {"config": type("C", (), {"model_type": "other"})}))
