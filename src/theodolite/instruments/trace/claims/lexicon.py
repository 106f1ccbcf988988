"""The words of claims: which can be seen, which cannot, and which words mean the same.

All words are lemmas in lower case. A noun that is in none of the lists counts as visible unless its ending says otherwise,
since no list of things is complete.

Meanings are decided here and in ``lexicon.toml``, and nowhere else: which words mean the same (`SYNONYMS`, and the normal form of each by
`same_noun`, `same_relation` and `same_attribute`), which name a kind of what another names (`KINDS`), and which exclude each other
(`OPPOSITES`, `AXES`, `excludes`). A label supports a word if `is_a` holds: *woman* supports *person*, never the other way, and
supports no sister such as *man*.
"""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib import resources
from typing import Any

from theodolite.answers.numbers import NUMBER_WORDS
from theodolite.answers.text import word_set

_TABLE: dict[str, Any] = tomllib.loads(
    resources.files(__package__).joinpath("lexicon.toml").read_text(encoding="utf-8")
)

COLOURS = word_set(
    "red orange yellow green blue purple violet pink brown black white grey gray silver gold golden beige tan navy teal"
    " turquoise cyan magenta maroon cream olive crimson scarlet indigo lavender"
)
HUES = ("red", "blue", "green", "yellow", "purple", "orange", "pink", "brown", "grey", "black", "white")
"""Plain colours, by which others are exchanged to make a claim false."""
ABSENT = (
    "giraffe",
    "umbrella",
    "guitar",
    "bicycle",
    "toaster",
    "suitcase",
    "kite",
    "vase",
    "clock",
    "banana",
)
"""Objects that hardly any episode shows, for the same purpose."""
THINGS = (
    "person",
    "table",
    "chair",
    "ball",
    "box",
    "door",
    "cup",
    "book",
    "lamp",
    "plant",
    "bag",
    "car",
    "dog",
    "tree",
)
"""Plain things, relations and verbs, to choose others from where an episode names none."""
RELATIONS = ("left of", "right of", "above", "below", "in front of", "behind", "near")
VERBS = ("hold", "open", "push", "throw")
TONES = word_set("dark light blond blonde colorful colourful multicolored")
SIZES = word_set(
    "large big small little tiny huge tall short long wide narrow thick thin giant massive miniature high low"
)
MATERIALS = word_set(
    "wooden wood metal metallic plastic glass leather rubber stone brick paper cardboard ceramic cotton denim silk"
    " stainless concrete marble tiled carpeted woolen knitted fabric"
)
SHAPES = word_set(
    "round square rectangular circular oval triangular cylindrical spherical curved flat straight"
)
PATTERNS = word_set(
    "striped checkered plaid floral polka-dot patterned printed spotted plain transparent shiny matte"
)
LOOKS = word_set(
    "young old elderly bald bearded barefoot shirtless long-sleeved short-sleeved sleeveless casual formal naked bare"
    " hooded furry fluffy leafy grassy sunny rainy cloudy snowy muddy rocky messy tidy cluttered"
)

ASPECTS = word_set(
    "shape color colour size design height diameter width length appearance look texture material"
)
"""Nouns whose adjectives describe what has them: *a round shape*, *its shape is round*."""

ATTRIBUTES: dict[str, str] = {
    word: name
    for name, words in (
        ("colour", COLOURS),
        ("tone", TONES),
        ("size", SIZES),
        ("material", MATERIALS),
        ("shape", SHAPES),
        ("pattern", PATTERNS),
        ("look", LOOKS),
    )
    for word in words
}
"""A visible adjective -> the attribute that it is a value of."""

