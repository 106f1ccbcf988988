"""The parser that ships: small, licensed, as accurate as it says, and loaded without pickle."""

import json
import os
import subprocess
import sys

import pytest

from theodolite.core.errors import MissingExtraError, UsageError
from theodolite.instruments.trace.claims.language import SHIPPED, open_parser
from train.parser.examples import example_trees
from train.parser.patterns import pattern_trees
from train.parser.train import TUNING_STEPS, evaluate_parser, train_parser

META = json.loads((SHIPPED / "meta.json").read_text())


def test_it_is_small_and_says_where_it_comes_from():
    size = sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file())
    assert size < 9 * 2**20
    assert META["license"] == "CC BY-SA 4.0"
    assert "UD_English-EWT" in META["sources"][0]["url"]
    assert META["performance"]["labelled"] > 0.78
    assert "CC BY-SA 4.0" in (SHIPPED / "LICENCE.md").read_text()


def test_nothing_in_it_is_unpickled():
    """Loading must not run code out of the weights."""
    code = (
        "import pickle, _pickle, spacy, torch, srsly, numpy\n"
        "def refuse(*_, **__): raise SystemExit('something was unpickled')\n"
        "for module in (pickle, srsly.cloudpickle): module.loads = module.load = refuse\n"
        "pickle.Unpickler = refuse\n"
        "from theodolite.instruments.trace.claims.reading import extract_claims\nfrom theodolite.instruments.trace.claims.language import open_parser\n"
        "print(len(extract_claims('The cup is red.', parser=open_parser('shipped'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "2", done.stderr


def test_its_accuracy_is_what_it_says(shared_data):
    found = evaluate_parser(SHIPPED, shared_data / "ud_english_ewt" / "test.spacy")
    told = META["performance"]
    for name in ("tag", "unlabelled", "labelled", "lemma"):
        assert getattr(found, name) == pytest.approx(told[name], abs=1e-3)
    assert found.n_sentences == 2077


def test_training_gives_a_pipeline_that_loads(shared_data, tmp_path, capsys):
    """A few steps on a little data: what they are good for is not the question."""
    from spacy.tokens import DocBin
    from spacy.vocab import Vocab

    data = tmp_path / "data"
    data.mkdir()
    for part in ("train", "dev", "test"):
        docs = list(DocBin().from_disk(shared_data / "ud_english_ewt" / "dev.spacy").get_docs(Vocab()))[:8]
        DocBin(docs=docs, store_user_data=True).to_disk(data / f"{part}.spacy")
    few = {"steps": 3, "tuning_steps": 3, "n_examples": 20, "n_patterns": 20}
    accuracy = train_parser(data, tmp_path / "out", **few)
    assert capsys.readouterr().out == ""  # so that --json stays JSON
    meta = json.loads((tmp_path / "out" / "meta.json").read_text())
    assert meta["performance"]["n_sentences"] == accuracy.n_sentences
    assert str(tmp_path) not in (tmp_path / "out" / "config.cfg").read_text()
    parsed = next(open_parser(str(tmp_path / "out")).parse(["A cup falls."]))
    assert [token.text for token in parsed.tokens] == ["A", "cup", "falls", "."]
    train_parser(data, tmp_path / "again", **few)
    for part in ("parser", "tagger", "tok2vec", "trainable_lemmatizer"):
        weights = [(tmp_path / name / part / "model").read_bytes() for name in ("out", "again")]
        assert weights[0] == weights[1], f"{part}: the same data must give the same weights"
    with pytest.raises(UsageError, match=r"test\.spacy"):
        (data / "test.spacy").unlink()
        train_parser(data, tmp_path / "out2", steps=1)


@pytest.mark.parametrize("trees", [example_trees, pattern_trees])
def test_examples_are_trees(trees):
    for rows in trees(600, seed=0):
        heads = [head for *_, head in rows]
        assert sum(head == i for i, head in enumerate(heads)) == 1  # one root
        for start in range(len(heads)):
            here, seen = start, set()
            while heads[here] != here:
                assert here not in seen
                seen.add(here)
                here = heads[here]
    assert list(trees(5, seed=1)) == list(trees(5, seed=1))


def test_what_is_missing_is_named(monkeypatch):
    open_parser.cache_clear()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "spacy", None)
        with pytest.raises(MissingExtraError, match=r"pip install 'spacy<3.9"):
            open_parser("shipped")
    with pytest.raises(UsageError, match="no spaCy pipeline"):
        open_parser("en_core_web_nowhere")


def test_a_pipeline_of_spacys_own_is_not_picked_up(tmp_path):
    """A stand-in package under that name is installed, and used only if it is named."""
    package = tmp_path / "en_core_web_sm"
    package.mkdir()
    (package / "__init__.py").write_text(
        f"import spacy\ndef load(**options):\n    nlp = spacy.load({str(SHIPPED)!r}, exclude=['ner'])\n"
        "    nlp.meta['name'] = 'stand_in'\n    return nlp\n"
    )
    about = tmp_path / "en_core_web_sm-3.8.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: en_core_web_sm\nVersion: 3.8.0\n")
    code = (
        "from theodolite.instruments.trace.claims.language import open_parser\n"
        "print(open_parser().name, open_parser('en_core_web_sm').name, sep='|')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)]), "PATH": ""},
        check=True,
    )
    ours, _, named = done.stdout.partition("|")
    assert "stand_in" not in ours
    assert "stand_in" in named


def test_its_settings_are_those_it_was_trained_with():
    import spacy

    settings = spacy.util.load_config(SHIPPED / "config.cfg")["training"]
    assert settings["max_steps"] == TUNING_STEPS
    assert settings["optimizer"]["learn_rate"]["total_steps"] == TUNING_STEPS


def test_training_replaces_no_folder_that_is_not_a_pipeline(tmp_path):
    """What is at ``--out`` is removed, so it must be a pipeline."""
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.spacy").write_bytes(b"")
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="not a pipeline"):
        train_parser(tmp_path, mine, steps=1)
    assert (mine / "thesis.txt").read_text() == "years of work"
