"""Scripted models that lose their points for a known cause, or a known mixture of causes.

What each does is decided by its name for a scene (what it sees) and for a question (what it does with that). Without a picture
all answer from the words alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from theodolite.core.files import check
from theodolite.instruments.scene import scripts
from theodolite.instruments.scene.data.files import SceneQuestion
from theodolite.instruments.scene.experiments.noise import noisy_graph, scene_rng
from theodolite.instruments.scene.formulas.solver import solve
from theodolite.worlds.scene_graph import StarGraph


@dataclass(frozen=True)
class Known:
    """A model that sees each scene in some way, and answers each question in some way."""

    sees: Callable[[str, StarGraph], StarGraph]
    """From the name of a scene and its true graph to the graph that the model gives."""
    answers: Callable[["Asked"], str]

    def script(self, true: dict[str, StarGraph]):
        """A scripted model of the scenes with these true graphs."""

        def script(request):
            hint = request.hint
            if hint["setting"] == "blind":
                return scripts.blind_prior(request)
            scene = str(hint["scene"])
            own = self.sees(scene, true[scene])
            if hint["task"] == "graph":
                return scripts._write(own)
            question = check(SceneQuestion, hint["question"])
            return self.answers(
                Asked(question, str(hint["setting"]), str(hint["gold"]), true[scene], own, request)
            )

        return script


@dataclass(frozen=True)
class Asked:
    """One question in one setting."""

    question: SceneQuestion
    setting: str
    gold: str
    true: StarGraph
    own: StarGraph
    request: object

    @property
    def has_truth(self) -> bool:
        return self.setting in {"true graph", "true graph alone"}

    def draw(self, seed: int) -> float:
        """A number in [0, 1) that depends on the question alone."""
        return float(scene_rng(self.question.id, seed).random())


def clear(_, true):
    return true


def blurred(level, seed=5):
    return lambda scene, true: noisy_graph(true, level, scene_rng(scene, seed))


def blind_to(share):
    """Sees nothing of this share of scenes: its graph of them is random."""
    return lambda scene, true: scripts._random_graph(true, scene) if misses(scene, share) else true


def misses(scene, share):
    return scene_rng(scene, 9).random() < share


def right(asked):
    return asked.gold


def guess(asked):
    rng = scene_rng(f"{asked.question.id}/{asked.setting}", 1)
    if asked.question.form == "number":
        return f"{float(np.exp(rng.uniform(np.log(0.1), np.log(50)))):.2f}"
    return str(rng.choice(list(asked.question.letters)))


def with_truth_only(asked):
    return asked.gold if asked.has_truth else guess(asked)


def with_any_graph(asked):
    return asked.gold if "graph" in asked.setting else guess(asked)


def from_graph(asked, graph):
    derived = solve(asked.question, graph)
    return str(derived.value) if derived.is_solved else guess(asked)


def from_what_it_sees(asked):
    return from_graph(asked, asked.true if asked.has_truth else asked.own)


def from_another_look(asked):
    again = noisy_graph(asked.true, 0.35, scene_rng(asked.question.scene, 6))
    return asked.gold if asked.has_truth else from_graph(asked, again)


def wrong(asked):
    question = asked.question
    if question.form == "number":
        return f"{3 * question.gold_number:.2f}"
    return question.letters[(question.letters.index(question.gold) + 1) % len(question.letters)]


def prior(asked):
    return scripts.blind_prior(asked.request)


def seven_two_one(asked):
    """Of 70 % of scenes it sees nothing; of the others' questions, two thirds are beyond its reasoning."""
    if misses(asked.question.scene, 0.7) or asked.draw(10) >= 2 / 3:
        return with_truth_only(asked)
    return guess(asked)


def reasons_or_not(asked):
    return guess(asked) if asked.draw(11) < 0.5 else prior(asked)


def one_of_four(question):
    """The cause of a question of the model `four_causes`; None if it is answered right."""
    if misses(question.scene, 0.3):
        return "perception"
    drawn = scene_rng(question.id, 12).random()
    return None if drawn > 0.9 else ("reasoning", "use", "prior")[int(drawn / 0.3)]


def four_causes(asked):
    """Of 30 % of scenes it sees nothing; the others' questions are lost to three causes alike, and one in ten is right."""
    answers = {None: right, "reasoning": guess, "prior": prior}
    return answers.get(one_of_four(asked.question), with_truth_only)(asked)


def by_layer(asked):
    return asked.gold if asked.question.layer == "atomic" else guess(asked)


KNOWN = {
    "little is lost": [Known(clear, right), Known(blind_to(1.0), right)],
    "perception: consistent and wrong": [
        Known(blurred(0.6), from_what_it_sees),
        Known(blurred(0.35), from_what_it_sees),
    ],
    "perception": [
        Known(blind_to(1.0), with_truth_only),
        Known(blurred(0.35), from_another_look),
    ],
    "reasoning": [Known(clear, guess), Known(clear, wrong), Known(clear, by_layer)],
    "use": [Known(clear, with_any_graph), Known(clear, with_truth_only)],
    "prior": [Known(clear, prior), Known(blind_to(1.0), prior)],
    "perception and reasoning": [Known(blind_to(1.0), guess)],
    "perception and use": [Known(blind_to(0.5), with_truth_only)],
    "prior and reasoning": [Known(clear, reasons_or_not)],
}
"""Models by what they must be called, whatever the order of the causes."""
