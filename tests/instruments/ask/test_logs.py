"""A log is data: questions, right answers, recorded answers and pictures, or their names, come from the log itself."""

import base64
import csv
import gzip
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from theodolite.cli.main import main
from theodolite.core.errors import UsageError
from theodolite.core.types import Picture
from theodolite.diagnose.api import diagnose
from theodolite.instruments.ask.data.questions import WITHOUT_PICTURE, find_question_file, load_questions
from theodolite.instruments.ask.questions import plan_questions
from theodolite.instruments.ask.score import answered_pairs, read_rows
from theodolite.models import open_model
from theodolite.models.replay import own_questions, recorded_only
from theodolite.pairs import balance_of
from theodolite.pairs.balance import design_of
from theodolite.pairs.reading import quads_of
from theodolite.report.html.write import write_report
from theodolite.runs import Run, verify_run

N = 24
ASKED = "Is there a dog in the image?"


def truth(i):
    return "yes" if i % 3 == 0 else "no"


def said(i):
    """Right but for every fifth picture."""
    return truth(i) if i % 5 else "no"


def rows(**names):
    """Rows as evaluations write them: the pictures are named, and are not here."""
    return [
        {
            names.get("id", "id"): 100 + i,
            "image": f"COCO_val2014_{i:012d}.jpg",
            "question": ASKED,
            names.get("truth", "truth"): truth(i),
            names.get("answer", "answer"): f"{said(i).capitalize()}.",
        }
        for i in range(N)
    ]


def lines(some):
    return "".join(json.dumps(row) + "\n" for row in some).encode()


