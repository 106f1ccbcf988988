"""Parse trees of sentences typical of traces, used for training in addition to the treebank.

UD English-EWT contains no *turn left* and no *picks up*, which are rare in web text. These sentence patterns, filled with
random words, cover them. They are composed as trees, so their analysis is exact by construction. None is taken from a
trace, and none is used in testing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

_Draw = Callable[[str], str]
Row = tuple[str, str, str, str, int]
"""Word, lemma, tag, relation, and index of the head in the sentence."""

_NOUNS = (
    "person man woman ball cube box chair table door key cup book robot agent cylinder sphere cone car sofa bed lamp window shelf"
    " bottle plate bag phone laptop broom towel shoe picture tree dog cat bowl pillow blanket fridge sink plant star triangle block"
    " wall room kitchen hallway corridor street floor counter drawer mug knife apple bread potato pan toaster faucet mirror"
)
_COLOURS = "red blue green yellow purple grey orange white black brown pink cyan small large big wooden"
_VERBS = (
    "hit/hits/hitting open/opens/opening close/closes/closing hold/holds/holding push/pushes/pushing drop/drops/dropping"
    " enter/enters/entering leave/leaves/leaving touch/touches/touching carry/carries/carrying throw/throws/throwing"
    " cross/crosses/crossing approach/approaches/approaching pass/passes/passing watch/watches/watching take/takes/taking"
    " wash/washes/washing eat/eats/eating use/uses/using grab/grabs/grabbing move/moves/moving slice/slices/slicing"
    " follow/follows/following cover/covers/covering wear/wears/wearing clean/cleans/cleaning"
)
_PARTICLE_VERBS = "pick/picks/picking/up put/puts/putting/down turn/turns/turning/on turn/turns/turning/off take/takes/taking/off tidy/tidies/tidying/up"
_STILL = "sit/sits/sitting stand/stands/standing lie/lies/lying stop/stops/stopping roll/rolls/rolling fall/falls/falling wait/waits/waiting disappear/disappears/disappearing appear/appears/appearing slide/slides/sliding bounce/bounces/bouncing rest/rests/resting"
_WITH = "collide/collides/colliding/with look/looks/looking/at point/points/pointing/at walk/walks/walking/through walk/walks/walking/toward go/goes/going/into bump/bumps/bumping/into move/moves/moving/past walk/walks/walking/past go/goes/going/through"
_GO = "turn/turns/turning rotate/rotates/rotating move/moves/moving walk/walks/walking go/goes/going step/steps/stepping head/heads/heading"
_WAYS = "left right forward backward around straight ahead"
_STATES = "open closed empty stationary full red blue green broken visible large"
_PREPOSITIONS = "on in under behind near beside above below inside at by"


@dataclass(slots=True)
class _Node:
    text: str
    lemma: str
    tag: str
    dep: str = "ROOT"
    left: list[_Node] = field(default_factory=list)
    right: list[_Node] = field(default_factory=list)

    def rows(self, rows: list[Row], spots: dict[int, int]) -> None:
        for child in self.left:
            child.rows(rows, spots)
        spots[id(self)] = len(rows)
        rows.append((self.text, self.lemma, self.tag, self.dep, -1))
        for child in self.right:
            child.rows(rows, spots)


def example_trees(n: int, *, seed: int) -> Iterator[list[Row]]:
    """Yield sentences with their trees.

    >>> rows = next(example_trees(1, seed=6))
    >>> [word for word, *_ in rows], [head for *_, head in rows]
    (['I', 'move', 'backward', '.'], [1, 1, 1, 1])
    """
    generator = np.random.default_rng(seed)

    def draw(text: str) -> str:
        choices = text.split()
        return choices[int(generator.integers(len(choices)))]

    for _ in range(n):
        root = _sentence(draw, generator)
        root.right.append(_Node(".", ".", ".", "punct"))
        yield _linear(root)


def _linear(root: _Node) -> list[Row]:
    bare: list[Row] = []
    spots: dict[int, int] = {}
    root.rows(bare, spots)
    heads = [0] * len(bare)
    stack = [(root, root)]
    while stack:
        node, head = stack.pop()
        heads[spots[id(node)]] = spots[id(head)]
        stack.extend((child, node) for child in (*node.left, *node.right))
    rows = [(*row[:4], head) for row, head in zip(bare, heads, strict=True)]
    first = rows[0]
    rows[0] = (first[0][:1].upper() + first[0][1:], *first[1:])
    return rows


def _sentence(draw: _Draw, generator: np.random.Generator) -> _Node:
    simple = (_acts, _is_placed, _is_somehow, _there_is, _moves, _sees, _described, _acts)
    kind = generator.random()
    first = simple[int(generator.integers(len(simple)))](draw, generator)
    if kind < 0.6:
        return first
    if kind < 0.67:
        return _command(draw)
    other = simple[int(generator.integers(len(simple)))](draw, generator)
    if kind < 0.84:
        other.dep = "conj"
        joint = [_Node(",", ",", ",", "punct")] if generator.random() < 0.6 else []
        adverb = [_Node("then", "then", "RB", "advmod")] if generator.random() < 0.4 else []
        other.left = [*joint, _Node("and", "and", "CC", "cc"), *adverb, *other.left]
        first.right.append(other)
        return first
    word = draw("after before while when")
    other.dep = "advcl"
    other.left = [_Node(word, word, "IN" if word != "when" else "WRB", "mark"), *other.left]
    if generator.random() < 0.5:
        first.right.append(other)
    else:
        other.right.append(_Node(",", ",", ",", "punct"))
        first.left = [other, *first.left]
    return first


def _noun(
    draw: _Draw, generator: np.random.Generator, dep: str, *, case: str = "", extras: bool = True
) -> _Node:
    word = draw(_NOUNS)
    node = _Node(word, word, "NN", dep)
    node.left = [_Node(case, case, "IN", "case")] if case else []
    article = draw("the the the a another")
    node.left.append(_Node(article, article, "DT", "det"))
    if generator.random() < 0.55:
        colour = draw(_COLOURS)
        node.left.append(_Node(colour, colour, "JJ", "amod"))
    if extras and generator.random() < 0.15:
        node.right.append(_participle(draw, generator))
    return node


def _participle(draw: _Draw, generator: np.random.Generator) -> _Node:
    """Return a participle after a noun: *holding the cup*."""
    lemma, _, ing = draw(_VERBS).split("/")
    verb = _Node(ing, lemma, "VBG", "acl")
    verb.right = [_noun(draw, generator, "obj", extras=False)]
    return verb


def _place(draw: _Draw, generator: np.random.Generator, dep: str) -> _Node:
    kind = generator.random()
    if kind < 0.55:
        return _noun(draw, generator, dep, case=draw(_PREPOSITIONS), extras=False)
    if kind < 0.75:
        front = _Node("front", "front", "NN", dep, [_Node("in", "in", "IN", "case")])
        front.right = [_noun(draw, generator, "nmod", case="of", extras=False)]
        return front
    side = draw("left right")
    if kind < 0.9:
        node = _Node(
            side, side, "NN", dep, [_Node("to", "to", "IN", "case"), _Node("the", "the", "DT", "det")]
        )
        node.right = [_noun(draw, generator, "nmod", case="of", extras=False)]
        return node
    return _Node(
        side, side, "NN", dep, [_Node("on", "on", "IN", "case"), _Node("my", "my", "PRP$", "nmod:poss")]
    )


def _verb(form: str, draw: _Draw) -> tuple[_Node, str]:
    """Return a verb as *holds* or *is holding*, and the rest of its entry."""
    lemma, third, ing, *rest = form.split("/")
    if draw("plain plain going") == "plain":
        return _Node(third, lemma, "VBZ", "ROOT"), "".join(rest)
    return _Node(ing, lemma, "VBG", "ROOT", [_Node("is", "be", "VBZ", "aux")]), "".join(rest)


def _acts(draw: _Draw, generator: np.random.Generator) -> _Node:
    kind = draw("object object particle with still")
    table = {"object": _VERBS, "particle": _PARTICLE_VERBS, "with": _WITH, "still": _STILL}[kind]
    verb, rest = _verb(draw(table), draw)
    verb.left = [_noun(draw, generator, "nsubj"), *verb.left]
    if kind == "particle":
        verb.right = [_Node(rest, rest, "RP", "compound:prt"), _noun(draw, generator, "obj")]
    elif kind == "object":
        verb.right = [_noun(draw, generator, "obj")]
    elif kind == "with":
        verb.right = [_noun(draw, generator, "obl", case=rest)]
    if kind == "still" or generator.random() < 0.25:
        verb.right.append(_place(draw, generator, "obl"))
    return verb


def _described(draw: _Draw, generator: np.random.Generator) -> _Node:
    """Return for example *the person holding the cup is standing near the door*."""
    subject = _noun(draw, generator, "nsubj", extras=False)
    subject.right = [_participle(draw, generator)]
    lemma, _, ing = draw(_STILL if generator.random() < 0.5 else _VERBS).split("/")
    verb = _Node(ing, lemma, "VBG", "ROOT", [subject, _Node("is", "be", "VBZ", "aux")])
    if lemma in {form.split("/")[0] for form in _VERBS.split()}:
        verb.right = [_noun(draw, generator, "obj", extras=False)]
    else:
        verb.right = [_place(draw, generator, "obl")]
    return verb


def _is_placed(draw: _Draw, generator: np.random.Generator) -> _Node:
    subject = _noun(draw, generator, "nsubj")
    be = _Node("is", "be", "VBZ", "cop")
    now = [_Node("now", "now", "RB", "advmod")] if generator.random() < 0.2 else []
    if generator.random() < 0.4:
        side = draw("left right")
        node = _Node(side, side, "JJ", "ROOT", [subject, be, *now])
        node.right = [_noun(draw, generator, "obl", case="of", extras=False)]
        return node
    location = _place(draw, generator, "ROOT")
    location.left = [subject, be, *now, *location.left]
    return location


def _is_somehow(draw: _Draw, generator: np.random.Generator) -> _Node:
    word = draw(_STATES)
    subject = _noun(draw, generator, "nsubj")
    negation = [_Node("not", "not", "RB", "advmod")] if generator.random() < 0.15 else []
    return _Node(word, word, "JJ", "ROOT", [subject, _Node("is", "be", "VBZ", "cop"), *negation])


def _there_is(draw: _Draw, generator: np.random.Generator) -> _Node:
    verb = _Node("is", "be", "VBZ", "ROOT", [_Node("there", "there", "EX", "expl")])
    verb.right = [_noun(draw, generator, "nsubj", extras=False), _place(draw, generator, "obl")]
    return verb


def _moves(draw: _Draw, generator: np.random.Generator) -> _Node:
    """Return for example *I turn left*, *I am walking forward*."""
    lemma, _, ing = draw(_GO).split("/")
    me = _Node("I", "I", "PRP", "nsubj")
    verb = _Node(lemma, lemma, "VBP", "ROOT", [me])
    if generator.random() < 0.3:
        verb = _Node(ing, lemma, "VBG", "ROOT", [me, _Node("am", "be", "VBP", "aux")])
    if generator.random() < 0.75:
        way = draw(_WAYS)
        verb.right = [_Node(way, way, "RB", "advmod")]
    else:
        verb.right = [_noun(draw, generator, "obl", case=draw("past through toward into"), extras=False)]
    return verb


def _command(draw: _Draw) -> _Node:
    """Return a command: *turn left*."""
    lemma = draw(_GO).split("/")[0]
    way = draw(_WAYS)
    return _Node(lemma, lemma, "VB", "ROOT", right=[_Node(way, way, "RB", "advmod")])


def _sees(draw: _Draw, generator: np.random.Generator) -> _Node:
    verb = _Node("see", "see", "VBP", "ROOT", [_Node("I", "I", "PRP", "nsubj")])
    first = _noun(draw, generator, "obj", extras=False)
    for index in range(int(generator.integers(0, 3))):
        other = _noun(draw, generator, "conj", extras=False)
        other.left = [
            _Node(",", ",", ",", "punct"),
            *([_Node("and", "and", "CC", "cc")] if index else []),
            *other.left,
        ]
        first.right.append(other)
    verb.right = [first]
    return verb
