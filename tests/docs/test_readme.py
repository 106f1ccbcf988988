"""The README's commands, typed as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line.partition("#")[0].strip()
    for block in re.findall(r"^```bash\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
    if line.strip()
]


NAMED = [
    words
    for words in re.findall(r"`((?:make|python -m) [^`]+)`", README)
    if words not in COMMANDS  # those have tests of their own
]
"""Commands that the text names beside those of the blocks."""


def test_the_commands_are_those_that_are_typed_here():
    assert COMMANDS == [
        "make demo",
        "make test",
        "pip install .",
        "theodolite diagnose --quick",
        "theodolite diagnose --model hf:PATH --data my.json",
        "theodolite diagnose --model replay:LOG",
        'theodolite explain photo.jpg "Where is the cup?" --model hf:PATH',
    ]
    assert README.index("make test") < 2500


@pytest.mark.parametrize("command", NAMED)
def test_what_the_text_names_exists(command):
    kind, *_, name = command.split()
    words = ["make", "--dry-run", name] if kind == "make" else [sys.executable, "-m", name, "--help"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow  # three models, all instruments: minutes
def test_the_quick_diagnosis_runs_as_typed(tmp_path, monkeypatch, capsys):
    from theodolite.cli.main import main

    monkeypatch.chdir(tmp_path)
    (line,) = [each for each in COMMANDS if each.endswith("--quick")]
    assert main(line.split()[1:]) == 0, capsys.readouterr().err
    page = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert all(f"pocket:{twin}" in page for twin in ("grounded", "mixed", "shortcut"))


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.startswith("make ")])
def test_make_knows_the_target_and_would_run_it(command):
    target = command.split()[1]
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", target], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert {"demo": "theodolite diagnose --quick", "test": "pytest"}[target] in done.stdout


@pytest.mark.slow  # fetches what builds the package
def test_pip_accepts_what_the_readme_installs():
    (line,) = [each for each in COMMANDS if each.startswith("pip ")]
    words = [*line.split(), "--dry-run", "--no-deps", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_diagnosis_of_ones_own_model_and_pictures_runs(tmp_path, tiny_llava, monkeypatch, capsys):
    """``hf:PATH`` and ``my.json`` stand for the user's own; everything else is typed as it is."""
    import json

    import numpy as np
    from PIL import Image

    from theodolite.cli.main import main

    (line,) = [each for each in COMMANDS if "my.json" in each]
    rng = np.random.default_rng(0)
    for name in ("a.png", "b.png", "c.png"):
        Image.fromarray(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)).save(tmp_path / name)
    rows = [
        {"id": str(i), "question": "Is there a cat?", "picture": f"{name}.png", "answer": answer}
        for i, (name, answer) in enumerate((("a", "yes"), ("b", "no"), ("c", "yes")))
    ]
    (tmp_path / "my.json").write_text(json.dumps(rows), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    words = line.replace("PATH", os.fspath(tiny_llava)).split()[1:]
    assert main([*words, "--instruments", "ask", "--quick"]) == 0, capsys.readouterr().err
    assert (tmp_path / "report" / "index.html").is_file()


def test_the_diagnosis_of_a_log_runs(tmp_path, monkeypatch, capsys):
    """``LOG`` stands for the answers of somebody else's evaluation, without its pictures."""
    import json

    from theodolite.cli.main import main

    (line,) = [each for each in COMMANDS if "replay:LOG" in each]
    rows = [
        {"question": "Is there a cat?", "image": f"{i}.jpg", "answer": answer, "prediction": answer}
        for i, answer in enumerate(["yes", "no"] * 20)
    ]
    (tmp_path / "log.json").write_text(json.dumps(rows), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(line.replace("LOG", "log.json").split()[1:]) == 0, capsys.readouterr().err
    assert "looks" in capsys.readouterr().out


def test_the_explanation_runs(tmp_path, tiny_llava, monkeypatch, capsys):
    """``hf:PATH`` and ``photo.jpg`` stand for the user's own."""
    import shlex

    import numpy as np
    from PIL import Image

    from theodolite.cli.main import main

    (line,) = [each for each in COMMANDS if " explain " in each]
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "photo.jpg")
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line.replace("PATH", os.fspath(tiny_llava)))[1:]
    assert main(words) == 0, capsys.readouterr().err
