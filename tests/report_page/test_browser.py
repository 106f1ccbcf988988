"""The page in a real browser: it renders, filters, opens items, runs nothing of others, and is quick and accessible."""

import time
from typing import get_args

import pytest
from diagnosis_sample import GROUNDED, HOSTILE, write_sample
from page_checks import axe, until
from PIL import Image

from theodolite.core.views import PairRow, RowStatus
from theodolite.diagnose.running import read_items, write_items, write_pairs
from theodolite.report.html.write import write_report


def found(page):
    return int(page.inner_text("#found").split()[0])


def rows_shown(page):
    return page.locator("#room .row").count()


def test_it_renders_the_verdict_first_and_a_bar_per_instrument_and_model(visit, sample):
    page = visit(sample[1])
    assert page.locator("main section").first.get_attribute("id") == "verdict"
    assert page.locator(".look").count() == 4
    bars = page.locator(".look svg.shares").all()
    assert len(bars) == 3 * 4 - 1  # the server has no compass
    for bar in bars:
        assert bar.bounding_box()["width"] > 150
    whole = page.locator(".look svg.shares").first
    followed = whole.locator(".share-followed").first.bounding_box()
    assert followed["width"] == pytest.approx(whole.bounding_box()["width"], abs=2)


def test_exhibits_show_both_pictures_and_lead_to_their_items(visit, sample):
    page = visit(sample[1])
    first = page.locator(".exhibit").first
    assert first.locator("image").count() == 2
    assert "followed" in first.inner_text()
    first.locator("a").first.click()
    page.wait_for_selector("#item .said, #item .answer, #item h3")
    assert "compass-00000" in page.inner_text("#item")


def test_filters_count_what_a_plain_count_counts(visit, sample):
    folder, uri = sample
    items = list(read_items(folder))
    page = visit(uri)
    assert found(page) == len(items) == 120
    page.select_option("[name=instrument]", "scene")
    assert found(page) == sum(item.instrument == "scene" for item in items)
    page.select_option("[name=outcome]", "wrong")
    seen = [item for item in items if item.instrument == "scene" and item.condition != "blind"]
    wrong = [item for item in seen if item.correct is False]
    assert found(page) == len(wrong) > 0
    page.fill("[name=text]", f"item {wrong[-1].id[-3:].lstrip('0')}")
    assert found(page) == sum(
        all(word in f"{i.id} {i.question}" for word in ("item", wrong[-1].id[-3:].lstrip("0"))) for i in wrong
    )
    page.click("button[type=reset]")
    until(page, "document.getElementById('found').textContent === '120 items'")
    page.fill("[name=text]", "no such words")
    assert found(page) == 0
    assert page.get_by_text("No items match.").count() == 1


def test_every_reason_why_there_is_no_answer_can_be_filtered_by(visit, tmp_path):
    folder = write_sample(tmp_path, n=24)
    statuses = [name for name in get_args(RowStatus) if name != "answered"]
    given = [
        item.model_copy(update={"status": status, "correct": None, "condition": "plain"})
        for item, status in zip(read_items(folder), statuses * 4, strict=False)
    ]
    write_items(given, folder)
    page = visit(write_report(folder).as_uri())
    assert set(options(page, "outcome")) == {"all", *statuses}
    for status in statuses:
        page.select_option("[name=outcome]", status)
        assert found(page) == sum(item.status == status for item in given) > 0


def test_sorting_by_a_metric_puts_the_largest_first_and_those_without_it_last(visit, sample):
    folder, uri = sample
    values = {i.id: i.values["trace.sgr"] for i in read_items(folder) if "trace.sgr" in i.values}
    page = visit(uri)
    page.select_option("[name=sort]", label="step grounding rate ↓")
    page.click("#row-0")
    assert max(values, key=values.get) in page.inner_text("#item")
    page.select_option("[name=sort]", label="step grounding rate ↑")
    page.click("#row-0")
    assert min(values, key=values.get) in page.inner_text("#item")
    page.focus("#list")
    page.keyboard.press("End")
    assert not any(name in page.inner_text("#item") for name in values)


def options(page, name):
    return page.locator(f"[name={name}] option").all_inner_texts()


def test_the_choices_are_those_of_the_chosen_instrument(visit, tmp_path):
    folder = write_sample(tmp_path, n=80)
    items = [
        item.model_copy(update={"condition": f"{item.instrument} {'ab'[number % 8 < 4]}"})
        for number, item in enumerate(read_items(folder))
    ]
    write_items(items, folder)
    page = visit(write_report(folder).as_uri())
    everything = options(page, "condition"), options(page, "sort")
    assert len(everything[0]) == 1 + 8
    page.select_option("[name=condition]", "grid a")
    page.select_option("[name=instrument]", "trace")
    assert options(page, "condition") == ["all", "trace a", "trace b"]
    assert page.input_value("[name=condition]") == ""
    assert found(page) == sum(item.instrument == "trace" for item in items)
    groups = page.locator("[name=sort] optgroup").evaluate_all("all => all.map(one => one.label)")
    assert groups == ["trace"]
    page.click("button[type=reset]")
    until(page, "document.getElementById('found').textContent === '80 items'")
    assert (options(page, "condition"), options(page, "sort")) == everything


