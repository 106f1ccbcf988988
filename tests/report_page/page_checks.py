"""What tests of pages share."""

import time


def until(page, expression, seconds=15):
    """Waits until a page says that something is so. The policy of the pages forbids the browser's own way to wait."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"never came true: {expression}"
        page.wait_for_timeout(50)


def axe(page):
    """What axe-core holds against a page, in words: only what is serious or worse."""
    from axe_playwright_python.sync_playwright import Axe

    violations = Axe().run(page).response["violations"]
    return [
        f"{v['id']} ({v['impact']}): {v['nodes'][0]['html'][:160]}"
        for v in violations
        if v["impact"] in {"serious", "critical"}
    ]
