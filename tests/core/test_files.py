"""Reading what others wrote: what is not JSON, too large, of another encoding or not there is one sentence."""

import contextlib
import gzip
import hashlib
import os
import socket
from pathlib import Path

import pytest

from theodolite.core import files, unpack
from theodolite.core.errors import UsageError
from theodolite.core.files import (
    Problem,
    check,
    inside,
    is_there,
    parse_json,
    read_gzip,
    read_json,
    read_lines,
    read_list,
    read_text,
    told_problems,
)
from theodolite.core.pictures import decode, read_picture, stored_size
from theodolite.core.types import Picture
from theodolite.core.views import Form, Name, Number, Whole


class Row(Form):
    id: Name
    x: Number = 0.0
    n: Whole = 0


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b'{"a": NaN}', "expected value at line 1 column 7"),
        (b"[Infinity]", "expected value"),
        (b'["\\ud800"]', "unexpected end of hex escape"),
        (b"[" * 20_000, "nested too deeply"),
        (b"[" + b"9" * 5000 + b"]", "number out of range"),
        (b'["\xff"]', "invalid unicode"),
        ('{"a": 1}'.encode("utf-16"), "it is UTF-16 text; save it as UTF-8"),
        (b'{"a": [1, 2', "EOF while parsing"),
        (b"[1] x", "trailing characters"),
        (b'["\x00"]', "control character"),
    ],
)
def test_what_is_not_json_is_one_sentence(tmp_path, content, reason):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=reason) as caught:
        read_json(path, "annotations")
    assert str(caught.value).startswith(f"the annotations {path} is not JSON: ")
    assert "\n" not in str(caught.value)


def test_a_byte_order_mark_and_a_key_twice_are_read(tmp_path):
    (tmp_path / "a.json").write_bytes(b'\xef\xbb\xbf{"a": 1, "a": "2\xe2\x80\xa8"}')
    assert read_json(tmp_path / "a.json") == {"a": "2\u2028"}
    assert parse_json("[1e5]") == [1e5]


@pytest.mark.parametrize("make", [Path.mkdir, Path.exists, lambda p: p.symlink_to(p.name)])
def test_what_is_no_file_is_one_sentence(tmp_path, make):
    path = tmp_path / "a.json"
    make(path)
    for read in (read_json, read_text, read_gzip, lambda p: list(files.lines_of(p))):
        with pytest.raises(UsageError, match="cannot read") as caught:
            read(path)
        assert str(path) in str(caught.value)
    with pytest.raises(UsageError, match="null byte"):
        read_json(tmp_path / "a\0b")
    assert not is_there(tmp_path / "a\0b")
    assert not is_there(tmp_path / ("a" * 5000))


def test_a_file_is_read_up_to_a_size_also_where_the_size_is_not_known(tmp_path, monkeypatch):
    (tmp_path / "a").write_bytes(b"x" * 100)
    assert files.read_bytes(tmp_path / "a", largest=100) == b"x" * 100
    with pytest.raises(UsageError, match="larger than 0 MiB"):
        files.read_bytes(tmp_path / "a", largest=99)
    read_end, write_end = os.pipe()
    os.write(write_end, b"x" * 4096)
    os.close(write_end)
    with pytest.raises(UsageError, match="larger than 0 MiB"):
        files.read_bytes(Path(f"/dev/fd/{read_end}"), largest=99)
    os.close(read_end)
    monkeypatch.setattr(files, "LARGEST_FILE", 99)
    with pytest.raises(UsageError, match="larger"):
        list(files.lines_of(tmp_path / "a"))


def test_a_pipe_is_read(tmp_path):
    first, second = os.pipe()
    os.write(second, b"[1, 2]")
    os.close(second)
    assert read_json(tmp_path.joinpath(f"/dev/fd/{first}")) == [1, 2]
    os.close(first)


def test_gzip_is_bounded_and_whole(tmp_path, monkeypatch):
    path = tmp_path / "a.gz"
    packed = gzip.compress(b"a" * 5000)
    path.write_bytes(packed)
    assert read_gzip(path) == b"a" * 5000
    for content, reason in (
        (packed[:-9], "cut off"),
        (b"no gzip", "not gzip"),
        (packed[:20] + b"\xff" * 9, "gzip"),
    ):
        path.write_bytes(content)
        with pytest.raises(UsageError, match=reason):
            read_gzip(path)
    monkeypatch.setattr(unpack, "ALWAYS_ALLOWED", 4096)
    path.write_bytes(packed)
    with pytest.raises(UsageError, match="unpacks to more than"):
        read_gzip(path)


def test_a_broken_line_costs_itself(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"id": "a"}\n\n{"id": 1e999}\n{"id": "b\xe2\x80\xa8", "x": 1e999}\n\xff\n[]\n{"id": "c", "n": 1%b}\r\n{"id": "d"}'
        % (b"0" * 400)
    )
    found, problems = read_lines(path, lambda value: check(Row, value))
    assert [(where, row.id) for where, row in found] == [("a.jsonl, line 1", "a"), ("a.jsonl, line 8", "d")]
    assert [problem.where.rpartition(" ")[2] for problem in problems] == ["3", "4", "5", "6", "7"]
    assert problems[1].reason.startswith("x: Input should be")
    assert told_problems(problems)[0].startswith("5 broken records are left out: a.jsonl, line 3: id: ")
    assert told_problems([]) == ()


