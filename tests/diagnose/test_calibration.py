"""The twins' scores as a file: what comes out is what went in, and only for the same twins and the same items."""

import gzip

import known_models
import pytest

from theodolite.core.errors import StorageError
from theodolite.core.scores import ItemScore
from theodolite.diagnose import separation as _calibration
from theodolite.diagnose.request import DiagnosisRequest
from theodolite.diagnose.running import run_diagnosis
from theodolite.diagnose.separation import Twins, read_calibration, write_calibration
from toy_instrument import TOY, registered
from train.twins.calibrate import ship_calibration

FEW = 13
LOOKS, READS = "scripted:looks", "scripted:reads"
TWINS = Twins(LOOKS, READS)
G = [ItemScore("a", "toy.right", 1.0, "p", "aligned"), ItemScore("b", "toy.changes", 0.25, "q", "crossed")]
S = [ItemScore("a", "toy.right", 0.0, "p", "aligned")]


def test_scores_come_back_as_they_were(tmp_path):
    identities = {"g": "g#1", "s": "s#1"}
    path = write_calibration(tmp_path / "x.json.gz", {"g": G, "s": S}, items="h", identities=identities)
    found = read_calibration(path, items="h", identities=identities)
    assert found == {"g": G, "s": S}
    assert read_calibration(path, items="other", identities=identities) is None
    assert read_calibration(path, items="h", identities={"g": "g#2", "s": "s#1"}) is None
    assert read_calibration(tmp_path / "none", items="h", identities=identities) is None
    path.write_bytes(gzip.compress(b"{"))
    with pytest.raises(StorageError, match="measured instead"):
        read_calibration(path, items="h", identities=identities)


@pytest.fixture
def known(monkeypatch, tmp_path):
    known_models.put_in(monkeypatch)
    place = lambda instrument, size, seed: tmp_path / f"{instrument}-{size}-{seed}.json.gz"  # noqa: E731
    monkeypatch.setattr(_calibration, "shipped_path", place)
    monkeypatch.setattr("theodolite.diagnose.running.shipped_path", place)
    monkeypatch.setattr("train.twins.calibrate.shipped_path", place)
    with registered(TOY):
        yield


def request(folder, *models, seed=0, progress=lambda *_: None):
    return DiagnosisRequest(models, folder, (TOY,), FEW, seed, twins=TWINS, progress=progress)


def test_shipped_scores_spare_the_twins_and_change_no_figure(known, tmp_path):
    both = run_diagnosis(request(tmp_path / "both", LOOKS, READS))
    assert [path.name for path in ship_calibration(tmp_path / "both", twins=TWINS)] == ["toy-13-0.json.gz"]
    told = []
    alone = run_diagnosis(request(tmp_path / "alone", READS, progress=lambda m, _, __: told.append(m)))
    assert set(told) == {READS}  # nobody else was asked
    mine, theirs = (
        {
            (r.key, r.split): (r.grounded, r.separation, r.models[-1].figure)
            for r in d.instrument("toy").metrics
        }
        for d in (alone, both)
    )
    assert mine == theirs


def test_another_seed_is_measured(known, tmp_path):
    run_diagnosis(request(tmp_path / "both", LOOKS, READS))
    ship_calibration(tmp_path / "both", twins=TWINS)
    (tmp_path / "toy-13-0.json.gz").rename(
        tmp_path / "toy-13-1.json.gz"
    )  # of other items: it must not be believed
    told = []
    run_diagnosis(request(tmp_path / "other", READS, seed=1, progress=lambda m, _, __: told.append(m)))
    assert set(told) == {LOOKS, READS}
