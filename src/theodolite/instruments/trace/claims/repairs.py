"""Repaired parses and rewritten constructions, so that the claim rules need to handle plain clauses only."""

from __future__ import annotations

from collections.abc import Iterable

from theodolite.answers.text import word_set
from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.trees import INSIDE, EditedTree, Token

# Repairs of frequent errors of a small parser, one small method each.


_LIKE = frozenset({"shaped", "colored", "coloured", "sized"})
_MARKS = frozenset({"while", "when", "as", "after", "before", "until", "once", "because", "since"})
_BEFORE_NOUN = frozenset({"det", "amod", "compound", "nmod:poss", "nummod"})


class RepairedTree(EditedTree):
    """Tokens that are being repaired."""

    def misread_verb(self) -> None:
        """Repair *the image features a hat*: in a sentence without any verb, a plural after a noun is its verb."""
        if any(t.tag in {"VBZ", "VBP", "VBD", "MD"} for t in self.tokens):
            return
        verb = next((t.index for t in self.tokens[1:-1] if self._is_misread(t)), None)
        if verb is None:
            return
        root = next(t.index for t in self.tokens if t.head == t.index)
        is_joined = root < verb and self.tokens[verb].dep == "conj" and self.tokens[verb].head == root
        self._set(verb, dep="ROOT", head=verb)
        thing = self._as_verb(verb)
        if root in {verb, verb - 1, thing}:
            return
        if is_joined:  # *a cup and a spoon lie there*
            self._set(verb - 1, dep="conj", head=root)
            self._set(root, head=verb, dep="nsubj")
            for token in self._children(root):
                if token.index > verb and token.dep == "nmod":
                    self._set(token.index, head=verb, dep="obl")
        else:
            self._set(root, head=verb, dep="obl" if self._has(root, "case") else "obj")

    def _is_misread(self, token: Token) -> bool:
        before, after = self.tokens[token.index - 1], self.tokens[token.index + 1]
        is_after_noun = before.tag in {"NN", "NNP"} and any(
            t.tag == "DT" for t in self.tokens[: before.index]
        )
        follows = {"DT", "PRP$", "IN", "CD", "VBG", "TO", "RB", "."}
        is_bare = token.tag == "NN" and token.text.casefold() in words.POSTURES and after.tag in {"IN", "RB"}
        if is_bare and is_after_noun and token.head != token.index:
            return True
        return token.tag == "NNS" and is_after_noun and after.tag in follows

    def misread_verbs(self) -> None:
        """Repair *the mechanic tightens the bolt before …*: a plural between a noun and the next noun phrase is a verb."""
        for token in self.tokens[1:-1]:
            if token.tag == "NNS" and self._is_joined_verb(token):
                self._set(token.index, tag="VBZ")
                self._set(token.index + 1, dep="obj")
                continue
            if token.tag != "NNS" or not self._is_named(token.index - 1):
                continue
            before, after = self.tokens[token.index - 1], self.tokens[token.index + 1]
            if before.head != token.index:
                continue
            mark = self._mark_of(token.index - 1) if after.text == "," else None
            is_clause = before.dep == "nsubj" and not self._has(token.index, "cop")
            if is_clause or (after.tag in {"DT", "PRP$"} and after.text != "all"):
                self._as_verb(token.index)
            elif mark is not None:
                self._set(token.index, dep="advcl")  # *while the kettle boils, …*
                self._set(mark, dep="mark", head=token.index)
                self._as_verb(token.index)

    def _as_verb(self, verb: int) -> int | None:
        """Make a noun the verb of the noun before it; the noun after it, if it follows directly, is the object."""
        after = self.tokens[verb + 1]
        self._set(verb, tag="VBZ")
        for token in self.tokens[: verb - 1]:
            if token.head == verb and token.dep in _BEFORE_NOUN:
                self._set(token.index, head=verb - 1)
        if self.tokens[verb - 1].dep != "conj":
            self._set(verb - 1, dep="nsubj", head=verb)
        thing = self._noun_from(after.index) if after.tag in {"DT", "PRP$", "CD"} else None
        if thing is not None:
            self._set(thing, dep="obj", head=verb)
        for token in self._children(verb):
            if token.dep in {"nmod", "acl"} and token.index > verb:
                self._set(token.index, dep="obl" if token.dep == "nmod" else "xcomp")
        return thing

    def _is_joined_verb(self, token: Token) -> bool:
        """Return True in *puts the keys in, zips it up*: joined to a verb, and with a pronoun as object."""
        before, after = self.tokens[token.index - 1], self.tokens[token.index + 1]
        is_between = (
            before.text in {",", "and"} and after.text in {"it", "them"} and after.head == token.index
        )
        return is_between and token.dep == "conj" and self.tokens[token.head].tag.startswith("VB")

    def _is_named(self, noun: int) -> bool:
        """Return True for a noun in the singular with an article before it."""
        if self.tokens[noun].tag not in {"NN", "NNP"}:
            return False
        first = next(
            (t for t in reversed(self.tokens[:noun]) if t.tag not in {"JJ", "NN", "VBN", "CD"}), None
        )
        return first is not None and first.tag in {"DT", "PRP$"}

    def _mark_of(self, noun: int) -> int | None:
        """Return the *while* or *when* before a noun phrase."""
        article = next((t.index for t in reversed(self.tokens[:noun]) if t.tag in {"DT", "PRP$"}), 0)
        before = self.tokens[article - 1] if article else None
        is_mark = before is not None and before.text.casefold() in _MARKS
        return before.index if is_mark and before is not None else None

    def misplaced(self) -> None:
        """Repair words that are attached to the wrong head."""
        for token in list(self.tokens):
            for repair in _BY_DEP.get(token.dep, ()):
                if repair(self, token):
                    break

    def misread_nouns(self) -> None:
        """Repair nouns that were tagged or joined wrongly, and participles that describe another noun."""
        for token in list(self.tokens):
            for repair in _BY_TAG.get(token.tag, ()):
                if repair(self, token):
                    break

    # repairs of one word; true if it was the case

    def outer_subject(self, token: Token) -> bool:
        """Repair *the point is that he sits*: *point* is not who sits."""
        head = self.tokens[token.head]
        self._set(token.index, dep="dep")
        for copula in self._children(head.index):
            if copula.dep == "cop":
                self._set(copula.index, dep="aux")
        return True

    def unmarked_object(self, token: Token) -> bool:
        """Repair *holds the cup*, where the cup was not taken for the object."""
        head = self.tokens[token.head]
        is_next = head.tag.startswith("VB") and self._noun_from(head.index + 1) == token.index
        if is_next and not self._has(token.index, "case"):
            self._set(token.index, dep="obj")
        return is_next

    def second_subject(self, token: Token) -> bool:
        """Repair *trims the customer's beard*: after an active verb that has its subject before it, a noun is its object."""
        head = self.tokens[token.head]
        own = self._children(head.index)
        is_case = (
            token.index > head.index
            and head.tag in {"VBZ", "VBP", "VBD", "VBG"}
            and token.tag.startswith("NN")
            and self._noun_from(head.index + 1) is not None
            and any(t.dep == "nsubj" and t.index < head.index for t in own)
            and not any(t.dep in {"obj", "cop", "expl"} for t in own)
        )
        if is_case:
            self._set(token.index, dep="obj")
        return is_case

    def object_of_relative(self, token: Token) -> bool:
        """Repair *the ball that hits the cube is green*: the cube is hit, and not green."""
        head = self.tokens[token.head]
        first = next((t for t in self._children(head.index) if t.dep == token.dep), token)
        start = token.index
        while start > 0 and self.tokens[start - 1].tag in INSIDE:
            start -= 1
        verb = self.tokens[start - 1] if start else token
        is_case = verb.dep == "acl:relcl" and verb.head == first.index < token.index
        is_case = is_case and not self._has(verb.index, "obj")
        if is_case:
            self._set(token.index, head=verb.index, dep="obj")
        return is_case

    def joined_to_relative(self, token: Token) -> bool:
        """Repair *a cup, which is white and has a handle*: right after *and* and the head of a relative clause."""
        before = self.tokens[max(0, token.index - 2)]
        is_joined = self.tokens[token.index - 1].tag == "CC" and before.dep == "acl:relcl"
        is_case = token.tag in {"VBZ", "VBP", "VBD"} and is_joined and not self._has(token.index, "nsubj")
        if is_case:
            self._set(token.index, head=before.index)
        return is_case

    def joined_to_object(self, token: Token) -> bool:
        """Repair *is playing the guitar and singing*: who plays sings."""
        head = self.tokens[token.head]
        is_case = token.tag == "VBG" and head.dep == "obj" and self.tokens[head.head].tag == "VBG"
        is_case = is_case and not self._has(token.index, "det", "amod")
        if is_case:
            self._set(token.index, head=head.head)
        return is_case

    def beneath_adjective(self, token: Token) -> bool:
        """Repair *is a maroon-colored piece*: the dependents of the adjective belong to its noun."""
        head = self.tokens[token.head]
        is_case = head.tag.startswith("NN") and self._has(token.index, "cop")
        for child in self._children(token.index) if is_case else ():
            if child.dep in {"cop", "det"} or child.dep.startswith("nsubj"):
                self._set(child.index, head=head.index)
        return is_case

    def beneath_particle(self, token: Token) -> bool:
        """Repair *jumps down from the shelf*: the shelf belongs to the verb."""
        head = self.tokens[token.head]
        if head.dep == "compound:prt":
            self._set(token.index, head=head.head)
        return head.dep == "compound:prt"

    def absolute(self, token: Token) -> bool:
        """Repair *with the cup standing on it*: the cup is what stands."""
        head = self.tokens[token.head]
        verb = head.index
        cases = [
            t.index for t in self._children(verb) if t.dep in {"case", "mark"} and t.text.casefold() == "with"
        ]
        if head.tag != "VBG" or token.index != verb - 1 or not cases:
            return False
        for child in self._children(verb):
            if child.index < token.index and child.dep in _BEFORE_NOUN:
                self._set(child.index, head=token.index)
        self._set(token.index, dep="nsubj")
        self._set(cases[0], dep="mark")
        for child in self._children(verb):
            if child.dep == "nmod":
                self._set(child.index, dep="obl")
        return True

    def noun_as_adjective(self, token: Token) -> bool:
        """Repair *a black interior*."""
        is_case = token.dep in {"nmod", "obl", "obj"} and self._has(token.index, "amod")
        if is_case:
            self._set(token.index, tag="NN")
        return is_case

    def noun_as_verb(self, token: Token) -> bool:
        """Repair *is a hardcover book*."""
        is_phrase = self._has(token.index, "cop") or self.tokens[token.index - 1].tag == "DT"
        if not is_phrase or not self._has(token.index, "det"):
            return False
        self._set(token.index, tag="NN")
        for child in self._children(token.index):
            if child.index == token.index - 1 and child.tag.startswith("NN"):
                self._set(child.index, dep="compound")
            elif child.dep == "obl":
                self._set(child.index, dep="nmod")
        return True

    def noun_as_adverb(self, token: Token) -> bool:
        """Repair *on a blackboard*."""
        is_case = self._has(token.index, "det") and self._has(token.index, "case")
        if is_case:
            self._set(token.index, tag="NN")
        return is_case

    def noun_as_modifier(self, token: Token) -> bool:
        """Repair *a shop window*."""
        head = self.tokens[token.head]
        is_case = token.dep == "amod" and head.tag.startswith("NN")
        if is_case:
            self._set(token.index, dep="compound")
        return is_case

    def with_hyphen(self, token: Token) -> bool:
        """Repair *a round-shaped table*, which is round."""
        is_case = (
            token.index > 1 and token.text.casefold() in _LIKE and self.tokens[token.index - 1].tag == "HYPH"
        )
        if is_case:
            self._set(token.index - 2, head=token.head, dep="amod", tag="JJ")
        return is_case

    def joined_quality(self, token: Token) -> bool:
        """Repair *makes it vibrant and inviting*: a bare participle that is joined to an adjective."""
        before = self.tokens[max(0, token.index - 2)]
        own = [t for t in self._children(token.index) if t.dep not in {"cc", "punct", "advmod"}]
        is_case = token.dep == "conj" and before.tag == "JJ" and before.dep == "xcomp" and not own
        if is_case:
            self._set(token.index, tag="JJ", head=before.index)
        return is_case

    def beside_owned(self, token: Token) -> bool:
        """Repair *a table with a cup on it, placed in a room*: after a comma, the table is placed there."""
        head = self.tokens[token.head]
        is_apart = token.dep == "acl" and self.tokens[token.index - 1].text == ","
        is_case = is_apart and head.dep == "nmod" and self._owned(head.index) is not None
        if is_case:
            self._set(token.index, head=head.head)
        return is_case

    def adjective(self, token: Token) -> bool:
        """Repair *a simple yet visually appealing scene*: within a noun phrase a participle is an adjective."""
        start = self._phrase_around(token.index)
        if start is not None:
            self._as_adjective(start, token.index)
        return start is not None

    def of_owned(self, token: Token) -> bool:
        """Repair *a chair with a cup placed on it*: the cup is placed there."""
        owned = self._owned(token.index - 1) if token.dep in {"acl", "advcl"} else None
        if owned is not None:
            self._set(token.index, dep="acl", head=owned)
        return owned is not None

    def joined_noun(self, token: Token) -> bool:
        """Repair *has cabinets and a stove*: the stove is joined to the cabinets, not to the verb."""
        head = self.tokens[token.head]
        if token.dep != "conj" or not head.tag.startswith("VB"):
            return False
        objects = [
            t.index
            for t in self._children(head.index)
            if t.dep == "obj" and head.index < t.index < token.index
        ]
        if objects and not self._has(token.index, "nsubj", "cop", "aux", "case"):
            self._set(token.index, head=objects[-1])
        return True

    def _owned(self, noun: int) -> int | None:
        """Return the noun that another one has, if it ends here: *a chair with a cup*, *a chair with a can of soda*."""
        token = self.tokens[noun]
        cases = [t.text.casefold() for t in self._children(noun) if t.dep == "case"]
        if cases == ["of"] and token.dep == "nmod" and token.head < noun:
            return self._owned(token.head)
        return noun if token.tag.startswith("NN") and cases == ["with"] else None

    def _phrase_around(self, participle: int) -> int | None:
        """Return where the noun phrase begins in which a participle is an adjective: *a simple yet visually appealing scene*."""
        if participle + 1 >= len(self.tokens) or not self.tokens[participle + 1].tag.startswith("NN"):
            return None
        start = participle - 1
        while start > 0 and self.tokens[start].tag in {"JJ", "RB", "CC", ","}:
            start -= 1
        has_more = any(t.tag in {"JJ", "RB"} for t in self.tokens[start + 1 : participle])
        return start if has_more and self.tokens[start].tag in {"DT", "PRP$"} else None

    def _as_adjective(self, start: int, participle: int) -> None:
        noun = self._noun_from(participle + 1)
        if noun is None or self.tokens[participle].dep == "amod":
            return
        inside = range(start, noun)
        top = next(
            (t for t in self.tokens[start : noun + 1] if t.head not in inside and t.head != noun), None
        )
        if top is not None and top.index != noun:
            is_root = top.head == top.index
            self._set(noun, head=noun if is_root else top.head, dep=top.dep)
        for token in self.tokens:
            if token.index in inside:
                kept = token.tag in {"JJ", "VBG", "VBN"} and token.dep != "amod"
                self._set(token.index, head=noun, dep="amod" if kept else token.dep)
            elif token.head in inside and token.index != noun:
                self._set(token.index, head=noun)
        self._set(participle, tag="JJ")


