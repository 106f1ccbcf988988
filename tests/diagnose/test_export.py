"""What goes out in other people's formats can be read there, and comes back as a model that says the same."""

import io
import json
import zipfile

import known_models
import numpy as np
import pytest
from PIL import Image

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.core.types import Message, Picture, Request
from theodolite.diagnose.export import FORMATS, export
from theodolite.diagnose.items import read_items
from theodolite.diagnose.request import DiagnosisRequest
from theodolite.diagnose.running import run_diagnosis
from theodolite.diagnose.separation import Twins
from theodolite.instruments.instrument import find_instruments
from theodolite.models import open_model
from theodolite.runs import Run

FEW = 6
LOOKS, READS = "scripted:looks", "scripted:reads"


@pytest.fixture(scope="module")
def known():
    with pytest.MonkeyPatch.context() as patch:
        known_models.put_in(patch)
        yield


@pytest.fixture(scope="module")
def request_of(tmp_path_factory, known):
    """A request of few items; the data are made once for all of them."""
    home = tmp_path_factory.mktemp("home")

    def make(folder, *models):
        folder.mkdir(exist_ok=True)
        (folder / "data").symlink_to(home)
        chosen = find_instruments(["compass", "grid", "scene"])
        return DiagnosisRequest(models, folder, chosen, FEW, twins=Twins(LOOKS, READS))

    return make


@pytest.fixture(scope="module")
def diagnosis(tmp_path_factory, request_of):
    folder = tmp_path_factory.mktemp("exported")
    run_diagnosis(request_of(folder, LOOKS, READS))
    return folder


def test_parquet_holds_every_row_and_every_value(diagnosis, tmp_path):
    import pyarrow.parquet as pq

    written = export(diagnosis, tmp_path, to="parquet")
    rows = list(read_items(diagnosis))
    table = pq.read_table(tmp_path / "items.parquet")
    assert table.num_rows == len(rows) == written["items.parquet"]
    by_key = {(row.model, row.id, row.split): row for row in rows}
    for line in table.to_pylist():
        row = by_key[line["model"], line["id"], line["split"]]
        assert line["answer"] == row.answer
        assert {k: v for k, v in line.items() if "." in k and v is not None} == row.values
    run = pq.read_table(tmp_path / "scripted-looks-grid.parquet")
    assert run.num_rows == written["scripted-looks-grid.parquet"] > 0


def test_datasets_opens_it_with_its_pictures(diagnosis, tmp_path):
    datasets = pytest.importorskip("datasets")
    written = export(diagnosis, tmp_path / "set", to="datasets")
    assert set(written) == {"compass.parquet", "grid.parquet", "scene.parquet"}
    found = datasets.load_dataset(str(tmp_path / "set"), "grid", cache_dir=str(tmp_path / "cache"))["train"]
    assert found.num_rows == written["grid.parquet"]
    first = found[0]
    assert first["images"][0].size[0] > 0
    row = next(r for r in read_items(diagnosis) if r.model == first["model"] and r.id == first["id"])
    shown = np.asarray(first["images"][0].convert("RGB"))
    assert np.array_equal(shown, np.asarray(Image.open(diagnosis / row.pictures[0]).convert("RGB")))


def test_inspect_logs_answer_like_the_run(diagnosis, tmp_path):
    export(diagnosis / "runs" / "scripted-looks" / "grid", tmp_path, to="inspect")
    logs = list(tmp_path.rglob("*.eval"))
    assert len(logs) == 1
    model = open_model(f"replay:{logs[0]}")
    with Run.open(diagnosis / "runs" / "scripted-looks" / "grid") as run:
        results = list(run.results())
    said = model.generate([result.item.request for result in results[:20]])
    assert [s.text for s in said] == [r.record.response.text for r in results[:20]]


def test_inspect_logs_are_counted_one_by_one(diagnosis, tmp_path):
    written = export(diagnosis, tmp_path, to="inspect")
    held = {}
    for path in tmp_path.rglob("*.eval"):
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.startswith("samples/")]
        held[path.relative_to(tmp_path).as_posix()] = len(names)
    assert written == held
    assert len({name for name in held if "scene" in name}) > 2
    assert len(set(held.values())) > 2


def logged(folder, log, answer):
    """The samples log that lmms-eval would write of the exported tasks, of a model that answers by itself."""
    lines = []
    for data in sorted((folder / "data").glob("theodolite_*.jsonl")):
        for number, line in enumerate(data.read_text().splitlines()):
            doc = json.loads(line)
            pictures = [Picture.from_path(folder / name) for name in doc["pictures"]]
            request = Request((Message.user(*pictures, doc["prompt"]),), hint={"gold": doc["gold"]})
            sample = {
                "doc_id": number,
                "input": doc["prompt"],
                "resps": [[answer(request, None)]],
                "ref": doc["id"],
                "pictures": len(pictures),
            }
            lines.append(json.dumps(sample))
    log.write_text("\n".join(lines))


