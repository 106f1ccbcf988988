"""Explanations from beginning to end: every family, models of known reasoning, black boxes, and what is wrong."""

import json
import shutil
import sys

import numpy as np
import pytest
from PIL import Image

import theodolite
from theodolite.attribution import find_methods
from theodolite.core.errors import ModelError, TheodoliteError, UnsupportedError, UsageError
from theodolite.core.registry import registry
from theodolite.core.types import Picture, Response
from theodolite.explanation.api import METHODS, PANEL, read_pictures
from theodolite.explanation.cells import DrawnMap
from theodolite.explanation.shuffled import shuffled
from theodolite.geometry import TokenGrid
from theodolite.instruments.compass.data.drawn import relation_pairs
from theodolite.instruments.compass.questions import PROMPTS
from theodolite.models import find_family, open_model

FAMILIES = [entry.name for entry in registry().entries("family")]


def state_of(model):
    return {name: value.clone() for name, value in model.checkpoint.model.state_dict().items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_explained_with_words_and_tests(family, tiny, planted):
    model = open_model(f"hf:{tiny(family)}?dtype=float32")
    before = state_of(model)
    found = theodolite.explain(
        model, planted, "What is there?", answer="a red square, left", tries=3, boxes=[(66, 30, 92, 50)]
    )
    assert [word.text for word in found.words] == ["a", "red", "square", "left"]
    assert found.methods == (METHODS[0],)
    assert {m.method for m in found.maps} >= {"attnlrp", "chefer", "tam"}
    for word in found.words:
        shares = word.shares
        assert shares.picture + shares.question + shares.earlier == pytest.approx(1)
        assert found.find(word.text)[0].values.shape == (found.find(word.text)[0].grid.n_tokens,)
    assert found.words[0].shares.earlier == 0  # nothing was written before it
    findings = {finding.name: finding for finding in found.test.findings}
    assert set(findings) == {
        "pointing",
        "RMA beyond",
        "other answer",
        "blank picture",
        "shuffled weights",
        "agreement",
    }
    assert -1 <= findings["agreement"].value <= 1
    n_words = len(found.words)
    assert found.n_read == 2 + 6 * (2 + 3) + n_words
    for name, value in model.checkpoint.model.state_dict().items():
        assert value.equal(before[name]), name


def test_a_model_that_looks_has_true_maps_and_its_blind_twin_has_none():
    pairs, standings = relation_pairs(3, seed=3), []
    for pair in pairs:
        boxes = [(r.box.x0, r.box.y0, r.box.x1, r.box.y1) for r in (pair.target, pair.reference)]
        looks = theodolite.explain("pocket:grounded", pair.picture, PROMPTS["A"].ask(pair), boxes=boxes)
        standings.append(looks.test.standing)
        assert next(f for f in looks.test.findings if f.name == "pointing").value == 1
        assert not looks.test.cautions
    assert standings.count("holds") >= 2
    assert not {"chance", "blind"} & set(standings)
    blind = theodolite.explain("pocket:shortcut", pairs[0].picture, PROMPTS["A"].ask(pairs[0]))
    assert blind.test.standing == "blind"
    assert blind.words[0].shares.picture < looks.words[0].shares.picture


def test_an_alternative_is_compared_where_it_could_stand(tiny, planted):
    model = open_model(f"hf:{tiny('qwen2_vl')}?dtype=float32")
    found = theodolite.explain(
        model, planted, "Where is it?", answer="it is left of me", instead="right", words=False, tries=2
    )
    assert found.instead.startswith("'right' in place of")
    assert found.test.unit == "nats"
    with pytest.raises(UsageError, match="does not differ"):
        theodolite.explain(model, planted, "Where?", answer="left", instead="left", tries=2)


def test_an_answer_with_a_token_of_a_picture_is_cut_there(tiny, planted, monkeypatch):
    model = open_model(f"hf:{tiny('qwen2_vl')}?dtype=float32")
    image = model.checkpoint.model.config.image_token_id
    word = model.checkpoint.tokenizer("red there", add_special_tokens=False)["input_ids"]
    monkeypatch.setattr(
        model, "write", lambda _: [(Response("answered", text="red there"), [*word, image, *word])]
    )
    found = theodolite.explain(model, planted, "What?", tries=2, words=False)
    assert found.answer == "red there"
    assert "stands for a picture" in found.notes[0]


def test_chosen_parts_have_maps_of_their_own(tiny, planted):
    model = open_model(f"hf:{tiny('llava')}?dtype=float32")
    found = theodolite.explain(
        model, planted, "Where?", answer="left of the house", spans=["of the"], words=False, tries=2
    )
    assert [word.text for word in found.words] == ["of the"]
    assert found.find("of the")[0].target == "part: of the"
    with pytest.raises(UsageError, match="does not contain 'right'"):
        theodolite.explain(model, planted, "Where?", answer="left of the house", spans=["right"], tries=2)


def test_an_answer_that_says_answer_is_one_all_the_same(tiny, planted):
    model = open_model(f"hf:{tiny('llava')}?dtype=float32")
    found = theodolite.explain(model, planted, "Which?", answer="the answer", words=False, tries=2)
    assert found.find()[0].target == "answer"


def test_methods_that_hide_and_methods_on_features_can_be_asked_for(tiny, planted, monkeypatch):
    model = open_model(f"hf:{tiny('llava')}?dtype=float32")
    read = []
    encode = type(model.checkpoint).encode
    monkeypatch.setattr(
        type(model.checkpoint), "encode", lambda *a, **k: read.append(len(a[1])) or encode(*a, **k)
    )
    found = theodolite.explain(
        model, planted, "Where?", answer="left there", method=["gradcam", "occlusion"], tries=2
    )
    assert found.methods == ("gradcam", "occlusion")
    once = 2  # the places of the pictures, and that the answer is not the model's own
    assert found.n_read + found.n_passes + once == sum(read)  # nothing is asked that is not counted
    assert found.shares_by == "chefer"
    assert "blank picture" not in {finding.name for finding in found.tests[1].findings}
    assert {m.method for m in found.find("left")} == {"gradcam"}


def test_several_pictures_have_a_map_each_and_are_hidden_together(tiny, planted):
    model = open_model(f"hf:{tiny('qwen2_vl')}?dtype=float32")
    other = Picture.from_array(np.zeros((60, 90, 3), np.uint8))
    found = theodolite.explain(model, [planted, other], "What differs?", answer="the square", tries=2)
    assert [m.picture for m in found.find()] == [0, 1]
    assert len(found.test.marked) == 2
    assert found.plot().figure.axes


def test_frames_of_a_video_are_explained(tmp_path, tiny):
    frames = [Image.fromarray(np.full((40, 60, 3), 20 * i, np.uint8)) for i in range(1, 9)]
    frames[0].save(tmp_path / "clip.gif", save_all=True, append_images=frames[1:], duration=100)
    assert len(read_pictures(tmp_path / "clip.gif", 3)) == 3
    model = open_model(f"hf:{tiny('qwen2_vl')}?dtype=float32")
    found = theodolite.explain(
        model,
        tmp_path / "clip.gif",
        "What happens?",
        answer="it gets lighter",
        frames=3,
        words=False,
        tries=2,
    )
    assert len(found.find()) == 3


def test_a_model_of_text_alone_is_explained_by_hiding(black_box, planted):
    found = theodolite.explain(black_box, planted, "What is there?", boxes=[(66, 30, 92, 50)])
    assert found.methods == ("occlusion",)
    assert found.test.unit == "share"
    assert found.test.standing == "holds"
    assert "changes the answer" in found.sentence
    assert found.find()[0].grid.tokens_at(79, 40)[0] in np.argsort(found.find()[0].values)[-8:]
    assert next(f for f in found.test.findings if f.name == "RMA beyond").value > 0.2
    assert "gives no gradients" in found.notes[0]
    assert found.n_read == black_box.n


def test_a_black_box_that_does_not_look_has_no_map(blind_box, planted):
    assert theodolite.explain(blind_box, planted, "What is there?").test.standing == "blind"


def test_a_checkpoint_of_an_unknown_architecture_is_explained_by_hiding(tiny, planted, monkeypatch):
    def unknown(_):
        raise UnsupportedError("no such family")

    monkeypatch.setattr(sys.modules["theodolite.explanation.api"], "find_family", unknown)
    found = theodolite.explain(
        f"hf:{tiny('llava')}?dtype=float32", planted, "What?", answer="a red one", tries=2
    )
    assert found.methods == ("occlusion",)
    assert found.test.unit == "nats"
    assert [word.text for word in found.words] == ["a", "red", "one"]
    assert found.words[0].shares is None
    assert "the architecture" in found.notes[0]


def test_a_language_model_without_pictures_is_refused(tmp_path, tiny, planted):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2, vocab_size=600
    )
    LlamaForCausalLM(config).save_pretrained(tmp_path)
    for path in tiny("qwen2_vl").iterdir():
        if "token" in path.name or "chat" in path.name:
            shutil.copy(path, tmp_path)
    with pytest.raises(ModelError, match="takes no pictures"):
        theodolite.explain(f"hf:{tmp_path}", planted, "What?")


