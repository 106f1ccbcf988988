"""The page as a file: what it says, what it links to, what it lets nobody do."""

import base64
import hashlib
import html
import json
import re
import shlex
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest
from diagnosis_sample import HOSTILE, looking, sample_diagnosis, write_sample
from hypothesis import given
from hypothesis import strategies as st

from theodolite.core.errors import UsageError
from theodolite.diagnose.compare import claim
from theodolite.diagnose.running import read_items
from theodolite.report.glossary import Glossary
from theodolite.report.html.diagnosis import command_of
from theodolite.report.html.parts import Helpers, Series, prose, safe_json, share_bar, spread, strip, unpack
from theodolite.report.html.write import write_report
from theodolite.stats import Estimate


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the text of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.found, self.inside, self._open = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self._open = tag if tag in {"script", "style"} else None
        if self._open:
            self.inside.append((tag, dict(attrs), ""))

    def handle_endtag(self, tag):
        self._open = None

    def handle_data(self, data):
        if self._open:
            tag, attributes, text = self.inside[-1]
            self.inside[-1] = tag, attributes, text + data


def page_of(uri):
    from urllib.parse import urlparse

    with open(urlparse(uri).path, encoding="utf-8") as file:  # noqa: PTH123
        return file.read()


def digest(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@pytest.fixture(scope="session", params=["plain", "hostile"])
def page(request, sample, hostile):
    return page_of((sample if request.param == "plain" else hostile)[1])


def test_nothing_but_our_scripts_can_run(page):
    elements = Elements(page)
    kinds = [(tag, a.get("type")) for tag, a, _ in elements.inside if tag == "script"]
    assert kinds.count(("script", None)) == 2
    assert set(kinds) == {("script", None), ("script", "application/json")}
    assert not [name for _, attributes in elements.found for name in attributes if name.startswith("on")]
    assert not [name for _, attributes in elements.found for name in attributes if name == "style"]
    policy = next(a["content"] for _, a in elements.found if a.get("http-equiv") == "Content-Security-Policy")
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    for tag, attributes, text in elements.inside:
        if "type" not in attributes:
            assert digest(text) in next(rule for rule in policy.split("; ") if rule.startswith(f"{tag}-src"))


def test_the_page_asks_for_nothing_outside(page):
    for tag, attributes in Elements(page).found:
        for name in ("src", "href", "action", "srcset"):
            value = attributes.get(name) or ""
            is_own = tag == "image" and re.fullmatch(r"pictures/[0-9a-f]{20}\.\w+", value)
            assert value.startswith(("#", "data:")) or not value or is_own, (tag, name, value)
    assert "@import" not in page
    assert "url(" not in page


def test_every_link_leads_somewhere_and_no_name_is_given_twice(page):
    elements = Elements(page)
    ids = [a["id"] for _, a in elements.found if "id" in a]
    assert len(ids) == len(set(ids))
    goals = {a["href"][1:] for _, a in elements.found if a.get("href", "").startswith("#")}
    items = {goal for goal in goals if goal.startswith("item=")}
    assert items
    assert goals - items <= set(ids)
    index = unpack(next(text for _, a, text in elements.inside if a.get("id") == "items-index"))
    assert {metric["anchor"] for metric in index["metrics"]} <= set(ids)
    known = {"/".join((row[1], index["models"][row[2]], row[0])) for row in index["rows"]}
    assert {unquote(goal.removeprefix("item=")) for goal in items} & known


def test_every_number_of_a_diagnosis_is_defined(page):
    section = page.partition('<section id="definitions"')[2].partition("</section>")[0]
    assert "Defined by the plug-in" not in section
    for key in ("diagnose.followed", "diagnose.separation", "diagnose.signature", "trace.sgr"):
        assert f'id="def-{key}"' in section, key
    assert section.count("<code>") >= section.count("<dt>")  # each with its formula


def test_hostile_text_is_data_and_nothing_else(hostile):
    folder, uri = hostile
    page = page_of(uri)
    elements = Elements(page)
    texts = {a["id"]: text for _, a, text in elements.inside if "id" in a}
    blocks = {name: unpack(text) for name, text in texts.items()}
    rows, details = blocks["items-index"]["rows"], blocks["items-0"]
    assert all(row[6] == row[7] == HOSTILE for row in rows)
    stored = list(read_items(folder))
    said = [detail["plan"]["said_text"] for detail in details if "plan" in detail]
    assert said
    assert set(said) == {row.plan.said_text for row in stored if row.plan is not None} == {HOSTILE}
    assert not [tag for tag, _ in elements.found if tag == "img"]
    plain = "".join(texts.values())  # packed blocks hold no mark-up at all
    assert page.count("{{7*7}}") == plain.count("{{7*7}}")  # no template has read it
    assert safe_json([rows, details]).count("{{7*7}}") > 0


def test_hostile_names_of_models_and_files_are_escaped(tmp_path):
    evil = '"><script>alert(1)</script>'
    folder = write_sample(tmp_path, n=4)
    text = (
        (folder / "diagnosis.json")
        .read_text()
        .replace("openai:some-vlm@http://127.0.0.1:8000/v1", json.dumps(evil)[1:-1])
    )
    (folder / "diagnosis.json").write_text(text)
    page = write_report(folder).read_text()
    assert evil not in page
    assert "&lt;script&gt;alert(1)" in page
    assert [a.get("type") for tag, a, _ in Elements(page).inside if tag == "script"].count(None) == 2


@given(st.text() | st.lists(st.text()) | st.dictionaries(st.text(), st.text()))
def test_embedded_data_comes_back_and_holds_no_mark_up(value):
    text = safe_json(value)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == value


def test_every_figure_of_the_record_stands_in_the_page_with_its_interval_and_n(sample):
    page = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page_of(sample[1])))
    diagnosis = sample_diagnosis()
    for instrument in diagnosis.instruments:
        for model in instrument.models:
            for form in model.looking:
                f, d = form.followed, form.dependence
                written = f"{100 * f.value:.1f} % [{100 * f.low:.1f}, {100 * f.high:.1f}]"
                assert written.replace("-", "−") in page
                written = f"{100 * d.value:+.1f} points [{100 * d.low:+.1f}, {100 * d.high:+.1f}], n {d.n}"
                assert written.replace("-", "−").replace("+0.0", "0.0") in page, (
                    instrument.name,
                    model.model,
                )
                assert form.because.capitalize() in page
    for words in [
        *diagnosis.caveats,
        *(s.confirming_test for s in diagnosis.signatures if s.standing == "raised"),
        *(claim(diagnosis, m) for m in diagnosis.models),
        *(left.why for m in diagnosis.models for left in m.left_out),
        *(q.basis for q in diagnosis.open_questions),
        *(reference.source for reference in diagnosis.references),
    ]:
        assert words in page, words