_BY_DEP = {
    "nsubj:outer": (RepairedTree.outer_subject,),
    **dict.fromkeys(("appos", "nmod:unmarked", "obl:unmarked"), (RepairedTree.unmarked_object,)),
    "nsubj": (RepairedTree.second_subject, RepairedTree.object_of_relative),
    "conj": (RepairedTree.joined_to_relative, RepairedTree.joined_to_object),
    "amod": (RepairedTree.beneath_adjective,),
    "obl": (RepairedTree.beneath_particle,),
    "compound": (RepairedTree.absolute,),
}
"""A relation -> the repairs of words that have it."""
_PARTICIPLE = (
    RepairedTree.with_hyphen,
    RepairedTree.joined_quality,
    RepairedTree.beside_owned,
    RepairedTree.adjective,
    RepairedTree.of_owned,
)
_BY_TAG = {
    "JJ": (RepairedTree.noun_as_adjective, RepairedTree.with_hyphen),
    **dict.fromkeys(("VB", "VBP"), (RepairedTree.noun_as_verb,)),
    "RB": (RepairedTree.noun_as_adverb,),
    **dict.fromkeys(("NN", "NNP"), (RepairedTree.noun_as_modifier, RepairedTree.joined_noun)),
    **dict.fromkeys(("NNS", "NNPS"), (RepairedTree.joined_noun,)),
    "VBD": (RepairedTree.with_hyphen,),
    "VBN": _PARTICIPLE,
    "VBG": _PARTICIPLE,
}
"""A part of speech -> the repairs of words that were tagged so."""


