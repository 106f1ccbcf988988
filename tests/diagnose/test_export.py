"""What goes out in other people's formats can be read there, and comes back as a model that says the same."""

import csv
import io
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import known_models
import numpy as np
import pytest
import yaml
from PIL import Image

import theodolite
from theodolite.cli.main import main
from theodolite.core.errors import StorageError, UsageError
from theodolite.core.types import AnswerFormat, Item, Message, Picture, Record, Request, Response, Truth
from theodolite.diagnose.export import exporter, inspect_plugin
from theodolite.diagnose.export.exporter import FORMATS, export
from theodolite.diagnose.export.lmms_eval import copied_modules
from theodolite.diagnose.export.samples import read_samples
from theodolite.diagnose.export.shares import Graded, by_condition, pair_outcomes
from theodolite.diagnose.request import DiagnosisRequest
from theodolite.diagnose.running import read_items, run_diagnosis
from theodolite.diagnose.separation import Twins
from theodolite.instruments.ask.data.questions import write_questions
from theodolite.instruments.ask.data.squares import make_squares
from theodolite.instruments.ask.score import read_rows
from theodolite.instruments.instrument import find_instruments
from theodolite.models import open_model
from theodolite.pairs import pair_shares
from theodolite.pairs.outcomes import SHARES
from theodolite.runs import Run, RunInfo

FEW = 6
LOOKS, READS = "scripted:looks", "scripted:reads"
HEADLINES = {"compass": "compass.right", "grid": "grid.right", "scene": "scene.qa"}


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


