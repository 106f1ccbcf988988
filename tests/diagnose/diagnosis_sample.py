"""A diagnosis as a page gets it: both twins, a server that only writes text, and items of every instrument."""

from datetime import UTC, datetime

import numpy as np
from PIL import Image

from theodolite.core.tables import Estimate
from theodolite.core.views import (
    Cell,
    CellsView,
    ClaimView,
    HeatMap,
    ItemRow,
    Overlay,
    PlanView,
    SeenObject,
    StepsView,
    StepView,
)
from theodolite.diagnose.record import (
    Comparison,
    Counts,
    Diagnosis,
    InstrumentOfModel,
    InstrumentResult,
    LeftOut,
    LookingResult,
    MetricEntry,
    MetricResult,
    ModelMean,
    ModelResult,
    OpenQuestion,
    PairExample,
    PairsResult,
    ShownAnswer,
    SignatureResult,
    TestResult,
    Verdict,
    write_diagnosis,
)
from theodolite.diagnose.running import write_items
from theodolite.instruments.instrument import Reference

GROUNDED, SHORTCUT, SERVER = "pocket:grounded", "pocket:shortcut", "openai:some-vlm@http://127.0.0.1:8000/v1"
MODELS = (GROUNDED, SHORTCUT, SERVER)
HOSTILE = '<script>window.hacked = 1</script><img src=x onerror="window.hacked=2">&amp;\u202e]]></script>{{7*7}} ${7*7}'
QUESTIONS = {
    "compass": "Is attribution organised by the queried direction, or by image layout?",
    "grid": "Does the model use positions, or count words?",
    "scene": "Do the answers agree with the model's own 3D scene graph?",
    "trace": "Is each step of the reasoning supported by the frames?",
}
METRICS = (
    ("compass.image_share", "evidence share on the image tokens", "ours", "gradients", 0.32, 0.02, None),
    (
        "compass.dae_paper",
        "directional alignment error, as published",
        "paper",
        "gradients",
        47.3,
        45.6,
        None,
    ),
    ("grid.swap_follows", "answer changes when the direction is swapped", "ours", "text", 0.97, 0.03, 0.61),
    ("scene.qa_drop", "drop of QA without the picture", "sound", "text", 0.52, 0.01, 0.2),
    ("trace.sgr", "step grounding rate", "paper", "text", 0.93, 0.31, 1.02),
)


def figure(value, half=0.03, n=120):
    """A number with an even interval."""
    return Estimate(
        value=value,
        low=value - half,
        high=value + half,
        n=n,
        n_items=2 * n,
        level=0.95,
        method="BCa bootstrap, 2000 resamples of 120 clusters",
    )


def model_mean(model, x, g, s):
    """One model on one metric."""
    if x is None:
        return ModelMean(model=model, figure=None, why_not="the model gives no gradients")
    return ModelMean(model=model, figure=figure(x, abs(g - s) / 20 or 1.2))


def looking(share, source="drawn", name="compass"):
    """A verdict of pairs with a share of followed ones, and an exhibit."""
    standing = "looks" if share > 0.8 else "does not look" if share < 0.1 else "sometimes looks"
    balance = figure(share, 0.06)
    shares = {
        "followed": figure(share, 0.04),
        "inverted": figure(0.0, 0.01),
        "moved": figure(0.05, 0.02) if share < 0.9 else figure(0.0, 0.02),
        "unmoved": figure(1 - share - (0.05 if share < 0.9 else 0.0), 0.04),
        "lost": figure(0.0, 0.01),
    }
    mirror = PairsResult(
        name="mirror",
        is_relevant=True,
        n=120,
        looking=balance,
        p_value=0.001,
        **shares,
        keeps=["the question"],
        excludes=["blind answers"],
    )
    light = PairsResult(name="light", is_relevant=False, n=120, kept=figure(0.98, 0.02))
    sides = [
        ShownAnswer(
            item=f"{name}-0000{i}", answer=answer, read_as=answer, gold=answer, pictures=[f"pictures/{i}.png"]
        )
        for i, answer in enumerate(("left", "right"))
    ]
    return LookingResult(
        source=source,
        standing=standing,
        because=f"looking {100 * share:.1f} %, p .001",
        n_relevant=120,
        n_neutral=120,
        **shares,
        kept=light.kept,
        looking=balance,
        p_value=0.001,
        accuracy=figure((1 + share) / 2, 0.04),
        dependence=figure(share, 0.05),
        excluded=["blind answers"] if share > 0.1 else [],
        not_excluded=["the place of the target alone"],
        edits=[mirror, light],
        relations=[mirror.model_copy(update={"name": word}) for word in ("left", "right")],
        exhibits=[
            PairExample(
                edit="mirror",
                is_relevant=True,
                outcome="followed",
                why="followed, as 60 of 120 pairs",
                question="Where is the ball?",
                before=sides[0],
                after=sides[1],
                excludes=["blind answers"],
            )
        ],
    )