# Constructions that hide a plain clause, rewritten as one, so that the claim rules need to handle plain clauses only.
#
# | written | read as |
# | --- | --- |
# | at least three of the men stand | men stand, with the quantity *at least 3* |
# | none of the men stands | men stand, with the quantity *no* |
# | on the table sits a cup | a cup sits on the table |
# | hanging on the wall is a mirror | a mirror is hanging on the wall |
# | the smallest of the dolls stands | the smallest doll stands |
# | she hands the boy a cup | *boy* is the indirect object |
# | the door remains closed | the door is closed, with *remains* as copula |
# | it is no longer on | it is not on |


_BOUNDS = {
    ("at", "least"): "at least",
    ("no", "fewer", "than"): "at least",
    ("no", "less", "than"): "at least",
    ("at", "most"): "at most",
    ("no", "more", "than"): "at most",
    ("not", "more", "than"): "at most",
    ("up", "to"): "at most",
    ("more", "than"): "more than",
    ("over",): "more than",
    ("fewer", "than"): "fewer than",
    ("less", "than"): "fewer than",
    ("exactly",): "",
    ("precisely",): "",
    ("only",): "",
    ("just",): "",
    ("about",): "about",
    ("around",): "about",
    ("roughly",): "about",
    ("approximately",): "about",
    ("nearly",): "about",
    ("almost",): "about",
}
"""Words before a number or *all* -> how it bounds."""
_SHARES = {
    ("not", "a", "single"): "no",
    ("not", "one"): "no",
    ("a", "couple", "of"): "at least 2",
    ("a", "few"): "at least 2",
    ("a", "number", "of"): "at least 2",
    ("a", "dozen"): "12",
    ("a", "single"): "1",
    ("half",): "half",
    ("all",): "all",
    ("every",): "all",
    ("each",): "all",
    ("both",): "all",
    ("most",): "most",
    ("several",): "at least 2",
    ("many",): "at least 2",
    ("multiple",): "at least 2",
    ("none",): "no",
    ("neither",): "no",
    ("no",): "no",
}
_BOUNDED = {("about", "all"): "most", ("more than", "half"): "most"}
"""A bound and a share -> the share that both say."""


