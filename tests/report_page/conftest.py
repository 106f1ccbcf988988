"""A real browser, if the machine has one, and pages to open in it."""

import shutil

import pytest
from diagnosis_sample import write_sample

from theodolite.report.html.write import write_report

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def chromium():
    """The system's Chromium, without its network.

    One for each file of tests: what drives it keeps an event loop running, under which tests of other parts cannot run theirs.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine: `make browser` installs it")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium):
    """Opens a page; afterwards nothing may have gone wrong in it, and nothing outside may have been asked for."""
    contexts, seen = [], []

    def opened(url, *, width=1280, height=900, scheme="light", home="file:", is_lost=False):
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: seen.append(f"error: {error}"))
        page.on(
            "console",
            lambda message: (
                message.type in {"error", "warning"}
                and not (is_lost and "ERR_CONNECTION" in message.text)
                and seen.append(f"console: {message.text}")
            ),
        )
        page.on("dialog", lambda dialog: (seen.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                request.url.startswith((home, "data:")) or seen.append(f"asked for {request.url[:120]}")
            ),
        )
        page.goto(str(url))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not seen, seen


@pytest.fixture(scope="session")
def sample(tmp_path_factory):
    """The folder of a diagnosis with a few items of every instrument, and its page's address."""
    folder = write_sample(tmp_path_factory.mktemp("diagnosis"), n=120)
    return folder, write_report(folder).as_uri()


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    """The same, with every text that a model could write trying to break out."""
    folder = write_sample(tmp_path_factory.mktemp("hostile"), n=24, hostile=True)
    return folder, write_report(folder).as_uri()
