"""Pictures of a diagnosis lie on the disk once, whatever names they have."""

from pathlib import Path

import pytest

from theodolite.core.files import link_or_copy
from theodolite.core.types import Picture
from theodolite.diagnose import running as _once
from theodolite.diagnose.running import dedupe_images
from theodolite.report.html.parts import Pictures, into_folder


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_files_of_the_same_content_become_one_and_others_stay(tmp_path):
    first = write(tmp_path / "a" / "1.png", b"same" * 100)
    second = write(tmp_path / "b" / "2.png", b"same" * 100)
    other = write(tmp_path / "b" / "3.png", b"else" * 100)
    text = write(tmp_path / "b" / "4.txt", b"same" * 100)
    assert dedupe_images(tmp_path) == 400
    assert first.samefile(second)
    assert not other.samefile(first)
    assert not text.samefile(first)
    assert [path.read_bytes() for path in (first, second, other)] == [b"same" * 100] * 2 + [b"else" * 100]
    assert dedupe_images(tmp_path) == 0
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == ["2.png", "3.png", "4.txt"]


def test_where_there_are_no_links_copies_stay(tmp_path, monkeypatch):
    first, second = (write(tmp_path / name / "1.png", b"same") for name in "ab")

    def refuse(*_):
        raise OSError("no links here")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    assert dedupe_images(tmp_path) == 0
    assert first.read_bytes() == second.read_bytes() == b"same"
    assert not first.samefile(second)
    link_or_copy(first, tmp_path / "c.png")
    assert (tmp_path / "c.png").read_bytes() == b"same"


def test_a_link_that_points_elsewhere_is_left_alone(tmp_path):
    kept = write(tmp_path / "outside" / "1.png", b"same")
    inside = write(tmp_path / "in" / "1.png", b"same")
    (tmp_path / "in" / "2.png").symlink_to(kept)
    assert dedupe_images(tmp_path / "in") == 0
    assert (tmp_path / "in" / "2.png").is_symlink()
    assert not inside.samefile(kept)


@pytest.mark.parametrize("is_inside", [True, False])
def test_the_page_links_what_lies_in_its_own_folder_and_copies_the_rest(tmp_path, is_inside):
    import numpy as np

    data = Picture.from_array(np.zeros((4, 4, 3), np.uint8)).data
    source = write(tmp_path / ("report/data" if is_inside else "elsewhere") / "1.png", data)
    name, width, height = Pictures(into_folder(tmp_path / "report")).take(source)
    shown = tmp_path / "report" / "pictures" / name
    assert (width, height, shown.read_bytes()) == (4, 4, data)
    assert shown.samefile(source) == is_inside
    assert source.stat().st_nlink == (2 if is_inside else 1)
    assert _once.dedupe_images(tmp_path / "report") == 0