@pytest.mark.parametrize(
    ("condition", "mark"),
    [("plain", "✗"), ("mirrored", "✗"), ("blank", "·"), ("blind", "·"), ("target hidden", "·")],
)
def test_without_the_picture_an_answer_is_neither_right_nor_wrong(visit, tmp_path, condition, mark):
    folder = write_sample(tmp_path, n=4)
    given = {"condition": condition, "correct": False, "status": "answered"}
    write_items([item.model_copy(update=given) for item in read_items(folder)], folder)
    page = visit(write_report(folder).as_uri())
    assert page.locator("#row-0 .row-a").inner_text().startswith(mark)


@pytest.mark.parametrize(
    ("instrument", "parts"),
    [
        ("compass", [".o-wedge", ".o-true", ".o-peak", ".o-reference", ".o-target", "image"]),
        ("grid", [".o-heat", ".o-target", ".o-anchor", ".word"]),
        ("scene", [".a-true", ".a-said", ".a-link", "image", "pre"]),
        ("trace", [".frame img", ".step", ".claim"]),
    ],
)
def test_an_item_opens_with_what_its_instrument_saw(visit, sample, instrument, parts):
    folder, uri = sample
    page = visit(uri)
    page.select_option("[name=instrument]", instrument)
    page.click("#row-1")
    item = [item for item in read_items(folder) if item.instrument == instrument][1]
    page.wait_for_selector(f"#item >> text={item.id}")
    for part in parts:
        assert page.locator(f"#item {part}").count() > 0, part
    assert item.gold in page.inner_text("#item .item-a")
    loaded = page.evaluate(
        "[...document.querySelectorAll('#item img')].every(i => i.complete && i.naturalWidth)"
    )
    assert loaded
    assert page.url.endswith(f"%2F{item.id}")


def test_the_compass_points_where_the_boxes_say(visit, sample):
    """The ball is to the left of the box: the arrow of truth ends left of where it begins."""
    page = visit(sample[1])
    page.select_option("[name=instrument]", "compass")
    page.click("#row-0")
    path = page.locator("#item .o-true").first.get_attribute("d")
    (x1, _), (x2, _) = ([float(n) for n in part.split()] for part in path[1:].split("M")[0].split("L"))
    assert x2 < x1 - 20
    page.click("text=Heat map")
    assert page.locator("#item .o-heat").count() > 20
    page.click("#item >> text=Boxes")
    assert page.locator("#item .o-box").count() == 0


def test_pairs_are_filtered_and_a_link_chooses_them(visit, tmp_path):
    folder = write_sample(tmp_path, n=60)
    items = [item for item in read_items(folder) if item.model == GROUNDED and item.instrument == "grid"]
    outcomes = ["followed", "inverted", "followed", "unmoved"]
    pairs = [
        PairRow(
            instrument="grid", model=GROUNDED, pictures="grid", edit="remove", is_relevant=True,
            relation=("left", "right")[i % 2], outcome=outcome, before=items[i].id, after=items[i + 1].id,
        )
        for i, outcome in enumerate(outcomes)
    ]  # fmt: skip
    write_pairs(pairs, folder)
    page = visit(write_report(folder).as_uri())

    def shown():
        return [text.split("\n")[0] for text in page.locator("#pair-cards .outcome").all_inner_texts()]

    assert shown() == ["followed", "inverted", "followed", "did not move"]
    first = page.locator("#pair-cards li").first
    assert first.locator("img").count() == 2
    assert "after: object removed" in first.inner_text()
    page.select_option("[name=pair-relation]", "left")
    assert shown() == ["followed", "followed"]
    assert page.inner_text("#pairs-found") == "2 of 4 pairs"
    page.locator(".look:has(h3:text-is('Grid')) a:text-is('followed')").first.click()
    assert shown() == ["followed", "followed"]
    assert page.input_value("[name=pair-relation]") == ""
    assert page.input_value("[name=pair-outcome]") == "followed"
    page.locator(".look:has(h3:text-is('Compass')) a:text-is('followed')").first.click()
    assert shown() == []  # there is none of the compass
    assert page.inner_text("#pairs-found") == "0 of 4 pairs"


def test_a_link_to_an_item_opens_it(visit, sample):
    page = visit(sample[1] + "#item=trace%2Fpocket%3Agrounded%2Ftrace-00003")
    page.wait_for_selector("#item >> text=trace-00003")