STATES: dict[str, tuple[str, bool]] = {
    **dict.fromkeys(("open", "opened", "ajar", "unlocked"), ("open", True)),
    **dict.fromkeys(("closed", "shut", "locked"), ("open", False)),
    **dict.fromkeys(("on", "lit", "running", "activated"), ("on", True)),
    **dict.fromkeys(("off", "unlit", "deactivated"), ("on", False)),
    **dict.fromkeys(("moving", "mobile"), ("moving", True)),
    **dict.fromkeys(("stationary", "still", "motionless", "immobile", "unmoving"), ("moving", False)),
    **dict.fromkeys(("full", "filled"), ("filled", True)),
    **dict.fromkeys(("empty",), ("filled", False)),
    **dict.fromkeys(("dirty", "unwashed", "stained"), ("dirty", True)),
    **dict.fromkeys(("clean", "washed"), ("dirty", False)),
    **dict.fromkeys(("broken", "cracked", "shattered"), ("broken", True)),
    **dict.fromkeys(("intact", "whole", "unbroken"), ("broken", False)),
    **dict.fromkeys(("sliced", "cut", "chopped"), ("sliced", True)),
    **dict.fromkeys(("uncut", "unsliced"), ("sliced", False)),
    **dict.fromkeys(("cooked", "boiled", "fried", "toasted", "baked"), ("cooked", True)),
    **dict.fromkeys(("raw", "uncooked"), ("cooked", False)),
    **dict.fromkeys(("occupied",), ("occupied", True)),
    **dict.fromkeys(("unoccupied", "vacant"), ("occupied", False)),
    **dict.fromkeys(("asleep", "sleeping"), ("asleep", True)),
    **dict.fromkeys(("awake",), ("asleep", False)),
    **dict.fromkeys(("wet", "soaked", "damp"), ("wet", True)),
    **dict.fromkeys(("dry",), ("wet", False)),
    **dict.fromkeys(("folded",), ("folded", True)),
    **dict.fromkeys(("unfolded",), ("folded", False)),
}
"""A word for a state -> the name of the state, and whether the word says that it holds."""

NUMBERS: dict[str, int] = {word: number for number, word in enumerate(NUMBER_WORDS)}

ABSTRACT_NOUNS = word_set(
    "ability act action activity adaptability addition advantage aim alternative amount analysis answer appearance"
    " approach area arrangement aspect assumption atmosphere attempt attention background basis beginning behavior"
    " behaviour belief bottom break care case cause challenge chance change choice chore clue colour color combination"
    " comfort communication completion conclusion condition confidence connection consideration content contents context"
    " contact conversation convenience couple cue day decision decrease degree design charge contrast height diameter width touch ambiance description desire detail"
    " development difference direction discomfort discussion distance distraction duration"
    " effect effort element emotion end engagement entertainment environment event evidence example exercise"
    " experience explanation expression extent eye_contact fact factor fashion feature feeling field_of_view focus form"
    " foreground fun function future game gameplay gesture goal group guess habit half hand-eye_coordination happiness"
    " health help hint hour household_task idea impact implication importance impression indication"
    " inference information insight instance instruction intent intention interaction interest internet interpretation"
    " issue item job kind knowledge lack layout learning leisure length level life lifestyle likelihood location look"
    " lot manner matter meaning means medium message method middle mind minute moment mood morning motion movement name"
    " nature need night nothing notion number object objective observation occasion occurrence one opinion option order"
    " organization outcome part participation past pattern pause period perspective phase"
    " placement plan point portion pose position possession possibility posture practice preference preparation presence"
    " present problem procedure process productivity progress project prominence purpose quality question range reaction"
    " reading reason reasoning recording reflection relation relationship relaxation relevance rest result role routine"
    " safety scenario scene schedule second section segment sense sequence session set setting shape shot"
    " side signal significance similarity situation size snippet society something somewhere sort sound space"
    " speed stability stage start state statement step storage story stress structure style subject subtask success"
    " support surrounding surroundings target task technique technology term theme thing thought time top topic track"
    " transition trip turn type understanding unit use value variety verb version view viewer vibe visibility"
    " visual way weather week while whole work workout year camera_angle angle clip footage frame video image"
    " screenshot piece pair bunch kind bit majority reference factor variety series work"
    " media app social_media web website email text trip move surface responsibility resourcefulness opportunity"
    " household attempt capture mess level multitasking"
)
"""Nouns for what no frame shows by itself."""

CONCRETE_NOUNS = word_set(
    "television apartment building ceiling railing painting clothing equipment furniture fence ambulance cushion station"
    " lotion garment ornament appliance utensil instrument basement entrance ring string wing king spring sling"
    " awning bedding dressing flooring handwriting icing lining pudding sibling stocking earring drawing carving ironing_board"
    " intersection section_sign onion champion companion lion scorpion musician electrician physician pedestrian detergent"
    " document monument cement pavement compartment department tent parent student adolescent president servant"
    " elephant plant restaurant attendant city balcony belly body cherry candy baby pony puppy bunny lady"
    " vegetable table cable bottle individual people person belongings groceries leftovers dirt dust debris allergen"
    " rubbish trash kitchen bathroom bedroom room hallway corridor living_room doorway window wall floor ground roof"
    " poster picture photo photograph mirror screen card board shadow light lamp light_switch switch sky cloud"
    " sun moon rain snow water liquid juice milk coffee tea food meal snack breakfast lunch dinner music_stand"
    " exit door entry stairs staircase landing playing_card clothes laundry"
)
"""Visible nouns whose ending suggests an abstract one."""

