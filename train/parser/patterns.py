"""Sentence patterns of descriptions, filled with random words: trees that are exact by construction.

A pattern is a row of items ``word:relation>head``, where the head is the number of an item. Capital letters are filled:

| item | filled with |
| --- | --- |
| S, P, H | one living being, several, a pronoun |
| N, G, O | one thing, a thing as a place, anything as an object |
| T3 TP TB TG TD TN | a transitive verb: *holds*, *hold*, to *hold*, *holding*, *held*, *held* as participle |
| I3 IP IB IG ID | an intransitive verb |
| V3 VG VD VB | a verb of giving |
| J, Q, R, M | an adjective, a state, a comparative, a superlative |
| L, W3 and W | a place (*on the table*), a movement and its way (*turn left*) |
| C, K, F | a number, a colour, a ground such as *the floor* |
| A3, NA | a list (*a cup, a fork and a spoon*), a noun with two or three adjectives |
| NX, PX | a noun without its article, one or several |
| X, Y, Z | verbs with a particle (*pick up*, *sit down*) or a preposition (*look at*), in two items |
| LH, LC0 | *in his hand*, a preposition alone |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

Row = tuple[str, str, str, str, int]
"""Word, lemma, tag, relation, and index of the head in the sentence."""


def _split(text: str) -> list[str]:
    return text.split()


_BEINGS = _split(
    "person man woman boy girl child dog cat chef waiter player cyclist robot agent nurse farmer rider skater surfer tourist worker"
    " teacher student bird horse baby guest driver pedestrian musician lady officer toddler puppy elephant cow sheep duck swimmer"
    " customer friend mother father brother skier batter catcher goalkeeper photographer painter gardener vendor"
)
_THINGS = _split(
    "ball cube box chair table door key cup book cylinder sphere cone car sofa bed lamp window shelf bottle plate bag phone laptop broom"
    " towel shoe picture tree bowl pillow blanket fridge sink plant star triangle block drawer mug knife apple potato pan toaster faucet"
    " mirror hat jacket umbrella guitar bicycle bench basket candle clock coat curtain desk fence flag flower fork glove helmet kettle"
    " ladder lemon monitor mouse keyboard newspaper orange paper pen pencil pizza printer racket ring rope rug sandwich scarf shirt"
    " skateboard spoon stool stove suitcase surfboard tent tie toy train truck van vase wallet watch wheel whistle banana armchair backpack"
    " balloon bucket bus cabinet cake camera candle cloth cookie cupboard dress drum frame hammer jar jug kite lid letter log menu microwave"
    " necklace oven parcel piano pot purse ramp remote sign skirt snack sock stick stone sweater tray trolley tub wagon teapot magazine"
    " blade handle photograph painting poster television radio telescope tomato carrot egg burger bike motorcycle boat stroller ornament"
)
_PLACES = _split(
    "room kitchen hallway corridor street floor counter garden park beach field yard garage bathroom bedroom office porch road bridge"
    " station platform stage sidewalk wall ground grass balcony staircase doorway entrance corner pool river lake hill courtyard"
)
_MASS = _split(
    "water coffee milk juice soup rice tea wine sand snow grass food paint bread hair wood furniture traffic clothing ice fruit"
)
_PLURAL_ONLY = _split("glasses scissors trousers jeans pants shorts sunglasses clothes stairs headphones")
_JOINED = _split(
    "dining+table coffee+table living+room front+door water+bottle tennis+racket baseball+bat baseball+cap police+officer ice+cream"
    " kitchen+counter traffic+light fire+hydrant hot+dog parking+lot picture+frame desk+lamp coffee+machine shopping+bag paper+towel"
    " oven+mitt cell+phone trash+can car+door school+bus soccer+ball book+shelf toilet+roll hardwood+floor wine+glass window+sill street+sign gas+stove teddy+bear shoe+rack vacuum+cleaner remote+control office+chair"
)
_COLOURS = _split(
    "red blue green yellow purple grey orange white black brown pink cyan silver beige golden dark light"
)
_ADJECTIVES = _split(
    "small large big wooden tall short long round square old young new empty metal plastic glass striped dirty clean narrow wide thick thin"
    " heavy bright shiny broken closed open little huge tiny rectangular ceramic leather elderly flat oval metallic"
)
_SAID = (
    *_COLOURS[:14],
    *_split("small large big tall short long round square old young new heavy thick thin narrow wide shiny"),
)
_STATES = _split(
    "open empty full stationary broken visible dirty clean wet dry red blue green white asleep awake present still ready locked closed lit"
)
_COMPARED = _split(
    "taller larger bigger smaller shorter longer wider narrower darker brighter closer nearer heavier thicker older younger higher lower cleaner faster slower farther"
)
_MOST = _split(
    "tallest largest biggest smallest shortest longest widest nearest closest farthest darkest oldest fastest highest lowest brightest"
)
_TRANSITIVE = _split(
    "hit open close hold push drop enter leave touch carry throw cross approach pass watch take wash eat use grab move slice follow cover"
    " wear clean drink play read cut chop stir feed pull kick catch lift ride drive chase face paint fix fold hang climb kiss pet brush"
    " water plant cook stack wipe sweep peel pour squeeze shake rinse dry open type write draw block surround greet help hug light"
    " show bring fill empty pick collect sort point swing taste bite walk guide repair polish break remove plug wave film photograph"
)
_INTRANSITIVE = _split(
    "sit stand lie stop roll fall wait disappear appear slide bounce rest walk run jump play sleep lean kneel swim dance smile laugh"
    " work talk sing cook eat drink move turn fly crawl float spin crouch skate climb hang step swing hide arrive bend cry wave"
)
_PARTICLE = _split(
    "pick+up put+down turn+on turn+off take+off put+on tidy+up take+out switch+off pull+out push+away set+down put+away clean+up lift+up fill+up knock+over pull+up"
)
_ALONE = _split(
    "sit+down stand+up lie+down fall+over get+up turn+around bend+down slow+down come+in walk+away run+off"
)
_GIVING = _split("give hand pass throw offer show bring feed pour send toss serve")
_GOING = _split(
    "walk+to go+into run+toward walk+through look+at point+at collide+with bump+into move+past jump+onto climb+into step+onto"
    " walk+into fall+off jump+off roll+toward talk+to play+with lean+on walk+across run+through roll+into drive+past fly+over swim+across"
    " wave+at smile+at walk+towards come+from crash+into knock+on walk+along go+through move+toward wait+for"
)
_PREPOSITIONS = _split(
    "on on on in in under behind near near beside above below inside at by against beneath underneath over around along outside across"
)
_THIRD = {"have": "has", "be": "is", "go": "goes", "do": "does"}
_PAST = {
    "hit": "hit hit", "hold": "held held", "leave": "left left", "throw": "threw thrown", "take": "took taken", "eat": "ate eaten",
    "wear": "wore worn", "drink": "drank drunk", "read": "read read", "cut": "cut cut", "feed": "fed fed", "catch": "caught caught",
    "ride": "rode ridden", "drive": "drove driven", "hang": "hung hung", "sweep": "swept swept", "shake": "shook shaken",
    "write": "wrote written", "draw": "drew drawn", "light": "lit lit", "show": "showed shown", "bring": "brought brought",
    "swing": "swung swung", "bite": "bit bitten", "break": "broke broken", "sit": "sat sat", "stand": "stood stood", "lie": "lay lain",
    "fall": "fell fallen", "slide": "slid slid", "run": "ran run", "sleep": "slept slept", "kneel": "knelt knelt", "swim": "swam swum",
    "sing": "sang sung", "fly": "flew flown", "spin": "spun spun", "hide": "hid hidden", "bend": "bent bent", "put": "put put",
    "get": "got got", "come": "came come", "give": "gave given", "send": "sent sent", "go": "went gone", "set": "set set",
    "pour": "poured poured", "begin": "began begun", "keep": "kept kept", "see": "saw seen", "knock": "knocked knocked",
    "stay": "stayed stayed",
}  # fmt: skip
_DOUBLED = frozenset(
    _split("hit drop stop grab chop run sit cut step swim hug stir spin pet plug put set get let")
)
_IRREGULAR = {
    "man": "men", "woman": "women", "child": "children", "person": "people", "knife": "knives", "shelf": "shelves", "scarf": "scarves",
    "sheep": "sheep", "mouse": "mice", "officer": "officers",
}  # fmt: skip

_FOLDER = Path(__file__).parent
PATTERNS = (_FOLDER / "patterns.txt").read_text(encoding="utf-8").splitlines()
_WORDS = {
    word: (lemma, tag)
    for line in (_FOLDER / "words.txt").read_text(encoding="utf-8").splitlines()
    for word, lemma, tag in [line.split()]
}
"""Words that patterns hold as they are: lemma and usual tag. Capitals tell apart words that are spelt alike."""


@dataclass(slots=True)
class _Word:
    """A word of a phrase, with what depends on it."""

    text: str
    lemma: str
    tag: str
    dep: str = ""
    left: list[_Word] = field(default_factory=list)
    right: list[_Word] = field(default_factory=list)

    def words(self) -> Iterator[tuple[_Word, _Word]]:
        """Yield every word of the phrase, in order, with its head; the first word is its own head."""
        for child in self.left:
            yield from ((word, self if head is word is child else head) for word, head in child.words())
        yield self, self
        for child in self.right:
            yield from ((word, self if head is word is child else head) for word, head in child.words())


def pattern_trees(n: int, *, seed: int) -> Iterator[list[Row]]:
    """Yield sentences with their trees.

    >>> rows = next(pattern_trees(1, seed=3))
    >>> sum(head == place for place, (*_, head) in enumerate(rows))
    1
    """
    filler = _Filler(np.random.default_rng(seed))
    for _ in range(n):
        yield filler.sentence(filler.draw(PATTERNS))


def _third(verb: str) -> str:
    if verb in _THIRD:
        return _THIRD[verb]
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return verb + "es"
    return verb[:-1] + "ies" if verb.endswith("y") and verb[-2] not in "aeiou" else verb + "s"


def _ing(verb: str) -> str:
    if verb == "lie":
        return "lying"
    if verb in _DOUBLED:
        return verb + verb[-1] + "ing"
    return verb[:-1] + "ing" if verb.endswith("e") and not verb.endswith("ee") else verb + "ing"


def _past(verb: str, *, participle: bool) -> str:
    if verb in _PAST:
        return _PAST[verb].split()[participle]
    if verb in _DOUBLED:
        return verb + verb[-1] + "ed"
    if verb.endswith("e"):
        return verb + "d"
    return verb[:-1] + "ied" if verb.endswith("y") and verb[-2] not in "aeiou" else verb + "ed"


def _plural(noun: str) -> str:
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    if noun.endswith(("s", "sh", "ch", "x", "z")) or noun in {"tomato", "potato"}:
        return noun + "es"
    return noun[:-1] + "ies" if noun.endswith("y") and noun[-2] not in "aeiou" else noun + "s"


def _literal(word: str) -> _Word:
    lemma, tag = _WORDS[word]
    return _Word(
        word.casefold() if word.isupper() and word != "I" else word.lower() if word != "I" else word,
        lemma,
        tag,
    )


def _verb(verb: str, form: str) -> _Word:
    text, tag = {
        "3": (_third(verb), "VBZ"),
        "P": (verb, "VBP"),
        "B": (verb, "VB"),
        "G": (_ing(verb), "VBG"),
        "D": (_past(verb, participle=False), "VBD"),
        "N": (_past(verb, participle=True), "VBN"),
    }[form]
    return _Word(text, verb, tag)


class _Filler:
    """A filler of patterns with words."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._rest = ""

    def draw(self, choices: Sequence[str]) -> str:
        """Return one of some texts."""
        return choices[int(self._generator.integers(len(choices)))]

    def _happens(self, chance: float) -> bool:
        return bool(self._generator.random() < chance)

    def sentence(self, pattern: str) -> list[Row]:
        """Return a pattern filled with words, as rows."""
        phrases, links = [], []
        for item in pattern.split():
            symbol, _, link = item.partition(":")
            dep, _, head = link.rpartition(">")
            tag, _, rest = dep.partition(":")
            if tag.isupper() and tag != "ROOT":
                dep = rest
            phrase = self._filled(symbol)
            if tag.isupper() and tag != "ROOT":
                phrase.tag = tag
                phrase.text = phrase.lemma if tag == "VB" else phrase.text
            phrases.append(phrase)
            links.append((dep, int(head)))
        if not pattern.endswith("?:punct>" + pattern.rpartition(">")[2]):
            root = next(index for index, (dep, _) in enumerate(links) if dep == "ROOT")
            phrases.append(_Word(".", ".", "."))
            links.append(("punct", root))
        words = [pair for phrase in phrases for pair in phrase.words()]
        spot = {id(word): index for index, (word, _) in enumerate(words)}
        for phrase, (dep, _) in zip(phrases, links, strict=True):
            phrase.dep = dep
        above = {
            id(phrase): spot[id(phrases[head])] for phrase, (_, head) in zip(phrases, links, strict=True)
        }
        rows = [
            (word.text, word.lemma, word.tag, word.dep, above.get(id(word), spot[id(head)]))
            for word, head in words
        ]
        first = rows[0]
        return [(first[0][:1].upper() + first[0][1:], *first[1:]), *rows[1:]]

    def _filled(self, symbol: str) -> _Word:
        if symbol in _WORDS:
            return _literal(symbol)
        if len(symbol) == 2 and symbol[0] in "TIVXYZ":
            return self._verb(symbol)
        simple = {
            "J": (_SAID, "JJ"),
            "Q": (_STATES, "JJ"),
            "K": (_COLOURS[:14], "JJ"),
            "R": (_COMPARED, "JJR"),
            "M": (_MOST, "JJS"),
            "C": (("two", "three", "four", "five", "six"), "CD"),
            "W": (("left", "right", "forward", "backward", "around", "straight", "back"), "RB"),
            "LC0": (_PREPOSITIONS, "IN"),
            "H": (("he", "she", "it"), "PRP"),
        }
        if symbol in simple:
            words, tag = simple[symbol]
            word = self.draw(words)
            return _Word(word, _base(word) if tag in {"JJR", "JJS"} else word, tag)
        if symbol == "W3":
            verb = self.draw(("turn", "walk", "move", "go", "step", "head", "rotate", "look", "run"))
            return _Word(verb, verb, "VBP")
        phrases = {
            "S": lambda: self._one(_BEINGS),
            "N": lambda: self._one(_THINGS),
            "G": lambda: self._one([*_THINGS, *_PLACES, *_PLACES], extras=False),
            "F": lambda: self._noun("floor" if self._happens(0.5) else self.draw(_PLACES), article="the"),
            "P": lambda: self._several(_BEINGS if self._happens(0.6) else _THINGS),
            "O": self._object,
            "A3": self._list,
            "NA": self._well_described,
            "NX": lambda: self._noun(self.draw(_THINGS)),
            "PX": lambda: self._noun(self.draw([*_THINGS, *_BEINGS]), plural=True),
            "L": self._place,
            "LH": self._in_hand,
        }
        return phrases[symbol]()

    def _verb(self, symbol: str) -> _Word:
        lists = {"T": _TRANSITIVE, "I": _INTRANSITIVE, "V": _GIVING}
        if symbol[0] in lists:
            return _verb(self.draw(lists[symbol[0]]), symbol[1])
        if symbol[1] == "P":  # the particle or preposition of the verb before
            return _Word(self._rest, self._rest, "RP" if symbol[0] in "XY" else "IN")
        verb, _, self._rest = self.draw({"X": _PARTICLE, "Y": _ALONE, "Z": _GOING}[symbol[0]]).partition("+")
        return _verb(verb, symbol[1])

    def _noun(self, noun: str, *, plural: bool = False, article: str = "", described: float = 0.3) -> _Word:
        *before, head = noun.split("+")
        if plural:
            word = _Word(_plural(head), head, "NNS")
        else:
            word = _Word(head, head, "NNS" if head in _PLURAL_ONLY else "NN")
        if article:
            tag = {"his": "PRP$", "her": "PRP$", "my": "PRP$"}.get(article, "DT")
            word.left.append(_Word(article, article, tag, "nmod:poss" if tag == "PRP$" else "det"))
        if self._happens(described):
            word.left.append(self._adjective(article))
            if self._happens(0.15):
                comma = [_Word(",", ",", ",", "punct")] if self._happens(0.5) else []
                word.left += [*comma, _Word(other := self.draw(_ADJECTIVES), other, "JJ", "amod")]
        word.left += [_Word(part, part, "NN", "compound") for part in before]
        first = word.left[0] if word.left else word
        following = word.left[1] if len(word.left) > 1 else word
        if first.text in {"a", "an"}:
            first.text = "an" if following.text[0] in "aeiou" else "a"
        return word

    def _adjective(self, article: str) -> _Word:
        word = (
            self.draw(("left", "right", "first", "second", "other"))
            if article == "the" and self._happens(0.1)
            else ""
        )
        word = word or self.draw([*_COLOURS, *_ADJECTIVES])
        tag = {
            "broken": "VBN",
            "closed": "VBN",
            "striped": "JJ",
            "metal": "NN",
            "plastic": "NN",
            "glass": "NN",
        }.get(word, "JJ")
        return _Word(
            word,
            {"broken": "break", "closed": "close"}.get(word, word),
            tag,
            "compound" if tag == "NN" else "amod",
        )

    def _one(self, nouns: list[str], *, extras: bool = True) -> _Word:
        noun = self.draw(_JOINED) if nouns is not _BEINGS and self._happens(0.15) else self.draw(nouns)
        word = self._noun(
            noun, article=self.draw(("the", "the", "the", "a", "a", "a", "another", "this", "his", "her"))
        )
        if extras and self._happens(0.1):
            word.right.append(self._extra())
        elif extras and self._happens(0.06):
            other = self._noun(self.draw(nouns), article="a" if word.left[0].text == "a" else "the")
            other.dep = "conj"
            other.left.insert(0, _Word("and", "and", "CC", "cc"))
            word.right.append(other)
        return word

    def _list(self) -> _Word:
        """Return a list such as *a cup, a fork and a spoon*."""
        nouns = _BEINGS if self._happens(0.3) else _THINGS
        first = self._one(nouns, extras=False)
        n = int(self._generator.integers(1, 3))
        for index in range(n):
            other = self._one(nouns, extras=False) if self._happens(0.8) else self._several(nouns)
            other.dep = "conj"
            is_last = index == n - 1
            comma = [_Word(",", ",", ",", "punct")] if not is_last or self._happens(0.3) else []
            other.left = [*comma, *([_Word("and", "and", "CC", "cc")] if is_last else []), *other.left]
            first.right.append(other)
        return first

    def _well_described(self) -> _Word:
        """Return a phrase such as *a small, round, and white object*."""
        word = self._noun(self.draw([*_THINGS, "object", "piece", "item"]), article="a", described=0)
        first, *others = dict.fromkeys(self.draw([*_COLOURS[:14], *_ADJECTIVES[:14]]) for _ in range(3))
        adjective = _Word(first, first, "JJ", "amod")
        is_joined = self._happens(0.5)
        rest = []
        for index, other in enumerate(others):
            comma = _Word(",", ",", ",", "punct")
            is_last = index == len(others) - 1
            if is_joined:
                joint = [comma] if not is_last or self._happens(0.7) else []
                joint += [_Word("and", "and", "CC", "cc")] if is_last else []
                adjective.right.append(_Word(other, other, "JJ", "conj", joint))
            else:
                rest += [comma, _Word(other, other, "JJ", "amod")]
        word.left += [adjective, *rest]
        word.left[0].text = "an" if first[0] in "aeiou" else "a"
        return word

    def _extra(self) -> _Word:
        """Return what describes a noun: *in a red coat*, *of juice*, *on the left*, *holding a cup*."""
        kind = self.draw(("place", "with", "in", "of", "act", "side", "filled", "placed"))
        if kind == "place":
            phrase = self._place()
        elif kind == "side":
            phrase = _Word(
                side := self.draw(("left", "right")),
                side,
                "NN",
                left=[_Word("on", "on", "IN", "case"), _Word("the", "the", "DT", "det")],
            )
        elif kind == "placed":
            phrase = _literal(self.draw(("placed", "located", "positioned", "parked", "mounted")))
            location = self._place()
            location.dep = "obl"
            phrase.right.append(location)
        elif kind == "filled":
            phrase = _literal(self.draw(("filled", "covered")))
            content = self._object()
            content.dep = "obl"
            content.left.insert(0, _Word("with", "with", "IN", "case"))
            phrase.right.append(content)
        elif kind == "act":
            phrase = _verb(self.draw(_TRANSITIVE), "G")
            thing = self._object()
            thing.dep = "obj"
            phrase.right.append(thing)
        else:
            phrase = self._noun(self.draw(_MASS)) if kind == "of" else self._one(_THINGS, extras=False)
            phrase.left.insert(0, _Word(kind, kind, "IN", "case"))
        phrase.dep = "acl" if kind in {"act", "filled", "placed"} else "nmod"
        return phrase

    def _several(self, nouns: list[str]) -> _Word:
        kind = self.draw(("number", "number", "the", "many", "bare", "group"))
        word = self._noun(self.draw(nouns), plural=True, article="the" if kind == "the" else "")
        if kind == "number":
            word.left.insert(
                0,
                _Word(
                    number := self.draw(("two", "three", "four", "five", "2", "3")), number, "CD", "nummod"
                ),
            )
        elif kind == "many":
            many = self.draw(("several", "many", "some", "all"))
            tag, dep = ("DT", "det") if many in {"some", "all"} else ("JJ", "amod")
            word.left.insert(0, _Word(many, many, tag, dep))
        elif kind == "group":
            group = self._noun(
                self.draw(("group", "pair", "couple", "row", "number")), article="a", described=0.1
            )
            word.dep = "nmod"
            word.left.insert(0, _Word("of", "of", "IN", "case"))
            group.right.append(word)
            return group
        return word

    def _object(self) -> _Word:
        kind = self.draw(("one", "one", "one", "one", "several", "mass", "bare", "only"))
        if kind == "one":
            return self._one(_THINGS if self._happens(0.8) else _BEINGS)
        if kind == "several":
            return self._several(_THINGS)
        if kind == "bare":
            return self._noun(self.draw(_THINGS), plural=True)
        return self._noun(
            self.draw(_MASS if kind == "mass" else _PLURAL_ONLY), article="" if kind == "mass" else "the"
        )

    def _ground(self, dep: str, case: str) -> _Word:
        if self._happens(0.07):
            word = _Word(
                text := self.draw(("it", "me", "him", "them")),
                {"me": "I", "him": "he", "them": "they"}.get(text, text),
                "PRP",
                dep,
            )
        else:
            word = self._one([*_THINGS, *_PLACES, *_PLACES], extras=False)
        word.dep = dep
        word.left.insert(0, _Word(case, case, "IN", "case"))
        return word

    def _place(self) -> _Word:
        before: tuple[str, ...]
        kind = self.draw(
            ("plain",) * 10 + ("front", "front", "side", "side", "middle", "next", "next", "mine", "picture")
        )
        if kind == "plain":
            return self._ground("", self.draw(_PREPOSITIONS))
        if kind == "mine":
            word, before = (
                _Word(side := self.draw(("left", "right")), side, "NN"),
                ("on/IN/case", "my/PRP$/nmod:poss"),
            )
        elif kind == "next":
            near = self.draw(("next", "next", "close", "adjacent"))
            word, before = _Word(near, near, "JJ" if near == "adjacent" else "RB"), ()
            word.right = [self._ground("obl", "to")]
        elif kind == "front":
            which = self.draw(("in/front", "in/front", "on/top"))
            word, before = _Word(which[3:], which[3:], "NN"), (f"{which[:2]}/IN/case",)
            word.right = [self._ground("nmod", "of")]
        elif kind == "side":
            side = self.draw(("left", "right"))
            if self._happens(0.5):
                word, before = _Word(side, side, "NN"), ("to/IN/case", "the/DT/det")
            else:
                word, before = _Word("side", "side", "NN"), ("on/IN/case", "the/DT/det", f"{side}/JJ/amod")
            word.right = [self._ground("nmod", "of")]
        else:
            part = self.draw(("middle", "center", "corner", "end", "edge"))
            case = {"end": "at", "edge": "at"}.get(part, "in")
            word, before = _Word(part, part, "NN"), (f"{case}/IN/case", "the/DT/det")
            whole = self._noun(
                self.draw(("image", "picture", "photo", "frame", "room")), article="the", described=0
            )
            whole.dep = "nmod"
            whole.left.insert(0, _Word("of", "of", "IN", "case"))
            word.right = [whole if kind == "picture" else self._ground("nmod", "of")]
        word.left = [_Word(text, text, tag, dep) for text, tag, dep in (item.split("/") for item in before)]
        return word

    def _in_hand(self) -> _Word:
        word = _Word("hand", "hand", "NN")
        word.left = [
            _Word("in", "in", "IN", "case"),
            _Word(whose := self.draw(("his", "her")), whose, "PRP$", "nmod:poss"),
        ]
        return word


def _base(word: str) -> str:
    """Return the plain adjective of a comparative or superlative: *bigger*, *widest*."""
    stem = word[:-3] if word.endswith("est") else word[:-2]
    if stem.endswith("i"):
        return stem[:-1] + "y"
    if stem in {"larg", "wid", "clos"}:
        return stem + "e"
    return stem[:-1] if stem.endswith(("gg", "nn")) else stem