def test_a_transformers_model_in_memory_is_explained_and_left_as_it_was(tiny, planted):
    opened = open_model(f"hf:{tiny('llava')}?dtype=float32")
    network, processor = opened.checkpoint.model, opened.checkpoint.processor
    network.train()
    found = theodolite.explain(network, planted, "What?", processor=processor, answer="a square", tries=2)
    assert found.model.startswith("memory:")
    assert network.training


def test_shuffled_weights_are_put_back_to_the_last_bit_even_after_an_error(tiny):
    model = open_model(f"hf:{tiny('qwen2_vl')}?dtype=float32")
    before = state_of(model)
    layers = find_family(model.checkpoint.model).decoder(model.checkpoint.model).layers
    with pytest.raises(KeyError), shuffled(layers):
        changed = [n for n, v in model.checkpoint.model.state_dict().items() if not v.equal(before[n])]
        assert changed
        raise KeyError
    assert all(v.equal(before[n]) for n, v in model.checkpoint.model.state_dict().items())


def test_a_drawn_map_has_the_mass_of_its_tokens():
    """Tiles and a thumbnail over one another: the density of every cell is the sum of what covers it."""
    tiles, thumbnail = TokenGrid.regular((60, 40), (4, 6)), TokenGrid.regular((60, 40), (3, 3))
    grid = TokenGrid(
        np.concatenate([tiles.rects_px, thumbnail.rects_px, np.full((1, 4), np.nan)]),
        60,
        40,
        np.array([0] * 24 + [1] * 9 + [-1]),
    )
    from theodolite.attribution import RelevanceMap

    values = np.random.default_rng(0).random(34).astype(np.float32)
    drawn = DrawnMap.of(RelevanceMap("mine", "answer", grid, values))
    areas = np.diff(drawn.ys)[:, None] * np.diff(drawn.xs)[None, :]
    assert (drawn.density * areas).sum() == pytest.approx(values[:33].sum(), rel=1e-5)


