"""Compares extracted claims with labels: a plain matching, independent of the package."""


def overlap(a, b):
    return a is not None and b is not None and a[0] < b[1] and b[0] < a[1]


def agreement(label, claim):
    """0 if they are not the same claim at all; else 1 plus one for each of subject and object that fits, and the most."""
    if label["kind"] != claim.kind or not overlap(claim.anchor, label["anchor"]):
        return 0, 0
    if claim.kind in {"entity", "temporal"}:
        return 1, 1
    score = 1
    score += (
        overlap(claim.subject.span, label["subject"]) if "subject" in label else claim.subject.span is None
    )
    if claim.kind not in {"action", "spatial"}:
        return score, 2
    target = claim.object.span if claim.object is not None else None
    score += overlap(target, label["object"]) if "object" in label else claim.object is None
    return score, 3


def match_claims(found, labels, *, strict=False):
    """Precision, recall, and how often a matched action or place is rightly told to be a guess."""
    hits = n_found = n_labels = 0
    hedges = []
    for claims, wanted in zip(found, labels, strict=True):
        used_claims, used_labels = set(), set()
        for full in (True,) if strict else (True, False):
            for i, label in enumerate(wanted):
                for k, claim in enumerate(claims):
                    score, most = agreement(label, claim)
                    if (
                        i not in used_labels
                        and k not in used_claims
                        and score
                        and (score == most or not full)
                    ):
                        used_labels.add(i)
                        used_claims.add(k)
                        if claim.kind in {"action", "spatial"}:
                            hedges.append(bool(claim.hedge) == bool(label.get("hedged")))
        hits += len(used_labels)
        n_found += len(claims)
        n_labels += len(wanted)
    return hits / n_found, hits / n_labels, sum(hedges) / len(hedges)
