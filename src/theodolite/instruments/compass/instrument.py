"""The compass behind the `Instrument` type."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from theodolite.core.scores import OWN_SPLIT, Capability, ItemScore, Signature
from theodolite.core.tables import Table
from theodolite.core.types import Item
from theodolite.instruments.compass.verbs import VERBS, CompassRun, plan_hidden, plan_pairs
from theodolite.instruments.instrument import Instrument, Reference, RunPlan, Study, UserData
from theodolite.instruments.verbs import Verb
from theodolite.pairs.outcomes import with_repeats
from theodolite.runs import Run

if TYPE_CHECKING:
    from theodolite.instruments.compass.data.pairs import Pair
    from theodolite.instruments.compass.questions import EditsOf
    from theodolite.instruments.rows import View

_PAIRS: Mapping[str, int] = {"quick": 14, "standard": 24, "large": 200}
"""Drawn pictures of each split, by size."""
_QUICK_MAPS = 4
"""Pairs of each split with relevance maps in a quick study: enough to show, and the slowest part."""
_CREG_MODEL, _CREG_DATA = "Qwen2-VL-7B", "coco-pairs"


class Compass(Instrument):
    """Is attribution organised by the queried direction, or by image layout?"""

    name = "compass"
    question = "Does the answer come from the picture, and is the evidence where the question points?"
    run_kinds = ("compass",)
    run_options = CompassRun
    run_help = "Ask a model about pairs, store every relevance map, and score."
    takes = "a COCO instances file (or its folder) with its pictures, or a file of pairs made by `theodolite compass make` or `import`"

    def verbs(self) -> Mapping[str, Verb[Any]]:
        """Make and import pairs, score, audit, figures."""
        return VERBS

    def plan(self, study: Study, gives: Capability) -> Iterator[RunPlan]:
        """Drawn pairs of every split in one run, and the user's own in another."""
        from theodolite.instruments.compass.data.coco import load_pairs
        from theodolite.instruments.compass.data.drawn import relation_pairs
        from theodolite.instruments.compass.questions import drawn_edits, photograph_edits

        asked = study.options
        if isinstance(asked, CompassRun) and asked.source is not None:
            yield (plan_hidden if asked.of else plan_pairs)(study, asked, asked.source)
            return
        n = _size(study)
        drawn = {
            split: partial(relation_pairs, n, seed=study.seed, split=cast("Any", split))
            for split in study.splits
        }
        # Parts are hidden only where accuracy cannot show who looks.
        yield _run_plan(
            "compass",
            drawn,
            drawn_edits,
            gives=gives,
            settings={"n": n},
            whole=study.splits[:1],
            maps=_QUICK_MAPS if study.size == "quick" else None,
        )
        own = study.data
        if own is not None:
            settings: dict[str, Any] = {"data": str(own.path.absolute())}
            if own.form == "coco":
                settings |= {"images": str((own.images or Path()).absolute()), "n": 2 * n}
            pairs = {OWN_SPLIT: lambda: load_pairs(own, 2 * n, study.seed).pairs}
            yield _run_plan("compass-own", pairs, photograph_edits, gives=gives, settings=settings)

    def score(self, run: Run) -> list[ItemScore]:
        """Every metric of every pair."""
        from theodolite.instruments.compass.score import item_scores

        return item_scores(run)

    def tables(self, run: Run) -> list[Table]:
        """Answers, directions of relevance under both projections, and where relevance lies."""
        from theodolite.instruments.compass.tables import score_run

        return list(score_run(run).tables)

    def view(self, run: Run) -> View:
        """Return boxes, relevance maps and shares by direction over the picture."""
        from theodolite.instruments.compass.rows import view_of

        return view_of(run)

    def signatures(
        self, folders: Sequence[Path], scores: Sequence[ItemScore], *, seed: int
    ) -> list[Signature]:
        """Layout-driven, and language prior."""
        from theodolite.instruments.compass.score import compass_signatures

        return compass_signatures(scores)

    def shown(self, item: Item) -> Item:
        """The item with its picture edited as its condition says."""
        from theodolite.instruments.compass.questions import shown_item

        return shown_item(item)

    def references(self) -> Iterator[Reference]:
        """CREG's DAE and EA, by method."""
        from theodolite.instruments.compass.measure import METHODS
        from theodolite.instruments.compass.published import published_directions

        for method in METHODS:
            for target in ("gt", "pred", ""):
                found = published_directions(_CREG_MODEL, _CREG_DATA, method=method, target=target)
                each = next(iter(found), None)
                if each is None:
                    continue
                what = f"{_CREG_MODEL} on {each.data}, n={each.n}"
                for key, value in (("dae_paper", each.dae), ("ea_paper", each.edge_accuracy)):
                    yield Reference(f"compass.{key}:{method}", value, what, each.source)
                break

    def describe(self, study: Study) -> str:
        """What a study asks about."""
        own = f"; and {study.data.words}" if study.data else ""
        return (
            f"{2 * _size(study)} drawn pictures of two to five things, half of them against the shortcut{own}"
        )

    def size_for(self, pairs: int) -> int:
        """Pictures of each of two splits; each has two relevant pairs: a reflection and a move."""
        return max(2, math.ceil(pairs / 4))

    def find_data(self, path: Path, images: Path | None) -> UserData | None:
        """A pair file, or COCO instances with their pictures."""
        from theodolite.instruments.compass.data.coco import find_pairs

        return find_pairs(path, images)

    def unused(self, study: Study) -> Mapping[str, int]:
        """Pairs of objects that are left out, and edits of photographs that would not look right, by reason."""
        from theodolite.instruments.compass.data.coco import load_pairs
        from theodolite.instruments.compass.questions import unfit_edits

        if study.data is None:
            return {}
        found = load_pairs(study.data, 2 * _size(study), study.seed)
        unfit = Counter(reason for pair in found.pairs for reason in unfit_edits(pair, found.vocabulary))
        edits = {f"not exchanged or moved: {reason.value}": n for reason, n in unfit.most_common()}
        return {**found.unused, **edits}


COMPASS = Compass()


def _size(study: Study) -> int:
    return _PAIRS[study.size] if isinstance(study.size, str) else study.size


def _run_plan(
    name: str,
    pairs: Mapping[str, Callable[[], Sequence[Pair]]],
    edits: EditsOf,
    *,
    gives: Capability,
    settings: Mapping[str, Any],
    whole: Iterable[str] | None = None,
    maps: int | None = None,
) -> RunPlan:
    """Pairs by split, made when the run is planned.

    Args:
        name: Name of the run.
        pairs: By split.
        edits: Function that returns the edits of a pair beyond mirroring.
        gives: The model's capability.
        settings: Settings of the run.
        whole: The splits in which parts are hidden too, at 18 answers per pair; all if not given.
        maps: How many pairs of each split get relevance maps; all if not given.
    """
    from theodolite.instruments.compass.measure import ConditionsMeasurer, conditions_factory
    from theodolite.instruments.compass.questions import plan_conditions

    shown = set(pairs) if whole is None else set(whole)

    def conditions() -> Iterator[Item]:
        for split, make in pairs.items():
            some = gives if split in shown else "text"
            yield from plan_conditions(make(), gives=some, split=split, edits=edits, maps=maps)

    def plan(run: Run) -> Iterator[Item]:
        return with_repeats(conditions(), lambda item: item.truth.is_plain, model=run.info.model)

    return RunPlan(
        name,
        "compass",
        {**settings, "gives": gives},
        plan,
        lambda model: ConditionsMeasurer(model, gives),
        partial(conditions_factory, gives=gives),
    )
