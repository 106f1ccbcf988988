"""Training of the small English parser: a tagger, a dependency parser and a lemmatiser with one shared encoder.

No English spaCy pipeline can be installed from PyPI, so this one is trained on UD English-EWT (CC BY-SA 4.0) and a few
thousand composed sentences typical of traces (`train.parser.examples`), then tuned with ten thousand sentences of many
more patterns among the same data (`train.parser.patterns`). Training uses one seed and one core: the same data give the same
weights.
"""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite.core.errors import MissingExtraError, UsageError
from train.parser.examples import Row, example_trees
from train.parser.patterns import pattern_trees

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

NAME, VERSION, LICENCE = "theodolite_ewt", "1.1.0", "CC BY-SA 4.0"
N_EXAMPLES, N_PATTERNS, EXAMPLE_SEED = 2500, 10000, 1
STEPS = 4500
"""Three quarters of the learning-rate schedule. LAS on ``dev`` was 80.2, 80.5 and 80.8 % after 3500, 4000 and 4500
steps, so more steps would still help a little."""
TUNING_STEPS, TUNING_RATE = 1500, 0.0006
"""Steps and learning rate of the second round. The rate falls to zero, so the last weights are kept."""
_CONFIG = Path(__file__).parent / "training.cfg"
_UNUSED = ("vocab/lookups.bin", "vocab/vectors", "vocab/vectors.cfg")
"""Files that spaCy writes although the pipeline does not use them."""


_TERMS = f"""# Terms of this pipeline

These weights were trained on Universal Dependencies English EWT
(https://github.com/UniversalDependencies/UD_English-EWT), which is under {LICENCE}
(https://creativecommons.org/licenses/by-sa/4.0/). They are passed on under the same licence, {LICENCE}, apart from the
licence of the package around them. `meta.json` says how accurate they are on the test part of that treebank.
"""


@dataclass(frozen=True, slots=True)
class ParserAccuracy:
    """Accuracy of a pipeline on held-out sentences, each parsed separately with its words given."""

    tag: float
    """Share of correct part-of-speech tags."""
    unlabelled: float
    """Share of words with the correct head (UAS), without punctuation."""
    labelled: float
    """Share of words with the correct head and relation (LAS), without punctuation."""
    lemma: float
    """Share of correct lemmas."""
    n_sentences: int
    n_words: int


def train_parser(
    data: str | Path,
    out: str | Path,
    *,
    steps: int = STEPS,
    tuning_steps: int = TUNING_STEPS,
    n_examples: int = N_EXAMPLES,
    n_patterns: int = N_PATTERNS,
) -> ParserAccuracy:
    """Train the pipeline and write it.

    Args:
        data: Folder with ``train.spacy``, ``dev.spacy`` and ``test.spacy``: UD English-EWT as spaCy's binary documents
            (``spacy convert -c conllu -n 10``).
        out: Folder of the pipeline. An existing pipeline is replaced; any other folder is refused.
        steps: Training steps. The best model on ``dev`` is kept.
        tuning_steps: Steps of the second round.
        n_examples: Number of composed sentences in both rounds.
        n_patterns: Number of those that are added in the second.

    Returns:
        The accuracy on ``test``, which is also written into the pipeline's ``meta.json``.
    """
    _need_spacy()
    from spacy.training.initialize import init_nlp
    from spacy.training.loop import train
    from thinc.api import Config

    data, out = Path(data), Path(out)
    missing = [part for part in ("train", "dev", "test") if not (data / f"{part}.spacy").is_file()]
    if missing:
        raise UsageError(
            f"{data} has no {missing[0]}.spacy; it must contain UD English-EWT as spaCy's binary documents"
        )
    _refuse_other_folder(out)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        _write_corpus(
            data / "train.spacy", work / "train.spacy", example_trees(n_examples, seed=EXAMPLE_SEED)
        )
        config = Config().from_disk(
            _CONFIG,
            interpolate=False,
            overrides={
                "paths.train": str(work / "train.spacy"),
                "paths.dev": str(data / "dev.spacy"),
                "training.max_steps": steps,
                "training.optimizer.learn_rate.total_steps": steps * 4 // 3,
            },
        )
        # Pass the streams explicitly: spaCy's default is whatever sys.stdout was at import. Progress goes to stderr.
        train(init_nlp(config), work, stdout=sys.stderr, stderr=sys.stderr)
        trees = (
            example_trees(n_examples, seed=EXAMPLE_SEED),
            pattern_trees(n_patterns, seed=EXAMPLE_SEED),
        )
        _write_corpus(data / "train.spacy", work / "more.spacy", chain(*trees))
        tuned = _tune(
            work / "model-best", work / "more.spacy", data / "dev.spacy", work / "tuned", tuning_steps
        )
        accuracy = evaluate_parser(tuned, data / "test.spacy")
        _write_pipeline(tuned, out, accuracy)
    return accuracy


