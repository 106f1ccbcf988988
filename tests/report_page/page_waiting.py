"""Waiting for a page."""

import time


def until(page, expression, seconds=15):
    """Waits until a page says that something is so. The policy of the pages forbids the browser's own way to wait."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"never came true: {expression}"
        page.wait_for_timeout(50)
