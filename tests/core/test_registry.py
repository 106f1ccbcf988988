import os
import subprocess
import sys

import pytest

from theodolite.core.errors import ContractError, MissingExtraError, UsageError
from theodolite.core.registry import KINDS, Registry, registry

PLUGIN = """
class Parrot:
    name = identity = "parrot:x"
    lacks = {"choose": "it only talks"}
    batch_size = 4
    def generate(self, requests):
        from theodolite.core.types import Response
        return [Response("answered", text="squawk") for _ in requests]
    def close(self):
        pass

def open_parrot(name):
    return Parrot()

def open_stone(name):
    return object()

def register(add):
    add("model", "parrot", "parrot_lab:open_parrot", summary="says one thing", example="parrot:x")
    add("model", "stone", "parrot_lab:open_stone", summary="is no model", example="stone:x")
"""


def made(*rows):
    return Registry({"lab": lambda add: [add(*row, summary="s") for row in rows]})


def test_built_in_models_are_listed_in_order():
    assert [entry.name for entry in registry().entries("model")][:5] == [
        "hf",
        "openai",
        "replay",
        "pocket",
        "scripted",
    ]
    assert all(entry.origin == "theodolite" for entry in registry().entries("model"))


def test_every_built_in_target_exists():
    for kind in KINDS:
        for entry in registry().entries(kind):
            assert entry.load() is not None, entry
            assert entry.summary or kind in {"method", "explainer"}, entry  # these tell of themselves


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'scripted'"):
        registry().entry("model", "scriptd")
    with pytest.raises(UsageError, match="there are: hf, openai"):
        registry().entry("model", "zzz")


def test_a_name_registered_twice_names_both():
    def one(add):
        add("model", "x", "a:b", summary="s")

    with pytest.raises(ContractError, match="both first and second"):
        Registry({"first": one, "second": one})


@pytest.mark.parametrize("row", [("modle", "x", "a:b"), ("model", "x", "a.b")])
def test_a_wrong_row_is_refused(row):
    with pytest.raises(ContractError):
        made(row)


def test_a_target_that_is_not_there_is_told():
    found = made(("model", "a", "no_such_module_here:x"), ("model", "b", "json:no_such_thing"))
    with pytest.raises(ContractError, match="no_such_module_here"):
        found.entry("model", "a").load()
    with pytest.raises(ContractError, match="does not exist"):
        found.entry("model", "b").load()


def test_a_missing_library_gives_the_install_line():
    found = Registry(
        {
            "lab": lambda add: add(
                "model", "x", "json:loads", summary="s", extra="ray", needs=("no_such_library",)
            )
        }
    )
    entry = found.entry("model", "x")
    assert not entry.is_available
    with pytest.raises(MissingExtraError, match=r"pip install 'ray>=2.40'"):
        entry.load()


def test_an_installed_plug_in_is_found_and_checked(tmp_path):
    """A real distribution on the path, found as any third party's would be."""
    (tmp_path / "parrot_lab.py").write_text(PLUGIN)
    info = tmp_path / "parrot_lab-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parrot-lab\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[theodolite.plugins]\nlab = parrot_lab:register\n")
    script = (
        "from theodolite import open_model, Request\n"
        "from theodolite.core.registry import registry\n"
        "print(registry().entry('model', 'parrot').origin)\n"
        "print(open_model('parrot:x').generate([Request.ask('hi')])[0].text)\n"
        "try:\n    open_model('stone:x')\nexcept Exception as error:\n    print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    origin, said, error = done.stdout.splitlines()
    assert (origin, said) == ("parrot-lab", "squawk")
    assert error.startswith("ContractError the model scheme 'stone' of parrot-lab")
