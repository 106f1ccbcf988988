"""Labels by people: what they judge is written to a file, and what two of them wrote is compared.

One claim a line, with the sentence it stands in, the frames it speaks of and their pictures; the field ``label`` is for
the person, who does not see what the verifier said.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2s
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.instruments.trace.claims.types import LABELS, Label
from theodolite.instruments.trace.data.dataset import Problem, read_lines
from theodolite.instruments.trace.data.episode import Episode
from theodolite.instruments.trace.estimates import mean_estimate
from theodolite.instruments.trace.verifiers.judging import JudgedTrace


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: str
    episode: str
    step: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class PersonScore:
    """What one person's labels say of the traces."""

    name: str
    sgr: stats.Estimate | None
    hr: stats.Estimate | None
    unverifiable: stats.Estimate | None
    n_labels: int
    against_verifier: stats.Estimate | None
    """κ of the person and the verifier."""
    agreement: stats.Estimate | None
    """Share of claims on which both give the same label."""


@dataclass(frozen=True, slots=True)
class AnnotationScore:
    """What two people's labels say."""

    kappa: stats.Estimate | None
    """Cohen's κ between the people, clustered by episode."""
    agreement: stats.Estimate | None
    people: tuple[PersonScore, ...]
    n_shared: int
    problems: tuple[Problem, ...]


def export_labels(
    judged: Sequence[JudgedTrace],
    episodes: Mapping[str, Episode],
    path: str | Path,
    *,
    n_steps: int = 120,
    seed: int = 0,
) -> int:
    """Writes the claims of some steps, drawn at random, for people to label.

    Returns:
        How many claims were written.

    Raises:
        UsageError: there is nothing to label, or the file exists: it may hold labels.
    """
    if Path(path).exists():
        raise UsageError(f"{path} exists already and may hold labels; give another file, or remove it")
    steps = [
        (trace, name, i)
        for trace, name in zip(judged, _names(judged), strict=True)
        for i, step in enumerate(trace.steps)
        if step.counted()
    ]
    if not steps:
        raise UsageError("none of the traces makes a claim, so there is nothing to label")
    chosen = sorted(np.random.default_rng(seed).permutation(len(steps))[:n_steps].tolist())
    rows = []
    for place in chosen:
        trace, name, i = steps[place]
        episode = episodes[trace.trace.episode]
        said = trace.steps[i].step
        pictures = [
            str(p.path)
            for f in said.frames
            if (p := episode.frames[f].picture) is not None and p.path is not None
        ]
        for k, (claim, _) in enumerate(trace.steps[i].counted()):
            rows.append(
                {
                    "id": f"{name}/{i + 1}/{k + 1}",
                    "episode": episode.id,
                    "step": i + 1,
                    "sentence": said.text,
                    "claim": str(claim),
                    "frames": [f + 1 for f in said.frames],
                    "pictures": pictures,
                    "label": "",
                }
            )
    try:
        Path(path).write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8"
        )
    except OSError as error:
        raise UsageError(f"cannot write the labels to {path}: {error.strerror}") from error
    return len(rows)


def _names(judged: Sequence[JudgedTrace]) -> list[str]:
    """A name for each trace: its episode; with several of an episode also who wrote it and how, and the place among equals.

    Model and style go in as a digest: who labels should not know whom.
    """
    of_episode = Counter(t.trace.episode for t in judged)
    found: Counter[str] = Counter()
    names = []
    for t in judged:
        name = t.trace.episode
        if of_episode[name] > 1:
            who = f"{t.trace.model}\n{t.trace.style}".encode()
            name += f"@{blake2s(who, digest_size=3).hexdigest()}"
        found[name] += 1
        names.append(name if found[name] == 1 else f"{name}#{found[name]}")
    return names


