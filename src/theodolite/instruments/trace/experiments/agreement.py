"""Agreement of verifiers with each other and with labels by people."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2s
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from theodolite import stats
from theodolite.core.errors import UsageError
from theodolite.core.files import Problem, read_lines
from theodolite.core.scores import column
from theodolite.core.tables import Column, Table
from theodolite.core.views import Form
from theodolite.instruments.trace.claims.types import LABELS, Label, Trace, Verifier
from theodolite.instruments.trace.formulas.sgr import AS_PAPER, Counting, trace_hr, trace_sgr
from theodolite.instruments.trace.score import mean_over
from theodolite.instruments.trace.verifiers.judging import Hedges, JudgedTrace, NoisyVerifier, judge
from theodolite.worlds.episodes import Episode

# Agreement of verifiers, claim by claim and in how they rank traces; and what errors of a verifier would change.


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two verifiers on the same traces."""

    first: str
    second: str
    same: stats.Estimate | None
    """Share of claims with the same of the three labels. If nearly all claims are true, κ is near 0 whatever this share."""
    kappa: stats.Estimate | None
    """Cohen's κ over all three labels."""
    kappa_judged: stats.Estimate | None
    """κ over the claims that both can judge."""
    rho: stats.Estimate | None
    """Spearman's ρ of the traces' SGR."""
    n_claims: int
    n_both_judged: int
    failures: tuple[Problem, ...] = ()
    """Traces that one of the two failed on; they do not count."""


def verifier_agreement(judged: Sequence[Sequence[JudgedTrace]], *, seed: int = 0) -> list[Agreement]:
    """Compare all pairs of verifiers.

    Args:
        judged: The same traces as judged by each verifier.
        seed: Seed of the bootstrap.

    Raises:
        UsageError: There are fewer than two verifiers, or two of one name.
    """
    by_name = {traces[0].verifier: traces for traces in judged if traces}
    if len(judged) < 2:
        raise UsageError("agreement needs at least two verifiers")
    if len(by_name) < len(judged):
        raise UsageError(f"agreement is between different verifiers, got only {', '.join(by_name)}")
    return [_agreement(a, b, by_name[a], by_name[b], seed) for a, b in combinations(by_name, 2)]


def _agreement(
    first: str, second: str, a: Sequence[JudgedTrace], b: Sequence[JudgedTrace], seed: int
) -> Agreement:
    labels: list[tuple[str, str, str]] = []
    rates: list[tuple[float, float, str]] = []
    failures: list[Problem] = []
    for x, y in zip(a, b, strict=True):
        if x.failure or y.failure:
            failures += [Problem(t.trace.episode, f"{t.verifier}: {t.failure}") for t in (x, y) if t.failure]
            continue
        for s, t in zip(x.steps, y.steps, strict=True):
            pairs = zip(s.counted(), t.counted(), strict=True)
            labels += [(v.label, w.label, x.unit) for (_, v), (_, w) in pairs]
        g, h = trace_sgr(x), trace_sgr(y)
        if g is not None and h is not None:
            rates.append((g, h, x.unit))
    known = [row for row in labels if "unverifiable" not in row[:2]]
    return Agreement(
        first,
        second,
        mean_over([(float(v == w), unit) for v, w, unit in labels]),
        kappa(labels, seed),
        kappa(known, seed),
        _rho(rates, seed),
        n_claims=len(labels),
        n_both_judged=len(known),
        failures=tuple(failures),
    )


def kappa(rows: Sequence[tuple[str, str, str]], seed: int) -> stats.Estimate | None:
    """Return Cohen's κ of pairs of labels, clustered by the third entries; None if there is only one label throughout."""
    if len(rows) < 2:
        return None
    first, second, units = ([row[i] for row in rows] for i in range(3))
    try:
        clusters = units if 1 < len(set(units)) < len(units) else None
        return stats.cohen_kappa(first, second, clusters=clusters, seed=seed)
    except UsageError:
        return None


def _rho(rows: Sequence[tuple[float, float, str]], seed: int) -> stats.Estimate | None:
    x, y, units = ([row[i] for row in rows] for i in range(3))
    if len(set(units)) < 5 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return stats.spearman(x, y, clusters=None if len(set(units)) == len(units) else units, seed=seed)