def _by_first_word(phrases: Iterable[tuple[str, ...]]) -> dict[str, list[tuple[str, ...]]]:
    """Return the phrases that begin with each word, the longest first."""
    by_word: dict[str, list[tuple[str, ...]]] = {}
    for phrase in sorted(phrases, key=len, reverse=True):
        by_word.setdefault(phrase[0], []).append(phrase)
    return by_word


_SHARES_BY_WORD, _BOUNDS_BY_WORD = _by_first_word(_SHARES), _by_first_word(_BOUNDS)
_OPENING = {*_SHARES_BY_WORD, *_BOUNDS_BY_WORD, *words.NUMBERS, "not"}
"""Words that a quantity may begin with, beside figures."""
_LASTING = word_set("remain stay")
_TURNING = word_set("become turn get grow go")
LINKING = _LASTING | _TURNING | {"look", "seem", "appear"}
"""Verbs that link a subject with a quality or a place, as *is* does."""
_PARTICLE_VERBS = {
    (verb, particle)
    for line in (
        "put on down away up",
        "take off out down",
        "turn on off",
        "switch on off",
        "pick up",
        "pull on off",
    )
    for verb, *particles in [line.split()]
    for particle in particles
}
_PARTICIPLES = frozenset({"VBG", "VBN", "VBD"})
_COMING = words.POSTURES | word_set("walk come run go appear emerge hide sleep kneel roll fly")


