"""A checkpoint that is not whole is refused where it is opened, by a sentence that names what is wrong."""

import json
import os
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from theodolite.cli.main import main
from theodolite.core.errors import DamageWarning, ModelError
from theodolite.core.types import Picture, Request
from theodolite.instruments.ask.data.questions import write_questions
from theodolite.instruments.ask.data.squares import make_squares
from theodolite.models import open_model
from theodolite.runs import read_info
from theodolite.testing.tiny import tiny_checkpoint


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return tiny_checkpoint(tmp_path_factory.mktemp("whole") / "model")


@pytest.fixture
def folder(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "model")


def change_weights(folder, change):
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def change_json(folder, name, change):
    path = folder / name
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def said(model):
    grey = Picture.from_array(np.full((40, 40, 3), 90, np.uint8))
    return model.generate([Request.ask(grey, "Where is the cup?", max_tokens=8)])[0].text


FIRST = "language_model.model.layers.0.mlp.down_proj.weight"


def halve(weights):
    for name in sorted(weights)[::2]:
        del weights[name]


def spoil(value):
    def change(weights):
        weights[FIRST][3, 2] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda weights: weights.pop(FIRST), r"1 weight is missing \(model\.language_model\.layers\.0\.mlp\.down_proj\.weight\)"),
        (halve, r"\d\d weights are missing \(.*, …\)"),
        (lambda weights: weights.update(extra=torch.zeros(3)), r"1 weight is unknown to the architecture \(extra\)"),
        (lambda weights: weights.update({FIRST: torch.zeros(7, 7)}), r"1 weight is of another shape \(.*down_proj\.weight\)"),
        (spoil(float("nan")), r"NaN or infinite values in 1 of its weights \(.*down_proj\.weight\)"),
        (spoil(float("inf")), r"NaN or infinite values in 1 of its weights"),
    ],
)  # fmt: skip
def test_weights_that_do_not_fit_are_named(folder, change, message):
    change_weights(folder, change)
    with pytest.raises(ModelError, match=message):
        open_model(f"hf:{folder}")


def test_all_tiny_checkpoints_and_twins_are_whole(tmp_path):
    open_model(f"hf:{tiny_checkpoint(tmp_path / 'phi', 'phi4_multimodal')}")
    open_model("pocket:grounded")