def metric_result(row):
    """One metric on the aligned split."""
    key, _, _, _, g, s, x = row
    separates = key != "compass.dae_paper"
    return MetricResult(
        key=key,
        split="aligned",
        grounded=figure(g, abs(g - s) / 20 if separates else 1.5),
        shortcut=figure(s, abs(g - s) / 20 if separates else 1.5),
        separation=figure(0.99, 0.01) if separates else figure(0.57, 0.04),
        separates=separates,
        why_not="" if separates else "AUC 0.57 [0.53, 0.61]: it does not separate the twins",
        models=[model_mean(m, v, g, s) for m, v in zip(MODELS, (g, s, x), strict=True)],
    )


def instrument(name):
    """One instrument with its metrics."""
    rows = [row for row in METRICS if row[0].startswith(name)]
    leads = [row for row in rows if row[0] != "compass.dae_paper"]
    seen = []
    for model, column in zip(MODELS, (4, 5, 6), strict=True):
        g, s, x = leads[0][4], leads[0][5], leads[0][column]
        if x is None:
            seen.append(
                InstrumentOfModel(
                    model=model,
                    status="left out",
                    because="the model gives no gradients: it runs behind a server",
                    verdict=Verdict(standing="not measured", sentence="Not measured: it needs gradients."),
                )
            )
            continue
        found = looking(min(max((x - s) / (g - s), 0.0), 1.0), name=name)
        seen.append(
            InstrumentOfModel(
                model=model,
                status="measured",
                counts=Counts(planned=240, answered=238, refused=1, failed=1, unreadable=2),
                verdict=Verdict(
                    standing=found.standing, sentence=f"{found.standing.capitalize()}: {found.because}."
                ),
                looking=[found],
                runs=[f"runs/{model.replace(':', '-').replace('/', '_')}/{name}"],
                seconds=31.5,
            )
        )
    return InstrumentResult(
        name=name, question=QUESTIONS[name], models=seen, metrics=[metric_result(row) for row in rows]
    )


def model_result(name):
    """One model."""
    is_twin = name.startswith("pocket:")
    standing = {GROUNDED: "looks", SHORTCUT: "does not look", SERVER: "not settled"}[name]
    return ModelResult(
        name=name,
        identity=f"{name}#0123abcd",
        is_twin=is_twin,
        capabilities=["text", "choices", "gradients"] if is_twin else ["text"],
        left_out=[]
        if is_twin
        else [
            LeftOut(
                instrument="compass",
                what="all of it",
                why="it needs gradients, and a model behind a server gives none",
                remedy="open the same weights with hf:PATH",
            )
        ],
        verdict=Verdict(standing=standing, sentence=f"{standing.capitalize()} on 3 of 3 instruments."),
        calls=960,
        seconds=120.0,
    )


def sample_diagnosis():
    """The document."""
    shortcut = SignatureResult(
        name="semantic shortcut",
        instrument="scene",
        model=SHORTCUT,
        standing="raised",
        because="QA over the prior answer 0.21 [0.15, 0.27], which is above five points",
        numbers={"QA over the prior answer": figure(0.21, 0.06), "level of SGC": figure(0.12)},
        test=TestResult(
            name="base QA minus derived QA",
            statistic=4.2,
            p_value=0.0004,
            n=120,
            method="sign flips of clusters",
        ),
        confirming_test="Ask again with the picture of another scene: a shortcut keeps its answer.",
        remedy="Train with counterfactual pairs that differ in the picture alone.",
        remedy_source="CRISP, section 6",
    )
    absent = shortcut.model_copy(update={"model": GROUNDED, "standing": "not raised", "test": None})
    unknown = SignatureResult(
        name="temporal drift",
        instrument="trace",
        model=SERVER,
        standing="not measured",
        because="not measured: decline of SGR from early to late steps",
        numbers={},
        confirming_test="Ask with the frames in another order.",
        remedy="Re-ground every step in its frame.",
        remedy_source="Step grounding, section 5",
    )
    return Diagnosis(
        theodolite="0.1.0",
        created=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        seed=0,
        size="quick",
        data=dict.fromkeys(QUESTIONS, "120 pictures of the twins' aligned and crossed splits"),
        models=[model_result(name) for name in MODELS],
        metrics=[
            MetricEntry(
                key=key,
                name=name,
                instrument=key.split(".")[0],
                higher_is_grounded=key != "compass.dae_paper",
                origin=origin,
                needs=needs,
            )
            for key, name, origin, needs, *_ in METRICS
        ],
        instruments=[instrument(name) for name in QUESTIONS],
        signatures=[shortcut, absent, unknown],
        open_questions=[
            OpenQuestion(
                model=SERVER,
                instrument="scene",
                question="Does it look?",
                n_now=120,
                n_needed=410,
                size=240,
                power=0.8,
                basis="the spread seen so far",
            )
        ],
        comparisons=[
            Comparison(
                first=GROUNDED,
                second=SERVER,
                instrument="scene",
                metric="scene.qa_drop",
                split="aligned",
                difference=figure(0.32, 0.08),
                test=TestResult(
                    name="paired difference", statistic=0.32, p_value=0.001, n=120, method="sign flips"
                ),
                p_holm=0.003,
            )
        ],
        references=[
            Reference(
                metric="trace.sgr",
                value=0.72,
                what="mean over five models",
                source="Step grounding, table 1",
            )
        ],
        caveats=["Syndromes are behaviour, not proven mechanism."],
        settings={"models": list(MODELS), "seed": 0},
    )


