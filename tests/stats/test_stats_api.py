import inspect
import subprocess
import sys

import pytest

from theodolite import stats

PUBLIC = [thing for name in stats.__all__ if callable(thing := getattr(stats, name))]


def test_exports_are_sorted_and_few():
    assert list(stats.__all__) == sorted(stats.__all__, key=lambda name: (not name.isupper(), name))
    assert len(stats.__all__) <= 41


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda thing: thing.__name__)
def test_public_functions_are_documented_and_keyword_only_after_three(thing):
    assert thing.__doc__
    if not inspect.isfunction(thing):
        return
    assert ">>>" in thing.__doc__
    parameters = list(inspect.signature(thing).parameters.values())
    assert len(parameters) <= 7
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters[3:])
    names = {parameter.name for parameter in parameters}
    assert "seed" in names or not names & {"n_resamples", "n_permutations"}


def test_import_is_light():
    code = "import sys, theodolite.stats; sys.exit(any(m in sys.modules for m in ('sklearn', 'torch', 'pandas')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