def test_a_signature_names_its_instrument_and_says_its_numbers_once(sample):
    page = page_of(sample[1])
    card = page.partition('<li class="card">')[2].partition("</dl></li>")[0]
    assert '<a class="tag" href="#scene">scene</a>' in card.partition("</h3>")[0]
    raised, absent, unknown = sample_diagnosis().signatures
    assert raised.because not in card
    assert card.count("QA over the prior answer") == 1
    folded = page.partition("not raised or not measured</summary>")[2]
    assert absent.because in folded
    assert unknown.because in folded


def test_a_signature_without_numbers_says_why_it_was_raised(tmp_path):
    folder = write_sample(tmp_path, n=4)
    path = folder / "diagnosis.json"
    document = json.loads(path.read_text())
    document["signatures"][0]["numbers"] = {}
    path.write_text(json.dumps(document))
    card = write_report(folder).read_text().partition('<li class="card">')[2]
    assert sample_diagnosis().signatures[0].because in card.partition("<dl>")[0]


def test_the_command_again_says_all_that_was_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = sample_diagnosis()
    settings = {"models": ["hf:a b"], "data": {"grid": "/my grids", "trace": "logs"}, "engine": "ray"}
    large = made.model_copy(
        update={"size": "large", "settings": settings, "seed": 7, "instruments": made.instruments[:2]}
    )
    assert shlex.split(command_of(large, tmp_path / "my report")) == [
        *("theodolite", "diagnose", "--model", "hf:a b", "--instruments", "compass,grid", "--size", "large"),
        *("--data", "grid=/my grids", "--data", "trace=logs", "--engine", "ray", "--seed", "7"),
        *("--out", "my report"),
    ]
    standard = command_of(made.model_copy(update={"size": "standard"}), tmp_path.parent / "elsewhere")
    assert "--size" not in standard
    assert "--quick" not in standard
    assert standard.endswith(f"--out {tmp_path.parent / 'elsewhere'}")
    page = write_report(write_sample(tmp_path / "here", n=4)).read_text()
    assert "--quick --seed 0 --out here</code>" in page


