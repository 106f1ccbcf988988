"""A dependency tree that is being edited."""

from __future__ import annotations

from dataclasses import replace

from theodolite.instruments.trace.claims.trees import Token

INSIDE = frozenset({"DT", "PDT", "JJ", "JJS", "PRP$", "VBN", "VBG", "RB", "HYPH", "CD", "POS"})
"""Tags of words within a noun phrase, before its noun."""


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
