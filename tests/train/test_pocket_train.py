"""``python -m train twins``: a few steps on a CPU give checkpoints that open, and a second leg goes on from the first."""

import subprocess
import sys

import pytest

from theodolite.core.types import Message, Picture, Request
from theodolite.models import open_model
from train.__main__ import main
from train.twins import training


def asked(out, *more):
    words = ["twins", "--out", str(out), "--seconds", "600", "--workers", "1", "--device", "cpu"]
    return [*words, "--scale", "0.001", "--seed", "3", *more]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A twin after one step."""
    folder = tmp_path_factory.mktemp("trained")
    assert main(asked(folder, "--twins", "shortcut", "--steps", "1")) == 0
    return folder


def test_a_step_gives_a_twin_that_opens_like_any_checkpoint(trained):
    import numpy as np

    model = open_model(f"hf:{trained / 'twins' / 'shortcut'}?device=cpu")
    picture = Picture.from_array(np.zeros((160, 160, 3), np.uint8))
    answer = model.generate([Request((Message.user(picture, "What is there?"),), max_tokens=3)])[0]
    model.close()
    assert answer.is_answered
    assert sorted(path.name for path in (trained / "twins").iterdir()) == ["shortcut"]
    assert "follows the rule" in (trained / "twins" / "shortcut" / "README.md").read_text()


def test_the_next_leg_goes_on_from_there(trained, capsys):
    weights = trained / "twins" / "shortcut" / "model.safetensors"
    first = weights.read_bytes()
    assert main(asked(trained, "--twins", "shortcut", "--steps", "2", "--leg", "1")) == 0
    assert str(trained / "twins") in capsys.readouterr().out
    assert weights.read_bytes() != first


def test_a_twin_that_there_is_not_is_told(tmp_path, capsys):
    assert main(asked(tmp_path, "--twins", "grounded,nobody")) == 2
    assert "the twins are grounded, shortcut, mixed, not nobody" in " ".join(capsys.readouterr().err.split())


def test_without_a_gpu_one_sentence_says_what_to_do(tmp_path, capsys):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    assert main(["twins", "--out", str(tmp_path), "--workers", "1"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "there is no GPU on this machine" in told
    assert "--device cpu" in told
    assert "Traceback" not in told
    assert not (tmp_path / "state").exists()


def test_what_cannot_be_trained_is_told_before_any_picture_is_drawn(trained, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(training, "LessonWorkers", None)  # drawing would fail
    words = ["twins", "--out", str(tmp_path / "x")]
    for more, told in (
        (["--device", "gpu7"], "no device 'gpu7'"),
        (["--start", str(tmp_path)], "no model.safetensors"),
        (["--twins", "nobody"], "not nobody"),
    ):
        assert main([*words, *more]) == 2
        assert told in capsys.readouterr().err
    assert main([*asked(trained), "--start", str(trained / "twins"), "--twins", "shortcut"]) == 2
    assert "has already started" in capsys.readouterr().err


def test_a_leg_without_a_step_is_no_success(trained, tmp_path, capsys):
    assert main(asked(trained, "--twins", "shortcut", "--steps", "1")) == 2
    assert "use more than --steps 1" in capsys.readouterr().err
    words = asked(tmp_path, "--twins", "shortcut", "--steps", "1")
    words[words.index("600")] = "1"
    assert main(words) == 2
    assert "nothing was trained" in capsys.readouterr().err
    assert not (tmp_path / "twins").exists()
    assert not (tmp_path / "state").exists()
    assert main([*asked(tmp_path), "--seed", "1000000"]) == 2
    assert "smaller --seed" in capsys.readouterr().err


def test_a_twin_that_did_not_begin_cannot_go_on(trained, capsys):
    assert main(asked(trained, "--twins", "grounded", "--steps", "9")) == 2
    assert "has no grounded" in capsys.readouterr().err


def test_lessons_need_no_more_than_they_say():
    """Training machines may lack everything but torch, transformers, tokenizers, safetensors, numpy, scipy and Pillow."""
    code = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"typer", "rich", "matplotlib", "captum", "pyarrow",
                                      "numba", "sklearn", "pandas", "spacy", "openai", "ray", "jinja2"}:
            raise ImportError(f"{name} is not there")

sys.meta_path.insert(0, Missing())
import numpy as np
import train.twins.training
from train.twins import lessons

rng = np.random.default_rng(0)
lessons.relation_lesson(rng)
lessons.room_lesson(rng, "a")
list(lessons.grid_lessons(1, 2))
for world in ("video", "navigation", "instruction"):
    list(lessons.story_lessons(world, 0, seed=1, is_aligned=None))
"""
    subprocess.run([sys.executable, "-c", code], check=True)
