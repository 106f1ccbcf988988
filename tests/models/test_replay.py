import base64
import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import zstandard

from theodolite.cli.main import main
from theodolite.core import unpack
from theodolite.core.errors import UsageError
from theodolite.core.types import Item, Picture, Request
from theodolite.models import ask_measurer, open_model
from theodolite.models import logs as _logs
from theodolite.models import replay as _replay
from theodolite.models.replay import missing_answers, recorded_only, recording_notes, unmatched
from theodolite.runs import LocalEngine, Run, RunInfo, measure


def picture(seed):
    return Picture.from_array(np.random.default_rng(seed).integers(0, 256, (8, 8, 3), dtype=np.uint8))


def write_lmms(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def lmms_row(doc_id, text, **answers):
    """The fields that lmms-eval 0.7 writes for a sample of a generation task."""
    return {
        "doc_id": doc_id,
        "input": text,
        "target": "left",
        "token_counts": [None],
        "doc_hash": "0",
        **answers,
    }


def inspect_sample(sample_id, text, answer, *, epoch=1, **sample):
    """The part of a sample of an inspect_ai log (version 2) that holds prompt and answer."""
    message = {"role": "assistant", "content": answer}
    return {
        "id": sample_id,
        "epoch": epoch,
        "messages": [
            {
                "role": "user",
                "content": [{"type": "image", "image": "attachment://1"}, {"type": "text", "text": text}],
            },
            message,
        ],
        "output": {
            "model": "m",
            "choices": [{"message": message, "stop_reason": "stop"}],
            "usage": {"input_tokens": 11, "output_tokens": 3},
        },
        "attachments": {"1": "data:image/png;base64,", "2": "Where is the far cup?"},
        **sample,
    }


def write_inspect(path, samples, *, compress):
    """An archive as inspect_ai writes it. Its zstandard members carry the method number 93, which `zipfile` lacks."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if not compress else zipfile.ZIP_STORED) as archive:
        archive.writestr("header.json", "{}")
        for sample in samples:
            data = json.dumps(sample).encode()
            name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
            archive.writestr(name, zstandard.compress(data) if compress else data)
    if compress:
        raw = bytearray(path.read_bytes())
        sizes = [len(json.dumps(sample).encode()) for sample in samples]
        for mark, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
            place = raw.find(mark, raw.find(mark) + 4)  # the first member, the header, stays as it is
            for size in sizes:
                raw[place + at : place + at + 2] = (93).to_bytes(2, "little")
                raw[place + at + 14 : place + at + 18] = size.to_bytes(4, "little")
                place = raw.find(mark, place + 4)
        path.write_bytes(raw)
    return path


def texts(model, *requests):
    return [response.text or response.reason for response in model.generate(requests)]


def record(folder, items, name):
    """Asks a model, and gives back what it said."""
    engine = LocalEngine(ask_measurer(open_model(name)))
    info = RunInfo(instrument="x", model=name, identity=engine.identity, theodolite="0")
    with Run.start(folder, info) as run:
        run.plan(items)
        measure(run, engine)
        return [result.record.response.text or result.record.response.reason for result in run.results()]


def test_a_run_of_ours_is_replayed_exactly(tmp_path):
    items = [Item(f"q{i}", Request.ask(picture(i), "Where is it?", ref=f"q{i}")) for i in range(4)]
    items.append(Item("blind", Request.ask("Where is it?", ref="blind")))
    wanted = record(tmp_path / "run", items, "scripted:echo")
    replayed = open_model(f"replay:{tmp_path / 'run'}")
    assert texts(replayed, *(item.request for item in items)) == wanted
    assert "no answer" in texts(replayed, Request.ask(picture(99), "Who?"))[0]


def test_lmms_eval_samples_are_found_by_id_or_text(tmp_path):
    path = write_lmms(
        tmp_path / "2026_samples_task.jsonl",
        [
            lmms_row(0, "<image>\nWhere is the cup?", resps=["left, I think"], filtered_resps="left"),
            lmms_row(1, "Where is the dog?", filtered_resps="right"),
            lmms_row(2, "Where is the cat?", resps=[["above"]], filtered_resps=["above"]),
            lmms_row(3, "Where is the hat?", filtered_resps=""),
            lmms_row(4, "Where is the fox?", filtered_resps=[]),
        ],
    )
    model = open_model(f"replay:{path}")
    assert texts(model, Request.ask(picture(0), "Where is the cup?")) == ["left, I think"]
    assert texts(model, Request.ask(picture(1), "Where is the dog? Be brief.", ref="1")) == ["right"]
    assert texts(model, Request.ask(picture(2), "Where is the cat?")) == ["above"]
    hat, fox = model.generate([Request.ask(picture(3), f"Where is the {what}?") for what in ("hat", "fox")])
    assert (hat.status, hat.text) == ("answered", "")
    assert (fox.status, fox.reason) == ("failed", "no answer was logged")


def test_the_same_words_with_another_picture_are_not_answered(tmp_path):
    path = write_lmms(
        tmp_path / "a_samples_b.jsonl", [lmms_row(0, "Where is the cup?", filtered_resps="left")]
    )
    model = open_model(f"replay:{path}")
    first = Request.ask(picture(0), "Where is the cup?")
    assert texts(model, first, first) == ["left", "left"]
    assert "already used" in texts(model, Request.ask(picture(1), "Where is the cup?"))[0]


@pytest.mark.parametrize(
    ("name", "row", "said"),
    [
        ("a_samples_b.jsonl", lmms_row("q", "Where is the cup?", filtered_resps="left"), "about 1 pictures"),
        (
            "a_samples_b.jsonl",
            lmms_row("q", "<image><image_1>Where is the cup?", filtered_resps="left"),
            "about 2 pictures",
        ),
        ("log.json", inspect_sample("q", "Where is the cup?", "left"), "about 1 pictures"),
    ],
)
@pytest.mark.parametrize("ref", ["", "q"])
def test_a_request_with_fewer_pictures_than_the_logged_sample_is_another_one(tmp_path, name, row, said, ref):
    path = tmp_path / name
    path.write_text(json.dumps(row if name.endswith("l") else {"version": 2, "samples": [row]}))
    model = open_model(f"replay:{path}")
    assert said in texts(model, Request.ask("Where is the cup?", ref=ref))[0]
    assert texts(model, Request.ask(picture(0), picture(1), "Where is the cup?", ref=ref)) == ["left"]


def test_a_request_is_found_only_as_it_allows(tmp_path):
    rows = [lmms_row("q", "Where is the cup?", filtered_resps="left")]
    model = open_model(f"replay:{write_lmms(tmp_path / 'a_samples_b.jsonl', rows)}")
    asked = {
        (recall, ref): replace(Request.ask(picture(0), "Where is the cup?", ref=ref), recall=recall)
        for recall in ("words", "id", "content")
        for ref in ("q", "other")
    }
    answered = [case for case, request in asked.items() if texts(model, request) == ["left"]]
    assert answered == [("words", "q"), ("words", "other"), ("id", "q")]
    assert "original pictures" in texts(model, asked["content", "q"])[0]


def test_a_run_of_ours_answers_the_same_content_and_nothing_else(tmp_path):
    items = [Item("q/picture", Request.ask(picture(0), "Where is it?", ref="q"))]
    record(tmp_path / "run", items, "scripted:constant")
    model = open_model(f"replay:{tmp_path / 'run'}")
    assert texts(model, Request.ask(picture(0), "Where is it?", ref="other")) == ["left"]
    for other in (Request.ask("Where is it?", ref="q"), Request.ask(picture(1), "Where is it?", ref="q")):
        assert "has no answer" in texts(model, other)[0]


def test_records_of_one_request_that_differ_are_told_apart_by_their_id_or_not_at_all(tmp_path):
    request = Request.ask("Where is it?")
    items = [Item(gold, replace(request, ref=gold, hint={"gold": gold})) for gold in ("left", "right")]
    record(tmp_path / "run", items, "scripted:oracle")
    model = open_model(f"replay:{tmp_path / 'run'}")
    assert texts(model, *(item.request for item in items)) == ["left", "right"]
    assert "2 records" in texts(model, request)[0]


def test_equal_requests_of_a_recording_are_each_looked_up(tmp_path):
    """The answers of an oracle to blind questions: the run must not hand the first one's to the second."""
    items = [
        Item(str(i), replace(Request.ask("Where is it?"), ref=str(i), hint={"gold": gold}))
        for i, gold in enumerate(["left", "right", "above"])
    ]
    record(tmp_path / "run", items, "scripted:oracle")
    assert record(tmp_path / "again", items, f"replay:{tmp_path / 'run'}") == ["left", "right", "above"]


def test_an_id_that_belongs_to_another_question_is_not_trusted(tmp_path):
    path = write_lmms(
        tmp_path / "a_samples_b.jsonl", [lmms_row(0, "How many dogs play outside?", filtered_resps="2")]
    )
    said = texts(open_model(f"replay:{path}"), Request.ask("Where is the cup?", ref="0"))[0]
    assert "is for another question" in said


@pytest.mark.parametrize(
    ("recorded", "asked", "is_same"),
    [
        ("Is there a dog?", "Is there a dog?", True),
        ("<image>\nQuestion: is there  a dog?\nAnswer yes or no.", "Is there a dog?", True),
        ("Is there a dog?", "Is there a dog? Options: A. yes B. no", True),
        ("Is there a dog in the image?\nAnswer with one word.", "Is there a dog in the image?", True),
        ("Answer the question 'Is there a dog?' with yes or no", "Is there a dog?", True),
        ("Where is it?\n\nA) left\nB) right", "Where is it? (A) left (B) right", True),
        ("Is there a backpack in the image?", "Is there a car in the image?", False),
        ("Is there a dog collar?", "Is there a dog?", False),
        ("Is there a dog?", "Is there a dog under the table?", False),
        ("What is left of the dog?", "What is right of the dog?", False),
    ],
)
def test_an_id_counts_only_with_its_question(tmp_path, recorded, asked, is_same):
    path = write_lmms(tmp_path / "a_samples_b.jsonl", [lmms_row(7, recorded, filtered_resps="yes")])
    model = open_model(f"replay:{path}")
    request = replace(Request.ask(picture(0), asked, ref="7"), recall="id")
    said = texts(model, request)[0]
    assert (said == "yes") is is_same
    assert is_same or "is for another question" in said


def test_an_id_counts_only_with_its_picture(tmp_path):
    rows = [{"question_id": 7, "image": "a/1.jpg", "question": "Is there a dog?", "answer": "yes"}]
    (tmp_path / "answers.json").write_text(json.dumps(rows))
    model = open_model(f"replay:{tmp_path / 'answers.json'}")
    own, other = (Request.ask(Picture.named(name), "Is there a dog?", ref="7") for name in ("1.jpg", "2.jpg"))
    assert texts(model, own) == ["yes"]
    assert "is for another question: it about 'a/1.jpg'" in texts(model, other)[0]


@pytest.mark.parametrize("n_others", [1, 2, 3])
def test_a_log_of_other_questions_is_refused(tmp_path, n_others):
    """Of twenty questions with known ids, two others are a tenth, and three too many."""
    nouns = [f"thing{i}" for i in range(20)]
    rows = [lmms_row(i, f"Is there a {noun}?", filtered_resps="yes") for i, noun in enumerate(nouns)]
    name = f"replay:{write_lmms(tmp_path / 'a_samples_b.jsonl', rows)}"
    there = nouns[:-n_others] + [f"else{i}" for i in range(n_others)]
    asked = [Request.ask(picture(i), f"Is there a {noun}?", ref=str(i)) for i, noun in enumerate(there)]
    items = [Item(request.ref, replace(request, recall="id")) for request in asked]
    if n_others == 3:
        with pytest.raises(
            UsageError, match=r"of 20 .* 3 are others there; .* 'Is there a else0\?' .*thing17"
        ):
            recorded_only(name, items)
        return
    assert [item.name for item in recorded_only(name, items)] == [str(i) for i in range(20 - n_others)]
    ((n, example),) = missing_answers(name, items).values()
    assert n == n_others
    assert "is for another question" in example


def test_records_that_differ_are_not_guessed_between(tmp_path):
    rows = [lmms_row(i, "Where is the cup?", filtered_resps=said) for i, said in enumerate(["left", "right"])]
    model = open_model(f"replay:{write_lmms(tmp_path / 'a_samples_b.jsonl', rows)}")
    assert "2 records" in texts(model, Request.ask(picture(0), "Where is the cup?"))[0]


@pytest.mark.parametrize("form", ["zstandard", "deflate", "json"])
def test_inspect_logs_are_read(tmp_path, form):
    thinking = [{"type": "reasoning", "reasoning": "it is low"}, {"type": "text", "text": "below"}]
    filtered = {"choices": [{"message": {"content": ""}, "stop_reason": "content_filter"}]}
    samples = [
        inspect_sample("a", "Where is the cup?", "left"),
        inspect_sample("a", "Where is the cup?", "right", epoch=2),
        inspect_sample("b", "Where is the dog?", thinking),
        inspect_sample("c", "Where is the cat?", "", output=filtered),
        inspect_sample("d", "Where is the hat?", "", error={"message": "it broke"}),
        inspect_sample("e", "attachment://2", "far"),
    ]
    if form == "json":
        path = tmp_path / "log.json"
        path.write_text(json.dumps({"version": 2, "eval": {}, "samples": samples}))
    else:
        path = write_inspect(tmp_path / "log.eval", samples, compress=form == "zstandard")
    model = open_model(f"replay:{path}")
    asked = [("a", "cup"), ("b", "dog"), ("c", "cat"), ("d", "hat"), ("e", "far cup")]
    cup, dog, cat, hat, far = model.generate(
        [Request.ask(picture(0), f"Where is the {what}?", ref=ref) for ref, what in asked]
    )
    assert (cup.text, cup.prompt_tokens, cup.completion_tokens) == ("left", 11, 3)
    assert (dog.text, dog.reasoning) == ("below", "it is low")
    assert cat.status == "refused"
    assert (hat.status, "it broke" in hat.reason) == ("failed", True)
    assert far.text == "far"
    assert texts(model, Request.ask(picture(0), "Where is the cup?", ref="a#2")) == ["right"]


def test_a_table_under_the_name_samples_is_no_inspect_log(tmp_path):
    row = {"id": "a", "question": "Where is the cup?", "prediction": "left"}
    (tmp_path / "table.json").write_text(json.dumps({"samples": [row]}))
    model = open_model(f"replay:{tmp_path / 'table.json'}")
    found, other = texts(
        model, Request.ask(picture(0), row["question"], ref="a"), Request.ask(picture(0), "Who?", ref="b's")
    )
    assert found == "left"
    assert other.endswith('has no answer to this request: "b\'s"')


def test_a_folder_of_logs_is_read_whole(tmp_path):
    write_lmms(tmp_path / "a_samples_x.jsonl", [lmms_row(0, "one?", filtered_resps="1")])
    (tmp_path / "sub").mkdir()
    write_inspect(tmp_path / "sub" / "b.eval", [inspect_sample("s", "two?", "2")], compress=False)
    model = open_model(f"replay:{tmp_path}")
    assert texts(model, Request.ask(picture(0), "one?"), Request.ask(picture(0), "two?")) == ["1", "2"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x_samples_y.jsonl", "{broken"),
        ("x_samples_y.jsonl", '{"doc_id": 0}'),
        ("x_samples_y.jsonl", '{"doc_id": 0, "filtered_resps": [[3]]}'),
        ("x_samples_y.jsonl", "[1]"),
        ("log.eval", "not a zip"),
        ("log.json", "{}"),
        ("log.json", '{"eval": {}, "samples": [{"id": 1}]}'),
        ("notes.txt", "hello"),
        ("x_samples_y.jsonl", b'{"doc_id": 0, "filtered_resps": "\xff"}'),
        ("x_samples_y.jsonl", "[" * 100_000),
        ("log.json", b'{"eval": {}, "samples": ["\xff"]}'),
        ("log.json", "[" * 100_000),
        ("log.json", '{"eval": {}, "samples": {"a": 1}}'),
        (
            "log.json",
            '{"eval": {}, "samples": [{"id": 1, "messages": [{"role": "user", "content": ["x"]}]}]}',
        ),
        ("log.json", '{"eval": {}, "samples": [{"id": 1, "messages": 5}]}'),
        ("log.json", '{"eval": {}, "samples": [{"id": 1, "messages": [], "output": []}]}'),
    ],
)
def test_a_broken_log_is_named(tmp_path, name, content):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError, match=name.partition(".")[0]):
        open_model(f"replay:{tmp_path / name}")