def plain_clauses(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """Return the same words, with these constructions rewritten."""
    tree = _Tree(tokens)
    tree.misread_verb()
    tree.misread_verbs()
    tree.misplaced()
    tree.misread_nouns()
    tree.quantities()
    tree.ranked()
    tree.no_longer()
    tree.particles()
    tree.linking_verbs()
    tree.two_objects()
    tree.inversion()
    return tuple(tree.tokens)


class _Tree(RepairedTree):
    """Tokens whose constructions are being rewritten."""

    def quantities(self) -> None:
        """Rewrite *at least three of the four men*: the quantity goes to the noun, which takes the phrase's position."""
        at = 0
        while at < len(self.tokens):
            end, quantity = self._quantity(at)
            noun = self._noun_from(end) if quantity else None
            if noun is None:
                at += 1
                continue
            self._quantify(at, end, noun, quantity)
            at = end

    def _begins(self, at: int, phrases: dict[str, list[tuple[str, ...]]]) -> tuple[str, ...]:
        fitting = phrases.get(self._texts[at], ()) if at < len(self._texts) else ()
        return next((p for p in fitting if tuple(self._texts[at : at + len(p)]) == p), ())

    def _number(self, at: int) -> str:
        if at >= len(self.tokens):
            return ""
        word = self._texts[at]
        if word.isdecimal() and len(word) < 6:
            return str(int(word))
        return str(words.NUMBERS[word]) if word in words.NUMBERS else ""

    def _quantity(self, at: int) -> tuple[int, str]:
        """Return where a quantity that begins here ends, and its value; empty if none begins."""
        if self._texts[at] not in _OPENING and not self._texts[at].isdecimal():
            return at, ""
        before = self.tokens[at - 1] if at else None
        if before is not None and (
            (before.tag in {"NN", "NNP"} and self._texts[at].isdigit())
            or (before.tag in {"DT", "PRP$"} and self._texts[at] == "most")
        ):
            return at, ""  # *frame 3*, *the most colourful*
        if self._texts[at + 1 : at + 2] == ["-"]:
            return at, ""  # *half-eaten*
        is_negated = self._texts[at] == "not" and self._texts[at + 1 : at + 2] in (
            ["all"],
            ["every"],
            ["both"],
        )
        start = at + is_negated
        bound = self._begins(start, _BOUNDS_BY_WORD)
        begin = start + len(bound)
        number = self._number(begin)
        if number:
            return self._of(begin + 1, f"{_BOUNDS.get(bound, '')} {number}".strip(), is_bare=not bound)
        share = self._begins(begin, _SHARES_BY_WORD)
        if not share or (bound and _SHARES[share] not in {"all", "half", "12", "1", "no"}):
            return at, ""
        amount = _SHARES[share]
        if bound:
            amount = f"{_BOUNDS[bound]} {amount}".strip() if amount == "12" else amount  # *more than a dozen*
            amount = _BOUNDED.get((_BOUNDS[bound], amount), amount)
        end, amount = self._of(begin + len(share), "not all" if is_negated else amount)
        if amount == "all" and self._number(end) and self._texts[end - 1] != "the":
            end += 1  # *all three*
        return end, amount

    def _of(self, end: int, quantity: str, *, is_bare: bool = False) -> tuple[int, str]:
        """Read *… of the five*, *… out of five*."""
        if self._texts[end : end + 2] == ["out", "of"]:
            end += 1
        elif self._texts[end : end + 1] != ["of"]:
            return end, quantity
        end += 1
        if end < len(self.tokens) and self.tokens[end].tag in {"DT", "PRP$"}:
            end += 1
        total = self._number(end)
        if total and quantity.isdigit():
            return end + 1, f"{quantity} of {total}"
        if quantity == "1" and is_bare:
            quantity = "at least 1"  # *one of the men*
        return end + bool(total), quantity

    def _quantify(self, at: int, end: int, noun: int, quantity: str) -> None:
        phrase = range(at, end)
        above = self.tokens[noun].head
        while above in phrase:  # the quantity stands where the noun belongs
            top = self.tokens[above]
            is_root = top.head == above
            self._set(noun, dep=top.dep, head=noun if is_root else top.head)
            above = noun if is_root else top.head
        for index in phrase:
            for child in self._children(index):
                if child.index not in phrase and child.index != noun:
                    self._set(child.index, head=noun)
            self._set(index, head=noun, dep="det", tag="DT")
        self._set(noun, quantity=quantity)

    def ranked(self) -> None:
        """Rewrite *the smallest of the dolls stands*: the smallest doll stands."""
        for at in range(len(self.tokens) - 2):
            word = self.tokens[at]
            is_open = self._texts[at + 1] == "of" and word.dep.partition(":")[0] in {"nsubj", "obj", "obl"}
            is_open = is_open and (word.tag == "JJS" or self._texts[at] == "some")
            noun = self._noun_from(at + 2) if is_open else None
            if noun is None or self.tokens[noun].head != at:
                continue
            self._take_place(noun, at)
            self._set(at, dep="amod" if word.tag == "JJS" else "det")
            self._set(at + 1, dep="fixed", head=at)

    def particles(self) -> None:
        """Rewrite *puts on his jacket*: the word right after such a verb is its particle, and the noun its object."""
        for at in range(len(self.tokens) - 1):
            verb, word = self.tokens[at], self.tokens[at + 1]
            if (verb.lemma, word.text.casefold()) not in _PARTICLE_VERBS or verb.tag not in {
                "VBZ",
                "VBP",
                "VBD",
                "VB",
                "VBG",
            }:
                continue
            noun = self._noun_from(at + 2)
            if noun is None or not self._is_fresh(at + 2):
                continue
            self._set(at + 1, head=at, dep="compound:prt", tag="RP")
            self._set(noun, head=at, dep="obj")

    def no_longer(self) -> None:
        """Rewrite *is no longer on*: *longer* is never the predicate, and the two words are *not*."""
        for at in range(len(self.tokens) - 1):
            if (self._texts[at], self._texts[at + 1]) != ("no", "longer"):
                continue
            longer = at + 1
            below = [t for t in self._children(longer) if t.index > longer and t.tag not in {".", ","}]
            verb = next((t.index for t in self.tokens[longer + 1 :] if t.tag.startswith("VB")), None)
            heir = below[0].index if below else verb
            if heir is None and self.tokens[longer].dep == "advmod":
                heir = self.tokens[longer].head
            if heir is None:
                continue
            if self.tokens[longer].head in {longer, self.tokens[heir].head} or below:
                self._take_place(heir, longer)
            self._set(longer, head=heir, dep="advmod", tag="RB", lemma="not")
            self._set(at, head=heir, dep="advmod", tag="RB", lemma="not")

    def linking_verbs(self) -> None:
        """Rewrite *remains closed*, *stays behind the door*, *turns green*: the verb becomes the copula of its complement."""
        for at in range(len(self.tokens)):
            verb = self.tokens[at]
            if verb.lemma not in LINKING or not verb.tag.startswith("VB"):
                continue
            below = [t for t in self._children(verb.index) if t.index > verb.index]
            predicate = self._linked(verb, below)
            if predicate is None or (
                verb.lemma not in _LASTING and predicate.tag.startswith(("NN", "VBG", "VB"))
            ):
                continue
            if verb.lemma in {"seem", "appear"}:
                continue
            self._take_place(predicate.index, verb.index)
            self._set(verb.index, dep="cop")

    def _linked(self, verb: Token, below: list[Token]) -> Token | None:
        """Return the quality or place that such a verb links."""
        after = self.tokens[verb.index + 1 : verb.index + 2]
        candidates = [t for t in below if t.dep == "xcomp" and not self._has(t.index, "mark")]
        if verb.lemma in _TURNING:
            candidates += [t for t in after if t.text.casefold() in words.COLOURS]
        if verb.lemma in _LASTING | {"look"}:
            candidates += [t for t in below if t.tag.startswith(("JJ", "VBN")) and t.dep != "amod"]
        if verb.lemma in _LASTING:
            candidates += [t for t in below if t.dep in {"obl", "obj", "advmod"}]
        return candidates[0] if candidates else None

    def two_objects(self) -> None:
        """Rewrite *hands the boy a cup*: the first of two noun phrases after such a verb is the indirect object."""
        for verb in list(self.tokens):
            if verb.lemma not in words.GIVING_VERBS or verb.dep in {"amod", "compound", "aux"}:
                continue
            first = self._noun_from(verb.index + 1)
            second = None if first is None else self._noun_from(first + 1)
            if first is None or second is None or not self._is_fresh(first + 1):
                continue
            if not verb.tag.startswith("VB") and not self._is_fresh(verb.index + 1):
                continue
            if not verb.tag.startswith("VB"):
                if verb.head != verb.index:
                    continue
                self._set(verb.index, tag="VBZ")
                before = self._noun_before(verb.index)
                if before is not None:
                    self._set(before, dep="nsubj", head=verb.index)
            self._set(first, dep="iobj", head=verb.index)
            self._set(second, dep="obj", head=verb.index)
            for index in (*range(verb.index + 1, first), *range(first + 1, second)):
                if self.tokens[index].tag in INSIDE:
                    self._set(index, head=first if index < first else second)

    def inversion(self) -> None:
        """Rewrite clauses with a place before the verb and its subject after it."""
        start = next(
            (t.index for t in self.tokens if t.tag not in {"RB", ",", "CC"} or self._opens(t.index)), None
        )
        if start is None:
            return
        verb = next(
            (
                t
                for t in self.tokens[start:]
                if t.tag in {"VBZ", "VBP", "VBD", "VB", "NNS"} and self._inverts(t)
            ),
            None,
        )
        if verb is None or verb.index == start or not self._opens_with_place(start, verb.index):
            return
        noun = self._noun_from(verb.index + 1)
        before = [t for t in self.tokens[start : verb.index] if t.tag != "EX"]
        if noun is None or len(before) != verb.index - start:
            if noun is not None:
                self._existential(start, verb.index, noun)
            return
        is_read = self.tokens[noun].dep == "nsubj" and start <= self.tokens[noun].head < verb.index
        if is_read and verb.dep == "cop" and self.tokens[start].tag not in _PARTICIPLES:
            return  # read so by the parser already
        if self.tokens[start].tag in _PARTICIPLES:
            if self.tokens[start].tag == "VBG" or self._is_fresh(verb.index + 1):
                self._participle_first(start, verb.index, noun)
            return
        self._place_first(self._place_head(start, verb.index), verb, noun)

    def _place_first(self, place_head: int, verb: Token, noun: int) -> None:
        """Rewrite *on the table sits a cup*, *next to the bed is a lamp*."""
        if verb.lemma == "be":
            root = self.tokens[noun] if self.tokens[noun].head != verb.index else verb
            is_root = root.head == root.index
            self._set(
                place_head, head=place_head if is_root else root.head, dep="ROOT" if is_root else root.dep
            )
            self._set(verb.index, head=place_head, dep="cop")
            self._set(noun, head=place_head, dep="nsubj")
            return
        if self.tokens[verb.index].tag == "NNS":
            self._set(verb.index, tag="VBZ")
        top = self.tokens[noun]
        if top.head == noun:
            self._set(verb.index, head=verb.index, dep="ROOT")
        self._set(noun, head=verb.index, dep="nsubj")
        self._set(place_head, head=verb.index, dep="obl")

    def _inverts(self, token: Token) -> bool:
        is_tense = token.tag != "NNS" or token.lemma in _COMING
        return is_tense and (token.lemma == "be" or token.lemma in _COMING)

    def _opens_with_place(self, start: int, verb: int) -> bool:
        """Return True if everything between is one phrase of place: no subject, no comma."""
        opens = self._opens(start)
        own = [t for t in self._children(start) if t.dep in {"nsubj", "obj"} and t.index < verb]
        opens = opens or (self.tokens[start].tag in _PARTICIPLES and not own)
        between = self.tokens[start + 1 : verb]
        return (
            opens
            and all(
                t.tag
                in {"IN", "TO", "DT", "JJ", "NN", "NNS", "PRP$", "PRP", "CD", "RB", "EX", "NNP", "VBN", "JJS"}
                for t in between
            )
            and not any(t.tag in {"NN", "NNS"} and not self._is_governed(t.index, start) for t in between)
        )

    def _opens(self, start: int) -> bool:
        first = self._texts[start]
        return (
            first in words.PLACES
            or first in words.PATHS
            or first in {"next", "close", "left", "right", "straight", "here"}
        )

    def _is_governed(self, noun: int, start: int) -> bool:
        """Return True if a preposition comes before the noun phrase."""
        for index in range(noun - 1, start - 1, -1):
            token = self.tokens[index]
            if token.tag in {"IN", "TO"} or token.text.casefold() in {"next", "straight"}:
                return True
            if token.tag not in INSIDE and not token.tag.startswith("NN"):
                return False
        return False

    def _place_head(self, start: int, verb: int) -> int:
        """Return the word of a place phrase that links it: *left* in *to the left of the door*, else its first noun."""
        inside = self.tokens[start:verb]
        side = next((t for t in inside if t.text.casefold() in {*words.SIDES, "ahead", "end"}), None)
        begin = next((t.index for t in inside[1:] if t.tag not in {"IN", "TO"}), start)
        noun = self._noun_from(begin)
        head = side.index if side is not None and self._texts[start] not in {"in", "ahead"} else noun
        head = start if head is None else head
        for token in inside:
            if token.index != head and not start <= token.head < verb:
                self._set(token.index, head=head, dep="case" if token.tag in {"IN", "TO"} else token.dep)
        if noun is not None and noun != head and self.tokens[noun].head in {noun, verb}:
            self._set(noun, head=head, dep="nmod")
        if self.tokens[start].tag in {"IN", "TO"}:
            self._set(start, head=head, dep="case")
        return head

    def _existential(self, start: int, verb: int, noun: int) -> None:
        """Rewrite *to my left there is a window*: the place belongs to *is*, and the window is its subject."""
        expletive = next(t.index for t in self.tokens if t.tag == "EX")
        if start >= expletive:
            return
        place_head = self._place_head(start, expletive)
        self._set(place_head, head=verb, dep="obl")
        self._set(expletive, head=verb, dep="expl")
        if self.tokens[noun].head == noun:
            self._set(verb, head=verb, dep="ROOT")
        self._set(noun, head=verb, dep="nsubj")

    def _participle_first(self, start: int, verb: int, noun: int) -> None:
        is_passive = self.tokens[start].tag != "VBG"
        self._set(start, head=start, dep="ROOT", tag="VBN" if is_passive else "VBG")
        for token in self.tokens[start + 1 : verb]:
            if not start <= token.head < verb:
                self._set(token.index, head=start)
        self._set(verb, head=start, dep="aux:pass" if is_passive else "aux")
        self._set(noun, head=start, dep="nsubj")
        for token in self.tokens[verb + 1 :]:
            if token.index != noun and token.head in {verb, token.index}:
                self._set(token.index, head=start)
