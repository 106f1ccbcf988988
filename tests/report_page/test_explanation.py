"""The page of an explanation in a real browser: words show their maps, by mouse, by keyboard and on a phone."""

import numpy as np
import pytest
from page_checks import axe, until

import theodolite
from theodolite.core.types import Picture

PAINTED = "document.querySelector('.explained-picture canvas').toDataURL()"


@pytest.fixture(scope="module")
def explained(tmp_path_factory, tiny_qwen2_vl):
    """The page of an answer of five words, with mark-up in the question."""
    pixels = np.random.default_rng(0).integers(0, 256, (180, 240, 3), dtype=np.uint8)
    found = theodolite.explain(
        f"hf:{tiny_qwen2_vl}?dtype=float32",
        Picture.from_array(pixels),
        "What is <img src=x onerror=alert(1)> there?",
        answer="two red cups stand there",
        tries=2,
    )
    return found.save(tmp_path_factory.mktemp("explained") / "page.html").as_uri()


def test_a_word_shows_its_own_map_and_says_where_it_came_from(visit, explained):
    page = visit(explained)
    until(page, "() => document.querySelector('.explained-picture canvas') !== null")
    whole = page.evaluate(PAINTED)
    words = page.locator(".explained-word")
    assert words.all_inner_texts() == ["two", "red", "cups", "stand", "there"]
    words.nth(1).hover()
    assert page.evaluate(PAINTED) != whole
    assert page.inner_text("#word-facts").startswith("“red”:")
    page.hover("h1")
    assert page.evaluate(PAINTED) == whole
    words.nth(2).focus()
    assert page.inner_text("#word-facts").startswith("“cups”:")
    words.nth(3).click()
    page.hover("h1")
    assert page.inner_text("#word-facts").startswith("“stand”:")
    page.click("#whole-answer")
    assert page.evaluate(PAINTED) == whole


def test_methods_and_the_bare_picture_can_be_chosen(visit, explained):
    page = visit(explained)
    until(page, "() => document.querySelector('.explained-picture canvas') !== null")
    whole = page.evaluate(PAINTED)
    page.click("[data-method=tam]")
    assert page.evaluate(PAINTED) != whole
    page.click("#map-off")
    assert not page.locator(".explained-picture canvas").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible_and_fits_a_phone(visit, explained, scheme):
    page = visit(explained, width=360, height=740, scheme=scheme)
    until(page, "() => document.querySelector('.explained-picture canvas') !== null")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box = page.locator(".explained-picture").bounding_box()
    assert box["width"] > 280
    assert not axe(page)