def test_numbers_in_sentences_are_written_as_in_tables(tmp_path):
    folder = write_sample(tmp_path, n=4)
    path = folder / "diagnosis.json"
    document = json.loads(path.read_text())
    document["instruments"][3]["models"][0]["verdict"]["sentence"] = "Position 0.30 [-0.00, 0.41], not -0.25."
    document["open_questions"][0]["question"] = (
        "Does it differ from m-1 in trace.sgr (aligned)? The difference is -0.133 [-0.400, +0.000]."
    )
    document["open_questions"].append(
        {
            **document["open_questions"][0],
            "question": "Does it differ from m-1 in compass.dae_paper? The difference is +3.512 [-0.004, +9.000].",
        }
    )
    path.write_text(json.dumps(document))
    page = html.unescape(write_report(folder).read_text())
    assert "Position 0.30 [0.00, 0.41], not −0.25." in page
    assert (
        "Does it differ from m-1 in “step grounding rate” (aligned)? "
        "The difference is −13.3 points [−40.0, 0.0]." in page
    )
    assert (
        "Does it differ from m-1 in “directional alignment error, as published”? "
        "The difference is +3.5° [0.0, +9.0]." in page
    )


def test_pictures_come_from_the_folder_of_the_diagnosis_alone(tmp_path):
    folder = write_sample(tmp_path / "diagnosis", n=8)
    secret = tmp_path / "secret.png"
    secret.write_bytes((folder / "pictures" / "0.png").read_bytes() + b"secret")
    (folder / "pictures" / "1.png").unlink()
    (folder / "pictures" / "1.png").symlink_to(secret)
    lines = (folder / "items.jsonl").read_text().replace("pictures/0.png", "../secret.png")
    (folder / "items.jsonl").write_text(lines)
    write_report(folder, out=tmp_path / "page")
    taken = [path.read_bytes() for path in (tmp_path / "page" / "pictures").iterdir()]
    assert taken
    assert not any(content.endswith(b"secret") for content in taken)


def test_one_file_holds_its_pictures(tmp_path):
    folder = write_sample(tmp_path, n=8)
    path = write_report(folder, out=tmp_path / "alone", one_file=True)
    assert [file.name for file in path.parent.iterdir()] == ["index.html"]
    block = next(t for _, a, t in Elements(path.read_text()).inside if a.get("id") == "items-pictures")
    held = json.loads(block)
    content = base64.b64decode(next(iter(held.values())).partition(",")[2])
    assert content in {file.read_bytes() for file in (folder / "pictures").iterdir()}


def test_a_diagnosis_without_items_has_a_page_without_browser(tmp_path):
    folder = write_sample(tmp_path, n=4)
    (folder / "items.jsonl").unlink()
    page = write_report(folder).read_text()
    assert 'id="browser"' not in page
    assert "Verdict" in page


def test_a_folder_without_diagnosis_is_told_in_one_sentence(tmp_path):
    with pytest.raises(UsageError, match="theodolite diagnose --out"):
        write_report(tmp_path)


def estimate(value, low, high):
    return Estimate(value, low, high, n=50, level=0.95, method="made")


def test_a_bar_holds_every_outcome_in_order():
    form = looking(0.5)
    bar = share_bar(form)
    assert [each.outcome for each in bar.segments] == ["followed", "moved", "unmoved"]  # nothing was lost
    assert [each.x for each in bar.segments] == pytest.approx([0, 50, 55])
    assert sum(each.width for each in bar.segments) == pytest.approx(100)
    assert [each.label for each in bar.segments] == ["50 %", "", "45 %"]  # 5 % are too narrow for a number
    assert (bar.low, bar.high) == pytest.approx((44, 56))
    assert bar.words == "of 120 pairs, 60 followed, 6 moved elsewhere and 54 did not move"


def test_a_strip_holds_every_interval_in_order():
    made = strip(
        [("c-0", 0, estimate(0.5, 0.4, 0.7))],
        grounded=estimate(0.9, 0.8, 0.95),
        shortcut=estimate(0.1, 0.05, 0.2),
    )
    assert made is not None
    places = [
        made.shortcut.low,
        made.shortcut.x,
        made.models[0].low,
        made.models[0].x,
        made.grounded.x,
        made.grounded.high,
    ]
    assert places == sorted(places)
    assert places[0] > 0
    assert places[-1] < 100
    width = made.grounded.x - made.shortcut.x
    assert (made.models[0].x - made.shortcut.x) / width == pytest.approx(0.5, abs=1e-3)
    assert strip([]) is None


