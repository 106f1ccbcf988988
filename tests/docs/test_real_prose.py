"""The page *Trace* has the table that the recorded prose of real models gives."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.slow
def test_the_table_of_real_prose_is_computed(shared_data):
    spec = importlib.util.spec_from_file_location("real_prose", DOCS / "site" / "real_prose.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (DOCS / "instruments" / "trace.md").read_text(encoding="utf-8")
    on_page = re.search(r"<!-- real prose -->\n((?:\|.*\n)+)", page)[1].strip()
    assert on_page == module.table(shared_data)
