"""The paired models' training data are the union of all presets."""

import numpy as np

from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.recipe import PRESETS
from train.grid.stream import SOURCES, Supply, turn


def test_every_preset_is_taught_at_both_of_its_densities():
    for name, recipe in PRESETS.items():
        taught = {objects for preset, objects in SOURCES if preset == name}
        assert {recipe.objects("sparse"), recipe.objects("dense")} <= taught
    assert len(SOURCES) % 2 == 1


def test_pure_portions_have_zero_counts_and_repeated_directions():
    supply = Supply("pure", 3, per_bucket=24)
    portions = [supply.portion(number) for number in range(3)]
    is_count = np.concatenate([each["kind"] == 0 for each in portions])
    answers = np.concatenate([each["answer"] for each in portions])
    assert 0.02 < (answers[is_count] == 0).mean() < 0.6
    again = Supply("pure", 3, per_bucket=24).portion(1)
    assert (again["cells"] == portions[1]["cells"]).all()
    assert (again["words"] == portions[1]["words"]).all()


def test_turned_scenes_keep_their_objects_and_are_answered_anew():
    scenes = generate("M-F0-D2", 400, seed=1, split="train")
    turned = turn(scenes, np.random.default_rng(0))
    assert (turned.cells == scenes.cells).all()
    changed = (turned.questions.directions != scenes.questions.directions).any(axis=1)
    assert 0.05 < changed.mean() < 0.25
    assert (turned.answer[~changed] == scenes.answer[~changed]).all()
    assert (turned.answer[changed] == 0).any()