@pytest.fixture(scope="module")
def tasks(diagnosis, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks") / "tasks"
    return folder, export(diagnosis, folder, to="lmms-eval")


def runs_of(diagnosis, model):
    return sorted((diagnosis / "runs" / model.replace(":", "-")).iterdir())


@pytest.mark.parametrize("model", [LOOKS, READS])
def test_exported_scores_are_those_of_the_run(diagnosis, model):
    compared = 0
    for folder in runs_of(diagnosis, model):
        run = read_samples(folder)
        graded = [Graded.of(sample) for sample in run.samples if not sample.task]
        means = by_condition(graded)
        ours = {f.split: f.figure.value for f in run.figures if f.key == HEADLINES[run.instrument.name]}
        for split, value in ours.items():
            mine = means.get(f"plain, {split}", means.get("plain"))
            assert mine == pytest.approx(value, rel=1e-12)
            compared += 1
        with Run.open(folder) as opened:
            pairs = list(run.instrument.pairs(opened))
        found, shares = pair_outcomes(graded), pair_shares(pairs)
        assert found.get("pairs", 0) == shares.n_relevant
        for name in SHARES:
            share = getattr(shares, name)
            assert found.get(name) == (None if share is None else pytest.approx(share.value, rel=1e-12))
    assert compared >= 6


def test_every_condition_of_questions_is_exported_whole(tmp_path):
    """Also *swapped*, most of whose requests are those of other questions, and so are not made again."""
    questions = write_questions(make_squares(49, seed=0), tmp_path / "squares")
    folder = tmp_path / "run"
    assert (
        main(["ask", "run", "--data", str(questions), "--model", "scripted:constant", "--out", str(folder)])
        == 0
    )
    with Run.open(folder) as run:
        ours = {setting: [row.is_right for row in some.values()] for setting, some in read_rows(run).items()}
    graded = [Graded.of(sample) for sample in read_samples(folder).samples]
    for setting, right in ours.items():
        theirs = [each for each in graded if each.condition == {"picture": "plain"}.get(setting, setting)]
        assert len(theirs) == len(right)
        assert sum(each.value for each in theirs) == sum(right)
    assert len(ours["swapped"]) == 49
    assert 0 < sum(ours["swapped"]) < 49


def test_graphs_are_scored_as_in_the_run(diagnosis):
    run = read_samples(diagnosis / "runs" / "scripted-looks" / "scene-aligned")
    (sgc,) = (f.figure.value for f in run.figures if f.key == "scene.sgc")
    assert by_condition([Graded.of(each) for each in run.tasks["graph"]])["plain"] == pytest.approx(sgc)


def test_strangers_samples_are_paired_by_their_words():
    def sample(name, value, said, words, picture, target):
        return Graded(name, value, "value", said, words=words, pictures=picture, targets=(target,))

    samples = [
        sample("a", 1.0, "left", "where", "1", "left"),
        sample("b", 1.0, "right", "where", "2", "right"),  # followed
        sample("c", 0.0, "left", "where", "3", "right"),  # unmoved with a; b has the same target
        sample("d", 1.0, "left", "where", "1", "left"),  # the same picture as a
        sample("e", 0.0, "left", "what", "4", "cup"),
    ]
    found = pair_outcomes(samples)
    assert found["pairs"] == 1  # picture 1 with 2 or 3: each picture is used once
    assert (found["followed"], found["unmoved"]) == (0.5, 0.5)


def state(name, text, target, said, *, picture="p", choices=(), epoch=1, scores=None, stop="stop"):
    """A sample of somebody's task, as inspect_ai gives it to scorers."""
    shown = [SimpleNamespace(type="image", image=picture)] if picture else []
    message = SimpleNamespace(role="user", content=[*shown, SimpleNamespace(type="text", text=text)])
    answer = SimpleNamespace(stop_reason=stop, message=SimpleNamespace(content=said, text=said))
    return SimpleNamespace(
        sample_id=name,
        epoch=epoch,
        input=[message],
        messages=[message],
        metadata={},
        choices=[SimpleNamespace(value=choice) for choice in choices],
        output=SimpleNamespace(choices=[] if said is None else [answer]),
        scores=scores,
        targets=[target] if isinstance(target, str) else target,
    )


def looking_of(*states, right=""):
    return pair_outcomes(inspect_plugin.graded_state(each, each.targets, right) for each in states)


LETTERED = "Where is it?\nA) left\nB) right\nAnswer with the letter."


@pytest.mark.parametrize(
    ("text", "choices", "targets", "answers"),
    [
        ("Where?", (("left", "right"), ("left", "right")), ("A", "B"), ("ANSWER: A", "It is right.")),
        ("Where?", (("left", "right"), ("right", "left")), ("A", "A"), ("A", "A")),  # shuffled choices
        ("Where?", (("left", "right"), ("left", "right")), ("left", "right"), ("A", "B")),
        (LETTERED, ((), ()), ("A", "B"), ("A", "(B) right")),
        (LETTERED, ((), ()), ("left", "right"), ("the left one", "B")),
        ("One of: left, right.", ((), ()), ("Left", "Right"), ("It is left.", "Right")),
        ("Is it red?", ((), ()), ("Yes.", "no"), ("Yes, it is.", "No")),
        ("How many?", ((), ()), ("2", "3"), ("There are two.", "3")),
        ("What is it?", ((), ()), ("a cup", "dog"), ("I see a cup on a table.", "The picture shows a dog.")),
    ],
)
def test_looking_reads_the_answers_to_strangers_questions(text, choices, targets, answers):
    given = list(zip("ab", choices, targets, strict=True))
    right = [
        state(name, text, target, said, picture=name, choices=offered)
        for (name, offered, target), said in zip(given, answers, strict=True)
    ]
    rest = dict.fromkeys(("inverted", "moved", "unmoved", "lost"), 0)
    assert looking_of(*right) == {"looking": 1, "followed": 1, **rest, "pairs": 1}
    twice = [
        state(name, text, target, answers[0], picture=name, choices=given[0][1])
        for name, _, target in (given[0], ("b", (), "B" if "A" in targets else targets[1]))
    ]
    assert looking_of(*twice)["unmoved"] == 1


def test_looking_pairs_within_an_epoch():
    said = {1: ("left", "right"), 2: ("left", "left"), 3: ("right", "left")}
    states = [
        state(name, "Where?", target, text, picture=name, epoch=epoch)
        for epoch, texts in said.items()
        for name, target, text in zip("ab", ("left", "right"), texts, strict=True)
    ]
    found = looking_of(*states)
    assert found == pytest.approx(
        {
            "looking": 0,
            "followed": 1 / 3,
            "inverted": 1 / 3,
            "moved": 0,
            "unmoved": 1 / 3,
            "lost": 0,
            "pairs": 3,
        }
    )


def test_looking_by_the_scores_of_others():
    def score(value):
        return {"judge": SimpleNamespace(value=value)}

    texts = ("It lies beside the plate.", "Nothing is there.", "Nothing is there.")
    states = [
        state(name, "What do you see?", f"Says {name}. " * 9, text, picture=name, scores=score(value))
        for name, text, value in zip("abc", texts, (1.0, "C", "I"), strict=True)
    ]
    assert looking_of(*states) == {}  # such targets cannot be read in an answer
    found = looking_of(*states, right="judge")
    assert (found["pairs"], found["followed"], found["moved"]) == pytest.approx((2, 1 / 3, 2 / 3))
    with pytest.raises(UsageError, match=r"sample a has no score 'other'; it has: judge"):
        looking_of(*states, right="other")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"picture": ""}, "it has no picture"),
        ({"target": ["A", "B"], "choices": ("left", "right")}, "it has several right choices"),
        ({"target": ""}, "it has no target"),
        ({"target": "so long " * 7}, "its target has more than 12 words"),
    ],
)
def test_looking_tells_why_a_sample_is_in_no_pair(given, why):
    asked = state(**{"name": "a", "text": "Where?", "target": "left", "said": "left", **given})
    graded = inspect_plugin.graded_state(asked, asked.targets)
    assert (graded.targets, graded.reason.endswith(f"not paired: {why}")) == ((), True)