def test_an_error_that_was_logged_as_plain_text_is_told(tmp_path):
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"eval": {}, "samples": [inspect_sample("a", "Where?", "", error="boom")]}))
    assert "boom" in texts(open_model(f"replay:{path}"), Request.ask(picture(0), "Where?"))[0]


@pytest.mark.parametrize("compress", [True, False])
def test_a_sample_that_unpacks_to_far_more_is_not_read(tmp_path, monkeypatch, compress):
    monkeypatch.setattr(unpack, "ALWAYS_ALLOWED", 1 << 20)
    sample = inspect_sample("a", "Where?", " " * (4 << 20))
    path = write_inspect(tmp_path / "log.eval", [sample], compress=compress)
    assert path.stat().st_size < 50_000
    with pytest.raises(UsageError, match=r"log\.eval.*more than 1 MiB"):
        open_model(f"replay:{path}")


def test_all_samples_together_may_not_unpack_to_far_more(tmp_path, monkeypatch):
    monkeypatch.setattr(unpack, "ALWAYS_ALLOWED", 8 << 20)
    samples = [inspect_sample(f"s{i}", "Where?", " " * (1 << 20)) for i in range(5)]
    open_model(f"replay:{write_inspect(tmp_path / 'few.eval', samples[:3], compress=False)}")
    with pytest.raises(UsageError, match=r"log\.eval.*more than 8 MiB"):
        open_model(f"replay:{write_inspect(tmp_path / 'log.eval', samples, compress=False)}")