def test_keys_move_through_the_list(visit, sample):
    page = visit(sample[1])
    page.focus("#list")
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    assert page.get_attribute("#list", "aria-activedescendant") == "row-1"
    page.keyboard.press("End")
    assert page.get_attribute("#row-119", "aria-selected") == "true"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.name") == "text"


def test_hostile_text_is_shown_and_never_run(visit, hostile):
    _, uri = hostile
    page = visit(uri)
    for place in range(found(page)):
        page.focus("#list")
        page.keyboard.press("ArrowDown")
        until(page, f"document.querySelector('#row-{place}[aria-selected=true]')")
    assert page.inner_text("#item .item-q") == HOSTILE
    page.select_option("[name=instrument]", "trace")
    page.click("#row-0")
    assert HOSTILE in page.inner_text("#item .steps")
    assert page.evaluate("window.hacked === undefined")
    assert page.locator("#item script").count() == 0


def test_even_a_script_that_slipped_in_would_not_run(chromium, sample):
    """The policy holds on a page from disk: a script put in by force does nothing."""
    page = chromium.new_page()
    page.goto(sample[1])
    blocked = page.evaluate(
        """() => new Promise((done) => {
            document.addEventListener('securitypolicyviolation', () => done(window.hacked === undefined));
            const s = document.createElement('script'); s.textContent = 'window.hacked = 1'; document.body.append(s);
            setTimeout(() => done(window.hacked === undefined), 300);
        })"""
    )
    page.close()
    assert blocked


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_serious_fault(visit, sample, scheme, width):
    page = visit(sample[1], scheme=scheme, width=width)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert axe(page) == []
    for instrument in ("compass", "grid", "scene", "trace"):
        page.select_option("[name=instrument]", instrument)
        page.click("#row-0")
        page.wait_for_selector("#item .item-q")
        assert axe(page) == [], instrument
        if width < 600:
            page.click("#item >> text=Back")


def test_a_phone_shows_everything_within_its_width(visit, sample):
    page = visit(sample[1], width=360, height=740)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.click("#row-2")
    assert page.locator("#item").bounding_box()["width"] == 360
    page.click("#item >> text=Back")
    assert page.locator("#item").is_hidden()


def test_the_switch_of_colours_holds_against_the_system(visit, sample):
    page = visit(sample[1], scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(20, 23, 26)"
    page.click("#theme")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.reload()
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.click("#theme")
    assert page.evaluate(ground) == "rgb(20, 23, 26)"


def test_on_paper_it_is_light_and_whole(visit, sample):
    page = visit(sample[1], scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("#browser").is_hidden()
    assert page.locator(".look").count() == 4
    assert len(page.pdf(format="A4")) > 20_000


def test_two_thousand_items_paint_within_a_second_and_scroll_without_lag(visit, tmp_path):
    """The best of five tries: other work on the machine can only lengthen one."""
    page = visit(write_report(write_sample(tmp_path, n=2000)).as_uri())
    painted, searched = [], []
    for _ in range(5):
        page.reload()
        entry = "performance.getEntriesByName('first-contentful-paint')[0]"
        until(page, f"{entry} !== undefined")
        painted.append(page.evaluate(f"{entry}.startTime"))
        assert found(page) == 2000
        assert rows_shown(page) < 40
        page.evaluate("document.getElementById('list').scrollTop = 64 * 1500")
        page.wait_for_selector("#row-1500")
        assert rows_shown(page) < 40
        started = time.perf_counter()
        page.fill("[name=text]", "item 1999")
        assert found(page) == 1
        searched.append(time.perf_counter() - started)
        page.fill("[name=text]", "")
        if painted[-1] < 1000 and searched[-1] < 0.5:
            break
    assert min(painted) < 1000
    assert min(searched) < 0.5


@pytest.mark.parametrize("kind", ["SVG", "PNG"])
def test_every_figure_can_be_saved_in_light_colours(visit, sample, tmp_path, kind):
    page = visit(sample[1], scheme="dark")
    figures = page.locator(".savable")
    assert figures.count() == figures.locator(f"> .save button:text-is('{kind}')").count() > 4
    for name in ("figure[data-name=looking]", ".exhibit .savable"):
        with page.expect_download() as saved:
            page.locator(name).first.locator(f"button:text-is('{kind}')").click()
        path = tmp_path / saved.value.suggested_filename
        saved.value.save_as(path)
        if kind == "PNG":
            with Image.open(path) as picture:
                assert picture.getpixel((5, 5))[:3] == (255, 255, 255)
                assert len(picture.convert("RGB").resize((40, 40)).getcolors(1600)) > 20
        else:
            text = path.read_text(encoding="utf-8")
            assert "followed" in text
            assert "var(" not in text
            assert "data:image" in text or "exhibit" not in name
    assert page.locator("html").get_attribute("data-theme") is None
