"""What the papers report beside what this program gives, worked out anew whenever the site is built."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
from _rows import KEEP, number, percent, table

from theodolite import stats
from theodolite.core.registry import registry
from theodolite.instruments.compass.experiments.faithfulness.score import composite_scores
from theodolite.instruments.compass.published import (
    PUBLISHED_CONTROLS,
    SMALL_TABLES,
    published_correlations,
    published_directions,
)
from theodolite.instruments.grid.data.audit import try_shortcuts
from theodolite.instruments.grid.data.batch import bag_of_words, cell_mask, dropped_anchor
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.data.question_types import BUCKETS
from theodolite.instruments.grid.data.world import Mode
from theodolite.instruments.grid.explainers.contract import make_case
from theodolite.instruments.grid.explainers.find import find_explainers
from theodolite.instruments.grid.explainers.game import Convention
from theodolite.instruments.grid.explainers.readers import Pool, open_reader
from theodolite.instruments.grid.formulas.maps import score_map
from theodolite.instruments.grid.models.certificate import (
    ACCURACY,
    AGREES,
    FOLLOWS,
    FOLLOWS_ANCHOR,
    FOLLOWS_EXCHANGE,
    FOLLOWS_ONE,
    NO_REGION,
    NONE_LEFT,
    released_certificate,
)
from theodolite.instruments.grid.published import DEPTH, RMA, SHORTCUTS
from theodolite.instruments.grid.published import paper_tables as paper_tables_of_the_grid
from theodolite.instruments.scene.data.make import make_questions, make_scenes
from theodolite.instruments.scene.experiments.curves import ceiling_tables, solver_ceilings
from theodolite.instruments.trace.experiments.predict import (
    RETENTIONS,
    associate,
    matched_pairs,
    paper_rows,
    paper_tables,
    paper_vrs,
)
from theodolite.report.tables import as_markdown

_SOURCES = {"coco-pairs": "COCO-Pairs", "gqa": "VG-Spatial", "vsr": "VSR"}
_MODELS = ("Qwen2-VL-7B", "LLaVA-1.5-7B", "Qwen2-VL-2B")
_SCENES = 500
"""Scenes of each bucket and density behind the shortcuts' figures."""


_BUDGET = 4096
"""Model calls for one explanation: every coalition of twelve players."""


def creg_framework() -> str:
    """Tables 1 and 2 of CREG, as `compass score` sets them beside one's own rows."""
    names = [entry.name for entry in registry().entries("method")]
    rows = []
    for model, method, target in product(_MODELS, names, ("gt", "pred", "")):
        found = {
            source: published_directions(model, source, method=method, target=target) for source in _SOURCES
        }
        if any(found.values()):
            cells = [
                f"{each[0].dae:g}° / {each[0].edge_accuracy:.3f}" if each else "–" for each in found.values()
            ]
            rows.append([model, f"`{method}{'@' * bool(target)}{target}`", *cells])
    return table(["model", "method", *(f"{name}: DAE / EA" for name in _SOURCES.values())], rows)


def creg_small_tables() -> str:
    """Return the smaller tables."""
    rows = []
    for (name, source), (place, n, figures) in SMALL_TABLES.items():
        for row, values in figures.items():
            told = ", ".join(f"{figure} {value:g}" for figure, value in values.items())
            rows.append([name, _SOURCES[source], row, told, f"{place}, n = {n}"])
    return table(["our table", "data", "row", "reported", "where"], rows)


def creg_controls() -> str:
    """Return what CREG reports of its controls."""
    rows = [
        [control, each.condition, ", ".join(f"`{k}` {v:g}" for k, v in each.values.items()), each.source]
        for control, found in PUBLISHED_CONTROLS.items()
        for each in found
    ]
    return table(["our control", "condition", "reported", "where"], rows)