@pytest.mark.parametrize("compress", [True, False])
def test_a_member_that_is_larger_than_it_declares_is_not_read(tmp_path, compress):
    path = write_inspect(
        tmp_path / "log.eval", [inspect_sample("a", "Where?", " " * 100_000)], compress=compress
    )
    data = bytearray(path.read_bytes())
    place = data.rfind(b"PK\x01\x02")
    data[place + 24 : place + 28] = (1000).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(UsageError, match=r"log\.eval"):
        open_model(f"replay:{path}")


@pytest.mark.parametrize("compress", [True, False])
def test_a_damaged_archive_is_named(tmp_path, compress):
    path = write_inspect(tmp_path / "log.eval", [inspect_sample("a", "Where?", "left")], compress=compress)
    data = bytearray(path.read_bytes())
    start = data.find(b"samples/") + 40
    data[start : start + 20] = bytes(20)
    path.write_bytes(data)
    with pytest.raises(UsageError, match=r"log\.eval"):
        open_model(f"replay:{path}")


def test_nothing_to_replay_is_told(tmp_path):
    with pytest.raises(UsageError, match="nothing to replay"):
        open_model("replay:nowhere")
    with pytest.raises(UsageError, match="contains no run"):
        open_model(f"replay:{tmp_path}")


def test_another_recording_is_another_model(tmp_path):
    one = write_lmms(tmp_path / "a_samples_x.jsonl", [lmms_row(0, "one?", filtered_resps="1")])
    first = open_model(f"replay:{one}").identity
    write_lmms(one, [lmms_row(0, "one?", filtered_resps="2")])
    assert open_model(f"replay:{one}").identity != first


