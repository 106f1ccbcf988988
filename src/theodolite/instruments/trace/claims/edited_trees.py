"""A dependency tree that is being edited, and repairs of what a small parser often gets wrong."""

from __future__ import annotations

from dataclasses import replace

from theodolite.instruments.trace.claims.trees import Token

INSIDE = frozenset({"DT", "PDT", "JJ", "JJS", "PRP$", "VBN", "VBG", "RB", "HYPH", "CD", "POS"})
"""Tags of words within a noun phrase, before its noun."""


_POSTURES = frozenset({"lie", "sit", "stand", "hang", "rest", "lean"})


class EditedTree:
    """Tokens that are being changed."""

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self.tokens = list(tokens)
        self._texts = [t.text.casefold() for t in tokens]

    def _set(self, index: int, **changes: object) -> None:
        self.tokens[index] = replace(self.tokens[index], **changes)  # type: ignore[arg-type]

    def _children(self, index: int) -> list[Token]:
        return [t for t in self.tokens if t.head == index and t.index != index]

    def _take_place(self, new: int, old: int) -> None:
        """Puts one token at the place of another in the tree; the other and its dependents hang below it."""
        if new == old:
            return
        above = self.tokens[old]
        is_root = above.head == old
        self._set(new, head=new if is_root else above.head, dep=above.dep)
        for child in self._children(old):
            if child.index != new:
                self._set(child.index, head=new)
        self._set(old, head=new)

    def _has(self, index: int, *deps: str) -> bool:
        return any(t.dep in deps for t in self._children(index))

    def _noun_from(self, start: int) -> int | None:
        """The head of the noun phrase that goes on at an index."""
        for token in self.tokens[start : start + 5]:
            if token.tag.startswith("NN") or token.tag == "PRP":
                last = token.index
                while last + 1 < len(self.tokens) and self.tokens[last + 1].tag.startswith("NN"):
                    if token.tag == "PRP":
                        break
                    last += 1
                return last
            is_comma = token.text == "," and token.index > start
            if token.tag not in INSIDE and not is_comma:
                return None
        return None

    def _is_fresh(self, index: int) -> bool:
        """True if a noun phrase begins here."""
        return index < len(self.tokens) and self.tokens[index].tag in {"DT", "PRP$", "CD"}

    def _noun_before(self, index: int) -> int | None:
        return next((t.index for t in reversed(self.tokens[:index]) if t.tag.startswith(("NN", "PRP"))), None)

    def misread_verb(self) -> None:
        """*The image features a hat*: in a sentence without any verb, a plural after a noun is its verb."""
        if any(t.tag in {"VBZ", "VBP", "VBD", "MD"} for t in self.tokens):
            return
        verb = next((t.index for t in self.tokens[1:-1] if self._is_misread(t)), None)
        if verb is not None and self.tokens[verb].tag == "NN":
            self._set(verb, tag="NNS")  # *a cup and a spoon lie on the table*
        if verb is None:
            return
        root = next(t.index for t in self.tokens if t.head == t.index)
        after = self.tokens[verb + 1]
        self._set(verb, tag="VBZ", dep="ROOT", head=verb)
        for token in self.tokens[: verb - 1]:
            if token.head == verb:
                self._set(token.index, head=verb - 1)
        self._set(verb - 1, dep="nsubj", head=verb)
        thing = self._noun_from(after.index) if after.tag in {"DT", "PRP$", "CD"} else None
        if thing is not None:
            self._set(thing, dep="obj", head=verb)
        for token in self._children(verb):
            if token.dep in {"nmod", "acl"} and token.index > verb:
                self._set(token.index, dep="obl" if token.dep == "nmod" else "xcomp")
        if root not in {verb, verb - 1, thing}:
            self._set(root, head=verb, dep="obl" if self._has(root, "case") else "obj")

    def _is_misread(self, token: Token) -> bool:
        before, after = self.tokens[token.index - 1], self.tokens[token.index + 1]
        is_after_noun = before.tag in {"NN", "NNP"} and any(
            t.tag == "DT" for t in self.tokens[: before.index]
        )
        follows = {"DT", "PRP$", "IN", "CD", "VBG", "TO", "RB", "."}
        is_bare = token.tag == "NN" and token.text.casefold() in _POSTURES and after.tag in {"IN", "RB"}
        if is_bare and is_after_noun and token.head != token.index:
            return True
        return token.tag == "NNS" and is_after_noun and after.tag in follows

    def misplaced(self) -> None:
        """Objects, outer subjects and joined verbs that a small parser often hangs elsewhere."""
        for token in list(self.tokens):
            head = self.tokens[token.head]
            if token.dep == "nsubj:outer":  # *the point is that he sits*
                self._set(token.index, dep="dep")
                for copula in self._children(head.index):
                    if copula.dep == "cop":
                        self._set(copula.index, dep="aux")
            elif token.dep in {"appos", "nmod:unmarked", "obl:unmarked"} and head.tag.startswith("VB"):
                if not self._has(token.index, "case") and self._noun_from(head.index + 1) == token.index:
                    self._set(token.index, dep="obj")
            elif token.dep == "compound" and head.tag == "VBG" and token.index == head.index - 1:
                self._absolute(token.index, head.index)
            elif (
                token.dep == "conj"
                and token.tag == "VBG"
                and head.dep == "obj"
                and not self._has(token.index, "det", "amod")
            ):
                verb = self.tokens[head.head]
                if verb.tag == "VBG":  # *is playing the guitar and singing*
                    self._set(token.index, head=verb.index)

    def misread_nouns(self) -> None:
        """Nouns that were tagged or joined wrongly, and participles that describe the nearest noun."""
        for token in list(self.tokens):
            head = self.tokens[token.head]
            if token.dep in {"nmod", "obl", "obj"} and token.tag == "JJ" and self._has(token.index, "amod"):
                self._set(token.index, tag="NN")  # *a black interior*
            elif token.dep == "conj" and token.tag.startswith("NN") and head.tag.startswith("VB"):
                self._joined_object(token.index, head.index)
            elif (
                token.dep == "acl"
                and token.tag in {"VBN", "VBG"}
                and self._is_with(token.index - 1, head.index)
            ):
                self._set(token.index, head=token.index - 1)  # *a chair with a cup placed on it*

    def _joined_object(self, noun: int, verb: int) -> None:
        """*Has cabinets and a stove*: the stove is joined to the cabinets, not to the verb."""
        objects = [t.index for t in self._children(verb) if t.dep == "obj" and verb < t.index < noun]
        if objects and not self._has(noun, "nsubj", "cop", "aux", "case"):
            self._set(noun, head=objects[-1])

    def _is_with(self, noun: int, owner: int) -> bool:
        """True for a noun that another one has: *a chair with a cup*."""
        token = self.tokens[noun]
        cases = [t.text.casefold() for t in self._children(noun) if t.dep == "case"]
        return noun != owner == token.head and token.tag.startswith("NN") and cases == ["with"]

    def _absolute(self, noun: int, verb: int) -> None:
        """*With the cup standing on it*: the cup is what stands."""
        cases = [
            t.index for t in self._children(verb) if t.dep in {"case", "mark"} and t.text.casefold() == "with"
        ]
        if not cases:
            return
        for child in self._children(verb):
            if child.index < noun and child.dep in {"det", "amod", "compound", "nummod", "nmod:poss"}:
                self._set(child.index, head=noun)
        self._set(noun, dep="nsubj")
        self._set(cases[0], dep="mark")
        for child in self._children(verb):
            if child.dep == "nmod":
                self._set(child.index, dep="obl")
