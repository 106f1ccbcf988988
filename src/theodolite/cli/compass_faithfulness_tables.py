"""What ``theodolite compass faithfulness`` prints: the paper's reading and the sound one, side by side."""

from __future__ import annotations

from theodolite.cli.compass_cells import degrees, share
from theodolite.cli.console import note, out
from theodolite.cli.output import p_value, print_table
from theodolite.instruments.compass.experiments.faithfulness.estimates import Ratio, published_correlations
from theodolite.instruments.compass.experiments.faithfulness.method_scores import MethodScore
from theodolite.instruments.compass.experiments.faithfulness.score import FaithfulnessScore
from theodolite.stats import Estimate

_MOST_COLUMNS = 6
"""So many maps stand side by side in a table; the JSON has the values of all."""


def show(score: FaithfulnessScore) -> None:
    """All tables of a score, and what was left out of them."""
    _show_counts(score)
    _show_sectors(score)
    print_table(
        ["order by", "DAE", "EA", "AUC own", "AUC random", "AUC opposite", "MDF", "DFS"],
        [_paper_row(method) for method in score.methods],
        title="deletion, the paper's reading (log p over the vocabulary, steps counted; ?: the denominator is not surely below 0)",
    )
    out.print()
    print_table(
        [
            "order by",
            "gain over random",
            "p",
            "over opposite",
            "over uniform-map",
            "DFS per pair",
            "pairs",
            "left out",
        ],
        [_sound_row(method) for method in score.methods],
        title="deletion, sound (log p among the options, by the share hidden; above 0 is better than chance)",
    )
    out.print()
    _show_masking(score)
    _show_composites(score)


def _show_sectors(score: FaithfulnessScore) -> None:
    print_table(
        [
            "hidden with",
            "reading",
            "ΔS true",
            "ΔS opposite",
            "ΔS adjacent",
            "COS",
            "p",
            "beyond adjacent",
            "leak",
        ],
        [
            [
                s.fill,
                s.reading,
                _number(s.true),
                _number(s.opposite),
                _number(s.adjacent),
                _number(s.cos),
                "–" if s.cos_p is None else p_value(s.cos_p),
                _number(s.beyond_adjacent),
                _ratio(s.leak) if s.reading == "paper" else _number(s.bounded_leak),
            ]
            for s in score.sectors
        ],
        title="single sectors (sound COS: beyond what as much hidden elsewhere costs; sound leak: ½ means no direction)",
    )
    out.print()


def _show_masking(score: FaithfulnessScore) -> None:
    print_table(
        ["own peak hidden", "ΔS", "|ΔS|", "beyond its area (sound)", "leak", "leak (sound)"],
        [
            [
                method.key.rstrip("@"),
                _number(method.masked),
                _number(method.masked_size),
                _number(method.masked_beyond_area),
                _ratio(method.leak),
                _number(method.bounded_leak),
            ]
            for method in score.methods
        ],
        title="attribution-guided masking",
    )
    out.print()


def _show_counts(score: FaithfulnessScore) -> None:
    calls = ", ".join(f"{count} {word}" for word, count in score.calls.items() if count)
    out.print(f"{score.model}: {score.n_pairs} pairs on {score.n_pictures} pictures; calls: {calls}")
    for reason, count in score.excluded.items():
        out.print(f"left out: {count} pairs because {reason}")
    if score.empty_opposite:
        out.print(
            f"{score.empty_opposite} pairs have nothing to hide in the opposite sector, so its ΔS is 0 there"
        )
    words = ", ".join(f"{name} {100 * share:.1f} %" for name, share in score.shares.items())
    if words:
        out.print(f"mean share of what the model sees, by sector: {words}")
    if not score.is_same_model:
        note(f"the orders come from maps of {score.maps_of}, the answers from {score.model}")
    if score.base_gap is not None and score.base_gap > 0.01 and score.is_same_model:
        note(f"on whole pictures the two runs differ by up to {score.base_gap:.3f} in log p")
    out.print()


def _show_composites(score: FaithfulnessScore) -> None:
    if not score.composites:
        note("no map has both an MDF and an AUC for correctness, so the composites cannot be compared")
        return
    published = published_correlations(score.model)
    maps = list(score.composites[0].values)
    named = maps if len(maps) <= _MOST_COLUMNS else []
    heads = ["composite", *(shown.rstrip("@") for shown in named), "Spearman ρ with AUC", "p", "maps"]
    print_table(
        [*heads, "without a value", *(["CREG, A.1 (4 methods)"] if published else [])],
        [
            [
                c.name,
                *("–" if (value := c.values.get(name)) is None else f"{value:.3f}" for name in named),
                _number(c.correlation),
                "–"
                if c.correlation is None or c.correlation.p_value is None
                else p_value(c.correlation.p_value),
                str(len(c.values) - c.undefined),
                str(c.undefined),
                *([f"{published[c.name]:+.1f}" if c.name in published else "–"] if published else []),
            ]
            for c in score.composites
        ],
        title="do the summaries rank methods as their AUC for correctness does?",
    )


def _paper_row(method: MethodScore) -> list[str]:
    return [
        method.key.rstrip("@"),
        degrees(method.dae),
        share(method.ea),
        _number(method.area_own),
        _number(method.area_random),
        _number(method.area_opposite),
        _ratio(method.mdf),
        _ratio(method.dfs),
    ]


def _sound_row(method: MethodScore) -> list[str]:
    return [
        method.key.rstrip("@"),
        _number(method.gain),
        "–" if method.gain_p is None else p_value(method.gain_p),
        _number(method.gain_over_opposite),
        "–" if method.key == "uniform-map" else _number(method.gain_over_uniform),
        _number(method.dfs_per_pair),
        str(method.n_pairs),
        "; ".join(f"{count}: {reason}" for reason, count in method.lost.items()) or "–",
    ]


def _number(estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    return f"{estimate.value:+.3f} [{estimate.low:+.3f}, {estimate.high:+.3f}]"


def _ratio(ratio: Ratio | None) -> str:
    if ratio is None:
        return "–"
    shown = ratio.estimate
    return f"{shown.value:.2f} [{shown.low:.2f}, {shown.high:.2f}]{'' if ratio.is_sound else ' ?'}"
