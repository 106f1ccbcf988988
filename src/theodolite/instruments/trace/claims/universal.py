"""From the dependency labels of spaCy's English pipelines to Universal Dependencies.

spaCy's ``en_core_web_*`` hang a noun under its preposition and everything under the copula; Universal Dependencies hang
the preposition under the noun and the copula under what is said. Only what the claim rules read is converted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from theodolite.instruments.trace.claims.language import Token

_RENAMED = {
    "dobj": "obj",
    "dative": "iobj",
    "nsubjpass": "nsubj:pass",
    "csubjpass": "csubj:pass",
    "auxpass": "aux:pass",
    "prt": "compound:prt",
    "poss": "nmod:poss",
    "relcl": "acl:relcl",
    "npadvmod": "obl",
    "neg": "advmod",
    "oprd": "xcomp",
    "quantmod": "advmod",
    "predet": "det",
    "acomp": "xcomp",
    "attr": "xcomp",
}


def to_universal(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """The same words with their relations as Universal Dependencies name them."""
    heads = [token.head for token in tokens]
    deps = [
        "compound" if token.dep == "nmod" else token.dep for token in tokens
    ]  # a noun before a noun, there
    for token in tokens:
        if deps[token.index] in {"prep", "agent", "dative"} and token.tag in {"IN", "TO"}:
            _lift_complement(tokens, token.index, heads, deps)
    for token in tokens:
        if token.lemma == "be" and deps[token.index] not in {"aux", "auxpass"}:
            _lower_copula(tokens, token.index, heads, deps)
    deps = [_RENAMED.get(dep, dep) for dep in deps]
    return tuple(replace(t, head=heads[t.index], dep=deps[t.index]) for t in tokens)


def _lift_complement(tokens: tuple[Token, ...], preposition: int, heads: list[int], deps: list[str]) -> None:
    """*on → table* under *stands* becomes *table → on* under *stands*."""
    governor = heads[preposition]
    noun = next((t.index for t in tokens if heads[t.index] == preposition and deps[t.index] == "pobj"), None)
    clause = next(
        (t.index for t in tokens if heads[t.index] == preposition and deps[t.index] == "pcomp"), None
    )
    if noun is None and clause is None:
        deps[preposition] = "case" if deps[preposition] == "prep" else deps[preposition]
        return
    is_agent = deps[preposition] == "agent"
    is_nominal = tokens[governor].tag.startswith(("NN", "PRP", "DT", "CD"))
    lifted = noun if noun is not None else clause
    if lifted is None:
        return
    if noun is not None:
        deps[lifted] = "obl:agent" if is_agent else "nmod" if is_nominal else "obl"
        deps[preposition] = "case"
    else:
        deps[lifted] = "acl" if is_nominal else "advcl"
        deps[preposition] = "mark"
    heads[lifted], heads[preposition] = governor, lifted


def _lower_copula(tokens: tuple[Token, ...], copula: int, heads: list[int], deps: list[str]) -> None:
    """*is → red* becomes *red → is*; so does *is → on the table*, where nothing else is said."""
    below = [t.index for t in tokens if heads[t.index] == copula and t.index != copula]
    said = next((i for i in below if deps[i] in {"attr", "acomp"}), None)
    if said is None and not any(deps[i] == "expl" for i in below):
        said = next(
            (
                i
                for i in below
                if deps[i] in {"obl", "advmod"}
                and i > copula
                and tokens[i].text.casefold() not in {"not", "n't"}
            ),
            None,
        )
    if any(deps[i] == "expl" for i in below):  # "there is a cup": the cup is the subject
        if said is not None:
            deps[said] = "nsubj"
        return
    if said is None:
        return
    heads[said] = said if heads[copula] == copula else heads[copula]
    deps[said] = deps[copula]
    heads[copula], deps[copula] = said, "cop"
    for i in below:
        if i != said:
            heads[i] = said
