"""``inspect view`` in a real browser: opens a sample and counts the pictures that are shown."""

import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from pathlib import Path

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def shown_pictures(inspect: Path, log: Path, sample: str, picture: Path) -> dict[str, int] | str:
    """Open one sample of a log in the viewer, and take a screenshot of the page.

    Args:
        inspect: The program ``inspect``.
        log: The log.
        sample: The id of the sample.
        picture: The file of the screenshot.

    Returns:
        How many pictures of the sample the page shows, and how many are broken; or why it could not be tried.
    """
    if CHROMIUM is None:
        return "there is no Chromium on this machine"
    from playwright.sync_api import sync_playwright

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = f"http://127.0.0.1:{port}/"
    command = [inspect, "view", "start", "--log-dir", log.parent, "--port", str(port), "--host", "127.0.0.1"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(home)
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            quoted = urllib.parse.quote(sample, safe="")
            page.goto(f"{home}#/tasks/{log.name}/samples/sample/{quoted}/1/messages")
            images = page.locator("img[src^='data:image/']")
            images.first.wait_for(state="attached", timeout=60_000)
            sizes = images.evaluate_all(
                "all => Promise.all(all.map(i => i.decode().then(() => i.naturalWidth, () => 0)))"
            )
            page.screenshot(path=str(picture))
            browser.close()
    finally:
        server.terminate()
        server.wait()
    return {"shown": sum(size > 0 for size in sizes), "broken": sum(size == 0 for size in sizes)}


def _wait(address: str) -> None:
    """Wait until the server answers."""
    for _ in range(600):
        try:
            urllib.request.urlopen(address, timeout=5).close()  # noqa: S310 - a server of our own
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise TimeoutError(f"{address} does not answer")