def score_labels(
    paths: Sequence[str | Path], *, judged: Sequence[JudgedTrace] = (), seed: int = 0
) -> AnnotationScore:
    """Compares the label files of two people (or reads that of one), and each with the verifier.

    Args:
        paths: one or two files, filled in.
        judged: the verifier's verdicts on the same traces, if they are to be compared.
        seed: of the bootstrap.
    """
    if len(paths) not in {1, 2}:
        raise UsageError(f"labels of one or two people can be scored, got {len(paths)} files")
    read = [_read_labels(Path(path)) for path in paths]
    problems = [problem for _, found in read for problem in found]
    automatic = {
        f"{name}/{i + 1}/{k + 1}": verdict.label
        for t, name in zip(judged, _names(judged), strict=True)
        for i, step in enumerate(t.steps)
        for k, (_, verdict) in enumerate(step.counted())
    }
    if judged:
        problems += [
            Problem(
                Path(path).name, f"{n} of {len(labels)} labels are of claims that are not among these traces"
            )
            for path, (labels, _) in zip(paths, read, strict=True)
            if (n := len(set(labels) - set(automatic)))
        ]
    people = tuple(
        _person(Path(path).stem, labels, automatic, seed)
        for path, (labels, _) in zip(paths, read, strict=True)
    )
    if len(read) == 1:
        return AnnotationScore(None, None, people, len(read[0][0]), tuple(problems))
    first, second = (labels for labels, _ in read)
    shared = sorted(set(first) & set(second))
    kappa, agreement = _agree(
        [first[i].label for i in shared],
        [second[i].label for i in shared],
        [first[i].episode for i in shared],
        seed,
    )
    return AnnotationScore(kappa, agreement, people, len(shared), tuple(problems))


def _read_labels(path: Path) -> tuple[dict[str, _Row], list[Problem]]:
    found, problems = read_lines(path, _Row.model_validate_json)
    labels = {}
    times = Counter(row.id for _, row in found)
    for name, n in times.items():
        if n > 1:
            why = f"the id {name!r} stands {n} times, so that it says nothing of any one claim; none of them counts"
            problems.append(Problem(path.name, why))
    for where, row in found:
        if times[row.id] > 1:
            continue
        label = row.label.strip().casefold()
        if label in LABELS:
            labels[row.id] = row.model_copy(update={"label": label})
        else:
            problems.append(Problem(where, f"the label {row.label!r} is none of {', '.join(LABELS)}"))
    if not labels:
        if max(times.values(), default=0) > 1:
            raise UsageError(f"{path} holds no label that counts: {problems[0].reason}")
        raise UsageError(f"{path} holds no label; fill in the field 'label' with one of {', '.join(LABELS)}")
    return labels, problems


def _person(name: str, labels: Mapping[str, _Row], automatic: Mapping[str, Label], seed: int) -> PersonScore:
    steps: dict[tuple[str, str], list[str]] = {}
    for row in labels.values():
        step = row.id.rpartition("/")[0] or str(row.step)
        steps.setdefault((row.episode, step), []).append(row.label)
    rates, wrong = [], []
    for (episode, _), said in steps.items():
        known = [label for label in said if label != "unverifiable"]
        if known:
            rates.append((known.count("supported") / len(known), episode))
            wrong.append((float("unsupported" in known), episode))
    shared = sorted(set(labels) & set(automatic))
    kappa, agreement = _agree(
        [labels[i].label for i in shared],
        [automatic[i] for i in shared],
        [labels[i].episode for i in shared],
        seed,
    )
    skipped = [(float(row.label == "unverifiable"), row.episode) for row in labels.values()]
    estimates = [
        mean_estimate([v for v, _ in pairs], [u for _, u in pairs], seed=seed)
        for pairs in (rates, wrong, skipped)
    ]
    sgr, hr, unverifiable = estimates
    return PersonScore(name, sgr, hr, unverifiable, len(labels), kappa, agreement)


def _agree(
    first: Sequence[str], second: Sequence[str], units: Sequence[str], seed: int
) -> tuple[stats.Estimate | None, stats.Estimate | None]:
    if not first:
        return None, None
    same = mean_estimate([float(a == b) for a, b in zip(first, second, strict=True)], units, seed=seed)
    try:
        clusters = list(units) if 1 < len(set(units)) < len(units) else None
        return stats.cohen_kappa(list(first), list(second), clusters=clusters, seed=seed), same
    except UsageError:  # both gave one and the same label throughout: κ says nothing
        return None, same
