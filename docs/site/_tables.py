"""What pages ask for by a comment: it stands below the comment, so that the pages can be read where no site is built.

``<!-- made: NAME -->`` is a table that the program works out; ``<!-- shown: PATH -->`` is a file of the repository. Both end at
``<!-- end -->``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from textwrap import indent

from _claims import claim_rates, hard_claims
from _explain import explain_bench
from _grid_explainers import grid_depth, grid_pair_separation
from _grid_presets import grid_audit, grid_promises
from _licences import further_licences, licences
from _paper_tables import (
    creg_composites,
    creg_controls,
    creg_framework,
    creg_small_tables,
    grid_area,
    grid_certificate,
    grid_explanations,
    grid_separation,
    grid_shortcuts,
    scene_ceilings,
    step_pairs,
    step_retention,
    step_vrs,
)
from _rows import KEEP, table

from theodolite import stats
from theodolite.attribution import find_methods
from theodolite.core.options import SIZES
from theodolite.core.registry import Kind, registry
from theodolite.core.scores import SignatureKind, definition
from theodolite.core.tables import Table
from theodolite.instruments.compass.experiments.controls.results import COLUMNS, control_column
from theodolite.instruments.grid.data.generate import generate
from theodolite.instruments.grid.explainers.find import find_explainers
from theodolite.instruments.instrument import Study, instruments
from theodolite.pairs import EDITS
from theodolite.report.tables import as_markdown
from theodolite.twins.certificate import TWINS, certificate_tables, released_certificate
from theodolite.twins.separate import released_table, separation_tables

_ROOT = Path(__file__).parents[2]
_MARK = re.compile(
    r"^(?P<space> *)<!-- (?:made: (?P<table>[\w-]+)|shown: (?P<file>[\w./]+)(?: (?P<first>\d+)-(?P<last>\d+))?) -->\n"
    r"(?:(?:(?! *<!-- (?:made|shown):).*\n)*? *<!-- end -->\n)?",
    re.MULTILINE,
)


def filled(markdown: str) -> str:
    """Return a page with its tables and files put in anew, as far indented as they were asked for."""

    def put(found: re.Match[str]) -> str:
        made = (
            TABLES[found["table"]]()
            if found["table"]
            else _file(found["file"], found["first"], found["last"])
        )
        mark = found[0].partition("\n")[0].strip()
        return indent(f"{mark}\n\n{made.strip()}\n\n<!-- end -->\n", found["space"])

    return _MARK.sub(put, markdown)


def _file(path: str, first: str | None, last: str | None) -> str:
    """Return a file of the repository, or some of its lines, as a block of code."""
    lines = (_ROOT / path).read_text(encoding="utf-8").splitlines()
    chosen = lines[int(first or 1) - 1 : int(last) if last else None]
    language = {"py": "python"}.get(path.rpartition(".")[2], path.rpartition(".")[2])
    return "\n".join([f'```{language} title="{path}"', *chosen, "```"])


def methods() -> str:
    """Return the relevance methods, each with what it says of itself."""
    rows = []
    for method in find_methods(["all"]):
        caveat = f" **Caveat:** {method.caveat}." if method.caveat else ""
        beside = f" Beside it: `{method.sound_variant}`." if method.sound_variant else ""
        rows.append([f"`{method.name}`", f"{method.summary}.{caveat}{beside}", method.paper or "ours"])
    return table(["method", "what it computes", "from"], rows)


def explainers() -> str:
    """Return the explainers, likewise."""
    rows = []
    for each in find_explainers(["all"]):
        caveat = f" **Caveat:** {each.caveat}." if each.caveat else ""
        rows.append([f"`{each.name}`", each.scope, each.reading, f"{each.summary}.{caveat}"])
    return table(["explainer", "scope", "reading", "what it computes"], rows)


def entries(kind: Kind) -> Callable[[], str]:
    """Return what is registered of one kind."""

    def made() -> str:
        found = registry().entries(kind)
        rows: list[Sequence[str]] = [[f"`{each.example or each.name}`", each.summary] for each in found]
        return table([kind, "what it is"], rows)

    return made


def control_figures() -> str:
    """Return the figures of the compass's controls."""
    rows = [
        [f"`{name}`", control_column(name).title, definition(key).meaning]
        for name, (key, _) in COLUMNS.items()
    ]
    return table(["figure", "heading", "what it is"], rows)


def grid_buckets() -> str:
    """Every kind of question with one that was made."""
    scenes = generate(n=1, density="dense", seed=7)
    rows = [
        [f"`{scenes.bucket_key(row)}`", scenes.text(row), scenes.answer_text(row)]
        for row in range(len(scenes))
    ]
    return table(["bucket", "a question that was made", "answer"], rows)


def signatures() -> str:
    """Every signature, the test that would confirm it, and what the papers propose."""
    rows = [
        [
            name,
            f"**{kind.name}**",
            kind.confirming_test,
            f"{kind.remedy} ({kind.source})" if kind.remedy else "–",
        ]
        for name, kind in _signature_kinds()
    ]
    return table(
        ["instrument", "signature", "what would confirm it", "remedy in the papers (a hypothesis)"], rows
    )