UNLISTED_NOUNS = word_set(
    "floor wall ground room ceiling sky background scene world grid area space air surface corner side house building street road"
    " field lawn hand head arm leg foot body hair face eye wrist finger lap back shoulder knee"
)
"""Things that no data set lists: their absence refutes nothing."""
GENERIC_NOUNS = word_set("object item thing one")
PICTURES = word_set("picture scene view frame image video clip shot footage photo photograph")
"""Words for the picture itself, as the place that objects enter and leave."""

ABSTRACT_ENDINGS = tuple(
    word_set("tion sion ness ity ment ance ence ism ship hood dom ing acy ology graphy ude cy")
)

PRONOUNS = word_set(
    "i you he she it they we him her them us me one anyone someone everyone nobody everybody somebody who which that what"
)
FIRST_PERSON = word_set("i we me us my our")
OBSERVER = FIRST_PERSON | word_set("agent robot person camera you")
"""Words for who sees the frames, where that is someone who acts."""
VAGUE_PRONOUNS = word_set(
    "something anything nothing everything someone anyone somebody this that these those one both each either neither all none any"
)
SEEING_VERBS = word_set("see find detect spot notice observe recognise recognize identify locate discern")
"""With the writer as subject they say that something is there, or, negated, that it is not."""

HEDGE_WORDS = word_set(
    "may might could possibly probably perhaps likely maybe presumably seemingly apparently potentially supposedly"
    " plausibly unlikely would should"
)
HEDGE_VERBS = word_set(
    "seem appear suggest indicate imply infer assume suppose guess speculate believe think expect presume suspect hint"
    " interpret conclude imagine hypothesise hypothesize deduce say claim argue"
)
HEDGE_ADJECTIVES = word_set(
    "possible likely plausible probable reasonable unclear unlikely conceivable uncertain unsure unsure"
)

META_VERBS = word_set(
    "be have see show capture depict feature include involve represent provide contribute help suggest indicate imply infer"
    " assume seem appear conclude determine know believe think mean need want require allow enable make let cause create"
    " highlight demonstrate emphasize emphasise illustrate portray present display convey specify mention describe note"
    " consist contain remain become exist occur happen locate position situate relate associate accumulate lead base"
    " consider focus expect intend decide choose proceed try like love name call"
    " reflect depend belong refer able do visible accomplish achieve increase ensure reveal surround"
    " interpret deduce imagine suppose presume hypothesize accompany dedicate equip comprise rain snow"
    " occupy"
)
"""Verbs for what no frame shows: being, having, showing, meaning."""

INNER_VERBS = word_set(
    "wait enjoy relax think decide consider try want focus plan prepare hope feel rest engage study learn work communicate"
    " multitask participate organize express concentrate browse seek share intend involve entertain attempt remember ignore notice"
    " understand wonder search check choose"
)
"""Verbs of thought and purpose, which no frame shows."""

CARRIER_VERBS = word_set(
    "see show begin start continue finish stop keep proceed decide seem appear capture observe spot catch find film depict"
)
"""Verbs whose complement holds the claim: *is seen holding*, *began to eat*."""

UNREAL_VERBS = word_set(
    "prepare plan want intend try attempt wait need require allow help enable able about go ask tell use wish hope expect ready free"
)
"""Verbs whose infinitive is not asserted: *is preparing to wash*."""

PLACING_VERBS = word_set(
    "hold wear put place set lay hang leave carry throw drop keep pour rest stack store position grab grip grasp have see"
    " find cut serve balance stick attach mount spread arrange organize organise rearrange clean wash chop slice stir"
    " cook fry boil peel fold water plant park"
)
"""Verbs that locate their object, not their subject: *puts the book on the table*."""

POSTURES = word_set("hang lean lie rest sit stand")
"""How a thing stays in its place: *the book lies open*."""

GIVING_VERBS = word_set("give hand pass throw offer show bring feed pour lend send serve toss sell buy")
"""Verbs that take two objects: *hands the boy a cup*."""

PARTICLES = word_set(
    "up down off out away on in over back along around through forward backward apart together aside"
)
PLACES = {
    **{
        word: word
        for word in word_set(
            "in on at near by beside behind under underneath beneath below above over inside outside"
            " between among around against along atop opposite across within upon"
        )
    },
    "in front of": "in front of",
    "ahead of": "in front of",
    "next to": "next to",
    "close to": "near",
    "adjacent to": "next to",
    "on top of": "on",
    "alongside": "beside",
    "nearby": "near",
}
"""A preposition, or a phrase that acts as one -> its relation."""

