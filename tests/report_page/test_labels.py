"""The page for labelling in a real browser: labels are chosen, remembered and saved; text of models stays text."""

import json

from diagnosis_sample import HOSTILE
from page_checks import axe
from PIL import Image

from theodolite.instruments.trace.experiments.agreement import score_labels
from theodolite.report.html.parts import write_label_page


def rows(folder):
    Image.new("RGB", (64, 48), "red").save(folder / "a.png")
    shown = {"pictures": [str(folder / "a.png"), str(folder / "gone.png")], "frames": [1, 2], "label": ""}
    claims = [("e1", 1, 1), ("e1", 1, 2), ("e1", 2, 1)]
    return [
        {
            "id": f"{name}/{step}/{k}",
            "episode": name,
            "step": step,
            "sentence": HOSTILE,
            "claim": f"entity: {k}",
            **shown,
        }
        for name, step, k in claims
    ]


def test_labels_are_chosen_remembered_and_saved(visit, tmp_path):
    written, file = rows(tmp_path), tmp_path / "first.html"
    assert list(write_label_page(written, file)) == [str(tmp_path / "gone.png")]
    page = visit(file.as_uri())
    assert (page.locator(".label-step").count(), page.locator("fieldset").count()) == (2, 3)
    assert page.locator(".label-step img").count() == 2
    assert page.inner_text(".label-step blockquote >> nth=0").split() == HOSTILE.split()
    page.check('fieldset >> nth=0 >> input[value="supported"]')
    page.check('fieldset >> nth=2 >> input[value="unsupported"]')
    assert page.inner_text("#labelled") == "2 of 3 claims are labelled."
    page.reload()
    assert page.inner_text("#labelled") == "2 of 3 claims are labelled."
    with page.expect_download() as saved:
        page.click("#save-labels")
    assert saved.value.suggested_filename == "first.jsonl"
    saved.value.save_as(tmp_path / "first.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "first.jsonl").read_text().splitlines()]
    assert [line.pop("label") for line in lines] == ["supported", "", "unsupported"]
    assert lines == [{k: v for k, v in row.items() if k != "label"} for row in written]
    assert score_labels([tmp_path / "first.jsonl"]).people[0].n_labels == 2
    assert not axe(page)
