"""Figures of explained runs are drawn from what the runs hold."""

import pytest

from theodolite.cli.main import main
from theodolite.instruments.grid.data.files import DatasetPlan, make_dataset, write_dataset

EXPLAINERS = "alike-removal,pixelshap-shapley,interacting-words,uniform,emap"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    home = tmp_path_factory.mktemp("drawn")
    plan = DatasetPlan("pure", 4, 1, densities=("sparse",), buckets=("M-F0-D1", "M-F0-D2", "M-F1-D1"))
    write_dataset(make_dataset(plan), home / "data", pictures=False)
    for logic in ("pure", "bow"):
        arguments = [
            "--model",
            f"grid:symbolic-{logic}",
            "--data",
            str(home / "data"),
            "--explainers",
            EXPLAINERS,
        ]
        assert (
            main(
                [
                    "grid",
                    "run",
                    "--explainers",
                    "all",
                    *arguments,
                    "--budget",
                    "400",
                    "--out",
                    str(home / logic),
                ]
            )
            == 0
        )
    runs = [str(home / "pure"), str(home / "bow")]
    assert main(["grid", "score", *runs, "--figures", str(home / "figures"), "--json"]) == 0
    return home / "figures"


def test_every_figure_that_the_runs_allow_is_there_and_not_blank(drawn):
    import numpy as np
    from PIL import Image

    expected = {
        "figure-04-maps-pure",
        "figure-04-maps-cross",
        "figure-05a-depth",
        "figure-05b-rma",
        "figure-06-iou",
        "figure-12-emap-pure",
        "figure-15-intershap-pure",
        "figure-16-emap-cross",
        "figure-17-intershap-cross",
        "separation",
    }
    assert {path.stem for path in drawn.glob("*.png")} == expected
    for path in drawn.glob("*.png"):
        pixels = np.asarray(Image.open(path).convert("RGB"))
        assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 20