def test_real_records_of_a_vision_language_model_are_replayed(shared_data, tmp_path):
    """300 answers of Video-LLaVA, put into lmms-eval's form, come back word for word."""
    lines = (next((shared_data / "star").glob("*llava*.jsonl"))).read_text().splitlines()
    records = [json.loads(line) for line in lines]
    rows = [lmms_row(r["question_id"], r["question"], filtered_resps=r["raw_response"]) for r in records]
    model = open_model(f"replay:{write_lmms(tmp_path / 'x_samples_star.jsonl', rows)}")
    asked = [Request.ask(picture(0), r["question"], ref=r["question_id"]) for r in records]
    wanted = [r["raw_response"][0] if r["raw_response"] else "no answer was logged" for r in records]
    assert texts(model, *asked) == wanted
    assert len(wanted) == 300


def embedded(sample_id, text, answer, shown, *, system="", form="data"):
    """A sample of an inspect_ai log that embeds its picture, as a data URI or as an attachment."""
    uri = f"data:image/png;base64,{base64.b64encode(shown.read()).decode()}"
    sample = inspect_sample(sample_id, text, answer)
    sample["messages"][0]["content"][0]["image"] = uri if form == "data" else "attachment://9"
    sample["attachments"]["9"] = uri
    if system:
        sample["messages"].insert(0, {"role": "system", "content": system})
    return sample