def _tune(start: Path, corpus: Path, dev: Path, work: Path, steps: int) -> Path:
    """Train a pipeline further on a corpus, and return the folder of the last weights."""
    import spacy
    from spacy.training.loop import train
    from thinc.api import fix_random_seed

    work.mkdir()
    fix_random_seed(0)
    nlp = spacy.load(
        start,
        config={
            "paths.train": str(corpus),
            "paths.dev": str(dev),
            "training.max_steps": steps,
            "training.eval_frequency": 400,
            "training.batcher.size.start": 800,
            "training.optimizer.learn_rate.total_steps": steps,
            "training.optimizer.learn_rate.warmup_steps": 100,
            "training.optimizer.learn_rate.initial_rate": TUNING_RATE,
        },
    )
    lemmatizer: Any = nlp.get_pipe("trainable_lemmatizer")
    lemmatizer.tree2label = {tree: label for label, tree in enumerate(lemmatizer.cfg["labels"])}  # not stored
    train(nlp, work, stdout=sys.stderr, stderr=sys.stderr)
    return work / "model-last"


def _refuse_other_folder(out: Path) -> None:
    """Refuse a folder that is not a pipeline, because `out` is replaced as a whole."""
    is_pipeline = (out / "meta.json").is_file() and (out / "config.cfg").is_file()
    if out.exists() and not is_pipeline and not (out.is_dir() and not any(out.iterdir())):
        raise UsageError(f"{out} exists and is not a pipeline; choose a new or empty folder")


def evaluate_parser(pipeline: str | Path, corpus: str | Path) -> ParserAccuracy:
    """Measure a pipeline on a corpus of spaCy's binary documents."""
    _need_spacy()
    import spacy
    from spacy.training import Corpus

    nlp = spacy.load(pipeline)
    examples = list(Corpus(corpus, gold_preproc=True)(nlp))
    scores = nlp.evaluate(examples)
    return ParserAccuracy(
        tag=float(scores["tag_acc"]),
        unlabelled=float(scores["dep_uas"]),
        labelled=float(scores["dep_las"]),
        lemma=float(scores["lemma_acc"]),
        n_sentences=len(examples),
        n_words=sum(len(example.reference) for example in examples),
    )


def _write_corpus(source: Path, target: Path, trees: Iterable[list[Row]]) -> None:
    import spacy
    from spacy.tokens import DocBin

    nlp = spacy.blank("en")
    corpus = DocBin().from_disk(source)
    for rows in trees:
        corpus.add(_document(nlp, rows))
    corpus.to_disk(target)


def _document(nlp: Language, rows: list[Row]) -> Doc:
    from spacy.tokens import Doc

    texts, lemmas, tags, deps, heads = (list(column) for column in zip(*rows, strict=True))
    spaces = [after not in {",", "."} for after in texts[1:]] + [False]
    return Doc(
        nlp.vocab,
        words=texts,
        spaces=spaces,
        tags=tags,
        lemmas=lemmas,
        deps=deps,
        heads=heads,
        sent_starts=[True, *([False] * (len(texts) - 1))],
    )


def _write_pipeline(trained: Path, out: Path, accuracy: ParserAccuracy) -> None:
    """Copy the files needed for loading, with metadata about the training."""
    import srsly  # type: ignore[import-untyped]  # spaCy's JSON library

    meta: dict[str, Any] = dict(srsly.read_json(trained / "meta.json"))
    meta |= {
        "name": NAME,
        "version": VERSION,
        "license": LICENCE,
        "description": "Tagger, UD parser and lemmatiser for the claims of reasoning traces.",
        "sources": [
            {
                "name": "Universal Dependencies English EWT",
                "url": "https://github.com/UniversalDependencies/UD_English-EWT",
                "license": LICENCE,
            }
        ],
        "performance": asdict(accuracy),
        "spacy_version": ">=3.8.0,<3.9.0",
    }
    for key in ("author", "email", "url", "labels"):
        meta.pop(key, None)
    if out.exists():
        shutil.rmtree(out)
    shutil.copytree(trained, out)
    for name in _UNUSED:
        (out / name).unlink(missing_ok=True)
    config = (out / "config.cfg").read_text(encoding="utf-8")
    bare = re.sub(r'(?m)^(train|dev) = ".*"$', r"\1 = null", config)  # remove local paths
    (out / "config.cfg").write_text(bare, encoding="utf-8")
    srsly.write_json(out / "meta.json", meta)
    _write_strings(out)
    (out / "LICENCE.md").write_text(_TERMS, encoding="utf-8")


def _write_strings(pipeline: Path) -> None:
    """Keep the strings that the pipeline needs: spaCy's own, labels and the parts of lemmas, not every word seen."""
    import spacy
    import srsly

    nlp = spacy.load(pipeline)
    parts = srsly.msgpack_loads((pipeline / "trainable_lemmatizer" / "trees").read_bytes())["trees"]
    needed = {
        *spacy.blank("en").vocab.strings,
        *(label for pipe in nlp.pipe_labels.values() for label in pipe),
    }
    for part in parts:
        needed |= {nlp.vocab.strings[part[name]] for name in ("orig", "subst") if part.get(name)}
    kept = [text for text in srsly.read_json(pipeline / "vocab" / "strings.json") if text in needed]
    (pipeline / "vocab" / "strings.json").write_text(
        json.dumps(kept, ensure_ascii=False, separators=(",", ":")), encoding="utf-8"
    )


def _need_spacy() -> None:
    if importlib.util.find_spec("spacy") is None:
        raise MissingExtraError("spacy", "nlp", "training the parser")
