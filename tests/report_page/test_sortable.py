"""Tables of the documentation are sorted by a click on a heading, and filtered by a word."""

from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "assets" / "sortable.js"
ROWS = [
    ("GPT-4o", "72.7 %", "−4.2 [−7.6, −0.8]"),
    ("Claude 3", "88.1 %", "80.8 [73.9, 86.8]"),
    ("CLIP", "9.5 %", "0.4 [above 0, 1]"),
]


@pytest.fixture
def page(chromium, tmp_path):
    cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in ROWS)
    head = "".join(f"<th><p>{name}</p></th>" for name in ("model", "accuracy", "looking"))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{cells}</tbody></table>"
    file = tmp_path / "page.html"
    file.write_text(
        f'<meta charset="utf-8"><div class="sortable">{table}</div><div class="sortable">no table</div>'
        f"<script>{SCRIPT.read_text(encoding='utf-8')}</script>",
        encoding="utf-8",
    )
    opened = chromium.new_page()
    faults = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.goto(file.as_uri())
    yield opened
    assert faults == []
    opened.close()


def shown(page):
    return [row.inner_text() for row in page.locator("tbody tr:not([hidden]) td:first-child").all()]


def test_a_click_sorts_by_numbers_largest_first_and_another_turns_it_round(page):
    accuracy = page.get_by_role("button", name="accuracy")
    accuracy.click()
    assert shown(page) == ["Claude 3", "GPT-4o", "CLIP"]
    assert page.locator("th").nth(1).get_attribute("aria-sort") == "descending"
    accuracy.click()
    assert shown(page) == ["CLIP", "GPT-4o", "Claude 3"]
    page.get_by_role("button", name="looking").click()
    assert shown(page) == ["Claude 3", "CLIP", "GPT-4o"]
    assert page.locator("th[aria-sort]").count() == 1


def test_words_are_sorted_from_a_and_headings_work_by_keyboard(page):
    page.get_by_role("button", name="model").focus()
    page.keyboard.press("Enter")
    assert shown(page) == ["Claude 3", "CLIP", "GPT-4o"]


def test_a_word_filters(page):
    page.get_by_role("searchbox").fill("cl 3")
    assert shown(page) == ["Claude 3"]
    page.get_by_role("searchbox").fill("")
    assert len(shown(page)) == 3
