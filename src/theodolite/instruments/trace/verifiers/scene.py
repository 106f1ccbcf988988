"""What an episode shows at the frames of a claim, and which objects a mention may refer to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from theodolite.instruments.trace.claims import lexicon as words
from theodolite.instruments.trace.claims.types import Claim, Mention, Verdict
from theodolite.instruments.trace.verifiers.judging import unverifiable
from theodolite.worlds.english import with_article
from theodolite.worlds.episodes import Episode, SceneObject

Memory: TypeAlias = dict[tuple[str, tuple[str, ...], str, int], tuple[SceneObject, ...]]


@dataclass(frozen=True, slots=True)
class Scene:
    """An episode at the frames of one claim."""

    episode: Episode
    frames: tuple[int, ...]
    memory: Memory = field(default_factory=dict, compare=False, repr=False)
    """Earlier lookups, shared by all claims of one call."""

    @classmethod
    def of(cls, claim: Claim, episode: Episode, memory: Memory | None = None) -> Scene:
        """An episode at the frames of a claim; at all frames if it has none."""
        n = len(episode.frames)
        inside = tuple(frame for frame in claim.frames if 0 <= frame < n)
        return cls(episode, inside or tuple(range(n)), {} if memory is None else memory)

    def at(self, frame: int) -> Scene:
        """The same episode at one frame."""
        return Scene(self.episode, (frame,), self.memory)

    def ids(self, said: Mention) -> frozenset[str]:
        """All objects of the episode that a mention may refer to."""
        key = (said.head, said.attributes, said.only, -1)
        if key not in self.memory:
            frames = range(len(self.episode.frames))
            self.memory[key] = tuple(t for frame in frames for t in self.listed_at(said, frame))
        return frozenset(t.id for t in self.memory[key])

    def listed_at(self, said: Mention, frame: int) -> list[SceneObject]:
        """The objects that a frame lists and a mention may refer to, visible or not.

        An exact category is preferred to one that means the same or is narrower, and that to a wider one, which the mention
        may mean (*woman* where a person is listed; see `wider_label`). Adjectives narrow it down as far as attributes are known.
        """
        key = (said.head, said.attributes, said.only, frame)
        if key not in self.memory:
            things = [t for t in self.episode.frames[frame].objects if words.may_mean(said.head, t.category)]
            exact = [t for t in things if _is_called(t, said.head)]
            certain = [t for t in things if words.is_a(t.category, said.head)]
            likely = exact or certain or things
            self.memory[key] = tuple(t for t in likely if _fits(t, said) and said.only in {"", t.id})
        return list(self.memory[key])

    def visible_at(self, said: Mention, frame: int) -> list[SceneObject]:
        """The same, only visible ones."""
        return [t for t in self.listed_at(said, frame) if t.is_visible]

    def visible(self, said: Mention) -> list[SceneObject]:
        """The visible objects at any of the frames that a mention may refer to."""
        return [t for frame in self.frames for t in self.visible_at(said, frame)]

    def known(self, said: Mention) -> list[SceneObject]:
        """The same, visible or not."""
        return [t for frame in self.frames for t in self.listed_at(said, frame)]

    def wider_label(self, said: Mention | None) -> str:
        """The label of what a mention means, if only wider ones fit: *person* for *woman*; else empty.

        What is known of such an object can refute a claim about a woman, but not support it.
        """
        if said is None or not said.head:
            return ""
        labels = {t.category for t in self.known(said)} or {
            t.category for frame in range(len(self.episode.frames)) for t in self.listed_at(said, frame)
        }
        is_certain = any(words.is_a(label, said.head) for label in labels)
        return "" if is_certain or not labels else min(labels)

    def unannotated(self, said: Mention | None) -> str:
        """An adjective of a mention of which nothing is annotated for what it may refer to; else empty.

        *A blue chair* where no colours are known can be refuted, but not supported.
        """
        named = [w for w in said.attributes if w in words.STATES or w in words.ATTRIBUTES] if said else []
        things = self.known(said) if said and named else []
        lacking = [next((w for w in named if _value(t, w) is None), "") for t in things]
        return lacking[0] if lacking and all(lacking) else ""

    def _is_label(self, head: str) -> bool:
        """True if the episode itself lists objects of that name, such as rooms."""
        labels = self.episode.vocabulary.get("objects", ())
        return head in labels or any(_is_called(t, head) for f in self.episode.frames for t in f.objects)

    def missing(self, said: Mention) -> Verdict | None:  # noqa: PLR0911 - one return per outcome
        """The verdict if a mention refers to nothing that is listed; None if it refers to something.

        If objects are known completely, what is not listed does not exist. If they are known partially, a word that no label
        means is out of vocabulary, and an object that a label means may have been missed.
        """
        if said.head in words.FIRST_PERSON or said.head == "picture":
            return None
        if not said.head or said.head in words.PRONOUNS | words.VAGUE_PRONOUNS:
            return unverifiable("unclear", f"{said.head or 'the subject'!r} has no referent")
        knowledge = self.episode.knows("objects")
        if knowledge == "none":
            return unverifiable("out of vocabulary", "objects are not annotated")
        if self.known(said):
            return None
        if self.ids(said):
            return _elsewhere(knowledge)
        if not words.can_be_seen(said.head):
            return unverifiable("abstract", f"{with_article(said.head)} cannot be seen")
        if said.head.rpartition(" ")[2] in words.UNLISTED_NOUNS and not self._is_label(said.head):
            return unverifiable("out of vocabulary", f"no data set lists {with_article(said.head)}")
        if knowledge == "complete":
            return Verdict("unsupported", evidence=f"there is no {said}", truth="absent")
        labels = self.episode.vocabulary.get("objects", ())
        if labels and not any(words.may_mean(said.head, label) for label in labels):
            return unverifiable("out of vocabulary", f"no label means {said.head}")
        return unverifiable("low recall", f"no {said} is annotated, but there may be one")


def _is_called(thing: SceneObject, head: str) -> bool:
    category = thing.category.casefold()
    return category == head or head in category.split("/")


def _elsewhere(knowledge: str) -> Verdict:
    if knowledge == "complete":
        return Verdict("unsupported", evidence="it is not at these frames", truth="absent")
    return unverifiable("occluded", "it is annotated only at other frames")


def _fits(thing: SceneObject, said: Mention) -> bool:
    """True if no known property of an object contradicts the adjectives."""
    for word in said.attributes:
        found = _value(thing, word)
        if found is None:
            continue
        if isinstance(found, bool):
            if found != words.STATES[word][1]:
                return False
        elif not words.may_mean(words.same_attribute(word), words.same_attribute(found)):
            return False
    return True


def _value(thing: SceneObject, word: str) -> str | bool | None:
    """What is annotated in the respect that an adjective names: the value of a state or an attribute; None if nothing is."""
    if word in words.STATES:
        return thing.states.get(words.STATES[word][0])
    name = words.ATTRIBUTES.get(word, "")
    return thing.attributes.get(name, thing.attributes.get("color" if name == "colour" else name))