@pytest.mark.parametrize("form", ["data", "attachment"])
def test_pictures_of_an_inspect_log_are_compared(tmp_path, form):
    samples = [
        embedded("a", "Where?", "left", picture(1), form=form),
        embedded("b", "Where?", "right", picture(2), form=form),
    ]
    model = open_model(f"replay:{write_inspect(tmp_path / 'log.eval', samples, compress=False)}")
    as_bytes = Picture.from_bytes(picture(2).read())
    requests = [
        replace(Request.ask(shown, "Where?", ref=ref), recall="content")
        for shown, ref in ((picture(1), "x"), (as_bytes, ""), (picture(2), "a"))
    ]
    assert texts(model, *requests) == ["left", "right", "right"]
    unknown = texts(
        model,
        Request.ask(picture(3), "Where?", ref="a"),
        Request.ask(picture(1), "How many?"),
        Request.ask(picture(3), "How many?"),
    )
    assert "shows other pictures" in unknown[0]
    assert "has these pictures, but not with these words: 'How many?'" in unknown[1]
    assert "has neither these pictures nor these words" in unknown[2]


def test_a_system_prompt_is_told_and_not_matched(tmp_path):
    sample = embedded("a", "Where?", "left", picture(1), system="You are terse.")
    path = write_inspect(tmp_path / "log.eval", [sample], compress=False)
    model = open_model(f"replay:{path}")
    assert texts(model, Request.ask(picture(1), "Where?")) == ["left"]
    assert len(model.notes) == 1
    assert "You are terse." in model.notes[0]
    assert recording_notes(f"replay:{path}") == model.notes
    assert recording_notes("scripted:oracle") == ()


