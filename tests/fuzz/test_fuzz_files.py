"""A short fuzz job on files; `make fuzz` runs the long one."""

import json
import random

import pytest

from fuzz import bombs, files, flips, models
from fuzz.formats import Format, formats
from fuzz.tally import Tally


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    return formats(tmp_path_factory.mktemp("made"))


def test_every_sample_can_be_read(known, tmp_path):
    for number, form in enumerate(known):
        for name, content in form.files.items():
            path = tmp_path / f"{number}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        form.read(tmp_path / f"{number}", tmp_path / f"{number}-out")


def test_no_file_breaks_a_reader(known, monkeypatch):
    monkeypatch.setattr(files, "formats", lambda _: known)
    count = 8 * len(known)
    tally = files.run(seed=2, count=count)
    assert tally.inputs == count
    assert not tally.faults, tally.examples


def test_what_goes_wrong_is_noticed_and_can_be_repeated(monkeypatch, tmp_path):
    def careless(folder, out):
        value = json.loads((folder / "a.json").read_text())
        (out.parent / value["name"]).write_text("x")

    sample = json.dumps({"name": "b", "x": [1, 2, {"y": "z"}]}).encode()
    monkeypatch.setattr(files, "formats", lambda _: (Format("careless", {"a.json": sample}, careless),))
    tally = files.run(seed=0, count=60)
    assert tally.uncaught > 10
    assert tally.stray_writes > 10
    example = next(each for each in tally.examples if each.startswith("uncaught: ") and "Error" in each)
    place, error = example.removeprefix("uncaught: ").split(": ")[:2]
    with pytest.raises((ValueError, LookupError, TypeError, AttributeError, OSError)) as caught:
        files.repeat(place, tmp_path)
    assert type(caught.value).__name__ == error


def test_the_same_seed_gives_the_same_files(known):
    content = known[0].files["instances.json"]
    first, again, other = (
        files.damaged("instances.json", content, random.Random(f"files/0/{number}"), ("x",) * 7)
        for number in (7, 7, 8)
    )
    assert first == again != other


def test_the_job_stops_in_time(known, monkeypatch):
    monkeypatch.setattr(files, "formats", lambda _: known)
    found = files.run(seed=0, count=10**9, seconds=0.2)
    assert 0 < found.inputs < 10**9
    assert isinstance(found, Tally)


def test_a_bomb_that_goes_off_is_noticed(monkeypatch, tmp_path):
    def fill(path):
        return bytearray(int(path.read_text())) and None

    most = int(bombs.peak_megabytes()) + 400  # of this process: a child begins with what is in use now
    kinds = [
        bombs.Bomb("fine a.txt", lambda path, _: path.write_text("1000"), fill),
        bombs.Bomb("large a.txt", lambda path, _: path.write_text(str(most << 20)), fill),
        bombs.Bomb("slow a.txt", lambda path, _: path.write_text("100"), lambda _: sum(range(10**9))),
        bombs.Bomb("broken a.txt", lambda path, _: path.write_text("x"), fill),
    ]
    monkeypatch.setattr(bombs, "bombs", lambda: kinds)
    monkeypatch.setattr(bombs, "READING_SECONDS", 0.5)
    monkeypatch.setattr(bombs, "MEGABYTES", most)
    tally = bombs.run(seed=0, count=4)
    assert (tally.inputs, tally.uncaught, tally.over_memory) == (4, 1, 1)
    assert tally.over_time >= 1


@pytest.mark.slow
def test_no_bomb_goes_off(monkeypatch):
    """The peak is that of the process, which may have run other tests before, on a machine that may be busy."""
    monkeypatch.setattr(bombs, "SECONDS", 10 * bombs.SECONDS)
    monkeypatch.setattr(bombs, "READING_SECONDS", 10 * bombs.READING_SECONDS)
    monkeypatch.setattr(bombs, "MEGABYTES", max(bombs.MEGABYTES, bombs.peak_megabytes() + 100))
    tally = bombs.run(seed=0, count=len(bombs.bombs()))
    assert tally.inputs > 50
    assert not tally.faults, tally.examples


def test_no_flipped_bit_changes_an_answer():
    tally = flips.run(seed=1, count=25)
    assert tally.inputs == 25
    assert not tally.faults, tally.examples


def test_an_answer_that_a_flipped_bit_changed_would_be_noticed(monkeypatch):
    contents = iter([[["a", ["left"], []]], [["a", ["right"], []]], [["a", ["right"], []]]])
    monkeypatch.setattr(flips, "_content", lambda _: next(contents))
    assert flips.run(seed=1, count=1).uncaught == 1


@pytest.mark.slow
def test_no_model_folder_breaks_the_program():
    tally = models.run(seed=0, count=40)
    assert tally.inputs == 40
    assert not tally.faults, tally.examples