def test_the_panel_is_of_registered_methods():
    assert [method.name for method in find_methods(PANEL)] == list(PANEL)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"question": " "}, UsageError, "question is empty"),
        ({"picture": []}, UsageError, "there is no picture"),
        ({"picture": "nowhere.png"}, UsageError, "cannot read the picture nowhere.png"),
        ({"method": "magic"}, UsageError, "magic"),
        ({"tries": 0}, UsageError, "at least one other place"),
        ({"boxes": [(200, 200, 210, 210)]}, UsageError, "covers none or all"),
        ({"method": "chefer", "model": "black box"}, UnsupportedError, "allows occlusion alone, not chefer"),
        (
            {"answer": "red", "model": "black box"},
            UnsupportedError,
            "gives no probabilities of given answers",
        ),
        ({"model": "scripted:refuser"}, ModelError, "gave no answer"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(given, error, message, black_box, planted, tiny):
    given = {
        "model": f"hf:{tiny('llava')}?dtype=float32",
        "picture": planted,
        "question": "What?",
        "tries": 2,
    } | given
    given["model"] = black_box if given["model"] == "black box" else given["model"]
    with pytest.raises(error, match=message) as found:
        theodolite.explain(**given)
    assert isinstance(found.value, TheodoliteError)
    assert "\n" not in str(found.value)


def test_a_hundred_megapixels_are_refused(tmp_path, tiny):
    Image.new("1", (10_000, 10_001)).save(tmp_path / "large.png")
    with pytest.raises(UsageError, match="too large: at most 64 megapixels"):
        theodolite.explain(f"hf:{tiny('llava')}", tmp_path / "large.png", "What?")


def test_an_answer_that_the_model_would_never_give_is_told(tiny, planted):
    found = theodolite.explain(
        f"hf:{tiny('llava')}?dtype=float32", planted, "What?", answer="a zebra", tries=2
    )
    assert not found.is_own
    assert any(note.startswith("The model would not give this answer") for note in found.notes)


def test_saved_files_hold_the_explanation(tmp_path, tiny, planted):
    hostile = 'Is <script>alert("x")</script> there?'
    found = theodolite.explain(
        f"hf:{tiny('llava')}?dtype=float32", planted, hostile, answer="a <b>red</b> one", tries=2
    )
    page = found.save(tmp_path / "out")
    text = page.read_text()
    assert "<script>alert" not in text
    assert "<b>red" not in text
    assert 'src="http' not in text
    stored = json.loads((tmp_path / "out" / "explanation.json").read_text())
    assert stored["sentence"] == found.sentence
    with np.load(tmp_path / "out" / "maps.npz") as arrays:
        for each in stored["maps"]:
            assert len(arrays[f"values_{each['number']}"]) == len(arrays[f"rects_px_{each['number']}"])
    with Image.open(tmp_path / "out" / "explanation.png") as drawn:
        assert drawn.width > 1000
    assert found.save(tmp_path / "one.svg").stat().st_size > 1000
    assert "data:image/png" in found._repr_html_()
    assert found.sentence in repr(found)
