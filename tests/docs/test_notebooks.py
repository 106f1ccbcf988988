"""The notebooks of the documentation run, and what they store is what comes."""

import re
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))
_FRACTION = re.compile(r"\d+(?:\.\d+)?")


def read(path):
    import nbformat

    found = nbformat.read(path, as_version=4)
    nbformat.validate(found)
    return found


def plain(cell):
    """What a cell shows as text; warnings are not part of it."""
    return "\n".join(
        output.get("text") or output.get("data", {}).get("text/plain", "")
        for output in cell.get("outputs", [])
        if output.get("name") != "stderr"
    )


def test_there_are_two():
    assert len(NOTEBOOKS) == 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_are_stored_with_their_outputs_and_stay_small(path):
    found = read(path)
    code = [cell for cell in found.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    kinds = {kind for cell in code for output in cell.outputs for kind in output.get("data", {})}
    assert {"text/html", "image/png"} <= kinds
    assert not [output for cell in code for output in cell.outputs if output.output_type == "error"]
    assert path.stat().st_size < 500_000
    assert "/site-packages/" not in path.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_they_run_and_give_what_they_show(path, tmp_path):
    from nbclient import NotebookClient

    stored, again = read(path), read(path)
    where = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(again, timeout=900, kernel_name="python3", resources=where).execute()
    for before, after in zip(stored.cells, again.cells, strict=True):
        one, other = plain(before), plain(after)
        assert _FRACTION.sub("#", one) == _FRACTION.sub("#", other)
        numbers = [[float(word) for word in _FRACTION.findall(text)] for text in (one, other)]
        assert numbers[1] == pytest.approx(numbers[0], abs=2.0 if "%" in one else 0.05)