def creg_composites() -> str:
    """ρ of the composites with the AUC, out of the paper's own EA, MDF and AUC; and what it prints."""
    edge = {
        name: published_directions(_MODELS[0], "coco-pairs", method=name.partition("@")[0], target=target)[
            0
        ].edge_accuracy
        for name, target in (("chefer@gt", "gt"), ("contrastive-grad-act@pred", "pred"), ("gradcam@gt", "gt"))
    }
    edge["attention-rollout"] = published_directions(
        _MODELS[0], "coco-pairs", method="attention-rollout", target=""
    )[0].edge_accuracy
    auc = {row: values["AUC"] for row, values in SMALL_TABLES["diagnosis", "coco-pairs"][2].items()}
    found = composite_scores(
        list(auc),
        edge_accuracy=[edge[name] for name in auc],
        mdf=[creg_mdf()[name] for name in auc],
        auc=list(auc.values()),
    )
    printed = published_correlations(f"hf:{_MODELS[0]}")
    rows = [
        [
            each.name,
            f"{printed[each.name]:+.1f}",
            "–" if each.correlation is None else f"{each.correlation.value:+.1f}",
            "–"
            if each.correlation is None or each.correlation.p_value is None
            else f"{each.correlation.p_value:.2f}",
        ]
        for each in found
    ]
    return table(["composite", "ρ with AUC, printed", "worked out from its tables", "p, all 24 orders"], rows)


def creg_mdf() -> dict[str, float]:
    """CREG, Table 3: MDF of four methods on COCO-Pairs, n = 150."""
    return {
        "gradcam@gt": 3.85,
        "contrastive-grad-act@pred": 2.50,
        "chefer@gt": 1.54,
        "attention-rollout": 1.45,
    }


def grid_shortcuts() -> str:
    """Shortcuts on the paper's data, and on ours under both presets."""
    ours = {
        (preset, mode, density): generate(n=_SCENES, mode=mode, density=density, preset=preset, seed=0)
        for preset in ("paper", "sound")
        for mode in ("pure", "spur")
        for density in ("sparse", "dense")
    }
    rows = []
    for each in SHORTCUTS:
        modes = (each.mode,) if each.mode else ("pure", "spur")
        cells = [_shortcut(ours, each, preset, modes) for preset in ("paper", "sound")]
        where = " ".join(filter(None, (each.bucket, each.density))) or "all buckets"
        data = each.mode or "pure and spur"
        rows.append([each.name, data, where, f"{100 * each.success:.1f} %", *cells])
    counts = [_relational_counts(ours, preset) for preset in ("paper", "sound")]
    rows.insert(1, ["bag of words", "pure", "counts with a relation", "–", *counts])
    return table(
        ["shortcut", "data", "questions", "reported", "ours, preset paper", "ours, preset sound"], rows
    )


def _relational_counts(ours: dict, preset: str) -> str:
    """Return a bag of words where its answer and the right one can always differ."""
    right = n = 0
    for (found_preset, mode, _), batch in ours.items():
        if (found_preset, mode) == (preset, "pure"):
            kinds = [i for i, b in enumerate(BUCKETS) if b.is_relational and b.is_count]
            part = batch.take(np.isin(batch.bucket, kinds))
            found = _success(part, "bag of words")
            right, n = right + found[0], n + found[1]
    return percent(stats.wilson_interval(right, n))


def _shortcut(ours: dict, each: object, preset: str, modes: tuple[str, ...]) -> str:
    """Success of one shortcut over the buckets and densities that the paper speaks of."""
    right = n = 0
    for (found_preset, mode, density), batch in ours.items():
        if found_preset != preset or mode not in modes or (each.density and each.density != density):
            continue
        for index in sorted(set(batch.bucket.tolist())):
            if each.bucket and BUCKETS[index].key != each.bucket:
                continue
            part = batch.take(batch.bucket == index)
            found = _success(part, each.name)
            right, n = right + found[0], n + found[1]
    return percent(stats.wilson_interval(right, n))


def _success(part: object, heuristic: str) -> tuple[int, int]:
    if heuristic == "bag of words":
        return int((bag_of_words(part.world, part.cells, part.questions) == part.answer).sum()), len(part)
    if heuristic.startswith("without anchor"):
        said = dropped_anchor(part.world, part.cells, part.questions, k=int(heuristic[-1]) - 1)
        return int((said == part.answer).sum()), len(part)
    found = next(h for h in try_shortcuts(part, n_permutations=1) if h.name == heuristic)
    return round(found.success.value * found.success.n), found.success.n