def test_what_lmms_eval_logs_is_diagnosed_as_the_model_itself(diagnosis, request_of, tmp_path):
    written = export(diagnosis, tmp_path / "tasks", to="lmms-eval")
    assert (
        written["theodolite_compass"] >= 5 * 12
    )  # twelve pairs as they are, mirrored, blank, moved, in other light …
    utils = (tmp_path / "tasks" / "theodolite_utils.py").read_text()
    compile(utils, "theodolite_utils.py", "exec")
    log = tmp_path / "model_samples_theodolite.jsonl"
    logged(tmp_path / "tasks", log, known_models.looks)
    asked = request_of(tmp_path / "again", f"replay:{log}", LOOKS, READS)
    found = run_diagnosis(asked)
    for name in ("compass", "grid"):
        mine, theirs = (
            {
                (metric.key, metric.split): seen.figure.value
                for metric in found.instrument(name).metrics
                for seen in metric.models
                if seen.model == model and seen.figure is not None
            }
            for model in (f"replay:{log}", LOOKS)
        )
        assert mine == theirs


def test_the_exported_scorer_reads_as_we_do(diagnosis, tmp_path):
    export(diagnosis, tmp_path, to="lmms-eval")
    space = {"__file__": str(tmp_path / "theodolite_utils.py")}
    exec((tmp_path / "theodolite_utils.py").read_text(), space)  # noqa: S102 - what we wrote ourselves
    for data in (tmp_path / "data").glob("theodolite_[cg]*.jsonl"):
        for line in data.read_text().splitlines()[:12]:
            doc = json.loads(line)
            judged = {"right": 0.0} if doc["gold"] else {}
            assert space["results"](doc, ["I cannot tell."]) | {"ref": "", "pictures": 0} == {
                **judged, "read": 0.0, "ref": "", "pictures": 0,
            }  # fmt: skip
            if doc["gold"]:
                assert space["results"](doc, [doc["gold"]])["right"] == 1
            assert space["pictures"](doc)[0].size[0] > 0


def test_a_diagnosis_can_be_replayed(diagnosis, request_of, tmp_path):
    again = run_diagnosis(
        request_of(tmp_path, f"replay:{diagnosis / 'runs' / 'scripted-looks'}", LOOKS, READS)
    )
    views = {view.model: view for view in again.instrument("scene").models}
    assert views[f"replay:{diagnosis / 'runs' / 'scripted-looks'}"].looking == views[LOOKS].looking
    with pytest.raises(UsageError, match="several models"):
        open_model(f"replay:{diagnosis}")


def test_pictures_in_data_sets_are_those_that_were_shown(diagnosis, tmp_path):
    import pyarrow.parquet as pq

    export(diagnosis, tmp_path, to="datasets")
    lines = pq.read_table(tmp_path / "data" / "compass.parquet").to_pylist()
    pair = {line["condition"]: line for line in lines if line["cluster"] == lines[0]["cluster"]}
    plain, mirrored = (
        np.asarray(Image.open(io.BytesIO(pair[name]["images"][0]["bytes"]))) for name in ("plain", "mirrored")
    )
    is_sideways = pair["plain"]["gold"] in {"left", "right"}
    assert np.array_equal(mirrored, plain[:, ::-1] if is_sideways else plain[::-1])


@pytest.mark.parametrize("to", ["inspect", "lmms-eval", "datasets", "parquet", "csv", "jsonl"])
def test_the_command_tells_what_it_wrote(diagnosis, tmp_path, capsys, to):
    run = str(diagnosis / "runs" / "scripted-reads" / "grid")
    assert main(["export", run, "--to", to, "--out", str(tmp_path / "x"), "--json"]) == 0
    written = json.loads(capsys.readouterr().out)["written"]
    assert written
    assert all(n > 0 for n in written.values())


@pytest.mark.parametrize("to", ["crisp", "vlmevalkit"])
def test_what_only_one_instrument_writes_is_told(diagnosis, tmp_path, capsys, to):
    run = str(diagnosis / "runs" / "scripted-reads" / "grid")
    assert main(["export", run, "--to", to, "--out", str(tmp_path / "x")]) == 2
    assert f"{to} is available only for runs of scene" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_flat_tables_hold_every_item_of_a_run(diagnosis, tmp_path):
    run = diagnosis / "runs" / "scripted-looks" / "grid"
    written = {to: export(run, tmp_path / to, to=to) for to in ("csv", "jsonl")}
    with Run.open(run) as opened:
        answers = {r.item.name: r.record.response.text for r in opened.results()}
    (lines,) = (tmp_path / "jsonl").iterdir()
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    assert {row["name"]: row["text"] for row in rows} == answers
    assert set(written["csv"].values()) == set(written["jsonl"].values()) == {len(answers)}


def test_what_cannot_be_exported_is_told(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert main(["export", str(tmp_path / "empty"), "--to", "parquet", "--out", str(tmp_path / "x")]) == 2
    assert "neither a run nor a diagnosis" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(UsageError, match="does not exist"):
        export(tmp_path / "nowhere", tmp_path, to="parquet")
    with pytest.raises(UsageError, match="--to takes inspect"):
        export(tmp_path, tmp_path, to="excel")
    assert len(FORMATS) == len(set(FORMATS)) == 9
