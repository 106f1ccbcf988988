"""Imports point downward only."""

import ast
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "theodolite"

# From top to bottom. A module may import from lower rows, never from its own row's neighbours or from above.
LAYERS = [
    {"__main__"},
    {"cli"},
    {"testing"},
    {"explanation"},
    {"report"},
    {"diagnose"},
    {"twins"},
    {"instruments"},
    {"worlds", "attribution", "pairs"},
    {"models"},
    {"runs"},
    {"answers", "stats", "geometry"},
    {"core"},
]
LEVEL = {name: len(LAYERS) - i for i, row in enumerate(LAYERS) for name in row}
MODULES = sorted(SOURCE.rglob("*.py"))
INSTRUMENTS = {path.name for path in (SOURCE / "instruments").iterdir() if (path / "__init__.py").is_file()}
"""Instruments have folders; what they share lies beside these."""
HEAVY = {
    "torch",
    "transformers",
    "ray",
    "openai",
    "sklearn",
    "pyarrow",
    "spacy",
    "matplotlib",
    "captum",
}


ALL_TORCH = {"instruments/grid/models/paired.py"}
"""Packages that are torch throughout. They may import it at their top, and are themselves loaded late."""


def is_all_torch(path):
    return any(path.relative_to(SOURCE).as_posix().startswith(home) for home in ALL_TORCH)


def part_of(path):
    """The layer that a file belongs to: the folder or module directly below the package."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(tree):
    """All imports as (line, dotted name, is at module level)."""
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, id(node) in top
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module in {"theodolite", "theodolite.instruments"}:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            for name in names:
                yield node.lineno, name, id(node) in top


def faults(path, source):
    """The imports of a module that point up or sideways, in words."""
    here = part_of(path)
    if here == "__init__":
        return
    own = path.relative_to(SOURCE).parts[1:2]
    for line, name, _ in imports_of(ast.parse(source)):
        parts = name.split(".")
        where = f"{path.relative_to(SOURCE)}:{line} imports {name}"
        if parts[0] == "train":
            yield f"{where}: the package may not import what made its weights"
        if parts[0] != "theodolite" or len(parts) < 2 or parts[1].startswith("__"):
            continue
        there = parts[1]
        if there != here and LEVEL.get(there, 99) >= LEVEL[here]:
            yield f"{where}: {here} may not import {there}"
        named = parts[2] if there == "instruments" and len(parts) > 2 and parts[2] in INSTRUMENTS else ""
        if named and here == "instruments" and named not in own:
            yield f"{where}: instruments do not import one another"
        if named and here in {"diagnose", "report"}:
            yield f"{where}: {here} knows instruments only by their type"


def test_every_part_has_a_layer():
    parts = {part_of(path) for path in MODULES} - {"__init__"}
    assert parts <= set(LEVEL), f"give {parts - set(LEVEL)} a row in LAYERS"


def test_imports_point_downward():
    found = [fault for path in MODULES for fault in faults(path, path.read_text())]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("runs/_x.py", "from theodolite.models import open_model"),
        ("models/_x.py", "def f():\n    import theodolite.attribution"),
        ("instruments/compass/x.py", "from theodolite.instruments.grid import make"),
        ("instruments/instrument.py", "from theodolite.instruments.grid.score import grid_view"),
        ("diagnose/x.py", "def f():\n    from theodolite.instruments.scene.score import METRICS"),
        ("report/x.py", "import theodolite.instruments.trace.score"),
        ("core/types.py", "from theodolite import stats"),
    ],
)
def test_a_wrong_import_is_found(path, source):
    assert list(faults(SOURCE / path, source))


def test_heavy_libraries_load_where_they_are_used():
    found = [
        f"{path.relative_to(SOURCE)}:{line} imports {name} at module level"
        for path in MODULES
        for line, name, is_top in imports_of(ast.parse(path.read_text()))
        if is_top and name.split(".")[0] in HEAVY and not is_all_torch(path)
    ]
    assert not found, "\n".join(found)


def test_what_is_all_torch_loads_where_it_is_used():
    homes = tuple("theodolite." + home.removesuffix(".py").replace("/", ".") for home in ALL_TORCH)
    found = [
        f"{path.relative_to(SOURCE)}:{line} imports {name} at module level"
        for path in MODULES
        if not is_all_torch(path)
        for line, name, is_top in imports_of(ast.parse(path.read_text()))
        if is_top and name.startswith(homes)
    ]
    assert not found, "\n".join(found)


SEVERAL_MEANINGS = {
    *("Comparison", "Exhibit", "Explanation", "Mention", "Option", "Options", "Quantity", "Question"),
    *("Reading", "RecordedModel", "Sample", "Spread", "Token", "Verdict"),
}
"""Public class names that still mean several things, in parts that do not meet. The list only shrinks."""


def test_a_class_name_has_one_meaning():
    names = Counter(
        node.name
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, n in names.items() if n > 1} == SEVERAL_MEANINGS
