"""The signatures and references that a diagnosis gets from its instruments."""

import importlib
import pkgutil
import re
from collections import Counter

import numpy as np
import pytest
from typer.main import get_command

import theodolite.instruments
from theodolite.cli.main import app
from theodolite.core.scores import ItemScore, SignatureKind
from theodolite.instruments.instrument import find_instruments, instruments


def compass_scores(excess, right, blank):
    rng = np.random.default_rng(1)
    return [
        ItemScore(f"p{i}", key, float(value(rng)), f"p{i}", "aligned")
        for i in range(60)
        for key, value in (
            ("compass.excess_sound:chefer", lambda r: r.normal(excess, 8)),
            ("compass.excess_sound:grad-act", lambda r: r.normal(-20, 8)),
            ("compass.right", lambda r: r.random() < right),
            ("compass.blank_changes", lambda r: r.random() < blank),
        )
    ]


def compass(*rates):
    (instrument,) = find_instruments(["compass"])
    return {s.name: s for s in instrument.signatures((), compass_scores(*rates), seed=0)}


def test_layout_driven_needs_right_answers_and_maps_that_point_nowhere():
    found = compass(0, 0.95, 0.0)
    assert {s.standing for s in found.values()} == {"raised"}
    assert any("chefer" in label for label in found["layout-driven"].numbers)
    assert {s.standing for s in compass(20, 0.95, 0.7).values()} == {"not raised"}
    guesser = compass(0, 0.25, 0.0)
    assert guesser["layout-driven"].standing == "not raised"


@pytest.mark.parametrize("name", ["compass", "grid", "trace"])
def test_what_was_not_measured_is_not_raised(name):
    found = find_instruments([name])[0].signatures((), [], seed=0)
    assert found
    assert {signature.standing for signature in found} == {"not measured"}


def kinds():
    """Every signature that a built-in instrument can raise."""
    found = []
    for module in pkgutil.walk_packages(theodolite.instruments.__path__, "theodolite.instruments."):
        if module.name.rpartition(".")[2] in {"signatures", "score"}:
            for value in vars(importlib.import_module(module.name)).values():
                several = value if isinstance(value, tuple) else [value]
                found += [each for each in several if isinstance(each, SignatureKind)]
    return found


def test_every_signature_says_how_to_confirm_it_and_where_its_remedy_stands():
    found = kinds()
    assert Counter(kind.name for kind in found)["language prior"] >= 2  # several instruments can raise it
    assert {"layout-driven", "semantic shortcut", "temporal drift", "modality trust bias"} <= {
        kind.name for kind in found
    }
    for kind in found:
        assert kind.confirming_test
        assert kind.source or not kind.remedy, kind.name


def test_every_command_that_a_confirming_test_names_is_there():
    group = get_command(app)
    named = {words for kind in kinds() for words in re.findall(r"`theodolite ([^`]+)`", kind.confirming_test)}
    assert named
    for words in named:
        noun, verb, *_ = [*words.split(), ""]
        command = group.get_command(None, noun)
        assert command is not None, words
        assert verb.startswith("-") or not verb or verb in command.commands, words


def test_numbers_of_the_papers_are_of_metrics_that_exist():
    found = {each.name: list(each.references()) for each in instruments()}
    for each in instruments():
        assert {reference.metric for reference in found[each.name]} <= {m.key for m in each.metrics}
    chefer = next(r for r in found["compass"] if r.metric == "compass.dae_paper:chefer")
    assert (chefer.value, chefer.source) == (47.9, "CREG, Table 1")
    sgr = [r.value for r in found["trace"] if r.metric == "trace.sgr"]
    assert sgr == [0.482, 0.718]  # CLIP-ViL and GPT-4o
