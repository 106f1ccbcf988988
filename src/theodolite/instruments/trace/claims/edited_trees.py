"""A dependency tree that is being edited, and repairs of what a small parser often gets wrong."""

from __future__ import annotations

from dataclasses import replace

from theodolite.instruments.trace.claims.trees import Token

INSIDE = frozenset({"DT", "PDT", "JJ", "JJS", "PRP$", "VBN", "VBG", "RB", "HYPH", "CD", "POS"})
"""Tags of words within a noun phrase, before its noun."""


_POSTURES = frozenset({"lie", "sit", "stand", "hang", "rest", "lean"})
_LIKE = frozenset({"shaped", "colored", "coloured", "sized"})
_MARKS = frozenset({"while", "when", "as", "after", "before", "until", "once", "because", "since"})


class EditedTree:
    """Tokens that are being changed."""

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self.tokens = list(tokens)
        self._texts = [t.text.casefold() for t in tokens]

    def _set(self, index: int, **changes: object) -> None:
        token = self.tokens[index]
        if any(getattr(token, name) != value for name, value in changes.items()):
            self.tokens[index] = replace(token, **changes)  # type: ignore[arg-type]

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

    def _as_verb(self, verb: int) -> int | None:
        """Makes a noun the verb of the noun before it; the noun after it, if it follows directly, is the object."""
        after = self.tokens[verb + 1]
        self._set(verb, tag="VBZ")
        for token in self.tokens[: verb - 1]:
            if token.head == verb and token.dep in {"det", "amod", "compound", "nmod:poss", "nummod"}:
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

    def misread_verbs(self) -> None:
        """*The mechanic tightens the bolt before …*: a plural between a noun and the next noun phrase is a verb."""
        for token in self.tokens[1:-1]:
            if token.tag == "NNS" and self._is_joined_verb(token):
                self._set(token.index, tag="VBZ")
                self._set(token.index + 1, dep="obj")
            if token.tag != "NNS" or not self._is_named(token.index - 1):
                continue
            before, after = self.tokens[token.index - 1], self.tokens[token.index + 1]
            is_clause = before.dep == "nsubj" and before.head == token.index
            mark = self._mark_of(token.index - 1)
            if is_clause and not self._has(token.index, "cop"):
                self._as_verb(token.index)
            elif before.head == token.index and after.tag in {"DT", "PRP$"} and after.text != "all":
                self._as_verb(token.index)
            elif before.head == token.index and after.text == "," and mark is not None:
                self._set(token.index, dep="advcl")  # *while the kettle boils, …*
                self._set(mark, dep="mark", head=token.index)
                self._as_verb(token.index)

    def _is_joined_verb(self, token: Token) -> bool:
        """True in *puts the keys in, zips it up*: joined to a verb, and with a pronoun as object."""
        before, after = self.tokens[token.index - 1], self.tokens[token.index + 1]
        is_between = before.text in {",", "and"} and after.text in {"it", "them"} and after.head == token.index
        return is_between and token.dep == "conj" and self.tokens[token.head].tag.startswith("VB")

    def _is_named(self, noun: int) -> bool:
        """True for a noun in the singular with an article before it."""
        if self.tokens[noun].tag not in {"NN", "NNP"}:
            return False
        first = next((t for t in reversed(self.tokens[:noun]) if t.tag not in {"JJ", "NN", "VBN", "CD"}), None)
        return first is not None and first.tag in {"DT", "PRP$"}

    def _mark_of(self, noun: int) -> int | None:
        """The *while* or *when* before a noun phrase."""
        article = next((t.index for t in reversed(self.tokens[:noun]) if t.tag in {"DT", "PRP$"}), 0)
        before = self.tokens[article - 1] if article else None
        is_mark = before is not None and before.text.casefold() in _MARKS
        return before.index if is_mark and before is not None else None

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
            elif token.dep == "nsubj" and token.index > head.index and self._is_second_subject(token, head):
                self._set(token.index, dep="obj")  # *trims the customer's beard*
            elif token.dep == "nsubj" and (verb := self._described_by(token)) is not None:
                self._set(token.index, head=verb, dep="obj")  # *the ball that hits the cube is green*
            elif token.dep == "conj" and token.tag in {"VBZ", "VBP", "VBD"} and self._is_relative(token):
                self._set(token.index, head=token.index - 2)  # *which is white and has a handle*
            elif token.dep == "amod" and head.tag.startswith("NN") and self._has(token.index, "cop"):
                self._lift(token.index)  # *is a maroon-colored piece*
            elif token.dep == "obl" and head.dep == "compound:prt":
                self._set(token.index, head=head.head)  # *jumps down from the shelf*
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

    def _is_relative(self, verb: Token) -> bool:
        """True right after *and* and the head of a relative clause."""
        before = self.tokens[max(0, verb.index - 2)]
        is_joined = self.tokens[verb.index - 1].tag == "CC" and before.dep == "acl:relcl"
        return is_joined and not self._has(verb.index, "nsubj")

    def _lift(self, adjective: int) -> None:
        """What hangs below an adjective, but belongs to its noun."""
        for child in self._children(adjective):
            if child.dep in {"cop", "det"} or child.dep.startswith("nsubj"):
                self._set(child.index, head=self.tokens[adjective].head)

    def _is_second_subject(self, noun: Token, verb: Token) -> bool:
        """True for a noun after an active verb that has its subject before it, and no object."""
        own = self._children(verb.index)
        return (
            verb.tag in {"VBZ", "VBP", "VBD", "VBG"}
            and noun.tag.startswith("NN")
            and self._noun_from(verb.index + 1) is not None
            and any(t.dep == "nsubj" and t.index < verb.index for t in own)
            and not any(t.dep in {"obj", "cop", "expl"} for t in own)
        )

    def misread_nouns(self) -> None:
        """Nouns that were tagged or joined wrongly, and participles that describe the nearest noun."""
        for token in list(self.tokens):
            head = self.tokens[token.head]
            if token.dep in {"nmod", "obl", "obj"} and token.tag == "JJ" and self._has(token.index, "amod"):
                self._set(token.index, tag="NN")  # *a black interior*
            elif token.tag in {"VB", "VBP"} and self._has(token.index, "det") and self._is_noun_phrase(token):
                self._as_noun(token.index)  # *is a hardcover book*
            elif token.tag == "RB" and self._has(token.index, "det") and self._has(token.index, "case"):
                self._set(token.index, tag="NN")  # *on a blackboard*
            elif token.text.casefold() in _LIKE and self.tokens[token.index - 1].tag == "HYPH":
                self._set(token.index - 2, head=token.head, dep="amod", tag="JJ")  # *round-shaped*
            elif token.dep == "amod" and token.tag in {"NN", "NNP"} and head.tag.startswith("NN"):
                self._set(token.index, dep="compound")  # *a shop window*
            elif token.dep == "conj" and token.tag == "VBG" and self._is_quality(token):
                self._set(token.index, tag="JJ", head=token.index - 2)  # *makes it vibrant and inviting*
            elif token.dep == "acl" and token.tag == "VBN" and self._is_beside_owned(token, head):
                self._set(token.index, head=head.head)  # *a table with a cup on it, placed in a room*
            elif token.tag in {"VBG", "VBN"} and (start := self._phrase_around(token.index)) is not None:
                self._as_adjective(start, token.index)
            elif token.dep == "conj" and token.tag.startswith("NN") and head.tag.startswith("VB"):
                self._joined_object(token.index, head.index)
            elif (
                token.dep in {"acl", "advcl"}
                and token.tag in {"VBN", "VBG"}
                and (owned := self._owned(token.index - 1)) is not None
            ):
                self._set(token.index, dep="acl", head=owned)  # *a chair with a cup placed on it*

    def _joined_object(self, noun: int, verb: int) -> None:
        """*Has cabinets and a stove*: the stove is joined to the cabinets, not to the verb."""
        objects = [t.index for t in self._children(verb) if t.dep == "obj" and verb < t.index < noun]
        if objects and not self._has(noun, "nsubj", "cop", "aux", "case"):
            self._set(noun, head=objects[-1])

    def _owned(self, noun: int) -> int | None:
        """The noun that another one has, if it ends here: *a chair with a cup*, *a chair with a can of soda*."""
        token = self.tokens[noun]
        cases = [t.text.casefold() for t in self._children(noun) if t.dep == "case"]
        if cases == ["of"] and token.dep == "nmod" and token.head < noun:
            return self._owned(token.head)
        return noun if token.tag.startswith("NN") and cases == ["with"] else None

    def _described_by(self, noun: Token) -> int | None:
        """The verb before a noun phrase, if it describes another subject of the same clause, and has no object."""
        first = next((t for t in self._children(noun.head) if t.dep == noun.dep), noun)
        start = noun.index
        while start > 0 and self.tokens[start - 1].tag in INSIDE:
            start -= 1
        verb = self.tokens[start - 1] if start else noun
        is_inside = verb.dep == "acl:relcl" and verb.head == first.index < noun.index
        return verb.index if is_inside and not self._has(verb.index, "obj") else None

    def _is_quality(self, participle: Token) -> bool:
        """True for a bare participle that is joined to an adjective which completes a verb."""
        before = self.tokens[max(0, participle.index - 2)]
        own = [t for t in self._children(participle.index) if t.dep not in {"cc", "punct", "advmod"}]
        return before.tag == "JJ" and before.dep == "xcomp" and not own

    def _is_beside_owned(self, participle: Token, noun: Token) -> bool:
        """True after a comma, if the noun before it only belongs to another one."""
        is_apart = self.tokens[participle.index - 1].text == ","
        return is_apart and self._owned(noun.index) is not None and noun.dep == "nmod"

    def _is_noun_phrase(self, token: Token) -> bool:
        return self._has(token.index, "cop") or self.tokens[token.index - 1].tag == "DT"

    def _as_noun(self, noun: int) -> None:
        self._set(noun, tag="NN")
        for child in self._children(noun):
            if child.index == noun - 1 and child.tag.startswith("NN"):
                self._set(child.index, dep="compound")
            elif child.dep == "obl":
                self._set(child.index, dep="nmod")

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
        top = next((t for t in self.tokens[start : noun + 1] if t.head not in inside and t.head != noun), None)
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