def test_differences_of_shares_have_one_axis_that_is_labelled_once():
    made = sample_diagnosis()
    one = made.comparisons[0]

    def differing(metric, low, high):
        figure = replace(one.difference, value=(low + high) / 2, low=low, high=high)
        return one.model_copy(update={"metric": metric, "difference": figure})

    rows = [
        differing("scene.qa_drop", 0.24, 0.4),
        one.model_copy(update={"difference": None}),
        differing("scene.qa_drop", -0.1, 0.1),
        differing("scene.qa_drop", -1.6, -1.2),  # of a metric that goes from −1 to 1
        differing("scene.qa_drop", 0.0, 0.5),
        differing("compass.dae_paper", -2.0, 8.0),
    ]
    names = {metric.key: metric for metric in made.metrics}
    glossary = Glossary({key: metric.name for key, metric in names.items()})
    helpers = Helpers(Series([one.first, one.second]), glossary, names)
    strips = helpers.difference_strips(rows, rows)
    assert [s and (s.label_low, s.label_high) for s in strips] == [
        ("−100.0 points", "+100.0 points"),
        None,
        ("", ""),
        ("−160.0 points", "+160.0 points"),
        ("−100.0 points", "+100.0 points"),
        ("−8.0°", "+8.0°"),
    ]
    assert [s.models[0].x for s in strips if s][:3] == pytest.approx([66.0, 50.0, 6.25])
    assert strips[2].height < strips[0].height


def many_metrics(folder, n):
    """The sample with so many metrics of the compass, of which only the first tells the twins apart."""
    path = folder / "diagnosis.json"
    document = json.loads(path.read_text())
    compass = document["instruments"][0]
    leading, other = compass["metrics"]
    compass["metrics"] = [leading, *({**other, "key": f"compass.dae_paper:m{i}"} for i in range(n))]
    form = next(r for r in document["metrics"] if r["key"] == "compass.dae_paper")
    document["metrics"] += [
        {**form, "key": f"compass.dae_paper:m{i}", "name": f"DAE (m{i})"} for i in range(n)
    ]
    path.write_text(json.dumps(document))


def test_many_metrics_are_folded_and_none_is_lost(tmp_path):
    folder = write_sample(tmp_path, n=4)
    many_metrics(folder, 40)
    page = write_report(folder).read_text()
    section = page.partition('<section id="compass"')[2].partition("</section>")[0]
    before, fold = section.split("<details>")
    assert "35 more metrics, none of which separates the twins" in fold
    assert before.index("evidence share") < before.index("DAE (m")  # the best stands first
    assert len(re.findall(r"DAE \(m\d+\)", before)) == 5
    assert len(re.findall(r"DAE \(m\d+\)", fold)) == 35
    assert page.count('id="def-compass.dae_paper"') == 1  # one definition serves all methods


@given(st.text())
def test_code_in_prose_is_set_apart_and_all_else_is_escaped(text):
    made = str(prose(text))
    assert html.unescape(re.sub(r"</?code>", "`", made) if text.count("`") % 2 == 0 else made) == text
    assert not re.search(r"<(?!/?code>)", made)


def test_outlines_stand_where_the_items_are():
    values = {"low": [i / 100 for i in range(40)], "high": [0.6 + i / 100 for i in range(41)]}
    made = spread(values, key="trace.sgr", name="SGR", split="free", label="{:.2f}".format)
    assert (made.label_low, made.label_high) == ("0.00", "1.00")
    low, high = (
        [(float(y), float(x)) for y, x in re.findall(r"V([\d.]+)H([\d.]+)", outline.path)]
        for outline in made.outlines
    )
    assert {x > 40 for y, x in low if y == 30.0} == {True}  # nothing of the one where the other is
    assert {x < 70 for y, x in high if y == 30.0} == {True}
    tall = min(y for y, _ in low + high)
    assert tall == 0  # the fullest bin reaches the top
    assert [outline.n for outline in made.outlines] == [40, 41]


def test_noughts_and_ones_get_no_histogram():
    assert spread({"m": [0, 1, 1, 0]}, key="k.k", name="k", split="", label=str) is None
    assert spread({}, key="k.k", name="k", split="", label=str) is None
