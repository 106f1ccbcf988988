"""What a reader is told of a model first, on the page, on the slide and in a model card."""

from dataclasses import replace

import pytest
from diagnosis_sample import (
    GROUNDED,
    MODELS,
    SERVER,
    SHORTCUT,
    looking,
    sample_diagnosis,
    write_sample,
)
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from theodolite.cli.diagnose import show_verdict
from theodolite.cli.main import main
from theodolite.diagnose.api import open_diagnosis
from theodolite.diagnose.pair_verdicts import claim_of
from theodolite.diagnose.record import short_names
from theodolite.report.card import model_card
from theodolite.report.figures import metrics_figure
from theodolite.report.slide import slide_figure
from theodolite.report.summary import example, summaries, telling


def of(model, diagnosis=None):
    return next(each for each in summaries(diagnosis or sample_diagnosis()) if each.model.name == model)


def with_looking(model, *found):
    """The sample with other verdicts of one model, all by one instrument."""
    diagnosis = sample_diagnosis()
    for instrument in diagnosis.instruments:
        view = next(view for view in instrument.models if view.model == model)
        view.looking[:] = found if instrument.name == "grid" else []
    return diagnosis


def test_looking_is_told_from_most_to_least():
    shares = [share for _, share in of(GROUNDED).by_name]
    assert shares == sorted(shares, reverse=True)
    assert len(shares) == 4
    assert not of(GROUNDED).at_what  # the bars show it


def test_own_data_decide_alone():
    diagnosis = with_looking(SERVER, looking(0.5, "own"), looking(0.95))
    assert [label for label, _ in of(SERVER, diagnosis).lookings] == ["your pictures, edited (grid)"]
    summary = of(SERVER, diagnosis)
    assert summary.how_sure.startswith("120 pairs of 120 pictures, 99 % intervals.")


@pytest.mark.parametrize(
    ("found", "claim"),
    [
        ({"a": looking(0.5), "b": looking(0.9)}, "In at least 44 to 84 of 100 pairs its answers used the picture; its accuracy on them is 75 to 95 %."),
        ({"a": looking(0.5), "b": looking(0.0)}, "In at least 44 of 100 pairs of a its answers used the picture; its accuracy on them is 75 %."),
    ],
)  # fmt: skip
def test_what_is_claimed_is_one_sentence(found, claim):
    assert claim_of("sometimes looks", list(found.items())) == claim


def test_without_looking_the_sentence_is_of_the_pairs_that_show_it():
    none, unread = (
        replace(looking(0.0), standing=standing) for standing in ("does not look", "cannot be read")
    )
    told = claim_of("does not look", [("a", none), ("b", unread)])
    assert told == "Its answers do not use the picture (120 pairs of a); its accuracy on them is 50 %."
    assert claim_of("not measured", []) == ""


def test_the_example_is_of_the_model_that_looks_least():
    summary, _, pair = example(summaries(sample_diagnosis()))
    assert summary.model.name == SHORTCUT
    assert pair.is_relevant


def test_unread_answers_say_nothing_of_looking():
    unread = replace(looking(0.0), standing="cannot be read")
    assert of(SERVER, with_looking(SERVER, unread)).at_what == ""


def test_the_first_examples_have_different_outcomes():
    one = looking(0.5).exhibits[0]
    same = [one, one.model_copy(), one.model_copy(update={"outcome": "unmoved"})]
    assert [each.outcome for each in telling(same)] == ["followed", "unmoved", "followed"]


@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_the_slide_is_sixteen_by_nine(tmp_path, kind, capsys):
    folder = write_sample(tmp_path / "d", n=8)
    path = tmp_path / f"slide.{kind}"
    assert main(["report", str(folder), "--slide", str(path)]) == 0
    capsys.readouterr()
    if kind == "pdf":
        assert path.read_bytes().startswith(b"%PDF")
        return
    with Image.open(path) as picture:
        assert picture.width / picture.height == pytest.approx(16 / 9, abs=0.01)