def test_failed_and_filtered_answers_of_strangers_are_lost():
    lost = [
        state("b", "Where?", "right", None, picture="b"),
        state("c", "Where?", "up", "", stop="content_filter"),
    ]
    found = looking_of(state("a", "Where?", "left", "left", picture="a"), *lost)
    assert (found["lost"], found["moved"], found["pairs"]) == pytest.approx((2 / 3, 1 / 3, 2))  # one refuses


@pytest.mark.parametrize("kind", ["parquet", "csv", "jsonl"])
def test_a_table_holds_every_item_with_its_answer(diagnosis, tmp_path, kind):
    import pyarrow.parquet as pq

    one = diagnosis / "runs" / "scripted-looks"
    written = export(one, tmp_path, to=kind)
    (path,) = tmp_path.iterdir()
    if kind == "parquet":
        lines = pq.read_table(path).to_pylist()
    elif kind == "csv":
        csv.field_size_limit(10**7)
        with path.open(newline="", encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
    else:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
    rows = {
        (row.split, row.question, row.condition, row.answer)
        for row in read_items(diagnosis)
        if row.model == LOOKS
    }
    assert len(lines) == written[f"items.{kind}"]
    assert {tuple(line[k] for k in ("split", "question", "condition", "answer")) for line in lines} >= rows
    assert all(json.loads(line["meta"]) for line in lines)


def test_a_table_that_fails_leaves_the_old_file(diagnosis, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    (tmp_path / "items.jsonl").write_text("old")
    monkeypatch.setattr(exporter, "_write_rows", full)
    with pytest.raises(StorageError, match="No space left"):
        export(diagnosis / "runs" / "scripted-looks" / "grid", tmp_path, to="jsonl")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize("place", ["", "pictures"])
def test_an_export_never_writes_into_a_run(diagnosis, place):
    run = diagnosis / "runs" / "scripted-looks" / "grid"
    with pytest.raises(UsageError, match="belongs to a run"):
        export(run, run / place, to="jsonl")


def test_datasets_opens_it_with_its_pictures(diagnosis, tmp_path):
    datasets = pytest.importorskip("datasets")
    written = export(diagnosis / "runs" / "scripted-looks", tmp_path / "set", to="datasets")
    assert set(written) - {"left out: repeats"} == {"compass.parquet", "grid.parquet", "scene.parquet"}
    found = datasets.load_dataset(str(tmp_path / "set"), "grid", cache_dir=str(tmp_path / "cache"))["train"]
    assert found.num_rows == written["grid.parquet"]
    first = found[0]
    row = next(
        r
        for r in read_items(diagnosis)
        if (r.model, r.split, r.question, r.condition, r.cluster)
        == tuple(first[k] for k in ("model", "split", "question", "condition", "cluster"))
    )
    shown = np.asarray(first["images"][0].convert("RGB"))
    assert np.array_equal(shown, np.asarray(Image.open(diagnosis / row.pictures[0]).convert("RGB")))


def test_pictures_in_data_sets_are_those_that_were_shown(diagnosis, tmp_path):
    import pyarrow.parquet as pq

    export(diagnosis / "runs" / "scripted-looks" / "compass", tmp_path, to="datasets")
    lines = pq.read_table(tmp_path / "data" / "compass.parquet").to_pylist()
    pair = {line["condition"]: line for line in lines if line["cluster"] == lines[0]["cluster"]}
    plain, mirrored = (
        np.asarray(Image.open(io.BytesIO(pair[name]["images"][0]["bytes"]))) for name in ("plain", "mirrored")
    )
    is_sideways = pair["plain"]["gold"] in {"left", "right"}
    assert np.array_equal(mirrored, plain[:, ::-1] if is_sideways else plain[::-1])


def test_inspect_logs_have_the_layout_of_inspect_ai(diagnosis, tmp_path):
    written = export(diagnosis / "runs" / "scripted-looks", tmp_path, to="inspect")
    logs = {name: n for name, n in written.items() if name.endswith(".eval")}
    assert len(logs) > 8
    for name, n in logs.items():
        with zipfile.ZipFile(tmp_path / name) as archive:
            header = json.loads(archive.read("header.json"))
            summaries = json.loads(archive.read("summaries.json"))
            members = {each for each in archive.namelist() if each.startswith("samples/")}
            assert members == {f"samples/{each['id']}_epoch_{each['epoch']}.json" for each in summaries}
            assert len(members) == n == header["results"]["total_samples"]
            assert header["eval"]["model"].startswith("theodolite/scripted:")
            sample = json.loads(archive.read(min(members)))
        images = [
            part["image"] for turn in sample["input"] for part in turn["content"] if part["type"] == "image"
        ]
        data = [sample["attachments"][image.removeprefix("attachment://")] for image in images]
        assert all(each.startswith("data:image/") for each in data)
        assert set(sample["metadata"]) >= {"condition", "split", "cluster", "rubric", "pairs"}


def test_inspect_logs_answer_like_the_run_even_about_edited_pictures(diagnosis, tmp_path):
    run = diagnosis / "runs" / "scripted-looks" / "compass"
    export(run, tmp_path, to="inspect")
    model = open_model(f"replay:{tmp_path}")
    samples = read_samples(run).samples
    assert {sample.row.condition for sample in samples} > {"plain", "mirrored", "blank"}
    said = model.generate([sample.item.request for sample in samples])
    assert [each.text for each in said] == [sample.record.response.text for sample in samples]


@pytest.mark.parametrize("to", ["csv", "jsonl", "parquet", "datasets"])
def test_tables_answer_like_the_run_even_about_edited_pictures(diagnosis, tmp_path, to):
    run = diagnosis / "runs" / "scripted-looks" / "compass"
    export(run, tmp_path, to=to)
    (path,) = (each for each in tmp_path.rglob("*.*") if each.suffix in {".csv", ".jsonl", ".parquet"})
    samples = read_samples(run).samples
    said = open_model(f"replay:{path}").generate([sample.item.request for sample in samples])
    assert [each.text or each.reason for each in said] == [each.record.response.text for each in samples]


def test_the_ids_of_the_inspect_task_are_unique_across_runs(diagnosis, monkeypatch):
    folders = [folder for folder in runs_of(diagnosis, LOOKS) if folder.name.startswith("scene")]
    runs = [read_samples(folder).samples for folder in folders]
    monkeypatch.setattr(inspect_plugin, "plan_runs", lambda *_, **__: iter(folders))
    made = inspect_plugin.pair_samples("scene", "", "2", 0)
    by_id = {each["id"]: each for each in made}
    assert len(by_id) == len(made) == sum(map(len, runs)) > len({s.id for run in runs for s in run})
    pairs = [(each, pair["before"]) for each in made for pair in each["metadata"]["pairs"]]
    assert len(pairs) == sum(len(sample.pairs) for run in runs for sample in run) > 0
    assert all(by_id[before]["metadata"]["run"] == each["metadata"]["run"] for each, before in pairs)


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
                "shown": doc["shown"],
            }
            lines.append(json.dumps(sample))
    log.write_text("\n".join(lines))


def test_what_lmms_eval_logs_is_diagnosed_as_the_model_itself(tasks, request_of, tmp_path):
    log = tmp_path / "model_samples_theodolite.jsonl"
    logged(tasks[0], log, known_models.looks)
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


class Loader(yaml.SafeLoader):
    """YAML with lmms-eval's one tag."""


Loader.add_constructor("!function", lambda _, node: f"function {node.value}")


def test_there_is_one_task_for_each_condition_and_one_for_pairs(tasks):
    folder, written = tasks
    assert {"theodolite_compass_plain_aligned", "theodolite_compass_mirrored_crossed"} <= set(written)
    assert {"theodolite_compass_looking", "theodolite_grid_looking"} <= set(written)
    for task, n in written.items():
        config = yaml.load((folder / f"{task}.yaml").read_text(), Loader)  # noqa: S506 - our own file and loader
        data = config["dataset_kwargs"]["data_files"]["test"]
        docs = [json.loads(line) for line in (folder / data).read_text().splitlines()]
        assert (len(docs), Path(data).is_absolute()) == (n, False)
        if not task.endswith("_looking"):
            assert {doc["condition"] for doc in docs} == {config["metadata"]["condition"]}
        assert all((folder / name).is_file() for doc in docs for name in doc["pictures"])


def test_the_copied_reader_is_the_package_itself(tasks):
    copy = tasks[0] / "theodolite_copy" / "theodolite"
    source = Path(theodolite.__file__).parent
    files = [path for path in copy.rglob("*.py") if path.is_file()]
    assert {path.relative_to(copy) for path in files} >= {
        path.relative_to(source) for path in copied_modules(["theodolite.answers.grading"])
    }
    assert all(path.read_bytes() == (source / path.relative_to(copy)).read_bytes() for path in files)


SCORE = """
import json, sys
import theodolite_utils as utils
docs = [json.loads(line) for line in open(sys.argv[1])]
found = [utils.results(doc, [doc["gold"] if doc["condition"] == "plain" else "I cannot tell."]) for doc in docs]
lost = utils.results(docs[0], ["I cannot tell."])
shares = [utils.pair_results(doc, [doc["gold"]])["looking"] for doc in map(json.loads, open(sys.argv[2]))]
print(json.dumps([utils.score([each["score"] for each in found]), lost["read"], utils.looking(shares), utils.Graded.__module__,
                  sys.modules["theodolite"].__file__]))
"""


HIDE = """
import pathlib, sys
sys.path[:] = [place for place in sys.path if not (pathlib.Path(place) / "theodolite").is_dir()]
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in repr(finder)]
"""


@pytest.mark.parametrize("is_installed", [True, False])
def test_tasks_score_with_theodolite_or_with_their_copy(tasks, is_installed):
    folder = tasks[0]
    source = str(Path(theodolite.__file__).parents[1])
    start = f"import sys; sys.path.insert(0, {source!r})" if is_installed else HIDE
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            start + SCORE,
            *(f"data/theodolite_compass_{name}.jsonl" for name in ("plain_aligned", "looking")),
        ],
        cwd=folder,
        env={"PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    score, lost, looking, _, place = json.loads(done.stdout)
    assert (score, lost, looking) == (1, 0, 1)
    assert ("theodolite_copy" in place) is not is_installed


def test_vlmevalkits_tables_hold_what_the_model_sees_but_the_options(diagnosis, tmp_path):
    run = diagnosis / "runs" / "scripted-looks" / "scene-aligned"
    counts = export(run, tmp_path, to="vlmevalkit")
    samples = read_samples(run).samples
    assert counts["left out: no picture"] == sum(not sample.item.request.pictures for sample in samples)
    csv.field_size_limit(10**7)
    by_id = {sample.id: sample for sample in samples}
    with (tmp_path / "theodolite_scene_plain_MCQ.tsv").open() as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert len(rows) == counts["theodolite_scene_plain_MCQ.tsv"] > 0
    for row in rows:
        options = by_id[row["id"]].rubric["format"]["options"]
        assert {letter: row[letter] for letter in options} == options
        assert by_id[row["id"]].item.request.text.startswith(row["question"])
        assert not any(row["question"].endswith(text) for text in options.values())
        assert (row["condition"], row["answer"]) == ("plain", by_id[row["id"]].gold)


def test_vlmevalkits_results_come_back(diagnosis, tmp_path):
    """Its result file is the table without pictures, with predictions."""
    run = diagnosis / "runs" / "scripted-looks" / "compass"
    export(run, tmp_path / "tsv", to="vlmevalkit")
    samples = {sample.id: sample for sample in read_samples(run).samples}
    csv.field_size_limit(10**7)
    rows = []
    for path in (tmp_path / "tsv").iterdir():
        with path.open() as file:
            rows += list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        del row["image"]
        row["prediction"] = samples[row["id"]].record.response.text
    (tmp_path / "model_data.json").write_text(json.dumps(rows))
    model = open_model(f"replay:{tmp_path / 'model_data.json'}")
    asked = [samples[row["id"]] for row in rows]
    said = model.generate([sample.item.request for sample in asked])
    assert [each.text for each in said] == [sample.record.response.text for sample in asked]


def test_a_data_set_is_exported_as_a_diagnosis_would_ask_it(tmp_path):
    for number, colour in enumerate(((255, 0, 0), (0, 0, 255))):
        Image.new("RGB", (32, 32), colour).save(tmp_path / f"{number}.png")
    questions = [
        {
            "id": f"q{n}",
            "picture": f"{n}.png",
            "question": "Which colour?",
            "answer": gold,
            "options": ["red", "blue"],
        }
        for n, gold in enumerate(("red", "blue"))
    ]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(each) + "\n" for each in questions))
    written = export(tmp_path / "questions.jsonl", tmp_path / "tasks", to="lmms-eval")
    assert written["theodolite_ask_own_plain"] == written["theodolite_ask_own_blind"] == 2
    lines = (tmp_path / "tasks" / "data" / "theodolite_ask_own_looking.jsonl").read_text().splitlines()
    docs = list(map(json.loads, lines))
    relevant = {(d["id"], p["before"]) for d in docs for p in json.loads(d["pairs"]) if p["relevant"]}
    assert relevant == {("q1", "q0")}
    assert {"q0/light", "q1/light"} <= {d["id"] for d in docs}
    export(tmp_path / "questions.jsonl", tmp_path / "tsv", to="vlmevalkit")
    csv.field_size_limit(10**7)
    for path in (tmp_path / "tsv").iterdir():
        with path.open() as file:
            assert {row["split"] for row in csv.DictReader(file, delimiter="\t")} == {"own data"}
    with pytest.raises(UsageError, match="theodolite/pairs -T instrument=ask -T data="):
        export(tmp_path / "questions.jsonl", tmp_path / "logs", to="inspect")


