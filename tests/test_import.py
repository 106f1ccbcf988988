import subprocess
import sys

import theodolite

STANDARD_OR_OURS = sys.stdlib_module_names | {"theodolite"}


def loaded_by(statement):
    """The top-level packages that a statement brings in, beyond the standard library."""
    script = (
        "import sys; before = set(sys.modules)\n"
        f"{statement}\n"
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split()) - STANDARD_OR_OURS


def test_importing_the_package_pulls_in_numpy_at_most():
    assert loaded_by("import theodolite") <= {"numpy"}


def test_the_records_pull_in_numpy_alone():
    assert loaded_by("from theodolite import Picture, Request") <= {"numpy", "_distutils_hack"}


def test_models_and_runs_bring_no_heavy_library():
    heavy = {"torch", "transformers", "openai", "ray", "sklearn", "pyarrow", "spacy"}
    assert not loaded_by("import theodolite.models, theodolite.runs, theodolite.cli") & heavy


def test_importing_is_quick():
    """In processor time, which other work on the machine does not lengthen."""
    script = (
        "import time; before = time.process_time(); import theodolite; theodolite.Request; "
        "print(time.process_time() - before)"
    )
    runs = [subprocess.run([sys.executable, "-c", script], capture_output=True, check=True) for _ in range(5)]
    assert min(float(done.stdout) for done in runs) < 0.3


def test_every_public_name_is_there():
    assert all(getattr(theodolite, name) is not None for name in theodolite.__all__)
    assert set(theodolite.__all__) == set(dir(theodolite))
