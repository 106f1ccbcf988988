"""The words that claims are made of: what can be seen, what cannot, and which words mean the same.

All words are lemmas in lower case. A noun that is in none of the lists counts as visible unless its ending says otherwise,
since no list of things is complete.

Synonyms are decided here and nowhere else. `SYNONYMS` groups nouns, verbs and relations that may stand for each other when
a claim is matched with a label (`may_mean`). `same_relation` and `same_attribute` give one spelling to relations and
attributes that mean the same, before they are compared.
"""

from __future__ import annotations

from functools import lru_cache

from theodolite.answers.numbers import NUMBER_WORDS


def word_set(text: str) -> frozenset[str]:
    """The words of a text. An underscore stands for a space within a word."""
    return frozenset(word.replace("_", " ") for word in text.split())


COLOURS = word_set(
    "red orange yellow green blue purple violet pink brown black white grey gray silver gold golden beige tan navy teal"
    " turquoise cyan magenta maroon cream olive crimson scarlet indigo lavender dark light blond blonde colorful"
    " colourful multicolored"
)
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

ATTRIBUTES: dict[str, str] = {
    word: name
    for name, words in (
        ("colour", COLOURS),
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

NUMBERS: dict[str, int] = {word: number for number, word in enumerate(NUMBER_WORDS[:13])}

ABSTRACT_NOUNS = word_set(
    "ability act action activity adaptability addition advantage aim alternative amount analysis answer appearance"
    " approach area arrangement aspect assumption atmosphere attempt attention background basis beginning behavior"
    " behaviour belief bottom break care case cause challenge chance change choice chore clue colour color combination"
    " comfort communication completion conclusion condition confidence connection consideration content contents context"
    " conversation convenience couple cue day decision decrease degree design charge contrast height diameter width touch ambiance description desire detail"
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
    " side sign signal significance similarity situation size snippet society something somewhere sort sound space"
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

ABSTRACT_ENDINGS = tuple(
    word_set("tion sion ness ity ment ance ence ism ship hood dom ing acy ology graphy ude cy")
)

PRONOUNS = word_set(
    "i you he she it they we him her them us me one anyone someone everyone nobody everybody somebody who which that what"
)
FIRST_PERSON = word_set("i we me us my our")
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
    " interpret conclude imagine hypothesise hypothesize deduce"
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
    " interpret deduce imagine suppose presume hypothesize accompany dedicate equip comprise"
)
"""Verbs for what no frame shows: being, having, showing, meaning."""

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
    " find cut serve balance stick attach mount spread arrange organize organise rearrange clean"
)
"""Verbs that locate their object, not their subject: *puts the book on the table*."""

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

OPPOSITES: dict[str, str] = {
    a: b
    for pair in (
        ("left of", "right of"),
        ("in front of", "behind"),
        ("above", "below"),
        ("over", "under"),
        ("inside", "outside"),
        ("before", "after"),
        ("turn left", "turn right"),
        ("move forward", "move backward"),
        ("look up", "look down"),
        ("north of", "south of"),
        ("east of", "west of"),
        ("at the top of", "at the bottom of"),
        ("near", "far from"),
        ("pick up", "put down"),
        ("open", "close"),
        ("enter", "leave"),
        ("sit down", "stand up"),
        ("go up", "go down"),
        ("turn on", "turn off"),
        ("appear", "disappear"),
    )
    for a, b in (pair, pair[::-1])
}
"""Relations, motions and actions -> their opposites."""

TEMPORAL_CUES: dict[str, str] = {
    **dict.fromkeys(("before", "prior", "until"), "before"),
    **dict.fromkeys(("after", "once", "since", "following"), "after"),
    **dict.fromkeys(("while", "when", "as", "meanwhile", "simultaneously", "during", "whilst"), "while"),
    **dict.fromkeys(("then", "next", "afterwards", "afterward", "subsequently", "later"), "then"),
    **dict.fromkeys(("first", "initially", "originally"), "first"),
    **dict.fromkeys(("finally", "lastly", "eventually", "ultimately"), "last"),
}
"""A word that orders events -> the order."""

_SYNONYMS = (
    (
        "person man woman boy girl human individual guy lady people someone child kid adult player gentleman pedestrian figure subject"
        " baby toddler teenager worker"
    ),
    "sofa couch settee loveseat",
    "television tv telly monitor tv_screen",
    "phone cellphone cell_phone smartphone mobile_phone telephone mobile phone/camera camera",
    "cup mug glass bottle cup/glass/bottle tumbler beverage drink",
    "table desk dining_table countertop counter coffee_table",
    "refrigerator fridge",
    "wardrobe closet cupboard cabinet closet/cabinet pantry",
    "laptop computer notebook",
    "bag backpack purse handbag suitcase rucksack",
    "box package carton container crate",
    "towel cloth",
    "clothes clothing garment shirt outfit laundry t-shirt",
    "shoe boot sneaker sandal footwear",
    "dish plate bowl saucer",
    "picture photo photograph painting frame image poster",
    "floor ground",
    "door doorway entrance gate",
    "doorknob knob door_handle",
    "rug carpet mat",
    "bin trash_can garbage_can wastebasket garbagecan",
    "stove oven cooker stoveburner burner",
    "sink basin sinkbasin",
    "lamp light floor_lamp desk_lamp",
    "stair stairs staircase stairway step",
    "hallway hall corridor passage",
    "living_room lounge",
    "bathroom restroom toilet washroom",
    "ball sphere",
    "cube block",
    "bicycle bike",
    "car automobile vehicle",
    "sandwich burger",
    "blanket quilt duvet comforter",
    "pillow cushion",
    "broom mop",
    "food meal snack",
    "book magazine novel",
    "remote remote_control controller",
    "grey gray",
    "hold grasp grip carry clutch",
    "pick_up take grab lift pick collect get",
    "put_down place put set lay drop set_down put_on",
    "throw toss hurl",
    "walk move go step travel stroll head proceed",
    "turn rotate pan spin swivel",
    "sit sit_down seat",
    "stand stand_up rise get_up",
    "lie lie_down lay_down recline",
    "close shut",
    "open unlock",
    "look watch view look_at gaze stare observe glance",
    "eat consume bite",
    "drink sip drink_from",
    "enter walk_into come_in go_into",
    "leave exit walk_out go_out depart",
    "collide hit bump crash strike",
    "tidy tidy_up clean clean_up organize organise",
    "wash rinse",
    "toggle_on turn_on switch_on",
    "toggle_off turn_off switch_off",
    "slice cut chop",
    "on upon atop",
    "near next_to by beside close_to alongside adjacent_to",
    "below under beneath underneath",
    "inside in within into",
    "in_front_of",
)


def _groups() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in _SYNONYMS:
        group = word_set(line)
        for word in group:
            found[word] = found.get(word, frozenset()) | group
    return found


SYNONYMS = _groups()
"""A word -> all words that may stand for the same thing, including itself."""

_SAME_RELATIONS = {
    **dict.fromkeys(("under", "underneath", "beneath"), "below"),
    "over": "above",
    **dict.fromkeys(("next to", "beside", "by"), "near"),
    **dict.fromkeys(("in", "within"), "inside"),
}
_SAME_ATTRIBUTES = {"gray": "grey", "golden": "gold", "wood": "wooden", "little": "small", "big": "large"}


def same_relation(relation: str) -> str:
    """The one spelling of relations that mean the same.

    >>> same_relation("underneath"), same_relation("left of")
    ('below', 'left of')
    """
    return _SAME_RELATIONS.get(relation, relation)


def same_attribute(word: str) -> str:
    """The one spelling of attributes that mean the same.

    >>> same_attribute("big"), same_attribute("red")
    ('large', 'red')
    """
    return _SAME_ATTRIBUTES.get(word, word)


@lru_cache(maxsize=65536)
def may_mean(said: str, label: str) -> bool:
    """True if a word of a trace may name what carries a label.

    The two are equal or synonyms, or the word is one part of a label such as ``cup/glass/bottle``, or they have the same
    head noun: a *dining table* is a *table*. Synonyms are wide, because with a closed list of labels *mug* must find *cup*.

    >>> may_mean("man", "person"), may_mean("dining table", "table"), may_mean("cup", "cup/glass/bottle")
    (True, True, True)
    >>> may_mean("chair", "table")
    False
    """
    said, label = said.casefold().replace("_", " "), label.casefold().replace("_", " ")
    if said == label or label in SYNONYMS.get(said, ()):
        return True
    saids, labels = (word.split("/") for word in (said, label))
    if any(a == b or b in SYNONYMS.get(a, ()) for a in saids for b in labels):
        return True
    heads = said.rpartition(" ")[2], label.rpartition(" ")[2]
    if heads[0] == heads[1]:
        # "dining table" may be a "table", but a "red table" is no "coffee table" of another label's making
        return " " not in said or " " not in label
    return heads[1] == said or heads[0] == label


@lru_cache(maxsize=65536)
def can_be_seen(noun: str) -> bool:
    """True if a noun names something that a frame could show.

    >>> [can_be_seen(noun) for noun in ("cup", "purpose", "relaxation", "television", "zorb")]
    [True, False, False, True, True]
    """
    head = noun.rpartition(" ")[2]
    if noun in CONCRETE_NOUNS or noun in SYNONYMS:
        return noun not in ABSTRACT_NOUNS
    if head in ABSTRACT_NOUNS or noun in ABSTRACT_NOUNS:
        return False
    if head in CONCRETE_NOUNS:
        return True
    return not head.endswith(ABSTRACT_ENDINGS) or len(head) <= 5