def table(some, delimiter):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(some[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(some)
    return text.getvalue().encode()


def in_parquet(some):
    sink = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist(some), sink)
    return sink.getvalue()


FORMS = {
    "answers.jsonl": lines(rows()),
    "pope.json": lines(rows()),
    "answers.json": json.dumps(rows()).encode(),
    "answers.csv": table(rows(), ","),
    "answers.tsv": table(rows(), "\t"),
    "answers.parquet": in_parquet(rows()),
}
FORMS |= {f"{name}.gz": gzip.compress(content) for name, content in FORMS.items()}


def answered(log, folder, **options):
    """The pairs of a log's own questions and answers."""
    main(["ask", "run", "--model", f"replay:{log}", "--out", str(folder), *options.pop("more", ())])
    with Run.open(place(folder)) as run:
        return list(answered_pairs(read_rows(run)))


def place(folder):
    """The folder of the run: of a log alone it is that of a diagnosis."""
    return folder if (folder / "run.json").exists() else folder / "ask-own"


@pytest.mark.parametrize("name", FORMS)
def test_a_log_of_any_form_holds_its_own_questions(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(FORMS[name])
    assert own_questions(f"replay:{path}") == str(path)
    loaded = load_questions(path, may_lack_pictures=True)
    assert loaded.unused == {WITHOUT_PICTURE: N}
    assert [question.answer for question in loaded.questions] == [truth(i) for i in range(N)]
    assert len({question.pictures for question in loaded.questions}) == N
    items = list(plan_questions(loaded.questions, model=f"replay:{path}"))
    assert {item.truth.condition for item in items} == {"plain"}  # no edits, no swaps, none without picture
    replies = open_model(f"replay:{path}").generate([item.request for item in items])
    assert [reply.text for reply in replies] == [f"{said(i).capitalize()}." for i in range(N)]


def test_a_log_alone_is_diagnosed(tmp_path):
    log = tmp_path / "pope.json"
    log.write_bytes(FORMS["pope.json"])
    found = diagnose(f"replay:{log}", out=tmp_path / "report").diagnosis
    assert [instrument.name for instrument in found.instruments] == ["ask"]
    (view,) = found.instruments[0].models
    assert view.unused == {WITHOUT_PICTURE: N}
    assert (view.counts.answered, view.counts.failed) == (N, 0)
    (looking,) = view.looking
    assert looking.n_relevant == sum(truth(i) == "yes" for i in range(N))
    page = write_report(tmp_path / "report", out=tmp_path / "report").read_text(encoding="utf-8")
    assert WITHOUT_PICTURE in page
    (run,) = (tmp_path / "report" / "runs").glob("*/*")
    assert verify_run(run) == []
    with Run.open(run) as stored:
        names = [result.item.request.pictures[0].path for result in stored.results()]
    assert sorted(names) == [Path(row["image"]) for row in rows()]


def test_another_model_needs_the_pictures(tmp_path):
    log = tmp_path / "answers.jsonl"
    log.write_bytes(FORMS["answers.jsonl"])
    with pytest.raises(UsageError, match=r"picture not found .*--images DIR; .*--model replay:"):
        diagnose("scripted:constant", data=log, instruments="ask", out=tmp_path / "report")
    assert (
        main(
            ["ask", "run", "--data", str(log), "--model", "scripted:constant", "--out", str(tmp_path / "run")]
        )
        == 2
    )


def test_a_question_file_is_no_log(tmp_path):
    plain = [{"image": f"{i}.jpg", "question": ASKED, "answer": truth(i)} for i in range(N)]
    (tmp_path / "questions.jsonl").write_bytes(lines(plain))
    assert own_questions(f"replay:{tmp_path / 'questions.jsonl'}") == ""
    without = [{"question": ASKED, "answer": truth(i)} for i in range(N)]
    (tmp_path / "text.jsonl").write_bytes(lines(without))
    assert find_question_file(tmp_path / "text.jsonl") is None


def test_a_log_without_right_answers_asks_for_them(tmp_path):
    log, questions = tmp_path / "answers.jsonl", tmp_path / "questions.jsonl"
    log.write_bytes(
        lines([{"id": i, "image": f"{i}.jpg", "question": ASKED, "prediction": said(i)} for i in range(N)])
    )
    with pytest.raises(
        UsageError, match=r"holds no right answers .* replay:LOG\?truth=FIELD, or .* --data FILE"
    ):
        diagnose(f"replay:{log}", out=tmp_path / "report")
    questions.write_bytes(
        lines([{"id": i, "image": f"{i}.jpg", "question": ASKED, "answer": truth(i)} for i in range(N)])
    )
    found = diagnose(f"replay:{log}", data=questions, out=tmp_path / "report").diagnosis
    assert [instrument.name for instrument in found.instruments] == [
        "ask"
    ]  # nothing is drawn that it cannot answer


def test_rows_without_any_picture_stand_for_their_own(tmp_path):
    log = tmp_path / "answers.jsonl"
    log.write_bytes(lines([{key: value for key, value in row.items() if key != "image"} for row in rows()]))
    pairs = answered(log, tmp_path / "run")
    assert design_of(pairs).n == sum(truth(i) == "yes" for i in range(N))
    both = tmp_path / "named.jsonl"
    both.write_bytes(FORMS["answers.jsonl"])
    assert design_of(pairs).outcomes() == design_of(answered(both, tmp_path / "other")).outcomes()


def test_samples_of_lmms_eval_are_their_own_data(tmp_path):
    log = tmp_path / "model_samples_pope.jsonl"
    made = [
        {
            "doc_id": i,
            "doc": {
                "question_id": str(900 + i),
                "question": ASKED,
                "answer": truth(i),
                "image_source": f"COCO_{i}",
            },
            "target": truth(i),
            "input": f"<image>\n{ASKED}\nAnswer the question using a single word or phrase.",
            "resps": [[said(i)]],
            "filtered_resps": [said(i)],
        }
        for i in range(N)
    ]
    log.write_bytes(lines(made))
    pairs = answered(log, tmp_path / "run")
    assert design_of(pairs).n == sum(truth(i) == "yes" for i in range(N))


def picture(i):
    return Picture.from_array(np.random.default_rng(i).integers(0, 256, (24, 24, 3), dtype=np.uint8))


def inspect_log(*, pictures="embedded"):
    """A log of inspect_ai, of somebody's own task with options, as its solver ``multiple_choice`` makes it."""
    samples = []
    for i in range(N):
        data = f"data:image/png;base64,{base64.b64encode(picture(i).read()).decode()}"
        shown = {"embedded": data, "named": f"/home/them/{i}.png", "left out": "<base64-data-removed>"}[
            pictures
        ]
        image = {"type": "image", "image": shown}
        right, letter = (("A", "B")[truth(i) == "no"], ("A", "B")[said(i) == "no"])
        sent = f"Answer the following question. Answer with 'ANSWER: $LETTER'.\n\n{ASKED}\n\nA) there is\nB) there is none"
        answer = {"role": "assistant", "content": f"I looked.\n\nANSWER: {letter}"}
        samples.append(
            {
                "id": f"s{i}",
                "epoch": 1,
                "input": [{"role": "user", "content": [{"type": "text", "text": ASKED}, image]}],
                "choices": ["there is", "there is none"],
                "target": right,
                "messages": [{"role": "user", "content": [{"type": "text", "text": sent}, image]}, answer],
                "output": {"choices": [{"message": answer, "stop_reason": "stop"}]},
            }
        )
    return json.dumps({"version": 2, "eval": {"task": "theirs"}, "samples": samples})


@pytest.mark.parametrize("pictures", ["embedded", "named", "left out"])
def test_a_stranger_s_inspect_log_is_its_own_data(tmp_path, pictures):
    log = tmp_path / "log.json"
    log.write_text(inspect_log(pictures=pictures))
    pairs = answered(log, tmp_path / "run")
    accuracy = sum(said(i) == truth(i) for i in range(N)) / N
    with Run.open(place(tmp_path / "run")) as run:
        plain = read_rows(run)["picture"]
        assert all(row.answer.is_read for row in plain.values())
        assert sum(row.is_right for row in plain.values()) / N == accuracy
        assert {r.item.request.pictures[0].is_absent for r in run.results()} == {pictures != "embedded"}
    assert design_of(pairs).n == sum(truth(i) == "yes" for i in range(N))


def test_open_answers_are_read_as_one_of_the_right_answers(tmp_path):
    sides = ("on the left", "on the right")
    made = [
        {
            "image": f"{i}.jpg",
            "question": "Where is it?",
            "truth": sides[i % 2],
            "response": f"I see it {sides[i % 2]}.",
        }
        for i in range(N)
    ]
    (tmp_path / "log.jsonl").write_bytes(lines(made))
    design = design_of(answered(tmp_path / "log.jsonl", tmp_path / "run"))
    assert (design.n, design.outcomes()["followed"]) == (N // 2, 1.0)


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("blink__GPT4o", "Multi-view_Reasoning"),
        ("blind__Claude-3-Sonnet", "TouchingCircle/overlapping-prompt"),
        ("blind__Claude-3.5-Sonnet", "TouchingCircle/overlapping-prompt"),
        ("pope__LLaVA-1.6-Vicuna-7B", "popular"),
    ],
)
def test_logs_of_real_models_have_the_numbers_of_an_independent_script(shared_data, tmp_path, name, split):
    """The script draws one matching. Ours is the mean over all, and the script's draws vary by one to four points."""
    home = shared_data / "real_logs"
    with (home / "expected.tsv").open() as file:
        known = list(csv.DictReader(file, delimiter="\t"))
    (row,) = (
        row for row in known if f"{row['set']}__{row['model']}" == name and split.startswith(row["split"])
    )
    pairs = answered(f"{home / name}.jsonl.gz?split={split}", tmp_path / "run")
    design, outcomes = design_of(pairs), design_of(pairs).outcomes()
    assert design.n == int(row["pairs"])
    assert 100 * outcomes["followed"] == pytest.approx(float(row["followed"]), abs=4)
    assert 100 * outcomes["inverted"] == pytest.approx(float(row["inverted"]), abs=2)


def test_natural_pairs_do_not_depend_on_a_draw(tmp_path):
    """Which of the many pictures with the same right answer meet the few others is averaged over."""
    rng = np.random.default_rng(0)
    found = []
    for seed in range(3):
        order = rng.permutation(N)
        renamed = [{**row, "image": f"{seed}-{order[i]}.jpg"} for i, row in enumerate(rows())]
        log = tmp_path / f"{seed}.jsonl"
        log.write_bytes(lines(renamed))
        pairs = answered(log, tmp_path / f"run{seed}", more=("--seed", str(seed)))
        found.append((design_of(pairs).outcomes(), balance_of(pairs).looking.value))
    assert found[0] == found[1] == found[2]
    right = {
        value: np.mean([said(i) == value for i in range(N) if truth(i) == value]) for value in ("yes", "no")
    }
    assert found[0][1] == pytest.approx(right["yes"] * right["no"] - (1 - right["yes"]) * (1 - right["no"]))


# What evaluations write, by its declared layout.


def natural_bench(i):
    answers = {f"q{q}_i{p}": ("Yes" if p == q else "No") for q in (0, 1) for p in (0, 1)}
    right = {f"Image_{p}_Question_{q}": ("Yes" if p == q else "No") for q in (0, 1) for p in (0, 1)}
    return {
        "Index": i,
        "Question_0": f"Is it open ({i})?",
        "Question_1": f"Is it shut ({i})?",
        **right,
        **answers,
        "Question_Type": "yes_no",
    }


def winoground(i):
    captions = {"caption_0": f"a cat under table {i}", "caption_1": f"table {i} under a cat"}
    said = {f"c{c}_i{p}": ("yes" if p == c else "no") for c in (0, 1) for p in (0, 1)}
    return {"id": i, "image_0": f"{i}a.png", "image_1": f"{i}b.png", **captions, **said}


def hallusion_bench(i):
    place = {
        "category": "VS",
        "subcategory": "chart",
        "set_id": "1",
        "figure_id": str(i),
        "question_id": "0",
        "visual_input": "1",
    }
    given = {"filename": f"./hallusion_bench/{i}.png", "gt_answer": str(i % 2), "gt_answer_details": "Text."}
    return {**place, **given, "question": "Is China first?", "model_prediction": ("No.", "Yes.")[i % 2]}


def blink(i):
    right = f"({'AB'[i % 2]})"
    return {
        "idx": f"val_Relative_Depth_{i}",
        "answer": right,
        "full_prediction": f"I see {right}",
        "prediction": right,
    }


def llava_mmvp(i):
    asked = "Are the wings closer to being open or closed? (a) Open (b) Closed"
    return {
        "question_id": i,
        "prompt": asked,
        "answer": f"({'ab'[i % 2]})",
        "response": f"({'ab'[i % 2]})",
        "model_id": "x",
    }


def vsr(i):
    return {
        "image": f"{i}.jpg",
        "caption": "The cat is under the table.",
        "label": i % 2,
        "prediction": ("no", "yes")[i % 2],
    }


LAYOUTS = {
    "NaturalBench": (natural_bench, 8, 32, 16),
    "Winoground": (winoground, 8, 32, 16),
    "HallusionBench": (hallusion_bench, 12, 12, 6),
    "BLINK": (blink, 12, 12, 6),
    "MMVP": (llava_mmvp, 12, 12, 6),
    "VSR": (vsr, 12, 12, 6),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_evaluations_write_is_read_by_its_layout(tmp_path, name):
    """All answers are right, so all pairs are followed."""
    make, n, n_questions, n_pairs = LAYOUTS[name]
    log = tmp_path / "log.json"
    log.write_text(json.dumps([make(i) for i in range(n)]))
    loaded = load_questions(Path(own_questions(f"replay:{log}")), may_lack_pictures=True)
    assert len(loaded.questions) == n_questions
    pairs = answered(log, tmp_path / "run")
    design = design_of(pairs)
    assert (design.n, design.outcomes()["followed"]) == (n_pairs, 1.0)


@pytest.mark.parametrize("name", ["NaturalBench", "Winoground"])
def test_quads_are_found(tmp_path, name):
    make, n, *_ = LAYOUTS[name]
    log = tmp_path / "log.json"
    log.write_text(json.dumps([make(i) for i in range(n)]))
    quads = list(quads_of(answered(log, tmp_path / "run")))
    assert len(quads) == n
    assert all(quad.is_right for quad in quads)


def test_questions_and_answers_may_be_in_two_files(tmp_path):
    """POPE's questions are lines of JSON under ``.json``; LLaVA's answers have their ids and prompts, and no pictures."""
    questions = [{"question_id": i, "image": f"{i}.jpg", "text": ASKED, "label": truth(i)} for i in range(N)]
    answers = [
        {
            "question_id": i,
            "prompt": f"{ASKED}\nAnswer the question using a single word or phrase.",
            "text": said(i),
        }
        for i in range(N)
    ]
    (tmp_path / "coco_pope_random.json").write_bytes(lines(questions))
    (tmp_path / "answers.jsonl").write_bytes(lines(answers))
    pairs = answered(
        tmp_path / "answers.jsonl", tmp_path / "run", more=("--data", str(tmp_path / "coco_pope_random.json"))
    )
    assert design_of(pairs).n == sum(truth(i) == "yes" for i in range(N))


def test_answers_of_another_split_are_refused(shared_data, tmp_path):
    """The answers to one split of POPE have the ids of the questions of another, and often share words with them."""
    log = shared_data / "real_logs" / "pope__LLaVA-1.6-Vicuna-7B.jsonl.gz"
    known = [json.loads(line) for line in gzip.decompress(log.read_bytes()).splitlines()]
    by_split = {
        split: [row for row in known if row["split"] == split] for split in ("adversarial", "popular")
    }
    questions = [
        {"question_id": i, "image": row["image"], "text": row["question"], "label": row["truth"]}
        for i, row in enumerate(by_split["adversarial"])
    ]
    (tmp_path / "pope.json").write_bytes(lines(questions))

    def asked(split):
        answers = [
            {"question_id": i, "prompt": row["question"], "text": row["answer"]}
            for i, row in enumerate(by_split[split])
        ]
        (tmp_path / f"{split}.jsonl").write_bytes(lines(answers))
        name = f"replay:{tmp_path / f'{split}.jsonl'}"
        loaded = load_questions(tmp_path / "pope.json", may_lack_pictures=True)
        return recorded_only(name, list(plan_questions(loaded.questions, settings=("picture",), model=name)))

    assert len(asked("adversarial")) == len(
        load_questions(tmp_path / "pope.json", may_lack_pictures=True).questions
    )
    with pytest.raises(
        UsageError, match=r"are others there; for example, .* check that both are of the same data set"
    ):
        asked("popular")
