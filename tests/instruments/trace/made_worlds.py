"""A few episodes of every embedded world, made once for all tests, and how traces on them are scored."""

from functools import cache

from trace_world import group_of

from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.verifiers.judging import judge, open_verifier
from theodolite.worlds.episodes import FAMILIES
from theodolite.worlds.stories import make_world, perturbed

VERIFIER = open_verifier("annotation")
N = 4


@cache
def made(world):
    return tuple(make_world(world, N, seed=3))


@cache
def edits(world):
    """Every family of edits of every second episode, where it can be had."""
    strengths = {"temporal": 1.0, "irrelevant": 0.8}
    found = [
        perturbed(e, family, magnitude=strengths.get(family, 0.5), seed=1)
        for e in made(world)[::2]
        for family in FAMILIES
    ]
    return tuple(e for e in found if e is not None)


def read(texts, episodes):
    return with_claims([read_trace(t, e) for t, e in zip(texts, episodes, strict=True)])


def scored(traces, episodes):
    return group_of(judge(traces, {e.id: e for e in episodes}, VERIFIER))
