"""Whatever can change an answer changes a checkpoint's identity, and nothing else does."""

import shutil

import pytest

from theodolite.models import open_model
from theodolite.models.checkpoint import fingerprint

LARGE = 12 << 20


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in (
        "config.json",
        "modeling_x.py",
        "chat_template.jinja",
        "sub/more.py",
        "README.md",
        ".hidden.json",
    ):
        (tmp_path / name).write_text(f"this is {name}")
    (tmp_path / "model.safetensors").write_bytes(bytes(LARGE))
    return tmp_path


@pytest.mark.parametrize("place", [0, 1_700_000, LARGE // 2 + 1_500_000, LARGE - 1_100_000, LARGE - 1])
def test_one_byte_of_the_weights_wherever_it_is(folder, place):
    before = fingerprint(str(folder), None)
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(place)
        file.write(b"\1")
    assert fingerprint(str(folder), None) != before


@pytest.mark.parametrize("name", ["config.json", "modeling_x.py", "chat_template.jinja", "sub/more.py"])
def test_any_file_that_is_used(folder, name):
    before = fingerprint(str(folder), None)
    (folder / name).write_text("something else")
    changed = fingerprint(str(folder), None)
    (folder / name).rename(folder / name.replace(".", "_2."))
    assert len({before, changed, fingerprint(str(folder), None)}) == 3


@pytest.mark.parametrize("name", ["README.md", ".hidden.json", "certificate.json"])
def test_no_file_that_is_not(folder, name):
    before = fingerprint(str(folder), None)
    (folder / name).write_text("something else")
    assert fingerprint(str(folder), None) == before


def test_the_same_files_elsewhere_are_the_same_model(folder, tmp_path_factory):
    copy = shutil.copytree(folder, tmp_path_factory.mktemp("copy") / "x")
    assert fingerprint(str(copy), None) == fingerprint(str(folder), None)


def test_a_hub_checkpoint_is_known_by_its_commit_and_else_by_its_name():
    assert fingerprint("lab/model", "abc123") == "abc123"
    assert fingerprint("lab/model", None) != fingerprint("lab/other", None)


def test_it_is_part_of_a_model_s_identity(tiny_llava):
    assert fingerprint(str(tiny_llava), None) in open_model(f"hf:{tiny_llava}").identity