def agreement_table(found: Sequence[Agreement]) -> Table:
    """Return a table with one row per pair of verifiers."""
    columns = [
        Column("first", "first"),
        Column("second", "second"),
        column("trace.label_agreement", "same", "same label"),
        column("trace.kappa", title="κ, three labels"),
        column("trace.kappa", "kappa_judged", "κ, both judged"),
        column("trace.rank_agreement", "rho", "ρ of SGR"),
        Column("claims", "claims", "count"),
        Column("both_judged", "both judged", "count"),
    ]
    rows = [
        [
            a.first,
            a.second,
            a.same,
            a.kappa,
            a.kappa_judged,
            a.rho,
            a.n_claims,
            a.n_both_judged,
        ]
        for a in found
    ]
    return Table.of("trace.agreement", "Agreement of verifiers", columns, rows)


def noise_table(
    traces: Sequence[Trace],
    episodes: Mapping[str, Episode],
    verifier: Verifier,
    *,
    rates: Sequence[float],
    how: Counting = AS_PAPER,
    hedges: Hedges = "abstract",
    seed: int = 0,
) -> Table:
    """Return SGR and HR of the same traces as they would be if the verifier erred at the given rates.

    Args:
        traces: Traces with their claims.
        episodes: Episodes by id.
        verifier: The verifier to disturb.
        rates: Error rates.
        how: Which claims count.
        hedges: How hedged claims are judged.
        seed: Seed of the errors.
    """
    rows = []
    for rate in rates:
        judged = judge(traces, episodes, NoisyVerifier(verifier, rate, seed), hedges=hedges)
        whole = [trace for trace in judged if not trace.failure]
        sgr = mean_over([(trace_sgr(trace, how), trace.unit) for trace in whole])
        hr = mean_over([(trace_hr(trace, how), trace.unit) for trace in whole])
        rows.append([rate, sgr, hr, len(judged), len(judged) - len(whole)])
    columns = [
        Column("rate", "errors", "share"),
        column("trace.sgr"),
        column("trace.hr", title="HR"),
        Column("traces", "traces", "count"),
        Column("failed", "failed", "count"),
    ]
    return Table.of("trace.noise", f"Errors of the verifier {verifier.name}", columns, rows)


# Labels by people: claims are written to a file for labelling, and filled-in files are scored.
#
# A file has one claim per line, with its sentence, its frames and their pictures. People fill in the field ``label`` with
# supported, unsupported or unverifiable, in an editor or on a page (`theodolite.report.html.parts`), without seeing the verdict
# of the verifier.


class _Label(Form):
    id: str
    episode: str
    step: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class PersonScore:
    """The traces as labelled by one person."""

    name: str
    sgr: stats.Estimate | None
    hr: stats.Estimate | None
    unverifiable: stats.Estimate | None
    n_labels: int
    against_verifier: stats.Estimate | None
    """κ of the person and the verifier."""
    agreement: stats.Estimate | None
    """Share of claims with the same label by both."""


@dataclass(frozen=True, slots=True)
class AnnotationScore:
    """The labels of one or two people."""

    kappa: stats.Estimate | None
    """Cohen's κ between the people, clustered by episode."""
    agreement: stats.Estimate | None
    people: tuple[PersonScore, ...]
    n_shared: int
    problems: tuple[Problem, ...]


def label_rows(
    judged: Sequence[JudgedTrace], episodes: Mapping[str, Episode], *, n_steps: int = 120, seed: int = 0
) -> list[dict[str, Any]]:
    """Return the claims of some random steps, for labelling.

    Args:
        judged: Judged traces.
        episodes: Episodes by id.
        n_steps: Number of steps to label.
        seed: Seed of the choice of steps.

    Raises:
        UsageError: There is nothing to label.
    """
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
    for index in chosen:
        trace, name, i = steps[index]
        episode = episodes[trace.trace.episode]
        sentence = trace.steps[i].step
        pictures = [
            str(p.path)
            for f in sentence.frames
            if (p := episode.frames[f].picture) is not None and p.path is not None
        ]
        for k, (claim, _) in enumerate(trace.steps[i].counted()):
            rows.append(
                {
                    "id": f"{name}/{i + 1}/{k + 1}",
                    "episode": episode.id,
                    "step": i + 1,
                    "sentence": sentence.text,
                    "claim": str(claim),
                    "frames": [f + 1 for f in sentence.frames],
                    "pictures": pictures,
                    "label": "",
                }
            )
    return rows


