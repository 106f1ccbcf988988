"""What the CREG paper reports for its controls: shown beside our figures, by source, and never a bar for them."""

from __future__ import annotations

from theodolite.instruments.compass.experiments.controls.results import Published

_QWEN = "CREG, Qwen2-VL-7B, contrastive Grad×Act"
_PHI = "Phi-3.5-Vision"


def _centres(table: str, rows: dict[str, tuple[float, float | None]]) -> tuple[Published, ...]:
    return tuple(
        Published(table, name, {"dae_deg": dae} if delta is None else {"dae_deg": dae, "delta_deg": delta})
        for name, (dae, delta) in rows.items()
    )


CENTRES = (
    *_centres(
        f"{_QWEN}, COCO-Pairs, Table 11",
        {"true": (55.5, None), "random": (53.6, -1.9), "background": (48.4, -7.0), "target": (22.5, -33.0)},
    ),
    *_centres(
        f"{_QWEN}, VG-Spatial, Table 11",
        {"true": (53.4, None), "random": (51.1, -2.3), "background": (50.3, -3.1), "target": (22.5, -30.9)},
    ),
)

REFERENCE_SWAP = tuple(
    Published(
        f"CREG, Qwen2-VL-7B, {method}, COCO-Pairs, Table 7", "both", {"peak_shift": shift, "jsd_bits": jsd}
    )
    for method, shift, jsd in (
        ("contrastive Grad×Act (pred)", 0.660, 0.082),
        ("attention rollout", 0.660, 0.108),
        ("GradCAM", 0.580, 0.311),
        ("box-only", 0.680, 0.339),
        ("random", 0.940, 0.172),
    )
)

PROMPT_DIRECTION = (
    Published(f"{_QWEN}, section 5.1", "probes", {"prompt_tracking": 0.246, "opposite_jsd_bits": 0.004}),
)

MOVE_A = (
    Published(
        f"{_QWEN}, section 5.1",
        "probes",
        {"jsd_bits": 0.145, "peak_accuracy": 0.398, "peak_accuracy_correct": 0.466},
    ),
)

SWAP_ROLES = (Published(f"{_QWEN}, section 5.1", "swapped", {"reversal": 0.515}),)

RELOCATION = (
    Published(
        f"{_QWEN}, Table 15",
        "probes",
        {"dae_deg": 73.1, "peak_accuracy": 0.45, "jsd_bits": 0.061},
    ),
    Published("CREG, box-only, Table 15 (Qwen2-VL-7B)", "probes", {"dae_deg": 23.3}),
    Published(f"{_QWEN}, Table 15", "false reference", {"dae_deg": 22.5}),
    Published(
        "CREG, Phi-3.5-Vision, contrastive Grad×Act, Table 15",
        "probes",
        {"dae_deg": 84.9, "peak_accuracy": 0.25, "jsd_bits": 0.057},
        _PHI,
    ),
    Published("CREG, box-only, Table 15 (Phi-3.5-Vision)", "probes", {"dae_deg": 24.7}, _PHI),
)

VARIANCE = (
    Published(f"{_QWEN}, section 5.1", "direction", {"eta_squared": 0.013, "within_image_share": 0.495}),
    Published(f"{_QWEN}, section 5.1", "location", {"eta_squared": 0.069, "within_image_share": 0.505}),
)

SQUARES = (
    Published(f"{_QWEN}, A.16", "squares", {"dae_deg": 81.6}),
    Published(f"{_QWEN}, A.16", "false reference", {"dae_deg": 22.5}),
)
