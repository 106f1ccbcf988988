"""What the papers report of the same quantities, to be shown beside ours. Other models, other data: never a bar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from theodolite.diagnose.record import InstrumentName, Reference

_CREG_MODEL, _CREG_DATA = "Qwen2-VL-7B", "coco-pairs"


def references_of(instruments: Iterable[InstrumentName]) -> list[Reference]:
    """The papers' numbers for the readouts of some instruments."""
    found: list[Reference] = []
    for name in instruments:
        if name == "compass":
            found += _compass()
        if name == "trace":
            found += _trace()
    return found


def _compass() -> Iterator[Reference]:
    """CREG's angles and edge accuracies, by method."""
    from theodolite.instruments.compass.published import published_figures
    from theodolite.instruments.compass.readouts import METHODS

    for method in METHODS:
        for target in ("gt", "pred", ""):
            each = next(iter(published_figures(_CREG_MODEL, _CREG_DATA, method=method, target=target)), None)
            if each is None:
                continue
            what = f"{_CREG_MODEL} on {each.data}, n={each.n}"
            for key, value in (("dae_paper", each.dae_deg), ("ea_paper", each.edge_accuracy)):
                yield Reference(readout=f"compass.{key}:{method}", value=value, what=what, source=each.source)
            break


def _trace() -> Iterator[Reference]:
    """The lowest and the highest of the eight models on the first benchmark."""
    from theodolite.instruments.trace.experiments.paper import paper_rows

    rows = [row for row in paper_rows() if row.benchmark == "STAR"]
    for key in ("sgr", "hr", "tcs"):
        ordered = sorted(rows, key=lambda row: row.predictors[key])
        for row, word in ((ordered[0], "lowest"), (ordered[-1], "highest")):
            yield Reference(
                readout=f"trace.{key}",
                value=round(row.predictors[key], 4),
                what=f"{row.model} on {row.benchmark}, the {word} of {len(rows)} models",
                source="step grounding, Table 1",
            )