SIDES = {
    "left": "left of",
    "right": "right of",
    "left-hand": "left of",
    "right-hand": "right of",
    "front": "in front of",
    "back": "behind",
    "rear": "behind",
    "middle": "in the middle of",
    "centre": "in the middle of",
    "center": "in the middle of",
    "top": "at the top of",
    "bottom": "at the bottom of",
    "foot": "at the foot of",
    "edge": "at the edge of",
    "corner": "in the corner of",
    "end": "at the end of",
    "north": "north of",
    "south": "south of",
    "east": "east of",
    "west": "west of",
}
"""A noun for a side of something -> the relation: *on the left side of*, *in the middle of*."""

PATHS = word_set("to into onto toward towards through from off down up past out across away via")
"""Prepositions of motion, which belong to the verb."""

AXES: dict[str, tuple[str, int]] = {
    relation: (axis, sign)
    for axis, pair in _TABLE["axes"].items()
    for relation, sign in zip(pair, (-1, 1), strict=True)
}
"""A relation, in its one spelling -> the axis along which it places its subject, and -1 or 1 for the direction."""

OPPOSITES: dict[str, str] = {
    a: b for pair in (*_TABLE["axes"].values(), *_TABLE["opposites"]) for a, b in (pair, pair[::-1])
}
"""Relations, motions and actions -> their opposites."""

FROM_ME: dict[str, str] = {name.replace("_", " "): said for name, said in _TABLE["from_me"].items()}
"""A relation to the observer -> the words of the observer for it."""

SIZE_RANKS: dict[str, int] = {size: rank for rank, size in enumerate(_TABLE["sizes"].split())}
IS_LARGER: dict[str, bool] = {
    word: name == "larger" for name in ("larger", "smaller") for word in _TABLE[name].split()
}
"""A comparative of size -> whether it says larger."""

SEXES: dict[str, frozenset[str]] = {pronoun: word_set(nouns) for pronoun, nouns in _TABLE["sexes"].items()}
"""*he* and *she* -> nouns that only this one may stand for."""

MOTIONS: dict[str, frozenset[str]] = {
    name.replace("_", " "): word_set(meant) for name, meant in _TABLE["motions"].items()
}
"""A movement with several meanings -> its meanings."""

TEMPORAL_CUES: dict[str, str] = {
    **dict.fromkeys(("before", "prior", "until"), "before"),
    **dict.fromkeys(("after", "once", "since", "following"), "after"),
    **dict.fromkeys(("while", "when", "as", "meanwhile", "simultaneously", "during", "whilst"), "while"),
    **dict.fromkeys(("then", "next", "afterwards", "afterward", "subsequently", "later"), "then"),
    **dict.fromkeys(("first", "initially", "originally"), "first"),
    **dict.fromkeys(("finally", "lastly", "eventually", "ultimately"), "last"),
}
"""A word that orders events -> the order."""


def _groups() -> dict[str, frozenset[str]]:
    groups: dict[str, frozenset[str]] = {}
    for line in _TABLE["synonyms"]:
        group = word_set(line)
        for word in group:
            groups[word] = groups.get(word, frozenset()) | group
    return groups


SYNONYMS = _groups()
"""A word -> all words with the same meaning, including itself."""


def _all_kinds() -> dict[str, frozenset[str]]:
    direct = {
        word.replace("_", " "): frozenset(
            other for kind in word_set(kinds) for other in SYNONYMS.get(kind, {kind})
        )
        for word, kinds in _TABLE["kinds"].items()
    }
    kinds_of: dict[str, set[str]] = {}
    for word in {*SYNONYMS, *direct, *(kind for kinds in direct.values() for kind in kinds)}:
        reached: set[str] = set()
        pending = [word]
        while pending:
            now = pending.pop()
            if now not in reached:
                reached.add(now)
                pending += SYNONYMS.get(now, ())
                pending += direct.get(now, ())
        kinds_of[word] = reached
    return {word: frozenset(kinds) for word, kinds in kinds_of.items()}


KINDS = _all_kinds()
"""A word -> all words for what it names and for kinds of that, including itself."""


def _spellings(name: str) -> dict[str, str]:
    return {
        other: word.replace("_", " ") for word, others in _TABLE[name].items() for other in word_set(others)
    }