def grid_certificate() -> str:
    """Return the released networks on every preset, pooled over buckets with a relation."""
    rows = []
    for kind in ("pure", "spur"):
        certificate = released_certificate(kind)
        for preset in dict.fromkeys(line.preset for line in certificate.lines):
            found = replace(certificate, lines=tuple(x for x in certificate.lines if x.preset == preset))
            cells = [
                f"{100 * found.pooled(what, data, relational=True):.1f}{KEEP}%"
                for what, data in _CERTIFIED.values()
            ]
            worst = found.lowest(ACCURACY, kind)
            rows.append([f"`grid:{kind}`", preset, *cells, f"{percent(worst.estimate)} ({worst.bucket})"])
    return table(["model", "scenes", *_CERTIFIED, "worst bucket of its own data"], rows)


_CERTIFIED: dict[str, tuple[str, Mode]] = {
    "right on pure": (ACCURACY, "pure"),
    "right on spurious": (ACCURACY, "spur"),
    "like a bag of words": (AGREES, "pure"),
    "follows one reversed direction": (FOLLOWS_ONE, "pure"),
    "follows all reversed": (FOLLOWS, "pure"),
    "… to a count of 0": (NONE_LEFT, "pure"),
    "… to a region without a cell": (NO_REGION, "pure"),
    "follows an exchange": (FOLLOWS_EXCHANGE, "pure"),
    "follows a moved anchor": (FOLLOWS_ANCHOR, "pure"),
}


def grid_explanations() -> str:
    """Return what GridVQA-X reports of explainers."""
    rows = [[f"`{name}`", f"mean RMA, {scenario}", f"{value:g}"] for (name, scenario), value in RMA.items()]
    rows += [
        [f"`{name}`", f"synergy of mixed counts, depth {depth}, pure", f"{value:g}"]
        for (name, depth), value in DEPTH.items()
    ]
    return table(["explainer", "figure", "reported"], rows)


def grid_area(n: int = 200) -> str:
    """Whether the paper's RMA (Table 5) is the mask's share of the picture: correlations over kinds of questions."""
    area = {}
    for density in ("sparse", "dense"):
        scenes = generate(n=n, mode="pure", density=density, seed=0)
        masks = (
            (cell_mask(scenes, "anchors") | cell_mask(scenes, "targets"))
            .reshape(len(scenes), -1)
            .mean(axis=1)
        )
        for index in sorted(set(scenes.bucket.tolist())):
            area[BUCKETS[index].key, density] = float(masks[scenes.bucket == index].mean())
    cells = [cell for cell in paper_tables_of_the_grid() if cell.table == 5]
    rows = []
    for explainer in dict.fromkeys(cell.explainer for cell in cells):
        found = []
        for wanted in (("sparse", "dense"), ("sparse",), ("dense",)):
            pairs = [
                (cell.mean, area[cell.bucket, cell.density])
                for cell in cells
                if cell.explainer == explainer and cell.density in wanted
            ]
            found.append(number(stats.pearson([x for x, _ in pairs], [y for _, y in pairs])))
        rows.append([f"`{explainer}`", *found])
    return table(["RMA of Table 5", "r with the mask's area, all buckets", "sparse", "dense"], rows)


def grid_separation(n: int = 24) -> str:
    """Explainers on the two exact reasoners, same scenes: mass, what it would be by area, and the AUC between them."""
    names = ("dime", "multishap", "pixelshap-shapley", "removal", "alike-removal", "uniform")
    batches = [generate("M-F0-D1", n, density="sparse", seed=0)]  # few enough players to try every coalition
    rows = []
    for name in names:
        found = {logic: _maps(name, f"grid:symbolic-{logic}", batches) for logic in ("pure", "bow")}
        means = [
            percent(stats.clustered_mean([each[i] for each in found[logic]]))
            for i in (0, 1)
            for logic in ("pure", "bow")
        ]
        values = [each[1] for logic in ("pure", "bow") for each in found[logic]]
        labels = [False] * len(found["pure"]) + [True] * len(found["bow"])
        scenes = [each[2] for logic in ("pure", "bow") for each in found[logic]]
        auc = number(stats.roc_auc(values, labels, clusters=scenes, seed=0))
        rows.append([f"`{name}`", *means, auc])
    heads = ["RMA, evaluator", "RMA, bag of words", "look-alikes, evaluator", "look-alikes, bag of words"]
    return table(["explainer", *heads, "AUC by look-alikes"], rows)