def test_who_asks_for_it_gets_the_same_model_each_time_under_another_identity(folder, whole):
    identity = open_model(f"hf:{folder}").identity
    change_weights(folder, halve)
    files = open_model(f"hf:{whole}").identity
    assert files == identity
    name = f"hf:{folder}?allow_missing=true"
    with pytest.warns(DamageWarning, match=r"is measured as it is: \d\d weights are missing"):
        first = open_model(name)
    torch.manual_seed(7)
    with pytest.warns(DamageWarning):
        second = open_model(name)
    assert first.identity == second.identity
    assert "/incomplete-" in first.identity
    assert said(first) == said(second)
    script = "import sys, warnings\nwarnings.simplefilter('ignore')\nfrom theodolite.models import open_model\nprint(open_model(sys.argv[1]).identity)"
    done = subprocess.run([sys.executable, "-c", script, name], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == first.identity
    change_weights(folder, lambda weights: weights.update(extra=torch.zeros(3)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert open_model(name).identity != first.identity


def test_the_command_refuses_it_and_a_run_records_that_it_was_allowed(folder, tmp_path, capsys):
    change_weights(folder, halve)
    write_questions(make_squares(2), tmp_path / "squares")
    words = [
        "ask",
        "run",
        "--data",
        str(tmp_path / "squares"),
        "--limit",
        "2",
        "--out",
        str(tmp_path / "run"),
    ]
    assert main([*words, "--model", f"hf:{folder}"]) == 2
    assert "does not fit its architecture" in capsys.readouterr().err
    assert not (tmp_path / "run" / "run.json").exists()
    assert main([*words, "--model", f"hf:{folder}?allow_missing=true"]) == 0
    assert "weights are missing" in capsys.readouterr().err
    info = read_info(tmp_path / "run")
    assert info.model.endswith("?allow_missing=true")
    assert "/incomplete-" in info.identity


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("config.json", lambda c: c["text_config"].update(num_hidden_layers=10**6), r"text_config\.num_hidden_layers is 1000000, more than 1,024"),
        ("config.json", lambda c: c["text_config"].update(vocab_size=10**12), r"text_config\.vocab_size is 1000000000000"),
        ("config.json", lambda c: c["text_config"].update(max_position_embeddings=10**400), "max_position_embeddings is 100000000000000…"),
        ("config.json", lambda c: c.update(text_config=[1]), "cannot load the checkpoint"),
        ("config.json", lambda c: c.update(vision_config=None, model_type=7), "cannot load the checkpoint"),
        ("config.json", lambda c: c["text_config"].update(num_attention_heads=0), "cannot load the checkpoint"),
        ("config.json", dict.clear, "cannot load the checkpoint"),
        ("tokenizer_config.json", lambda c: c.update(tokenizer_class={}), "cannot load the checkpoint|cannot encode"),
        ("tokenizer.json", lambda c: c["model"].update(vocab=3), "cannot load the checkpoint"),
        ("processor_config.json", lambda c: c["image_processor"].update(size={"shortest_edge": 10**6}), "shortest_edge is 1000000"),
        ("processor_config.json", lambda c: c["image_processor"].update(image_mean="x"), "cannot encode a question with a picture"),
        ("processor_config.json", lambda c: c.update(num_additional_image_tokens=10**9), "num_additional_image_tokens is 1000000000"),
    ],
)  # fmt: skip
def test_settings_that_make_no_model_are_one_sentence(folder, name, change, message):
    change_json(folder, name, change)
    with pytest.raises(ModelError, match=message):
        open_model(f"hf:{folder}")


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "[" * 100_000, '{"a": 1', "\xff"])
@pytest.mark.parametrize(
    "name", ["config.json", "processor_config.json", "tokenizer_config.json", "tokenizer.json"]
)
def test_settings_that_are_not_json_are_one_sentence(folder, name, content):
    (folder / name).write_text(content, encoding="latin-1")
    with pytest.raises(ModelError, match=r"cannot load the checkpoint"):
        open_model(f"hf:{folder}")


@pytest.mark.parametrize(
    ("weight_map", "message"),
    [
        ({"a": "../other.safetensors"}, "is not a file of weights beside it"),
        ({"a": "/etc/passwd"}, "is not a file of weights beside it"),
        ({"a": ".hidden.safetensors"}, "is not a file of weights beside it"),
        ({"a": "model-00001-of-00002.safetensors"}, "which is missing"),
        ({"a": 5}, "no weight_map of names"),
        (None, "no weight_map of names"),
    ],
)
def test_an_index_names_files_beside_it(folder, weight_map, message):
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    with pytest.raises(ModelError, match=message):
        open_model(f"hf:{folder}")


def test_settings_of_a_far_larger_model_are_refused_before_its_weights_are_drawn(folder):
    change_json(folder, "config.json", lambda content: content.pop("text_config"))
    with pytest.raises(ModelError, match=r"asks for \S+ weights, and the files hold"):
        open_model(f"hf:{folder}?allow_missing=true")


def test_special_files_and_adapters_are_refused(folder):
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelError, match="is an adapter to another model"):
        open_model(f"hf:{folder}")
    (folder / "adapter_config.json").unlink()
    for name in ("model.safetensors", "tokenizer.json", "config.json"):
        content = (folder / name).read_bytes()
        (folder / name).unlink()
        os.mkfifo(folder / name)
        with pytest.raises(ModelError, match=f"{name}.* (is not a file|it is not a file but a pipe)"):
            open_model(f"hf:{folder}")
        (folder / name).unlink()
        (folder / name).write_bytes(content)
    open_model(f"hf:{folder}")


def test_a_processor_of_another_model_is_refused(folder, tmp_path):
    def more(content):
        vocabulary = content["model"]["vocab"]
        vocabulary.update({word: number + 5000 for word, number in vocabulary.items()})

    change_json(folder, "tokenizer.json", more)
    with pytest.raises(
        ModelError, match=r"does not fit the model: its token \d+ is beyond the \d+|cannot encode"
    ):
        open_model(f"hf:{folder}")
