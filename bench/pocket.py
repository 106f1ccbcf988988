"""The cost of a shipped twin on one core: a relation answer in a batch, and all attributions of one answer.

CPU time is measured, so that other processes have little effect.
"""

import time
from collections.abc import Iterator

import torch

from bench.result import Result
from theodolite.attribution import attribute
from theodolite.instruments.compass.data.drawn import relation_pairs
from theodolite.instruments.compass.questions import PROMPTS, pair_item
from theodolite.models import is_choosing, open_model

N_ANSWERS = 128
N_ATTRIBUTED = 8


def run() -> Iterator[Result]:
    """Time answers and attributions of ``pocket:grounded`` with one torch thread."""
    torch.set_num_threads(1)
    items = [pair_item(pair, PROMPTS["A"]) for pair in relation_pairs(N_ANSWERS, seed=11)]
    requests, options = [item.request for item in items], [item.options for item in items]
    model = open_model("pocket:grounded?batch_size=32")
    assert is_choosing(model)
    model.choose(requests[:4], options[:4])
    started = time.process_time()
    model.choose(requests, options)
    per_answer = (time.process_time() - started) / N_ANSWERS
    yield Result("a relation answer, in batches of 32", per_answer * 1e3, "ms", at_most=50)
    some = requests[:N_ATTRIBUTED]
    attribute(model, some[:1], options[:1])
    started = time.process_time()
    attribute(model, some, options[:N_ATTRIBUTED])
    per_map = (time.process_time() - started) / N_ATTRIBUTED
    yield Result("attributions of one answer, all methods", per_map, "s", at_most=1)