def test_of_several_epochs_the_first_answers_and_this_is_told(tmp_path):
    again = embedded("a", "Where?", "right", picture(1)) | {"epoch": 2}
    named = (
        inspect_sample("b", "Where is the dog?", "up"),
        inspect_sample("b", "Where is the dog?", "down", epoch=2),
    )
    for samples in ([embedded("a", "Where?", "left", picture(1)), again], list(named)):
        model = open_model(f"replay:{write_inspect(tmp_path / 'log.eval', samples, compress=False)}")
        asked = [Request.ask(picture(1), text) for text in ("Where?", "Where is the dog?")]
        assert {"left", "up"} & set(texts(model, *asked))
        assert model.notes == (f"{model.name} has 2 epochs; the answers of the first are used",)


def test_a_log_is_read_once_until_it_changes(tmp_path, monkeypatch):
    path = write_inspect(tmp_path / "log.eval", [embedded("a", "Where?", "left", picture(1))], compress=False)
    read = []
    monkeypatch.setattr(_replay, "read_inspect", lambda path: read.append(path) or _logs.read_inspect(path))
    for _ in range(3):
        assert texts(open_model(f"replay:{path}"), Request.ask(picture(1), "Where?")) == ["left"]
    assert len(read) == 1
    write_inspect(path, [embedded("a", "Where?", "to the left", picture(1))], compress=False)
    assert texts(open_model(f"replay:{path}"), Request.ask(picture(1), "Where?")) == ["to the left"]


