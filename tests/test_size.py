"""What ships stays small: everything in the package together, and each checkpoint."""

import subprocess
import zlib
from pathlib import Path

import pytest

import theodolite

PACKAGE = Path(theodolite.__file__).parent
MIB = 2**20


def shipped():
    """The files of the package that are under version control; all of them where there is no repository."""
    told = subprocess.run(
        ["git", "ls-files", "-z", "."], cwd=PACKAGE, capture_output=True, text=True, check=False
    )
    if told.returncode or not told.stdout:
        return [p for p in PACKAGE.rglob("*") if p.is_file() and p.suffix != ".pyc"]
    return [PACKAGE / name for name in told.stdout.split("\0") if name]


def test_the_wheel_is_under_48_mib():
    """A wheel is a zip file: code and tables are compressed, weights hardly."""
    assert sum(len(zlib.compress(path.read_bytes())) for path in shipped() if path.exists()) < 48 * MIB


@pytest.mark.parametrize("twin", ["grounded", "shortcut", "mixed"])
def test_each_twin_is_under_10_mib_and_no_pickle(twin):
    files = list((PACKAGE / "models" / "weights" / twin).iterdir())
    assert sum(path.stat().st_size for path in files) < 10 * MIB
    assert not [path for path in PACKAGE.rglob("*") if path.suffix in {".pt", ".pth", ".bin", ".pkl"}]
