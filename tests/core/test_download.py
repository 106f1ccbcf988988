import hashlib
import os
import socket
from types import SimpleNamespace

import pytest

from file_server import Files, blob_name, serving
from theodolite.core.download import LoginError, RemoteFile, UnreachableError, download, get_json
from theodolite.core.errors import StorageError, UsageError

DATA = os.urandom(700_001)


@pytest.fixture
def server():
    with serving(Files({"/a.bin": DATA, "/list": b'{"a": 1}', "/page": b"<html>"})) as files:
        yield files


def remote(server, name="a.bin", data=DATA, digest=None):
    return RemoteFile(
        f"{server.address}/a.bin", name, len(data), digest or f"sha256:{hashlib.sha256(data).hexdigest()}"
    )


def test_a_file_arrives_whole_and_is_not_fetched_twice(server, tmp_path):
    seen = []
    path = download(remote(server, "deep/in/a.bin"), tmp_path, progress=seen.append)
    assert path == tmp_path / "deep/in/a.bin"
    assert path.read_bytes() == DATA
    assert seen[-1] == len(DATA)
    assert [file.name for file in path.parent.iterdir()] == ["a.bin"]
    download(remote(server, "deep/in/a.bin"), tmp_path)
    assert len(server.asked) == 1


def test_a_blob_of_git_is_checked_by_its_name(server, tmp_path):
    assert download(remote(server, digest=f"git:{blob_name(DATA)}"), tmp_path).read_bytes() == DATA


def test_a_connection_that_breaks_goes_on_where_it_broke(server, tmp_path):
    server.breaks = 3
    assert download(remote(server), tmp_path).read_bytes() == DATA
    ranges = [asked for _, asked, _ in server.asked]
    assert ranges[0] == ""
    assert len(ranges) == 4
    assert all(asked.startswith("bytes=") for asked in ranges[1:])


def test_a_server_without_ranges_begins_again(server, tmp_path):
    (tmp_path / ".a.bin.part").write_bytes(DATA[:1000])
    server.ignores_range = True
    assert download(remote(server), tmp_path).read_bytes() == DATA


def test_what_an_interrupted_command_left_is_used(server, tmp_path):
    (tmp_path / ".a.bin.part").write_bytes(DATA[:5000])
    assert download(remote(server), tmp_path).read_bytes() == DATA
    assert server.asked[0][1] == "bytes=5000-"


def test_too_much_that_is_left_begins_again(server, tmp_path):
    (tmp_path / ".a.bin.part").write_bytes(DATA + b"more")
    assert download(remote(server), tmp_path).read_bytes() == DATA


@pytest.mark.parametrize("left", [b"", b"another beginning"])
def test_another_content_is_refused_and_deleted(server, tmp_path, left):
    (tmp_path / ".a.bin.part").write_bytes(left)
    wrong = remote(server) if left else remote(server, digest="sha256:" + "0" * 64)
    with pytest.raises(UsageError, match="another file than expected"):
        download(wrong, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_more_than_was_announced_is_not_read(server, tmp_path):
    with pytest.raises(UsageError, match="sends more than the 10 bytes"):
        download(remote(server, data=DATA[:10]), tmp_path)
    assert not (tmp_path / "a.bin").exists()


def test_a_file_that_is_there_but_is_another_one_is_replaced(server, tmp_path):
    (tmp_path / "a.bin").write_bytes(b"x" * len(DATA))
    assert download(remote(server), tmp_path).read_bytes() == DATA


@pytest.mark.parametrize("name", ["../a.bin", "/tmp/a.bin", "b/../../a.bin"])  # noqa: S108
def test_a_name_cannot_lead_out_of_the_folder(server, tmp_path, name):
    with pytest.raises(UsageError, match="lies outside"):
        download(remote(server, name), tmp_path / "folder")
    assert server.asked == []


def test_a_link_in_the_place_of_the_draft_is_not_written_through(server, tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / ".a.bin.part").symlink_to(victim)
    download(remote(server), tmp_path / "f")
    assert victim.read_bytes() == b"mine"


def test_a_key_stays_with_its_server(server, tmp_path):
    with serving(Files({"/a.bin": DATA})) as other:
        server.token, server.elsewhere = "secret", other.address.replace("127.0.0.1", "localhost")
        with pytest.raises(LoginError, match="asks for a login"):
            download(remote(server), tmp_path)
        download(remote(server), tmp_path, headers={"Authorization": "Bearer secret"})
        assert server.asked[-1][2] == "Bearer secret"
        assert other.asked == [("/a.bin", "", "")]


def test_nobody_there(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nobody = RemoteFile(f"http://127.0.0.1:{port}/a", "a", 1, "sha256:0")
    with pytest.raises(UnreachableError, match=f"cannot reach 127.0.0.1:{port}"):
        download(nobody, tmp_path)
    with pytest.raises(UnreachableError):
        get_json(nobody.address)


def test_a_missing_file_and_a_full_disk(server, tmp_path, monkeypatch):
    gone = RemoteFile(f"{server.address}/gone", "gone", 1, "sha256:0")
    with pytest.raises(UnreachableError, match="answers 404"):
        download(gone, tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1 << 20))
    with pytest.raises(StorageError, match="has no room"):
        download(remote(server), tmp_path)


def test_a_listing_is_json(server):
    assert get_json(f"{server.address}/list") == {"a": 1}
    with pytest.raises(UsageError, match="does not answer with JSON"):
        get_json(f"{server.address}/page")
