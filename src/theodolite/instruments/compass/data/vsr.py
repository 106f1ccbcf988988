"""VSR (Visual Spatial Reasoning): true captions matched to COCO boxes, and an audit of what is lost on the way.

The audit is that of Table 10 and A.1 of the paper: how many captions can be given boxes, and whether the kept ones are
like the rest.

VSR has no boxes. The caption's subject is the target, its object the reference: "The cat is left of the dog." In the whole
``random`` split every name of a true caption is a COCO category, so no caption is lost to names; the paper's coverage of
21.2 % must come from relations without a direction (1,739 of 5,621 true captions have one) and from names with several boxes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, check, read_lines, told_problems
from theodolite.core.tables import Column, Table
from theodolite.core.types import Json
from theodolite.core.views import Form, Name
from theodolite.geometry.directions import CARDINAL, Vocabulary
from theodolite.instruments.coco import Instances, read_instances
from theodolite.instruments.compass.data.coco import DEGENERATE, Match, Matcher, MatchPolicy
from theodolite.instruments.compass.data.pairs import Filter, Pair, PictureFolder, Region, Selection, Sieve

VSR_RELATIONS: Mapping[str, str] = {
    "left of": "left",
    "at the left side of": "left",
    "right of": "right",
    "at the right side of": "right",
    "above": "above",
    "over": "above",
    "on top of": "above",
    "below": "below",
    "under": "below",
    "beneath": "below",
}
"""The relations that say one of the four directions. "on" is not among them: a picture on a wall is not above it."""

_SPLITS = ("test", "dev", "train")


class _Line(Form):
    image: Name
    caption: str
    relation: str
    label: Literal[0, 1]


@dataclass(frozen=True, slots=True)
class CaptionOutcome:
    """The outcome of one caption."""

    split: str
    number: int
    image: str
    caption: str
    is_true: bool
    direction: str | None
    """The right answer: the caption's direction, or a diagonal beside it if the boxes say so; None for a relation without
    one."""
    names: tuple[str, str]
    """Of reference and target."""
    has_categories: bool
    """True if both names are categories of the annotations."""
    match: Match | None
    fault: Filter | None


def vsr_pairs(
    captions: str | Path | Sequence[str | Path],
    annotations: str | Path | Sequence[str | Path],
    images: str | Path,
    *,
    n: int | None = None,
    seed: int = 0,
    policy: MatchPolicy | None = None,
    vocabulary: Vocabulary = CARDINAL,
) -> Selection:
    """Select pairs from true VSR captions whose two objects have boxes.

    Args:
        captions: VSR's JSONL files, or the folder with test, dev and train.
        annotations: COCO's instances of the same pictures (train2017 and val2017).
        images: The folder with the pictures.
        n: Sample size, balanced over the directions; all pairs if not given.
        seed: Seed of the draw.
        policy: How names and boxes are matched.
        vocabulary: The names of directions. With diagonals, the boxes say which one a caption means.
    """
    policy = policy or MatchPolicy()
    folder = PictureFolder(Path(images))
    matcher = Matcher(read_instances(annotations), policy, vocabulary)
    outcomes, problems = _outcomes(captions, matcher)
    how: dict[str, Json] = {"relations": dict(VSR_RELATIONS), "directions": dict(vocabulary.angles_deg)}
    sieve = Sieve("vsr", {**asdict(policy), **how})
    sieve.candidates = len(outcomes)
    sieve.drop_broken(problems)
    pairs: list[Pair] = []
    for outcome in outcomes:
        fault = outcome.fault
        if fault is None and outcome.match is not None:
            fault = folder.fault(outcome.match.picture.file_name, outcome.match.picture.size_px)
        if fault is not None:
            sieve.drop(fault)
        elif outcome.match is not None and outcome.direction is not None:
            pairs.append(_pair(outcome, outcome.match, outcome.direction, folder))
    sieve.notes += folder.note()
    sieve.tell_broken(matcher.instances.problems)
    audit = _audit(outcomes, matcher, {pair.id for pair in pairs})
    sieve.notes.append(audit.summary)
    return sieve.finish(pairs, n=n, seed=seed, audit=audit.as_json())


def vsr_audit(
    captions: str | Path | Sequence[str | Path],
    annotations: str | Path | Sequence[str | Path] | None = None,
    *,
    policy: MatchPolicy | None = None,
    vocabulary: Vocabulary = CARDINAL,
) -> VsrAudit:
    """Return the audit alone. No picture is needed; without annotations, only the captions are counted.

    Args:
        captions: VSR's JSONL files, or the folder with test, dev and train.
        annotations: COCO's instances of the same pictures.
        policy: How names and boxes are matched.
        vocabulary: The names of directions.
    """
    matcher = None
    if annotations is not None:
        matcher = Matcher(read_instances(annotations), policy or MatchPolicy(), vocabulary)
    outcomes, problems = _outcomes(captions, matcher)
    kept = {_id(outcome) for outcome in outcomes if outcome.fault is None}
    return replace(_audit(outcomes, matcher, kept), problems=told_problems(problems))


def _outcomes(
    captions: str | Path | Sequence[str | Path], matcher: Matcher | None
) -> tuple[list[CaptionOutcome], list[Problem]]:
    """Return the outcome of every caption, and the problems of broken ones."""
    outcomes: list[CaptionOutcome] = []
    problems: list[Problem] = []
    for path in _files(captions):
        lines, wrong = read_lines(path, lambda value: check(_Line, value))
        problems += wrong
        outcomes += [
            _outcome(line, path.stem, int(where.rpartition(" ")[2]), matcher) for where, line in lines
        ]
    if not outcomes:
        raise UsageError(f"{captions} holds no caption" + (f": {problems[0]}" if problems else ""))
    return outcomes, problems


def _files(captions: str | Path | Sequence[str | Path]) -> list[Path]:
    if not isinstance(captions, str | Path):
        return [Path(path) for path in captions]
    path = Path(captions)
    if not path.is_dir():
        return [path]
    files = [path / f"{split}.jsonl" for split in _SPLITS if (path / f"{split}.jsonl").is_file()]
    if not files:
        raise UsageError(f"{path} holds none of test.jsonl, dev.jsonl and train.jsonl")
    return files


def _outcome(line: _Line, split: str, number: int, matcher: Matcher | None) -> CaptionOutcome:
    direction = VSR_RELATIONS.get(line.relation)
    names = _names(line.caption, line.relation)
    match: Match | Filter | None = None
    has_categories = False
    if names is not None and matcher is not None:
        has_categories = all(matcher.category(name) is not None for name in names)
        match = matcher.objects(line.image, names)
    fault: Filter | None
    if not line.label:
        fault = Filter.FALSE
    elif direction is None:
        fault = Filter.NO_DIRECTION
    elif names is None:
        fault = Filter.UNREADABLE
    elif matcher is None or match is None:
        fault = Filter.NO_ANNOTATIONS
    elif isinstance(match, Filter):
        fault = match
    else:
        answer = matcher.direction(match, direction)
        fault = answer if isinstance(answer, Filter) else None
        direction = direction if isinstance(answer, Filter) else answer
    return CaptionOutcome(
        split=split,
        number=number,
        image=line.image,
        caption=line.caption,
        is_true=bool(line.label),
        direction=direction,
        names=names or ("", ""),
        has_categories=has_categories,
        match=match if isinstance(match, Match) else None,
        fault=fault,
    )


def _names(caption: str, relation: str) -> tuple[str, str] | None:
    """Return reference and target of "The <target> is <relation> the <reference>.", or None.

    >>> _names("The cat is left of the parking meter.", "left of")
    ('parking meter', 'cat')
    """
    words = rf"(?:the |an? )?(.+?)(?: is| are)? {re.escape(relation)} (?:the |an? )?(.+?)\.?"
    match = re.fullmatch(words, caption.strip(), flags=re.IGNORECASE)
    return None if match is None else (match[2].lower(), match[1].lower())


def _id(outcome: CaptionOutcome) -> str:
    return f"{outcome.split}-{outcome.number:05d}"


def _pair(outcome: CaptionOutcome, match: Match, direction: str, folder: PictureFolder) -> Pair:
    return Pair(
        id=_id(outcome),
        picture=folder.find(match.picture.file_name)[0],
        size_px=match.picture.size_px,
        reference=Region(outcome.names[0], match.reference_box),
        target=Region(outcome.names[1], match.target_box),
        direction=direction,
        others=match.picture.other_boxes(match.reference, match.target),
        source="vsr",
        group=outcome.split,
        meta={"caption": outcome.caption, "areas": [match.reference.box_area, match.target.box_area]},
    )


@dataclass(frozen=True, slots=True)
class SplitAudit:
    """The counts of one split; those that need annotations are None without them."""

    split: str
    captions: int
    positives: int
    """True captions."""
    directional: int
    """Of these, those whose relation names one of the four directions."""
    categories: int | None
    """Positives whose two names are categories."""
    annotated: int | None
    """Directional positives whose picture is in the annotations."""
    matched: int | None
    """Directional positives for which both boxes were found, by the policy."""
    valid: int | None
    """Of these, those with boxes that are not empty, lie in the picture, and have different centres."""
    agreeing: int | None
    """Of these, those whose boxes agree with the words; all of them if the policy does not require it."""

    @property
    def coverage(self) -> float | None:
        """Matched over positives."""
        return None if self.matched is None or not self.positives else self.matched / self.positives

    @property
    def validity(self) -> float | None:
        """Valid over matched."""
        return None if not self.matched or self.valid is None else self.valid / self.matched


@dataclass(frozen=True, slots=True)
class VsrAudit:
    """The counts of all splits, and whether the kept captions are like the rest."""

    splits: tuple[SplitAudit, ...]
    directions: dict[str, int]
    """Directional positives by direction."""
    kept_directions: dict[str, int]
    area_known: float | None
    """Mean share of the picture, over all objects that a positive names in annotated pictures."""
    area_kept: float | None
    """The same of the objects of kept pairs."""
    problems: tuple[str, ...] = ()
    """How many captions are broken and where the first ones are."""

    @property
    def summary(self) -> str:
        """Where captions are lost, in one sentence."""
        positives = sum(row.positives for row in self.splits)
        directional = sum(row.directional for row in self.splits)
        words = f"of {positives} true captions {directional} name one of the four directions"
        if self.splits[0].categories is None:
            return f"{words}; give annotations to find their boxes"
        named = sum(row.categories or 0 for row in self.splits)
        return f"{words}, and {named} name two categories: the rest is lost to boxes, not to names"

    def as_json(self) -> dict[str, Any]:
        """Return the audit as plain JSON, with coverage and validity."""
        rows = [{**asdict(row), "coverage": row.coverage, "validity": row.validity} for row in self.splits]
        return {**asdict(self), "splits": rows}

    def tables(self) -> list[Table]:
        """Count by split, and the balance of directions before and after matching."""
        counts = ("captions", "positives", "directional", "categories", "annotated", "matched", "agreeing")
        splits = Table.of(
            "data.vsr_splits",
            "VSR by split",
            [
                Column("split", "split"),
                *(Column(name, name, "count") for name in counts),
                Column("coverage", "coverage", "share"),
                Column("validity", "validity", "share"),
            ],
            [
                [row.split, *(getattr(row, name) for name in counts), row.coverage, row.validity]
                for row in self.splits
            ],
            self.problems,
        )
        balance = Table.of(
            "data.vsr_balance",
            "VSR by direction",
            [
                Column("captions", "captions"),
                *(Column(name, name, "count") for name in self.directions),
                Column("area", "mean object area", "share"),
            ],
            [
                ["directional", *self.directions.values(), self.area_known],
                ["kept", *self.kept_directions.values(), self.area_kept],
            ],
            [self.summary],
        )
        return [splits, balance]


def _audit(outcomes: Sequence[CaptionOutcome], matcher: Matcher | None, kept: AbstractSet[str]) -> VsrAudit:
    """Count the outcomes of the captions; `kept` are the ids of those that became pairs."""
    instances = None if matcher is None else matcher.instances
    names = (CARDINAL if matcher is None else matcher.vocabulary).names
    splits = tuple(
        _split_audit(name, [outcome for outcome in outcomes if outcome.split == name], instances)
        for name in dict.fromkeys(outcome.split for outcome in outcomes)
    )
    directional = [outcome for outcome in outcomes if outcome.is_true and outcome.direction is not None]
    chosen = [outcome for outcome in directional if _id(outcome) in kept]
    known_areas = _areas_known(outcomes, instances)
    areas = [
        area
        for outcome in chosen
        if outcome.match is not None
        for area in (outcome.match.reference.box_area, outcome.match.target.box_area)
    ]
    return VsrAudit(
        splits=splits,
        directions=_balance(directional, names),
        kept_directions=_balance(chosen, names),
        area_known=float(np.mean(known_areas)) if known_areas else None,
        area_kept=float(np.mean(areas)) if areas else None,
    )


def _split_audit(name: str, rows: Sequence[CaptionOutcome], instances: Instances | None) -> SplitAudit:
    positives = [outcome for outcome in rows if outcome.is_true]
    directional = [outcome for outcome in positives if outcome.direction is not None]
    pictures = instances.by_file_name() if instances is not None else {}
    has_boxes = instances is not None
    agreeing = [outcome for outcome in directional if outcome.fault is None]
    valid = [outcome for outcome in directional if outcome.fault in {None, Filter.AGAINST}]
    matched = [outcome for outcome in directional if outcome.fault in {None, Filter.AGAINST, *DEGENERATE}]
    return SplitAudit(
        split=name,
        captions=len(rows),
        positives=len(positives),
        directional=len(directional),
        categories=sum(outcome.has_categories for outcome in positives) if has_boxes else None,
        annotated=sum(outcome.image in pictures for outcome in directional) if has_boxes else None,
        matched=len(matched) if has_boxes else None,
        valid=len(valid) if has_boxes else None,
        agreeing=len(agreeing) if has_boxes else None,
    )


def _balance(rows: Sequence[CaptionOutcome], names: Sequence[str]) -> dict[str, int]:
    counts = Counter(outcome.direction for outcome in rows)
    return {name: counts[name] for name in names}


def _areas_known(outcomes: Sequence[CaptionOutcome], instances: Instances | None) -> list[float]:
    pictures = instances.by_file_name() if instances is not None else {}
    return [
        instance.box_area
        for outcome in outcomes
        if outcome.is_true and outcome.image in pictures
        for instance in pictures[outcome.image].instances
        if instance.name in outcome.names and not instance.is_crowd
    ]