_SAME_RELATIONS, _SAME_ATTRIBUTES = _spellings("relations"), _spellings("attributes")


def same_relation(relation: str) -> str:
    """Return the normal form of relations that mean the same.

    >>> same_relation("underneath"), same_relation("left of")
    ('below', 'left of')
    """
    return _SAME_RELATIONS.get(relation, relation)


def same_attribute(word: str) -> str:
    """Return the normal form of attributes that mean the same.

    >>> same_attribute("big"), same_attribute("red")
    ('large', 'red')
    """
    return _SAME_ATTRIBUTES.get(word, word)


def same_noun(noun: str) -> str:
    """Return the normal form of nouns that mean the same.

    >>> same_noun("couch") == same_noun("sofa"), same_noun("man") == same_noun("woman")
    (True, False)
    """
    return min(SYNONYMS.get(noun, {noun}))


SIDE_EXCHANGE: dict[str, str] = {
    word: OPPOSITES[same_relation(word)] for word in sorted(word_set(_TABLE["sides"]))
}
"""A word that tells a side -> that of the other side."""


def opposite_state(word: str) -> str:
    """Return the first word for the opposite of a state.

    >>> opposite_state("open"), opposite_state("shut")
    ('closed', 'open')
    """
    name, holds = STATES[word]
    return next(other for other, entry in STATES.items() if entry == (name, not holds))


def excludes(one: str, other: str) -> bool:
    """Return True if one action excludes another at the same time.

    >>> excludes("sit", "stand up"), excludes("sit", "hold")
    (True, False)
    """
    if OPPOSITES.get(one) == other:
        return True
    for line in _TABLE["exclusive"]:
        places = [next((v for v in line.split() if word in SYNONYMS[v]), None) for word in (one, other)]
        if None not in places and places[0] != places[1]:
            return True
    return False


@lru_cache(maxsize=65536)
def is_a(label: str, said: str) -> bool:
    """Return True if a word applies to an object with this label: the label means the same or is narrower.

    A label that lists alternatives names each of them. A compound is a kind of its head noun: a *dining table* is a *table*, a
    *ball of yarn* a *ball*. A label in the plural names what the singular does.

    >>> is_a("woman", "person"), is_a("person", "woman"), is_a("woman", "man"), is_a("cup", "bottle")
    (True, False, False, False)
    >>> is_a("sofa", "couch"), is_a("dining table", "table"), is_a("cup/glass/bottle", "cup")
    (True, True, True)
    """
    label, said = label.casefold().replace("_", " "), said.casefold().replace("_", " ")
    if label == said:
        return True
    return any(_is_kind(one, other) for one in label.split("/") for other in said.split("/"))


_AMOUNTS = frozenset({"pair", "piece", "slice", "bunch", "group", "set", "stack", "pile", "sheet"})
"""A *piece of paper* is paper; a *ball of yarn* is a ball."""


def _is_kind(narrow: str, wide: str) -> bool:
    if narrow == wide or narrow in KINDS.get(wide, ()):
        return True
    front, of, back = narrow.partition(" of ")
    head = (front if of and front not in _AMOUNTS else back or narrow).rpartition(" ")[2]
    if head == narrow and narrow not in KINDS and narrow.endswith("s"):
        return _is_kind(narrow[:-1], wide)
    return head != narrow and narrow not in SYNONYMS and (head == wide or head in KINDS.get(wide, ()))


def may_mean(said: str, label: str) -> bool:
    """Return True if a word may refer to an object with this label: the same, wider, or narrower, but no sister of it.

    >>> may_mean("man", "person"), may_mean("person", "man"), may_mean("dining table", "table")
    (True, True, True)
    >>> may_mean("chair", "table"), may_mean("man", "woman")
    (False, False)
    """
    return is_a(label, said) or is_a(said, label)


@lru_cache(maxsize=65536)
def can_be_seen(noun: str) -> bool:
    """Return True if a noun names something that a frame could show.

    >>> [can_be_seen(noun) for noun in ("cup", "purpose", "relaxation", "television", "zorb")]
    [True, False, False, True, True]
    """
    head = noun.rpartition(" ")[2]
    if len(noun) < 2:  # *option C*
        return False
    if noun in CONCRETE_NOUNS or noun in KINDS:
        return noun not in ABSTRACT_NOUNS
    if head in ABSTRACT_NOUNS or noun in ABSTRACT_NOUNS:
        return False
    if head in CONCRETE_NOUNS:
        return True
    return not head.endswith(ABSTRACT_ENDINGS) or len(head) <= 5