def _maps(name: str, model: str, batches: list) -> list[tuple[float, float, str]]:
    """RMA on anchors and targets, mass on look-alikes, and the scene, of every map that holds relevance."""
    (explainer,) = find_explainers([name])
    reader, found = open_reader(model), []
    for batch in batches:
        pool = Pool(reader, batch, np.arange(len(batch)), Convention())
        masks = {
            part: cell_mask(batch, part).reshape(len(batch), -1)
            for part in ("anchors", "targets", "adversarial")
        }
        for row in range(len(batch)):
            case = make_case(reader, batch, row, pool=pool).with_budget(
                _BUDGET if explainer.samples else None
            )
            cells = explainer.explain(case).cells
            own = score_map(cells, masks["anchors"][row] | masks["targets"][row])
            other = score_map(cells, masks["adversarial"][row])
            if own is not None and other is not None:
                found.append((own.rma, other.rma, f"{batch.bucket[row]}-{row}"))
    return found


def scene_ceilings(n: int = 12) -> str:
    """Every solver on the true graphs of made scenes."""
    scenes = {made.graph.id: made.graph for made in make_scenes(n, n, seed=0).scenes}
    questions = make_questions(scenes.values(), seed=0).questions
    found = ceiling_tables(solver_ceilings(scenes, questions))
    return "\n\n".join(as_markdown(each) for each in found)


def step_retention() -> str:
    """Pearson's r of SGR and retention: what the text prints, and what its Tables 1 and 2 give under three readings."""
    rows, printed = paper_rows(), paper_tables()["printed"]
    scopes = {
        "pooled": (rows, "r pooled"),
        **{b: ([r for r in rows if r.benchmark == b], f"r {b}") for b in ("STAR", "R2R", "TEACh")},
        "within 7B": ([r for r in rows if r.cluster == "7B"], "r within 7B"),
    }
    made = []
    for scope, (part, name) in scopes.items():
        cells = [number(associate(part, "sgr", kind, scope, seed=0).r) for kind in RETENTIONS]
        accuracy = number(associate(part, "accuracy", RETENTIONS[0], scope, seed=0).r)
        made.append([scope, f"{printed[name]:g}", *cells, accuracy])
    heads = [f"SGR, retention as {kind}" for kind in RETENTIONS]
    return table(["over", "printed", *heads, f"accuracy alone, {RETENTIONS[0]}"], made)


def step_vrs() -> str:
    """VRS that the text prints, and equation 4 of Table 3."""
    printed = paper_tables()["printed"]["VRS"]
    rows = [
        [model, f"{value:g}", f"{paper_vrs(model):.2f}", f"{paper_vrs(model, in_points=True):.2f}"]
        for model, value in printed.items()
    ]
    return table(["model", "printed", "equation 4 of Table 3", "the same with Δ in points"], rows)


def step_pairs() -> str:
    """Pairs of models of the same accuracy."""
    models = paper_rows()
    rows = [
        [
            f"{pair.better} over {pair.other}",
            pair.benchmark,
            f"{100 * pair.sgr_gap:+.1f}",
            f"{100 * pair.saved:+.1f}",
        ]
        for pair in matched_pairs(models, within=0.01)
    ]
    better = Counter(row.benchmark for row in models if row.predictors["sgr"] > row.accuracy)
    above = ", ".join(f"{name} {better[name]}" for name in dict.fromkeys(row.benchmark for row in models))
    note = f"Models of eight whose SGR exceeds their accuracy: {above} (the text: none)."
    return (
        table(["pair within one point of accuracy", "on", "SGR gap", "points of degradation saved"], rows)
        + f"\n\n{note}"
    )