def item(number, rng, *, hostile=False):
    """One row; instruments, models and splits take turns."""
    name = list(QUESTIONS)[number % 4]
    model = MODELS[number // 4 % 3] if name != "compass" else MODELS[number // 4 % 2]
    correct = None if number % 11 == 0 else bool(rng.random() < 0.7)
    field, view_of = VIEWS[name]
    view = view_of(rng, HOSTILE if hostile else "the ball is left of the box")
    return ItemRow(
        id=f"{name}-{number:05d}",
        instrument=name,
        model=model,
        split=("aligned", "crossed")[number // 12 % 2],
        cluster=f"picture-{number // 2}",
        condition=("plain", "mirrored", "blind")[number // 24 % 3],
        kind="relation",
        question=HOSTILE if hostile else f"Where is the ball relative to the box? (item {number})",
        answer=HOSTILE if hostile else ("left", "right", "above", "below")[number % 4],
        read_as="left",
        gold="left",
        correct=correct,
        status="unreadable" if correct is None else "answered",
        reason="no direction in the answer" if correct is None else "",
        values={row[0]: round(float(rng.random()), 4) for row in METRICS if row[0].startswith(name)},
        pictures=[f"pictures/{number % 8}.png"] * (4 if name == "trace" else 1),
        **{field: view},
    )


def compass_view(rng, _text):
    """Sectors and two maps."""
    masses = rng.dirichlet(np.ones(4))
    values = rng.random((8, 8))
    return Overlay(
        target="ball",
        reference="box",
        target_px=(12, 40, 36, 64),
        reference_px=(76, 44, 104, 70),
        size_px=(128, 128),
        sectors={
            "chefer": dict(zip(("right", "above", "left", "below"), masses.round(4).tolist(), strict=True))
        },
        maps=[
            HeatMap(
                name="chefer", values=(values / values.max()).round(3).tolist(), place_px=(0, 0, 128, 128)
            ),
            HeatMap(name="occlusion", values=(values - 0.5).round(3).tolist(), place_px=(0, 0, 128, 128)),
        ],
    )


def grid_view(rng, _text):
    """A few cells with roles."""
    return CellsView(
        rows=4,
        columns=4,
        cells=[
            Cell(row=0, column=1, name="red circle", role="target"),
            Cell(row=2, column=1, name="blue square", role="anchor"),
            Cell(row=3, column=3, name="red circle", role="distractor"),
        ],
        words=["how", "many", "red", "circles", "above", "the", "blue", "square"],
        word_masses={"occlusion": rng.dirichlet(np.ones(8)).round(4).tolist()},
        maps=[
            HeatMap(name="occlusion", values=rng.random((4, 4)).round(3).tolist(), place_px=(0, 0, 128, 128))
        ],
    )


def scene_view(rng, text):
    """Three boxes, and what was said of them."""
    true = [
        SeenObject(
            mark=m, category="chair", x_m=m - 2.0, z_m=2.0 + m, width_m=0.6, depth_m=0.5, turn_deg=20.0 * m
        )
        for m in (1, 2, 3)
    ]
    said = [
        o.model_copy(update={"category": "", "x_m": round(o.x_m + float(rng.normal(0, 0.4)), 2)})
        for o in true[:2]
    ]
    return PlanView(true=true, said=said, said_text=text)


def trace_view(rng, text):
    """Three steps, one of each verdict."""
    verdicts = ("supported", "unsupported", "unverifiable")
    steps = [
        StepView(
            text=f"Step {i + 1}: {text}",
            frames=[i],
            claims=[
                ClaimView(
                    text=text,
                    verdict=verdicts[(i + int(rng.integers(3))) % 3],
                    reason="",
                    evidence="the ball is at the left",
                )
            ],
            grounding=(1.0, 0.0, None)[i],
        )
        for i in range(3)
    ]
    return StepsView(steps=steps, world="video")


VIEWS = {
    "compass": ("overlay", compass_view),
    "grid": ("cells", grid_view),
    "scene": ("plan", scene_view),
    "trace": ("steps", trace_view),
}
"""By instrument: the field of a row, and what stands in it."""


def write_sample(folder, *, n=60, hostile=False, seed=0):
    """Writes ``diagnosis.json``, ``items.jsonl`` and its pictures; returns the folder."""
    rng = np.random.default_rng(seed)
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    for number in range(8):
        pixels = np.full((128, 128, 3), 235, np.uint8)
        pixels[40:64, 12:36] = (200, 60, 60)
        pixels[44:70, 76:104] = (40, 80, 25 * number)
        Image.fromarray(pixels).save(folder / "pictures" / f"{number}.png")
    write_diagnosis(sample_diagnosis(), folder)
    write_items((item(i, rng, hostile=hostile) for i in range(n)), folder)
    return folder