def test_a_diagnosis_can_be_replayed(diagnosis, request_of, tmp_path):
    again = run_diagnosis(
        request_of(tmp_path, f"replay:{diagnosis / 'runs' / 'scripted-looks'}", LOOKS, READS)
    )
    views = {view.model: view for view in again.instrument("scene").models}
    assert views[f"replay:{diagnosis / 'runs' / 'scripted-looks'}"].looking == views[LOOKS].looking
    with pytest.raises(UsageError, match="several models"):
        open_model(f"replay:{diagnosis}")


@pytest.mark.parametrize("to", ["inspect", "lmms-eval", "vlmevalkit", "datasets", "parquet", "csv", "jsonl"])
def test_the_command_tells_what_it_wrote(diagnosis, tmp_path, capsys, to):
    run = str(diagnosis / "runs" / "scripted-reads" / "grid")
    assert main(["export", run, "--to", to, "--out", str(tmp_path / "x"), "--json"]) == 0
    written = json.loads(capsys.readouterr().out)["written"]
    assert written
    assert all(n > 0 for n in written.values())


@pytest.mark.parametrize(("to", "run"), [("lmms-eval", "grid"), ("vlmevalkit", "grid"), ("crisp", "scene")])
def test_runs_that_would_overwrite_each_other_are_refused(diagnosis, tmp_path, to, run):
    for place in ("a", "b"):
        (own,) = (each for each in runs_of(diagnosis, LOOKS) if each.name in {run, f"{run}-aligned"})
        shutil.copytree(own, tmp_path / "runs" / place / own.name, symlinks=True)
    with pytest.raises(UsageError, match=r"runs/a/\S+ and \S+runs/b/\S+ are runs of one model"):
        export(tmp_path / "runs", tmp_path / "out", to=to)
    assert not (tmp_path / "out").exists()