def write_labels(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write claims for labelling, one per line."""
    try:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot write the labels to {path}: {error.strerror}") from error


def _names(judged: Sequence[JudgedTrace]) -> list[str]:
    """Return a name for each trace: its episode and, if an episode has several traces, a digest of model and style.

    The digest keeps labellers from knowing which model wrote the trace.
    """
    of_episode = Counter(t.trace.episode for t in judged)
    counts: Counter[str] = Counter()
    names = []
    for t in judged:
        name = t.trace.episode
        if of_episode[name] > 1:
            who = f"{t.trace.model}\n{t.trace.style}".encode()
            name += f"@{blake2s(who, digest_size=3).hexdigest()}"
        counts[name] += 1
        names.append(name if counts[name] == 1 else f"{name}#{counts[name]}")
    return names


def score_labels(
    paths: Sequence[str | Path], *, judged: Sequence[JudgedTrace] = (), seed: int = 0
) -> AnnotationScore:
    """Score the label files of one or two people, and compare each with the verifier.

    Args:
        paths: One or two filled-in files.
        judged: The verdicts of the verifier on the same traces, to compare with.
        seed: Seed of the bootstrap of κ.
    """
    if len(paths) not in {1, 2}:
        raise UsageError(f"labels of one or two people can be scored, got {len(paths)} files")
    read = [_read_labels(Path(path)) for path in paths]
    problems = [problem for _, of_file in read for problem in of_file]
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
    between, agreement = _agree([(first[i].label, second[i].label, first[i].episode) for i in shared], seed)
    return AnnotationScore(between, agreement, people, len(shared), tuple(problems))


def _read_labels(path: Path) -> tuple[dict[str, _Label], list[Problem]]:
    rows, problems = read_lines(path, _Label.model_validate)
    labels = {}
    times = Counter(row.id for _, row in rows)
    for name, n in times.items():
        if n > 1:
            why = f"the id {name!r} occurs {n} times, so none of them counts"
            problems.append(Problem(path.name, why))
    for where, row in rows:
        if times[row.id] > 1:
            continue
        label = row.label.strip().casefold()
        if label in LABELS:
            labels[row.id] = row.model_copy(update={"label": label})
        else:
            problems.append(Problem(where, f"the label {row.label!r} is not one of {', '.join(LABELS)}"))
    if not labels:
        if max(times.values(), default=0) > 1:
            raise UsageError(f"{path} holds no label that counts: {problems[0].reason}")
        raise UsageError(f"{path} holds no label; fill in the field 'label' with one of {', '.join(LABELS)}")
    return labels, problems


def _person(
    name: str, labels: Mapping[str, _Label], automatic: Mapping[str, Label], seed: int
) -> PersonScore:
    steps: dict[tuple[str, str], list[str]] = {}
    for row in labels.values():
        step = row.id.rpartition("/")[0] or str(row.step)
        steps.setdefault((row.episode, step), []).append(row.label)
    rates, wrong = [], []
    for (episode, _), labels_given in steps.items():
        known = [label for label in labels_given if label != "unverifiable"]
        if known:
            rates.append((known.count("supported") / len(known), episode))
            wrong.append((float("unsupported" in known), episode))
    shared = sorted(set(labels) & set(automatic))
    against, agreement = _agree([(labels[i].label, automatic[i], labels[i].episode) for i in shared], seed)
    skipped = [(float(row.label == "unverifiable"), row.episode) for row in labels.values()]
    shares = (mean_over(rates), mean_over(wrong), mean_over(skipped))
    return PersonScore(name, *shares, len(labels), against, agreement)


def _agree(
    rows: Sequence[tuple[str, str, str]], seed: int
) -> tuple[stats.Estimate | None, stats.Estimate | None]:
    """Return κ and the share of equal labels."""
    return kappa(rows, seed), mean_over([(float(a == b), unit) for a, b, unit in rows])


def labels_table(found: AnnotationScore) -> Table:
    """Return a table with one row per person."""
    columns = [
        Column("by", "by"),
        column("trace.sgr_of_steps", "sgr", "SGR"),
        column("trace.hr", title="HR"),
        column("trace.unverifiable", title="unverifiable"),
        column("trace.label_agreement", "agreement", "same label as the verifier"),
        column("trace.kappa", title="κ with the verifier"),
        Column("labels", "labels", "count"),
    ]
    rows = [
        [p.name, p.sgr, p.hr, p.unverifiable, p.agreement, p.against_verifier, p.n_labels]
        for p in found.people
    ]
    return Table.of("trace.labels", "Labels by people", columns, rows)


def people_table(found: AnnotationScore) -> Table:
    """Return a table of the agreement of two people."""
    columns = [
        column("trace.kappa", title="κ between people"),
        column("trace.label_agreement", "agreement", "same label"),
        Column("claims", "claims", "count"),
    ]
    rows = [[found.kappa, found.agreement, found.n_shared]]
    return Table.of("trace.people", "Agreement of people", columns, rows)