def test_the_slide_names_every_model_and_its_verdict_and_shows_a_pair(tmp_path):
    found = open_diagnosis(write_sample(tmp_path, n=8))
    slide = slide_figure(found).figure
    told = [text.get_text() for text in slide.texts]
    for each in summaries(found.diagnosis):
        assert {each.name, each.headline} <= {text.replace("\n", " ") for text in told}
    assert sum(bool(axes.images) for axes in slide.axes) == 2


def of_models(found, n):
    """The diagnosis of so many models: copies of the sample's."""
    sample = found.diagnosis
    models = [
        sample.models[i % 3].model_copy(update={"name": f"{sample.models[i % 3].name}-{i}"}) for i in range(n)
    ]
    instruments = []
    for each in sample.instruments:
        views = {view.model: view for view in each.models}
        own = [
            views[sample.models[i % 3].name].model_copy(update={"model": m.name})
            for i, m in enumerate(models)
        ]
        instruments.append(each.model_copy(update={"models": own}))
    return replace(found, diagnosis=sample.model_copy(update={"models": models, "instruments": instruments}))


@pytest.mark.parametrize("n", [1, 2, 3, 12, 14])
def test_the_slide_can_be_read_from_the_last_row(n, tmp_path):
    """No letters smaller than 14 points, and none outside of the slide."""
    slide = slide_figure(of_models(open_diagnosis(write_sample(tmp_path, n=8)), n)).figure
    FigureCanvasAgg(slide).draw()
    width, height = slide.get_size_inches() * slide.dpi
    legends = [text for legend in slide.legends for text in legend.get_texts()]
    panels = [text for axes in slide.axes for text in (*axes.texts, axes.xaxis.label)]
    shown = [text for text in (*slide.texts, *legends, *panels) if text.get_text()]
    assert len(shown) > 2 * min(n, 12)
    for text in shown:
        assert text.get_fontsize() >= 14, text.get_text()
        box = text.get_window_extent()
        assert 0 <= box.x0 < box.x1 <= width, text.get_text()
        assert 0 <= box.y0 < box.y1 <= height, text.get_text()


def test_the_card_holds_verdict_shares_size_version_and_command(tmp_path, capsys):
    folder = write_sample(tmp_path, n=8)
    assert main(["report", str(folder), "--card"]) == 0
    card = capsys.readouterr().out
    diagnosis = open_diagnosis(folder).diagnosis
    assert card.strip() == model_card(diagnosis)
    assert not (folder / "index.html").exists()
    rows = [line for line in card.splitlines() if line.startswith("| pocket:grounded")]
    assert len(rows) == 4
    assert "100 % [94, 106]" in rows[0]
    assert "| 120 |" in rows[0]
    assert f"Theodolite {diagnosis.theodolite}" in card
    assert "```bash\ntheodolite diagnose" in card


def test_a_card_is_of_a_diagnosis(tmp_path, capsys):
    assert main(["report", str(tmp_path), "--card"]) == 2
    assert "about a diagnosis" in capsys.readouterr().err


def test_metrics_are_drawn_with_names_and_not_with_keys():
    diagnosis = sample_diagnosis()
    drawing = metrics_figure(diagnosis, diagnosis.instrument("grid"))
    assert drawing is not None
    names = {axes.get_ylabel() for axes in drawing.figure.axes}
    assert names == {metric.name for metric in diagnosis.metrics if metric.instrument == "grid"}


def test_names_that_would_be_equal_keep_what_tells_them_apart():
    names = short_names([*MODELS, "replay:/a/r.json?prompt=one&n=3", "replay:/b/r.json?prompt=two&n=3"])
    assert names[SHORTCUT] == SHORTCUT
    assert names[SERVER] == "openai:some-vlm"
    assert list(names.values())[-2:] == ["replay:r.json, one", "replay:r.json, two"]


def test_tables_of_the_terminal_show_short_names(tmp_path, capsys):
    found = open_diagnosis(write_sample(tmp_path, n=8))
    assert SERVER in str(found.diagnosis)
    show_verdict(found)
    told = capsys.readouterr().out
    for text in (told, repr(found), found._repr_html_()):
        assert "openai:some-vlm" in text
        assert "127.0.0.1" not in text
