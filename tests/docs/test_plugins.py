"""The examples of plug-ins: short, installed as any distribution is, held to the contracts, and used by the commands."""

from __future__ import annotations

import ast
import json
import re
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from theodolite.cli.main import main
from theodolite.core.registry import registry
from theodolite.testing import (
    check_edit,
    check_explainer,
    check_extractor,
    check_method,
    check_model,
    check_source,
    check_verifier,
)

EXAMPLES = Path(__file__).parents[2] / "examples" / "plugins"
FILES = sorted(EXAMPLES.glob("*.py"))


@pytest.fixture(scope="module", autouse=True)
def _installed(tmp_path_factory):
    """The examples as pip would install them: their modules and the entry points of their own pyproject."""
    site = tmp_path_factory.mktemp("site")
    for file in FILES:
        shutil.copy(file, site)
    project = tomllib.loads((EXAMPLES / "pyproject.toml").read_text())["project"]
    points = project["entry-points"]["theodolite.plugins"]
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    lines = [f"{name} = {target}" for name, target in points.items()]
    (info / "entry_points.txt").write_text("[theodolite.plugins]\n" + "\n".join(lines) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(site)
        registry.cache_clear()
        yield
    registry.cache_clear()


def tables_of(capsys):
    """The tables of the command that was just run with ``--json``."""
    return json.loads(capsys.readouterr().out)["tables"]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_example_is_complete_in_under_eighty_lines(file):
    text = file.read_text()
    assert len(text.splitlines()) < 80
    imported = {
        alias.name if isinstance(node, ast.Import) else node.module
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert not [name for name in imported if re.search(r"theodolite.*\._", name)], "public names only"
    assert "def register(add" in text


def test_there_is_one_example_of_every_kind_that_the_documentation_promises():
    kinds = {re.search(r'add\(\s*"(\w+)"', file.read_text()).group(1) for file in FILES}
    assert kinds == {"instrument", "model", "method", "explainer", "extractor", "verifier", "source", "edit"}
    mine = {
        (kind, entry.name)
        for kind in kinds
        for entry in registry().entries(kind)
        if entry.origin.startswith("theodolite-example-plugins")
    }
    assert len(mine) == len(FILES)


def test_a_sixth_instrument_appears_in_the_list_the_diagnosis_and_the_report(tmp_path, capsys):
    question, names = (
        "Does it count what the picture shows?",
        {"count is right", "count changes with a blank picture"},
    )
    assert main(["list", "instruments"]) == 0
    assert "dots" in capsys.readouterr().out
    asked = ["--model", "pocket:grounded", "--size", "8", "--out", str(tmp_path / "run"), "--json"]
    assert main(["dots", "run", *asked]) == 0
    (table,) = tables_of(capsys)
    assert (table["name"], table["title"]) == ("dots.metrics", question)
    assert {row["metric"] for row in table["rows"]} == names
    assert main(["dots", "score", str(tmp_path / "run" / "dots"), "--json"]) == 0
    assert tables_of(capsys) == [table]
    assert main(["check", "dots"]) == 0
    out = tmp_path / "report"
    asked = ["--model", "pocket:grounded", "--instruments", "dots", "--quick", "--out", str(out), "--json"]
    assert main(["diagnose", *asked]) == 0
    diagnosis = json.loads(capsys.readouterr().out)
    assert "dots.right" in json.dumps(diagnosis)
    page = (out / "index.html").read_text(encoding="utf-8")
    assert question in page
    assert all(name in page for name in names)


def test_the_model_keeps_the_contract_and_is_found_out(tmp_path, capsys):
    check_model("brightest:v1")
    assert main(["check", "brightest:v1"]) == 0
    main(["ask", "make", "--size", "40", "--out", str(tmp_path / "data")])
    capsys.readouterr()
    asked = ["--data", str(tmp_path / "data"), "--model", "brightest:v1", "--out", str(tmp_path / "run")]
    assert main(["ask", "run", *asked, "--json"]) == 0
    _, comparisons, pairs = tables_of(capsys)
    (swapped,) = [row for row in comparisons["rows"] if row["against"] == "swapped"]
    assert swapped["same_answer"]["value"] < 0.9, "it does look"
    assert not pairs["notes"][0].startswith("looks:"), "but not at what it is asked about"


def test_the_method_runs_through_the_compass_and_bounds_grad_act(tmp_path, tiny_llava, capsys):
    data = tmp_path / "squares"
    assert main(["compass", "make", "--size", "4", "--out", str(data)]) == 0
    asked = ["--model", f"hf:{tiny_llava}", "--data", str(data), "--out", str(tmp_path / "run")]
    assert main(["compass", "run", *asked, "--methods", "norm-product", "--targets", "pred"]) == 0
    capsys.readouterr()
    assert main(["compass", "score", str(tmp_path / "run"), "--json"]) == 0
    (table,) = [table for table in tables_of(capsys) if table["name"] == "compass.framework_paper"]
    assert {row["method"]: row["n"] for row in table["rows"]}["norm-product"] == 4
    assert check_method("norm-product").remarks == ()


def test_the_method_is_at_least_as_large_as_the_inner_product(tiny_llava):
    """Cauchy and Schwarz: ‖g‖·‖h‖ ≥ |Σ g·h|, token by token, and strictly somewhere."""
    from theodolite.attribution import Method, Need, attribute
    from theodolite.instruments.compass.data.drawn import coloured_squares
    from theodolite.instruments.compass.questions import PROMPTS, plan_pairs
    from theodolite.models import open_model

    def inner(evidence, target):
        gradient = evidence.gradient(target, -3, contrastive=True)
        return (gradient * evidence.hidden[-3].float()).sum(dim=-1).abs()

    plain = Method("inner", "", "", Need.HIDDEN_GRADIENT, inner, is_contrastive=True)
    items = list(plan_pairs(coloured_squares(2).pairs, [PROMPTS["A"]]))
    options = [list(item.options) for item in items]
    found = attribute(
        open_model(f"hf:{tiny_llava}"),
        [item.request for item in items],
        options,
        methods=["norm-product", plain],
    )
    for each in found:
        outer, product = (each.find(name, "pred").values for name in ("norm-product", "inner"))
        assert (outer >= product * (1 - 1e-5)).all()
        assert (outer > 2 * product).any()


def test_the_explainer_keeps_the_contract_and_tells_the_two_logics_apart():
    from theodolite.instruments.grid.data.generate import generate
    from theodolite.instruments.grid.explainers.contract import make_case
    from theodolite.instruments.grid.explainers.find import find_explainers
    from theodolite.instruments.grid.explainers.readers import open_reader

    check_explainer("direction-interaction")
    (explainer,) = find_explainers(["direction-interaction"])
    batch = generate("M-F0-D1", 6, density="dense", seed=3)
    mass = {
        name: [
            np.abs(explainer.explain(make_case(open_reader(f"grid:symbolic-{name}"), batch, row)).cells).sum()
            for row in range(len(batch))
        ]
        for name in ("pure", "bow")
    }
    assert min(mass["pure"]) > 0
    assert max(mass["bow"]) == 0


def test_the_verifier_keeps_the_contract_and_judges_by_its_file(tmp_path, capsys):
    from theodolite.instruments.trace.claims.types import Claim, Mention
    from theodolite.instruments.trace.verifiers.judging import open_verifier
    from theodolite.worlds.episodes import Episode, Frame

    file = tmp_path / "labels.json"
    file.write_text(json.dumps({"scene": [["ball", "cup"], ["cup"]]}))
    check_verifier(f"labels:{file}")
    verifier = open_verifier(f"labels:{file}")
    episode = Episode("scene", "?", (Frame(0.0), Frame(1.0)))
    ball = Mention("ball")
    claims = [
        Claim("entity", ball),
        Claim("entity", ball, frames=(1,)),
        Claim("entity", ball, frames=(1,), is_negated=True),
        Claim("attribute", ball, "red"),
    ]
    labels = [verdict.label for verdict in verifier.verify(claims, episode)]
    assert labels == ["supported", "unsupported", "supported", "unverifiable"]
    assert main(["list", "verifiers"]) == 0
    assert "labels:FILE.json" in capsys.readouterr().out


def test_the_extractor_keeps_the_contract_and_finds_its_words(tmp_path, capsys):
    check_extractor("listed:cup,book")
    traces = tmp_path / "traces.jsonl"
    traces.write_text(json.dumps({"episode": "k", "text": "Step 1: There is no cup, but a Book."}) + "\n")
    words = ["trace", "verify", str(traces), "--claims", "--tables", "steps", "--json"]
    assert main([*words, "--extractor", "listed:cup,book"]) == 0
    claims = next(table for table in tables_of(capsys) if table["name"] == "trace.claim_list")
    assert [row["claim"] for row in claims["rows"]] == ["entity: not cup", "entity: book"]


def test_the_source_builds_a_data_set_with_the_right_geometry(tmp_path):
    from theodolite.instruments.scene.data.files import read_data

    root = tmp_path / "room"
    root.mkdir()
    Image.fromarray(np.full((600, 800, 3), 200, np.uint8)).save(root / "a.png")
    boxes = [
        {"category": "chair", "centre_m": [-1.0, 0.5, 4.0], "size_lwh_m": [0.8, 0.5, 1.0], "yaw_deg": 30},
        {"category": "table", "centre_m": [1.0, 0.6, 4.0], "size_lwh_m": [1.2, 0.7, 0.8], "yaw_deg": 90},
    ]
    row = {"picture": "a.png", "focal_px": 800, "camera_height_m": 1.2, "boxes": boxes}
    (root / "a.json").write_text(json.dumps(row))
    assert check_source("level-camera", root).remarks == ()
    out = tmp_path / "data"
    assert main(["scene", "import", "--format", "level-camera", "--data", str(root), "--out", str(out)]) == 0
    (scene,) = read_data(out).scenes.values()
    things = {thing.category: thing for thing in scene.objects}
    assert things["table"].size_lwh_m == pytest.approx((1.2, 0.7, 0.8))
    x, y = [], []
    for along in (-0.4, 0.4):
        for across in (
            -0.25,
            0.25,
        ):  # turned by 30° to the right: ahead is (½, 0, √¾), its right hand (√¾, 0, −½)
            place = np.array([-1.0, 0.5, 4.0]) + along * np.array([0.5, 0, 0.75**0.5])
            place += across * np.array([0.75**0.5, 0, -0.5])
            x.append(400 + 800 * place[0] / place[2])
            y += [300 + 800 * (place[1] + up) / place[2] for up in (-0.5, 0.5)]
    shown = things["chair"].box_px
    assert (shown.x0, shown.x1, shown.y0, shown.y1) == pytest.approx((min(x), max(x), min(y), max(y)))
    (edge,) = scene.star().edges
    is_from_chair = scene.star().centre == things["chair"].id
    assert edge.relation == ({"right"} if is_from_chair else {"left"})
    assert edge.distance_m == pytest.approx(np.hypot(2.0, 0.1), abs=0.01)


def test_the_edit_fills_a_place_with_what_lies_beside_it():
    from theodolite.geometry import Box
    from theodolite.pairs.pictures import Cutout, try_remove

    assert check_edit("mirrored").remarks == ()
    x = np.arange(160)
    pixels = (
        np.repeat(np.where(x // 5 % 2 == 0, 90, 98)[None, :, None], 120, axis=0)
        .repeat(3, axis=2)
        .astype(np.uint8)
    )
    without = pixels.copy()
    pixels[50:70, 70:90] = (250, 30, 30)
    edited = try_remove(pixels, Cutout(Box(70, 50, 90, 70)), fill="mirrored")
    assert edited.is_fit
    assert np.abs(edited.picture.pixels().astype(int) - without).max() <= 12, "no red is left"
    assert edited.picture.pixels()[55:65, 75:85].std() > 1, "and it has the stripes"