def test_records_of_a_list_are_told_by_their_place():
    found, problems = read_list([{"id": "a"}, {"id": ""}, 5], "f.json", Row)
    assert [where for where, _ in found] == ["f.json[0]"]
    assert str(problems[0]) == "f.json[1]: id: String should have at least 1 character"
    assert problems[1].where == "f.json[2]"
    assert read_list({"k": {}}, "f.json", Row)[1] == [Problem("f.json.k", "id: Field required")]
    with pytest.raises(UsageError, match=r"f\.json must be a list, not text"):
        read_list("a", "f.json", Row)


@pytest.mark.parametrize("name", ["../a.png", "/etc/passwd", "a/../../b", "a\0b", "", ".", "b/.."])
def test_a_name_may_not_lead_out_of_its_folder(tmp_path, name):
    with pytest.raises(UsageError, match="lies outside"):
        inside(tmp_path, name, "picture")


def test_links_are_followed_inside_of_the_folder_only(tmp_path):
    folder = tmp_path / "snapshot"
    folder.mkdir()
    (tmp_path / "blob").write_bytes(b"x")
    (folder / "blob").write_bytes(b"y")
    (folder / "out.png").symlink_to(tmp_path / "blob")
    (folder / "up").symlink_to(tmp_path)
    (folder / "in.png").symlink_to("blob")
    assert inside(folder, "in.png").read_bytes() == b"y"
    assert inside(folder, "b/../in.png") == inside(folder, str(folder / "in.png")) == folder / "in.png"
    for name in ("out.png", "up/blob"):
        with pytest.raises(UsageError, match=r"is a link that leads out .* --allow-outside"):
            inside(folder, name, "picture")
    (tmp_path / "linked").symlink_to(folder)
    assert inside(tmp_path / "linked", "in.png").read_bytes() == b"y"
    with files.allow_outside():
        assert inside(folder, "out.png").read_bytes() == inside(folder, "up/blob").read_bytes() == b"x"
        assert inside(folder, str(tmp_path / "blob")) == inside(folder, "../blob") == tmp_path / "blob"
        with pytest.raises(UsageError):
            inside(folder, "a\0b")
    with pytest.raises(UsageError):
        inside(folder, "../blob")


def test_only_plain_files_are_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening, contextlib.chdir(tmp_path):
        listening.bind("socket")
    for name, kind in {"pipe": "a pipe", "zero": "a device", "socket": "a socket"}.items():
        path = tmp_path / name
        reads = (
            *(
                files.read_bytes,
                read_json,
                read_text,
                read_gzip,
                lambda p: list(files.lines_of(p)),
                read_picture,
            ),
            *(decode, stored_size, Picture.from_path),
        )
        for read in reads:
            with pytest.raises(UsageError, match=f"it is not a file but {kind}"):
                read(path)
        with pytest.raises(OSError, match=kind):
            files.file_hash(path)


def test_hashing_is_bounded_in_size_and_time(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"x" * 100)
    assert files.file_hash(path) == hashlib.sha256(b"x" * 100).hexdigest()
    with pytest.raises(OSError, match="larger than 0 MiB"):
        files.file_hash(path, largest=99)
    monkeypatch.setattr(files.time, "monotonic", iter(range(0, 1000, 50)).__next__)
    with pytest.raises(OSError, match="more than 40 s"):
        files.file_hash(path, seconds=40)
    with path.open("wb") as file:
        file.truncate(1 << 40)  # no such disk is needed
    with pytest.raises(UsageError, match="larger than 256 MiB"):
        Picture.from_path(path)


@pytest.mark.parametrize("content", [b"[" + b"[]," * 3_000_000 + b"1]", b"[" + b"1," * 9_000_000 + b"1]"])
def test_json_that_would_fill_the_memory_is_refused(monkeypatch, content):
    monkeypatch.setattr(unpack, "_GROWTH", 1)
    with pytest.raises(ValueError, match="unpacks to more than 128 MiB"):
        parse_json(content)
    monkeypatch.undo()
    assert len(parse_json(content[:300_000].rpartition(b",")[0] + b"]")) > 90_000


def test_lines_that_would_fill_the_memory_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(unpack, "ALWAYS_ALLOWED", 1 << 20)
    (tmp_path / "a.jsonl").write_bytes(b"{}\n" * 9000)
    with pytest.raises(UsageError, match="unpacks to more than 1 MiB"):
        list(files.lines_of(tmp_path / "a.jsonl"))
    assert sum(1 for _ in zip(files.lines_of(tmp_path / "a.jsonl"), range(1000), strict=False)) == 1000
