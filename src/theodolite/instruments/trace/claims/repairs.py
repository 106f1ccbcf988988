"""Repairs of what a small parser often gets wrong, one small method each."""

from __future__ import annotations

from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.edited_trees import INSIDE, EditedTree
from theodolite.instruments.trace.claims.trees import Token

_LIKE = frozenset({"shaped", "colored", "coloured", "sized"})
_MARKS = frozenset({"while", "when", "as", "after", "before", "until", "once", "because", "since"})
_BEFORE_NOUN = frozenset({"det", "amod", "compound", "nmod:poss", "nummod"})


class RepairedTree(EditedTree):
    """Tokens that are being repaired."""

    def misread_verb(self) -> None:
        """*The image features a hat*: in a sentence without any verb, a plural after a noun is its verb."""
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
        """*The mechanic tightens the bolt before …*: a plural between a noun and the next noun phrase is a verb."""
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
        """Makes a noun the verb of the noun before it; the noun after it, if it follows directly, is the object."""
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
        """True in *puts the keys in, zips it up*: joined to a verb, and with a pronoun as object."""
        before, after = self.tokens[token.index - 1], self.tokens[token.index + 1]
        is_between = (
            before.text in {",", "and"} and after.text in {"it", "them"} and after.head == token.index
        )
        return is_between and token.dep == "conj" and self.tokens[token.head].tag.startswith("VB")

    def _is_named(self, noun: int) -> bool:
        """True for a noun in the singular with an article before it."""
        if self.tokens[noun].tag not in {"NN", "NNP"}:
            return False
        first = next(
            (t for t in reversed(self.tokens[:noun]) if t.tag not in {"JJ", "NN", "VBN", "CD"}), None
        )
        return first is not None and first.tag in {"DT", "PRP$"}

    def _mark_of(self, noun: int) -> int | None:
        """The *while* or *when* before a noun phrase."""
        article = next((t.index for t in reversed(self.tokens[:noun]) if t.tag in {"DT", "PRP$"}), 0)
        before = self.tokens[article - 1] if article else None
        is_mark = before is not None and before.text.casefold() in _MARKS
        return before.index if is_mark and before is not None else None

    def misplaced(self) -> None:
        """Repairs words that hang elsewhere than they should."""
        for token in list(self.tokens):
            for repair in _BY_DEP.get(token.dep, ()):
                if repair(self, token):
                    break

    def misread_nouns(self) -> None:
        """Repairs nouns that were tagged or joined wrongly, and participles that describe another noun."""
        for token in list(self.tokens):
            for repair in _BY_TAG.get(token.tag, ()):
                if repair(self, token):
                    break

    # repairs of one word; true if it was the case

    def outer_subject(self, token: Token) -> bool:
        """*The point is that he sits*: *point* is not who sits."""
        head = self.tokens[token.head]
        self._set(token.index, dep="dep")
        for copula in self._children(head.index):
            if copula.dep == "cop":
                self._set(copula.index, dep="aux")
        return True

    def unmarked_object(self, token: Token) -> bool:
        """*Holds the cup*, where the cup was not taken for the object."""
        head = self.tokens[token.head]
        is_next = head.tag.startswith("VB") and self._noun_from(head.index + 1) == token.index
        if is_next and not self._has(token.index, "case"):
            self._set(token.index, dep="obj")
        return is_next

    def second_subject(self, token: Token) -> bool:
        """*Trims the customer's beard*: after an active verb that has its subject before it, a noun is its object."""
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
        """*The ball that hits the cube is green*: the cube is hit, and not green."""
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
        """*A cup, which is white and has a handle*: right after *and* and the head of a relative clause."""
        before = self.tokens[max(0, token.index - 2)]
        is_joined = self.tokens[token.index - 1].tag == "CC" and before.dep == "acl:relcl"
        is_case = token.tag in {"VBZ", "VBP", "VBD"} and is_joined and not self._has(token.index, "nsubj")
        if is_case:
            self._set(token.index, head=before.index)
        return is_case

    def joined_to_object(self, token: Token) -> bool:
        """*Is playing the guitar and singing*: who plays sings."""
        head = self.tokens[token.head]
        is_case = token.tag == "VBG" and head.dep == "obj" and self.tokens[head.head].tag == "VBG"
        is_case = is_case and not self._has(token.index, "det", "amod")
        if is_case:
            self._set(token.index, head=head.head)
        return is_case

    def beneath_adjective(self, token: Token) -> bool:
        """*Is a maroon-colored piece*: what hangs below the adjective belongs to its noun."""
        head = self.tokens[token.head]
        is_case = head.tag.startswith("NN") and self._has(token.index, "cop")
        for child in self._children(token.index) if is_case else ():
            if child.dep in {"cop", "det"} or child.dep.startswith("nsubj"):
                self._set(child.index, head=head.index)
        return is_case

    def beneath_particle(self, token: Token) -> bool:
        """*Jumps down from the shelf*: the shelf belongs to the verb."""
        head = self.tokens[token.head]
        if head.dep == "compound:prt":
            self._set(token.index, head=head.head)
        return head.dep == "compound:prt"

    def absolute(self, token: Token) -> bool:
        """*With the cup standing on it*: the cup is what stands."""
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
        """*A black interior*."""
        is_case = token.dep in {"nmod", "obl", "obj"} and self._has(token.index, "amod")
        if is_case:
            self._set(token.index, tag="NN")
        return is_case

    def noun_as_verb(self, token: Token) -> bool:
        """*Is a hardcover book*."""
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
        """*On a blackboard*."""
        is_case = self._has(token.index, "det") and self._has(token.index, "case")
        if is_case:
            self._set(token.index, tag="NN")
        return is_case

    def noun_as_modifier(self, token: Token) -> bool:
        """*A shop window*."""
        head = self.tokens[token.head]
        is_case = token.dep == "amod" and head.tag.startswith("NN")
        if is_case:
            self._set(token.index, dep="compound")
        return is_case

    def with_hyphen(self, token: Token) -> bool:
        """*A round-shaped table* is round."""
        is_case = (
            token.index > 1 and token.text.casefold() in _LIKE and self.tokens[token.index - 1].tag == "HYPH"
        )
        if is_case:
            self._set(token.index - 2, head=token.head, dep="amod", tag="JJ")
        return is_case

    def joined_quality(self, token: Token) -> bool:
        """*Makes it vibrant and inviting*: a bare participle that is joined to an adjective."""
        before = self.tokens[max(0, token.index - 2)]
        own = [t for t in self._children(token.index) if t.dep not in {"cc", "punct", "advmod"}]
        is_case = token.dep == "conj" and before.tag == "JJ" and before.dep == "xcomp" and not own
        if is_case:
            self._set(token.index, tag="JJ", head=before.index)
        return is_case

    def beside_owned(self, token: Token) -> bool:
        """*A table with a cup on it, placed in a room*: after a comma, the table is placed there."""
        head = self.tokens[token.head]
        is_apart = token.dep == "acl" and self.tokens[token.index - 1].text == ","
        is_case = is_apart and head.dep == "nmod" and self._owned(head.index) is not None
        if is_case:
            self._set(token.index, head=head.head)
        return is_case

    def adjective(self, token: Token) -> bool:
        """*A simple yet visually appealing scene*: within a noun phrase a participle is an adjective."""
        start = self._phrase_around(token.index)
        if start is not None:
            self._as_adjective(start, token.index)
        return start is not None

    def of_owned(self, token: Token) -> bool:
        """*A chair with a cup placed on it*: the cup is placed there."""
        owned = self._owned(token.index - 1) if token.dep in {"acl", "advcl"} else None
        if owned is not None:
            self._set(token.index, dep="acl", head=owned)
        return owned is not None

    def joined_noun(self, token: Token) -> bool:
        """*Has cabinets and a stove*: the stove is joined to the cabinets, not to the verb."""
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
        """The noun that another one has, if it ends here: *a chair with a cup*, *a chair with a can of soda*."""
        token = self.tokens[noun]
        cases = [t.text.casefold() for t in self._children(noun) if t.dep == "case"]
        if cases == ["of"] and token.dep == "nmod" and token.head < noun:
            return self._owned(token.head)
        return noun if token.tag.startswith("NN") and cases == ["with"] else None

    def _phrase_around(self, participle: int) -> int | None:
        """Where the noun phrase begins in which a participle stands as an adjective: *a simple yet visually appealing scene*."""
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
