"""The viewer: the same pages over runs that go on, to this machine alone, and no file outside the given folders."""

import http.client
import json
import threading
from contextlib import contextmanager
from urllib.parse import urlsplit

import numpy as np
import pytest
from diagnosis_sample import HOSTILE, write_sample
from page_checks import axe, until

from theodolite.core.errors import UsageError
from theodolite.core.types import Picture, Record, Response
from theodolite.instruments.ask.data.questions import Question
from theodolite.instruments.ask.questions import plan_questions
from theodolite.report.viewer import Viewer
from theodolite.runs import Run, RunInfo


@contextmanager
def serving(*folders):
    with Viewer(folders) as viewer:
        thread = threading.Thread(target=viewer.serve, daemon=True)
        thread.start()
        yield viewer
    thread.join(5)


def asked(viewer, path, *, method="GET", **headers):
    """Status, headers and content of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(viewer.url).port, timeout=20)
    connection.request(
        method, path, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, dict(response.headers), content


def picture(folder, name, grey):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(Picture.from_array(np.full((30, 40, 3), grey, np.uint8)).read())
    return Picture.from_path(path)


def make_run(folder, pictures, *, n=6, answered=4, words="left"):
    """A run of questions of which only the first are answered yet."""
    questions = [
        Question(
            f"q{i}", f"Where is thing {i}?", "left", (pictures[i % len(pictures)],), options=("left", "right")
        )
        for i in range(n)
    ]
    info = RunInfo(
        instrument="ask", model="scripted:looker", identity="looker#1", theodolite="0", settings={}
    )
    run = Run.start(folder, info)
    planned = plan_questions(questions, settings=["picture"])
    run.plan(item for item in planned if not item.truth.repeats)
    answer(run, answered, words)
    return run


def answer(run, n, words="left"):
    """Answers the first so many of what is pending, in the order of the plan."""
    pending = sorted(run.store.pending(), key=lambda each: each[0])
    waiting = [(seq, item) for seq, item, _ in pending][:n]
    run.store.add([(seq, None, Record(item.id, Response("answered", words))) for seq, item in waiting])


@pytest.fixture
def runs(tmp_path):
    """A folder with a run that goes on, and its pictures."""
    home = tmp_path / "runs"
    pictures = [picture(home / "data", f"{i}.png", 40 * i) for i in range(4)]
    with make_run(home / "first", pictures) as run:
        yield home, run


def address(viewer, name="first"):
    """Of a run, by the list."""
    page = asked(viewer, "/")[2].decode()
    before = page[: page.index(f"{name}</a>")]
    return before[before.rindex('href="') + 6 :].partition('"')[0]


def test_the_list_names_runs_and_diagnoses(runs, tmp_path):
    home, _ = runs
    write_sample(home / "diagnosis", n=4)
    with serving(home) as viewer:
        status, headers, content = asked(viewer, "/")
        page = content.decode()
        assert status == 200
        assert "runs/first" in page
        assert "6 items: 4 answered, 2 pending" in page
        assert "runs/diagnosis" in page
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_rows_pictures_and_items_are_had(runs):
    home, _ = runs
    with serving(home) as viewer:
        base = address(viewer)
        index = json.loads(asked(viewer, f"{base}items.json")[2])
        assert [row[10] for row in index["rows"]] == ["answered"] * 4 + ["pending"] * 2
        assert [row[9] for row in index["rows"]] == [1] * 4 + [None] * 2
        name = index["rows"][1][12]
        status, headers, content = asked(viewer, index["pictures"] + name)
        assert (status, headers["Content-Type"]) == (200, "image/png")
        assert content == (home / "data" / "1.png").read_bytes()
        assert json.loads(asked(viewer, f"{base}item/1.json")[2])["pictures"] == [[name, 40, 30]]
        assert asked(viewer, f"{base}item/99.json")[0] == 404


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:{port}"},
        {"Host": "127.0.0.1"},
        {"Host": ""},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_other_hosts_and_other_sites_are_refused(runs, headers):
    with serving(runs[0]) as viewer:
        port = urlsplit(viewer.url).port
        filled = {name: value.replace("{port}", str(port)) for name, value in headers.items()}
        assert asked(viewer, "/", **filled)[0] == 403
        assert asked(viewer, "/", Host=f"localhost:{port}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_nothing_can_be_sent(runs, method):
    with serving(runs[0]) as viewer:
        assert asked(viewer, "/", method=method)[0] in {405, 501}


def test_it_listens_on_the_loopback_address_alone(runs):
    with serving(runs[0]) as viewer:
        assert viewer._server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "{base}picture/../../../../etc/passwd",
        "{base}picture/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "{base}picture/..%5c..%5cetc",
        "{base}item/../state.json",
        "{base}measured.sqlite",
        "/runs/first/run.json",
        "/run/000000000000/",
        "//etc/passwd",
        "/run/%00/",
    ],
)
def test_no_address_leads_to_a_file(runs, path):
    with serving(runs[0]) as viewer:
        status, _, content = asked(viewer, path.replace("{base}", address(viewer)))
        assert status == 404
        assert b"root:" not in content


def test_a_picture_outside_is_not_served_even_by_a_link(tmp_path):
    secret = picture(tmp_path / "elsewhere", "secret.png", 200)
    home = tmp_path / "runs"
    (home / "data").mkdir(parents=True)
    (home / "data" / "link.png").symlink_to(secret.path)
    linked = Picture(secret.digest, path=home / "data" / "link.png")
    inside = picture(home / "data", "inside.png", 10)
    for name, pictures in (("named", [secret, inside]), ("linked", [linked, inside])):
        make_run(home / name, pictures).__exit__()
    with serving(home) as viewer:
        for name in ("named", "linked"):
            base = address(viewer, name)
            index = json.loads(asked(viewer, f"{base}items.json")[2])
            assert [bool(row[12]) for row in index["rows"]] == [False, True] * 3
            assert asked(viewer, f"{base}picture/{secret.digest}")[0] == 404
            assert "lie outside of the served folders" in asked(viewer, base)[2].decode()
    with serving(home, tmp_path / "elsewhere") as viewer:  # named too, it may be read
        assert asked(viewer, f"{address(viewer, 'named')}items.json")[0] == 200
        assert asked(viewer, f"{address(viewer, 'named')}picture/{secret.digest}")[0] == 200


def test_a_run_behind_a_link_is_not_listed(tmp_path, runs):
    home, _ = runs
    outside = tmp_path / "outside"
    make_run(outside / "hidden", [picture(outside, "x.png", 5)]).__exit__()
    (home / "borrowed").symlink_to(outside / "hidden")
    (home / "forged").mkdir()
    for name in ("run.json", "measured.sqlite"):
        (home / "forged" / name).symlink_to(outside / "hidden" / name)
    with serving(home) as viewer:
        page = asked(viewer, "/")[2].decode()
        assert "runs/first" in page
        assert "borrowed" not in page
        assert "forged" not in page


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(UsageError, match="there is no folder"):
        Viewer([tmp_path / "nowhere"])


def test_a_taken_port_is_told(runs):
    with serving(runs[0]) as viewer, pytest.raises(UsageError, match="choose another --port"):
        Viewer([runs[0]], port=urlsplit(viewer.url).port)


def test_serving_writes_nothing(runs):
    home, _ = runs
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*") if "sqlite" not in path.name}
    with serving(home) as viewer:
        base = address(viewer)
        for path in ("", "items.json", "state.json", "item/0.json"):
            assert asked(viewer, base + path)[0] == 200
    assert before == {path: path.stat().st_mtime_ns for path in home.rglob("*") if "sqlite" not in path.name}


def test_a_page_fills_in_while_the_run_goes_on(runs, visit):
    home, run = runs
    with serving(home) as viewer:
        page = visit(viewer.url, home=viewer.url)
        page.click("text=runs/first")
        page.wait_for_selector("text=6 items: 4 answered, 2 pending")
        until(page, "document.getElementById('found').textContent === '6 items'")
        page.click("#row-5")
        page.wait_for_selector("#item >> text=pending")
        page.evaluate("window.stayed = true")
        answer(run, 2, "right")
        page.wait_for_selector("text=6 items: 6 answered", timeout=15_000)
        until(page, "document.querySelectorAll('#room .wrong-mark').length === 2")
        page.click("#row-5")
        page.wait_for_selector("#item .said >> text=right")
        assert page.inner_text("#live") == "complete"
        assert page.evaluate("window.stayed")  # it was never loaded anew
        shown = page.evaluate("document.querySelector('#item image').href.baseVal")
        assert shown.startswith(address(viewer))
        page.close()


def test_hostile_answers_of_a_live_run_are_shown_and_never_run(tmp_path, visit):
    home = tmp_path / "runs"
    with (
        make_run(home / "first", [picture(home, "0.png", 0)], answered=6, words=HOSTILE),
        serving(home) as viewer,
    ):
        page = visit(viewer.url + address(viewer)[1:], home=viewer.url)
        page.click("#row-0")
        page.wait_for_selector("#item .said")
        assert page.inner_text("#item .said") == HOSTILE
        assert page.evaluate("window.hacked === undefined")
        page.close()


def test_a_diagnosis_is_served_with_its_pictures(tmp_path, visit):
    write_sample(tmp_path / "diagnosis", n=24)
    with serving(tmp_path) as viewer:
        page = visit(viewer.url, home=viewer.url)
        page.click("text=/diagnosis")
        until(page, "document.querySelectorAll('.look').length === 4")
        page.select_option("[name=instrument]", "trace")
        page.click("#row-0")
        page.wait_for_selector("#item .frame img")
        until(page, "[...document.querySelectorAll('#item img')].every(i => i.complete && i.naturalWidth)")
        page.close()


def test_the_list_shows_a_run_as_soon_as_it_is_there(runs, visit):
    home, _ = runs
    with serving(home) as viewer:
        page = visit(viewer.url, home=viewer.url)
        assert page.inner_text("h1") == "1 run"
        assert axe(page) == []
        make_run(home / "second", [picture(home, "9.png", 9)]).__exit__()
        page.wait_for_selector("text=runs/second", timeout=20_000)
        assert page.inner_text("h1") == "2 runs"
        page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault_in_the_page_of_a_run(runs, visit, scheme):
    home, _ = runs
    with serving(home) as viewer:
        page = visit(viewer.url + address(viewer)[1:], home=viewer.url, scheme=scheme)
        page.click("#row-0")
        page.wait_for_selector("#item .said")
        assert axe(page) == []
        page.close()


def test_a_server_that_is_gone_is_told(runs, visit):
    with serving(runs[0]) as viewer:
        page = visit(viewer.url + address(viewer)[1:], home=viewer.url, is_lost=True)
        page.wait_for_selector("#row-0")
    page.wait_for_selector("text=the server has stopped", timeout=20_000)
    assert page.locator("#row-0").count() == 1