def test_a_request_without_a_picture_finds_only_such_a_record(tmp_path):
    blind = inspect_sample("b", "Where?", "no idea")
    blind["messages"][0]["content"] = "Where?"
    samples = [embedded("a", "Where?", "left", picture(1)), blind]
    model = open_model(f"replay:{write_inspect(tmp_path / 'log.eval', samples, compress=False)}")
    assert texts(model, replace(Request.ask("Where?"), recall="content")) == ["no idea"]


def test_what_was_not_found_is_counted_by_reason():
    asked = 'whose "cup" isn\'t it?'
    assert list(unmatched([f"no answer: {asked!r}", "no answer: 'b'"])) == ["no answer: …"]
    found = unmatched(
        ["x has these words, but not with these pictures: 'a'", "no record", *["no record"]],
    )
    assert list(found.values()) == [
        (2, "no record"),
        (1, "x has these words, but not with these pictures: 'a'"),
    ]


def test_the_command_counts_what_it_did_not_find(tmp_path, capsys):
    pictures = [picture(seed) for seed in range(4)]
    rows = []
    for number, shown in enumerate(pictures):
        (tmp_path / f"{number}.png").write_bytes(shown.read())
        rows.append(
            {"id": f"q{number}", "picture": f"{number}.png", "question": "Is it red?", "answer": "yes"}
        )
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    samples = [embedded("a", "Is it red?", "yes", pictures[0], system="Be brief.")]
    path = write_inspect(tmp_path / "log.eval", samples, compress=False)
    data, out = str(tmp_path / "questions.jsonl"), str(tmp_path / "run")
    settings = ["--settings", "picture"]
    main(["ask", "run", "--data", data, "--model", f"replay:{path}", "--out", out, *settings])
    told = " ".join(" ".join(capsys.readouterr()).split())
    assert "not asked: 3 × " in told
    assert "has these words, but not with these pictures" in told
    assert "Be brief." in told
    write_inspect(path, [embedded("a", "Is it blue?", "yes", picture(9))], compress=False)
    main(["ask", "run", "--data", data, "--model", f"replay:{path}", "--out", f"{out}-2", *settings])
    assert "Items without an answer in the recording" in " ".join(capsys.readouterr())
    broken = embedded("b", "Is it red?", "", pictures[1]) | {"error": {"message": "it broke"}}
    write_inspect(path, [*samples, broken], compress=False)
    asked = ["--data", data, "--instruments", "ask", "--out", f"{out}-3"]
    assert main(["diagnose", "--model", f"replay:{path}", *asked]) == 1
    told = " ".join(" ".join(capsys.readouterr()).split())
    assert "Items without an answer in the recording" in told
    assert "it broke" in told
    assert "Be brief." in told