def _signature_kinds() -> Iterator[tuple[str, SignatureKind]]:
    """Yield the kinds of signatures that the instruments declare, where they score or in a module of their own."""
    for instrument in instruments():
        places = [f"theodolite.instruments.{instrument.name}.{part}" for part in ("score", "signatures")]
        for place in filter(find_spec, places):
            for value in vars(import_module(place)).values():
                found = value.values() if isinstance(value, dict) else [value]
                yield from ((instrument.name, kind) for kind in found if isinstance(kind, SignatureKind))


def diagnose_sizes() -> str:
    """Return what each size of a diagnosis asks about, as each instrument describes it."""
    rows = [
        [each.name, *(each.describe(Study(Path(), size)) for size in SIZES)]
        for each in instruments()
        if not each.needs_data
    ]
    return table(["instrument", *(f"`{size}`" for size in SIZES)], rows)


def edits() -> str:
    """Return the relevant edits, with what they keep, exclude and do not exclude."""
    rows = [
        [each.name, *("; ".join(part) or "–" for part in (each.keeps, each.excludes, each.leaves))]
        for each in EDITS.values()
        if each.is_relevant
    ]
    neutral = ", ".join(each.name for each in EDITS.values() if not each.is_relevant)
    head = ["edit", "keeps", "excludes", "does not exclude"]
    return f"{table(head, rows)}\n\nNeutral edits: {neutral}."


def _with_interval(figure: stats.Estimate) -> str:
    """In per cent, on one line."""
    low, value, high = (f"{100 * x:.1f}" for x in (figure.low, figure.value, figure.high))
    return f"{value} [{low}, {high}]".replace(" ", KEEP).replace("-", "−")


def twin_bars() -> str:
    """Return what the twins must reach, and what the certificates of the shipped ones say."""
    return _rendered(certificate_tables(released_certificate(f"pocket:{twin}"))[0] for twin in TWINS)


def _rendered(tables: Iterable[Table]) -> str:
    """Tables as Markdown; a note that begins with an asterisk stays a note."""
    return "\n\n".join(as_markdown(each).replace("\n* ", "\n\\* ") for each in tables)


_EDITS = {
    "flip": "picture turned over",
    "mirror": "things mirrored",
    "move": "target moved",
    "swap": "things exchanged",
    "roles": "question turned round",
    "ground": "other background",
    "clutter": "other things gone",
    "brighter": "brighter picture",
    "blank": "blank picture",
}
"""Of the relation task, in words."""


def twin_edits() -> str:
    """Return what edits do to the answers of both shipped twins, by their certificates; of an edit that is to be followed, that alone."""
    released = [released_certificate(f"pocket:{twin}") for twin in TWINS]
    rows = []
    for line in released[0].lines:
        verb, _, edit = line.what.partition(": ")
        followed = released[0].find(line.task, line.what.replace("changes", "follows"), line.split)
        if verb.endswith(("follows", "keeps")) or (verb.endswith("changes") and followed is None):
            found = [each.find(line.task, line.what, line.split) for each in released]
            shown = [each.estimate if each is not None else None for each in found]
            cells = [_with_interval(each) if each is not None else "–" for each in shown]
            rows.append([line.task, _EDITS.get(edit, edit), verb, *cells, str(line.estimate.n_items)])
    return table(["task", "edit", "%", *TWINS, "items"], rows)


def twin_separation() -> str:
    """Every metric on the shipped twins."""
    return _rendered(separation_tables(released_table()))


TABLES: dict[str, Callable[[], str]] = {
    "methods": methods,
    "explainers": explainers,
    "models": entries("model"),
    "verifiers": entries("verifier"),
    "sources": entries("source"),
    "behaviours": entries("behaviour"),
    "control-figures": control_figures,
    "signatures": signatures,
    "twin-bars": twin_bars,
    "twin-edits": twin_edits,
    "twin-separation": twin_separation,
    "diagnose-sizes": diagnose_sizes,
    "edits": edits,
    "creg-framework": creg_framework,
    "creg-small-tables": creg_small_tables,
    "creg-controls": creg_controls,
    "creg-composites": creg_composites,
    "grid-shortcuts": grid_shortcuts,
    "grid-certificate": grid_certificate,
    "grid-explanations": grid_explanations,
    "grid-buckets": grid_buckets,
    "grid-promises": grid_promises,
    "grid-audit": grid_audit,
    "explain-bench": explain_bench,
    "grid-pair-separation": grid_pair_separation,
    "grid-depth": grid_depth,
    "grid-area": grid_area,
    "grid-separation": grid_separation,
    "scene-ceilings": scene_ceilings,
    "step-retention": step_retention,
    "step-vrs": step_vrs,
    "step-pairs": step_pairs,
    "claim-rates": claim_rates,
    "hard-claims": hard_claims,
    "licences": licences,
    "further-licences": further_licences,
}
