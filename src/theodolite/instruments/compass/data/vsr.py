"""VSR (Visual Spatial Reasoning): true captions matched to COCO boxes, with an audit of what is lost on the way.

VSR has no boxes. Its caption's subject is the target, its object the reference: "The cat is left of the dog." On the whole
``random`` split every name of a true caption is a COCO category, so names lose nothing; the paper's coverage of 21.2 % must
come from relations without a direction (1,739 of 5,621 true captions have one) and from names with several boxes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from theodolite.core.errors import UsageError
from theodolite.instruments.compass.data.instances import Instances, read_instances
from theodolite.instruments.compass.data.matching import Match, Matcher, MatchPolicy
from theodolite.instruments.compass.data.pairs import Pair, Region
from theodolite.instruments.compass.data.pictures import PictureFolder
from theodolite.instruments.compass.data.reading import Strict, parse, read_bytes
from theodolite.instruments.compass.data.selection import Filter, Selection, Sieve
from theodolite.instruments.compass.data.vsr_audit import VsrAudit, audit_outcomes

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


class _Line(Strict):
    image: str
    caption: str
    relation: str
    label: Literal[0, 1]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one caption."""

    split: str
    number: int
    image: str
    caption: str
    is_true: bool
    direction: str | None
    """None for a relation without one."""
    names: tuple[str, str]
    """Of reference and target."""
    has_categories: bool
    """Whether both names are categories of the annotations."""
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
) -> Selection:
    """Pairs from true VSR captions whose two objects have boxes.

    Args:
        captions: VSR's JSONL files, or the folder with test, dev and train.
        annotations: COCO's instances of the same pictures (train2017 and val2017).
        images: the folder with the pictures.
        n: how many, balanced over the directions; all if not given.
        seed: of the draw.
        policy: how names and boxes are matched.
    """
    policy = policy or MatchPolicy()
    folder = PictureFolder(Path(images))
    matcher, instances = _matcher(annotations, policy)
    outcomes = _outcomes(captions, matcher)
    sieve = Sieve("vsr", {**asdict(policy), "relations": dict(VSR_RELATIONS)})
    sieve.candidates = len(outcomes)
    pairs: list[Pair] = []
    for each in outcomes:
        fault = each.fault
        if fault is None and each.match is not None:
            fault = folder.fault(each.match.picture.file_name, each.match.picture.size_px)
        if fault is not None:
            sieve.drop(fault)
        elif each.match is not None and each.direction is not None:
            pairs.append(_pair(each, each.match, each.direction, folder))
    sieve.notes += folder.note()
    audit = audit_outcomes(outcomes, instances, {pair.id for pair in pairs})
    sieve.notes.append(audit.summary)
    return sieve.finish(pairs, n=n, seed=seed, audit=audit.as_json())


def vsr_audit(
    captions: str | Path | Sequence[str | Path],
    annotations: str | Path | Sequence[str | Path] | None = None,
    *,
    policy: MatchPolicy | None = None,
) -> VsrAudit:
    """The audit of Table 10 and A.1 alone; no picture is needed, and without annotations only the captions are counted."""
    matcher, instances = (
        _matcher(annotations, policy or MatchPolicy()) if annotations is not None else (None, None)
    )
    outcomes = _outcomes(captions, matcher)
    kept = {_id(each) for each in outcomes if each.fault is None}
    return audit_outcomes(outcomes, instances, kept)


def _matcher(
    annotations: str | Path | Sequence[str | Path], policy: MatchPolicy
) -> tuple[Matcher, Instances]:
    paths = [annotations] if isinstance(annotations, str | Path) else annotations
    instances = read_instances([Path(path) for path in paths])
    return Matcher(instances, policy), instances


def _outcomes(captions: str | Path | Sequence[str | Path], matcher: Matcher | None) -> list[Outcome]:
    found: list[Outcome] = []
    for path in _files(captions):
        for number, text in enumerate(read_bytes(path, "captions").splitlines(), 1):
            if text.strip():
                line = parse(_Line, text, f"{path}, line {number}")
                found.append(_outcome(line, path.stem, number, matcher))
    if not found:
        raise UsageError(f"{captions} holds no caption")
    return found


def _files(captions: str | Path | Sequence[str | Path]) -> list[Path]:
    if not isinstance(captions, str | Path):
        return [Path(path) for path in captions]
    path = Path(captions)
    if not path.is_dir():
        return [path]
    found = [path / f"{split}.jsonl" for split in _SPLITS if (path / f"{split}.jsonl").is_file()]
    if not found:
        raise UsageError(f"{path} holds none of test.jsonl, dev.jsonl and train.jsonl")
    return found


def _outcome(line: _Line, split: str, number: int, matcher: Matcher | None) -> Outcome:
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
        fault = matcher.fault(match, direction)
    return Outcome(
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
    """Reference and target of "The <target> is <relation> the <reference>.", or None.

    >>> _names("The cat is left of the parking meter.", "left of")
    ('parking meter', 'cat')
    """
    words = rf"(?:the |an? )?(.+?)(?: is| are)? {re.escape(relation)} (?:the |an? )?(.+?)\.?"
    found = re.fullmatch(words, caption.strip(), flags=re.IGNORECASE)
    return None if found is None else (found[2].lower(), found[1].lower())


def _id(each: Outcome) -> str:
    return f"{each.split}-{each.number:05d}"


def _pair(each: Outcome, match: Match, direction: str, folder: PictureFolder) -> Pair:
    return Pair(
        id=_id(each),
        picture=folder.find(match.picture.file_name)[0],
        size_px=match.picture.size_px,
        reference=Region(each.names[0], match.reference_box),
        target=Region(each.names[1], match.target_box),
        direction=direction,
        others=match.picture.other_boxes(match.reference, match.target),
        source="vsr",
        group=each.split,
        meta={"caption": each.caption, "areas": [match.reference.box_area, match.target.box_area]},
    )