def test_what_only_one_instrument_writes_is_told(diagnosis, tmp_path, capsys):
    run = str(diagnosis / "runs" / "scripted-reads" / "grid")
    assert main(["export", run, "--to", "crisp", "--out", str(tmp_path / "x")]) == 2
    assert "crisp is available only for runs of scene" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_what_cannot_be_exported_is_told(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert main(["export", str(tmp_path / "empty"), "--to", "parquet", "--out", str(tmp_path / "x")]) == 2
    assert "neither a run nor a diagnosis" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(UsageError, match="does not exist"):
        export(tmp_path / "nowhere", tmp_path, to="parquet")
    with pytest.raises(UsageError, match="--to takes inspect"):
        export(tmp_path, tmp_path, to="excel")
    assert len(FORMATS) == len(set(FORMATS)) == 9


@pytest.mark.parametrize("to", ["csv", "vlmevalkit"])
def test_no_exported_cell_is_a_formula(tmp_path, to):
    evil = ["=cmd|' /C calc'!A0", "@SUM(A1)", "\u202eleft", "a\x00b", "-1"]
    picture = Picture.from_array(np.zeros((4, 4, 3), np.uint8))
    items = [
        Item(
            f"={i}",
            Request.ask(picture, f"={i} {text}"),
            truth=Truth((text,), AnswerFormat.text(), group="@g"),
        )
        for i, text in enumerate(evil)
    ]
    info = RunInfo(instrument="ask", model="=m", identity="x", theodolite="0")
    with Run.start(tmp_path / "run", info) as run:
        run.plan(items)
        records = [
            Record(item.id, Response("answered", text=text)) for item, text in zip(items, evil, strict=True)
        ]
        run.store.add([(n, None, record) for n, record in enumerate(records, 1)])
    export(tmp_path / "run", tmp_path / "out", to=to)
    csv.field_size_limit(10**7)
    cells = []
    for path in [*(tmp_path / "out").rglob("*.csv"), *(tmp_path / "out").rglob("*.tsv")]:
        with path.open(newline="", encoding="utf-8") as file:
            cells += [
                cell
                for row in csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
                for cell in row
            ]
    assert "-1" in cells
    assert any(cell.startswith("'=0 =cmd") for cell in cells)
    assert not [
        cell for cell in cells if cell[:1] in {"=", "+", "@", "\t", "\r"} or set(cell) & set("\x00\u202e")
    ]
