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

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

Row = tuple[str, str, str, str, int]
"""Word, lemma, tag, relation, and index of the head in the sentence."""

_BEINGS = (
    "person man woman boy girl child dog cat chef waiter player cyclist robot agent nurse farmer rider skater surfer tourist worker"
    " teacher student bird horse baby guest driver pedestrian musician lady officer toddler puppy elephant cow sheep duck swimmer"
    " customer friend mother father brother skier batter catcher goalkeeper photographer painter gardener vendor"
).split()
_THINGS = (
    "ball cube box chair table door key cup book cylinder sphere cone car sofa bed lamp window shelf bottle plate bag phone laptop broom"
    " towel shoe picture tree bowl pillow blanket fridge sink plant star triangle block drawer mug knife apple potato pan toaster faucet"
    " mirror hat jacket umbrella guitar bicycle bench basket candle clock coat curtain desk fence flag flower fork glove helmet kettle"
    " ladder lemon monitor mouse keyboard newspaper orange paper pen pencil pizza printer racket ring rope rug sandwich scarf shirt"
    " skateboard spoon stool stove suitcase surfboard tent tie toy train truck van vase wallet watch wheel whistle banana armchair backpack"
    " balloon bucket bus cabinet cake camera candle cloth cookie cupboard dress drum frame hammer jar jug kite lid letter log menu microwave"
    " necklace oven parcel piano pot purse ramp remote sign skirt snack sock stick stone sweater tray trolley tub wagon teapot magazine"
    " blade handle photograph painting poster television radio telescope tomato carrot egg burger bike motorcycle boat stroller ornament"
).split()
_PLACES = (
    "room kitchen hallway corridor street floor counter garden park beach field yard garage bathroom bedroom office porch road bridge"
    " station platform stage sidewalk wall ground grass balcony staircase doorway entrance corner pool river lake hill courtyard"
).split()
_MASS = "water coffee milk juice soup rice tea wine sand snow grass food paint bread hair wood furniture traffic clothing ice fruit".split()
_PLURAL_ONLY = "glasses scissors trousers jeans pants shorts sunglasses clothes stairs headphones".split()
_JOINED = (
    "dining+table coffee+table living+room front+door water+bottle tennis+racket baseball+bat baseball+cap police+officer ice+cream"
    " kitchen+counter traffic+light fire+hydrant hot+dog parking+lot picture+frame desk+lamp coffee+machine shopping+bag paper+towel"
    " oven+mitt cell+phone trash+can car+door school+bus soccer+ball book+shelf toilet+roll hardwood+floor wine+glass window+sill street+sign gas+stove teddy+bear shoe+rack vacuum+cleaner remote+control office+chair"
).split()
_COLOURS = "red blue green yellow purple grey orange white black brown pink cyan silver beige golden dark light".split()
_ADJECTIVES = (
    "small large big wooden tall short long round square old young new empty metal plastic glass striped dirty clean narrow wide thick thin"
    " heavy bright shiny broken closed open little huge tiny rectangular ceramic leather elderly flat oval metallic"
).split()
_SAID = (
    *_COLOURS[:14],
    *"small large big tall short long round square old young new heavy thick thin narrow wide shiny".split(),
)
_STATES = "open empty full stationary broken visible dirty clean wet dry red blue green white asleep awake present still ready locked closed lit".split()
_COMPARED = "taller larger bigger smaller shorter longer wider narrower darker brighter closer nearer heavier thicker older younger higher lower cleaner faster slower farther".split()
_MOST = "tallest largest biggest smallest shortest longest widest nearest closest farthest darkest oldest fastest highest lowest brightest".split()
_TRANSITIVE = (
    "hit open close hold push drop enter leave touch carry throw cross approach pass watch take wash eat use grab move slice follow cover"
    " wear clean drink play read cut chop stir feed pull kick catch lift ride drive chase face paint fix fold hang climb kiss pet brush"
    " water plant cook stack wipe sweep peel pour squeeze shake rinse dry open type write draw block surround greet help hug light"
    " show bring fill empty pick collect sort point swing taste bite walk guide repair polish break remove plug wave film photograph"
).split()
_INTRANSITIVE = (
    "sit stand lie stop roll fall wait disappear appear slide bounce rest walk run jump play sleep lean kneel swim dance smile laugh"
    " work talk sing cook eat drink move turn fly crawl float spin crouch skate climb hang step swing hide arrive bend cry wave"
).split()
_PARTICLE = "pick+up put+down turn+on turn+off take+off put+on tidy+up take+out switch+off pull+out push+away set+down put+away clean+up lift+up fill+up knock+over pull+up".split()
_ALONE = "sit+down stand+up lie+down fall+over get+up turn+around bend+down slow+down come+in walk+away run+off".split()
_GIVING = "give hand pass throw offer show bring feed pour send toss serve".split()
_GOING = (
    "walk+to go+into run+toward walk+through look+at point+at collide+with bump+into move+past jump+onto climb+into step+onto"
    " walk+into fall+off jump+off roll+toward talk+to play+with lean+on walk+across run+through roll+into drive+past fly+over swim+across"
    " wave+at smile+at walk+towards come+from crash+into knock+on walk+along go+through move+toward wait+for"
).split()
_PREPOSITIONS = "on on on in in under behind near near beside above below inside at by against beneath underneath over around along outside across".split()
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
    "hit drop stop grab chop run sit cut step swim hug stir spin pet plug put set get let".split()
)
_IRREGULAR = {
    "man": "men", "woman": "women", "child": "children", "person": "people", "knife": "knives", "shelf": "shelves", "scarf": "scarves",
    "sheep": "sheep", "mouse": "mice", "officer": "officers",
}  # fmt: skip

_WORDS = {
    "is": ("be", "VBZ"), "are": ("be", "VBP"), "was": ("be", "VBD"), "were": ("be", "VBD"), "be": ("be", "VB"), "being": ("be", "VBG"),
    "been": ("be", "VBN"), "am": ("be", "VBP"), "has": ("have", "VBZ"), "have": ("have", "VBP"), "does": ("do", "VBZ"),
    "do": ("do", "VBP"), "did": ("do", "VBD"), "not": ("not", "RB"), "n't": ("not", "RB"), "no": ("no", "DT"), "never": ("never", "RB"),
    "still": ("still", "RB"), "also": ("also", "RB"), "now": ("now", "RB"), "then": ("then", "RB"), "so": ("so", "RB"),
    "there": ("there", "EX"), "the": ("the", "DT"), "a": ("a", "DT"), "any": ("any", "DT"), "all": ("all", "DT"), "both": ("both", "DT"),
    "and": ("and", "CC"), "or": ("or", "CC"), "but": ("but", "CC"), "nor": ("nor", "CC"), "neither": ("neither", "CC"),
    "of": ("of", "IN"), "on": ("on", "IN"), "in": ("in", "IN"), "at": ("at", "IN"), "to": ("to", "IN"), "TO": ("to", "TO"),
    "with": ("with", "IN"), "without": ("without", "IN"), "by": ("by", "IN"), "from": ("from", "IN"), "into": ("into", "IN"),
    "between": ("between", "IN"), "than": ("than", "IN"), "as": ("as", "IN"), "AS": ("as", "RB"), "while": ("while", "IN"),
    "after": ("after", "IN"), "before": ("before", "IN"), "because": ("because", "IN"), "since": ("since", "IN"), "if": ("if", "IN"),
    "that": ("that", "IN"), "until": ("until", "IN"), "when": ("when", "WRB"), "who": ("who", "WP"), "which": ("which", "WDT"),
    "THAT": ("that", "WDT"), "where": ("where", "WRB"), "I": ("I", "PRP"), "we": ("we", "PRP"), "it": ("it", "PRP"), "my": ("my", "PRP$"),
    "his": ("his", "PRP$"), "her": ("her", "PRP$"), "its": ("its", "PRP$"), "me": ("I", "PRP"), "him": ("he", "PRP"),
    ",": (",", ","), "can": ("can", "MD"), "could": ("could", "MD"), "might": ("might", "MD"), "must": ("must", "MD"),
    "see": ("see", "VBP"), "seen": ("see", "VBN"), "SEE": ("see", "VB"), "image": ("image", "NN"), "photo": ("photo", "NN"),
    "room": ("room", "NN"), "video": ("video", "NN"), "picture": ("picture", "NN"), "frame": ("frame", "NN"), "scene": ("scene", "NN"), "center": ("center", "NN"),
    "middle": ("middle", "NN"), "side": ("side", "NN"), "LEFT": ("left", "JJ"), "RIGHT": ("right", "JJ"), "left": ("left", "NN"),
    "right": ("right", "NN"), "background": ("background", "NN"), "foreground": ("foreground", "NN"), "front": ("front", "NN"),
    "top": ("top", "NN"), "end": ("end", "NN"), "shows": ("show", "VBZ"), "features": ("feature", "VBZ"), "depicts": ("depict", "VBZ"),
    "contains": ("contain", "VBZ"), "captures": ("capture", "VBZ"), "remains": ("remain", "VBZ"), "stays": ("stay", "VBZ"),
    "remain": ("remain", "VBP"), "becomes": ("become", "VBZ"), "turns": ("turn", "VBZ"), "looks": ("look", "VBZ"),
    "seems": ("seem", "VBZ"), "appears": ("appear", "VBZ"), "begins": ("begin", "VBZ"), "starts": ("start", "VBZ"),
    "continues": ("continue", "VBZ"), "keeps": ("keep", "VBZ"), "stops": ("stop", "VBZ"), "finishes": ("finish", "VBZ"),
    "wants": ("want", "VBZ"), "tries": ("try", "VBZ"), "placed": ("place", "VBN"), "located": ("locate", "VBN"),
    "positioned": ("position", "VBN"), "situated": ("situate", "VBN"), "parked": ("park", "VBN"), "mounted": ("mount", "VBN"),
    "surrounded": ("surround", "VBN"), "filled": ("fill", "VBN"), "covered": ("cover", "VBN"), "made": ("make", "VBN"),
    "painted": ("paint", "VBN"), "visible": ("visible", "JJ"), "next": ("next", "RB"), "close": ("close", "RB"), "most": ("most", "JJS"),
    "least": ("least", "JJS"), "more": ("more", "JJR"), "MORE": ("more", "RBR"), "fewer": ("few", "JJR"), "none": ("none", "NN"),
    "one": ("one", "CD"), "nobody": ("nobody", "NN"), "nothing": ("nothing", "NN"), "someone": ("someone", "NN"),
    "anything": ("anything", "NN"), "each": ("each", "DT"), "every": ("every", "DT"), "several": ("several", "JJ"),
    "many": ("many", "JJ"), "only": ("only", "RB"), "exactly": ("exactly", "RB"), "just": ("just", "RB"), "first": ("first", "RB"),
    "slowly": ("slowly", "RB"), "quickly": ("quickly", "RB"), "longer": ("longer", "RBR"), "NO": ("no", "RB"), "likely": ("likely", "RB"),
    "probably": ("probably", "RB"), "therefore": ("therefore", "RB"), "Therefore": ("therefore", "RB"), "hand": ("hand", "NN"),
    "hands": ("hand", "NNS"), "making": ("make", "VBG"), "providing": ("provide", "VBG"), "answer": ("answer", "NN"),
    "ahead": ("ahead", "RB"), "straight": ("straight", "RB"), "main": ("main", "JJ"), "focus": ("focus", "NN"),
    "what": ("what", "WP"), "surface": ("surface", "NN"), "relatively": ("relatively", "RB"), "very": ("very", "RB"),
    "size": ("size", "NN"), "color": ("color", "NN"), "way": ("way", "NN"), "back": ("back", "NN"), "missing": ("miss", "VBG"),
    "means": ("mean", "VBZ"), "think": ("think", "VBP"), "suggests": ("suggest", "VBZ"), "her.": ("she", "PRP"), "them": ("they", "PRP"),
    "they": ("they", "PRP"), "he": ("he", "PRP"), "she": ("she", "PRP"), "other": ("other", "JJ"), "wood": ("wood", "NN"),
    "metal": ("metal", "NN"), "hers": ("hers", "PRP"), "again": ("again", "RB"), "together": ("together", "RB"), "out": ("out", "IN"),
    "towards": ("towards", "IN"), "toward": ("toward", "IN"), "past": ("past", "IN"), "through": ("through", "IN"), "up": ("up", "IN"),
    "much": ("much", "RB"), "near": ("near", "IN"), "?": ("?", "."), "about": ("about", "IN"), "will": ("will", "MD"), "should": ("should", "MD"), "upside": ("upside", "RB"), "half": ("half", "NN"),
}  # fmt: skip

PATTERNS = """
S:nsubj>1 T3:ROOT>1 O:obj>1
S:nsubj>1 T3:ROOT>1 O:obj>1 L:obl>1
P:nsubj>1 TP:ROOT>1 O:obj>1
P:nsubj>1 TP:ROOT>1 O:obj>1 L:obl>1
S:nsubj>2 is:aux>2 TG:ROOT>2 O:obj>2
S:nsubj>2 is:aux>2 TG:ROOT>2 O:obj>2 L:obl>2
P:nsubj>2 are:aux>2 TG:ROOT>2 O:obj>2
S:nsubj>1 TD:ROOT>1 O:obj>1
S:nsubj>2 has:aux>2 TN:ROOT>2 O:obj>2
S:nsubj>1 I3:ROOT>1
S:nsubj>1 I3:ROOT>1 L:obl>1
P:nsubj>1 IP:ROOT>1
P:nsubj>1 IP:ROOT>1 L:obl>1
S:nsubj>2 is:aux>2 IG:ROOT>2 L:obl>2
P:nsubj>2 are:aux>2 IG:ROOT>2 L:obl>2
S:nsubj>1 ID:ROOT>1 L:obl>1
H:nsubj>1 T3:ROOT>1 O:obj>1
H:nsubj>1 I3:ROOT>1 L:obl>1
H:nsubj>2 is:aux>2 TG:ROOT>2 O:obj>2
S:nsubj>1 T3:ROOT>1 O:obj>1 and:cc>4 T3:conj>1 O:obj>4
S:nsubj>1 I3:ROOT>1 L:obl>1 and:cc>4 T3:conj>1 O:obj>4
S:nsubj>2 is:aux>2 TG:ROOT>2 O:obj>2 and:cc>5 TG:conj>2 O:obj>5
S:nsubj>2 is:aux>2 TG:ROOT>2 O:obj>2 and:cc>5 IG:conj>2
S:nsubj>1 T3:ROOT>1 and:cc>3 T3:conj>1 O:obj>1
S:nsubj>1 I3:ROOT>1 and:cc>3 I3:conj>1
S:nsubj>1 T3:ROOT>1 O:obj>1 while:mark>5 S:nsubj>5 T3:advcl>1 O:obj>5
S:nsubj>1 T3:ROOT>1 O:obj>1 while:mark>5 S:nsubj>5 I3:advcl>1
S:nsubj>1 I3:ROOT>1 while:mark>4 S:nsubj>4 I3:advcl>1
S:nsubj>1 I3:ROOT>1 L:obl>1 while:mark>4 TG:advcl>1 O:obj>4
after:mark>2 S:nsubj>2 T3:advcl>6 O:obj>2 ,:punct>2 S:nsubj>6 I3:ROOT>6
before:mark>1 TG:advcl>5 O:obj>1 ,:punct>1 S:nsubj>5 T3:ROOT>5 O:obj>5
as:mark>2 S:nsubj>2 I3:advcl>5 ,:punct>2 S:nsubj>5 T3:ROOT>5 O:obj>5
when:advmod>2 S:nsubj>2 T3:advcl>6 O:obj>2 ,:punct>2 S:nsubj>6 T3:ROOT>6 O:obj>6
S:nsubj>1 I3:ROOT>1 before:mark>3 TG:advcl>1 O:obj>3
S:nsubj>1 T3:ROOT>1 O:obj>1 ,:punct>5 then:advmod>5 T3:conj>1 O:obj>5
S:nsubj>1 T3:ROOT>1 O:obj>1 and:cc>5 then:advmod>5 I3:conj>1 L:obl>5
S:nsubj>1 T3:ROOT>1 O:obj>1 until:mark>5 S:nsubj>5 I3:advcl>1
S:nsubj>1 I3:ROOT>1 L:obl>1 ,:punct>4 TG:advcl>1 O:obj>4
S:nsubj>2 is:aux>2 IG:ROOT>2 L:obl>2 ,:punct>5 TG:advcl>2 O:obj>5
S:nsubj>2 is:aux>2 IG:ROOT>2 L:obl>2 ,:punct>5 IG:advcl>2 L:obl>5
S:nsubj>2 is:aux>2 IG:ROOT>2 L:obl>2 TG:advcl>2 O:obj>4
S:nsubj>1 X3:ROOT>1 XP:compound:prt>1 O:obj>1
S:nsubj>1 X3:ROOT>1 O:obj>1 XP:compound:prt>1
H:nsubj>1 X3:ROOT>1 XP:compound:prt>1 O:obj>1
S:nsubj>2 is:aux>2 XG:ROOT>2 XP:compound:prt>2 O:obj>2
S:nsubj>1 Y3:ROOT>1 YP:compound:prt>1
S:nsubj>1 Y3:ROOT>1 YP:compound:prt>1 L:obl>1
P:nsubj>1 YB:ROOT>1 YP:compound:prt>1
S:nsubj>1 Z3:ROOT>1 ZP:case>3 G:obl>1
S:nsubj>2 is:aux>2 ZG:ROOT>2 ZP:case>4 G:obl>2
P:nsubj>1 ZB:ROOT>1 ZP:case>3 G:obl>1
H:nsubj>1 Z3:ROOT>1 ZP:case>3 G:obl>1
S:nsubj>1 V3:ROOT>1 S:iobj>1 O:obj>1
H:nsubj>1 V3:ROOT>1 S:iobj>1 O:obj>1
S:nsubj>1 V3:ROOT>1 him:iobj>1 O:obj>1
S:nsubj>1 V3:ROOT>1 O:obj>1 to:case>4 S:obl>1
H:nsubj>1 T3:ROOT>1 O:obj>1 from:case>4 G:obl>1
S:nsubj>1 T3:ROOT>1 O:obj>1 into:case>4 G:obl>1
O:nsubj:pass>2 is:aux:pass>2 TN:ROOT>2 by:case>4 S:obl:agent>2
N:nsubj:pass>3 is:aux>3 being:aux:pass>3 TN:ROOT>3 by:case>5 S:obl:agent>3
N:nsubj:pass>3 has:aux>3 been:aux:pass>3 TN:ROOT>3
N:nsubj:pass>2 is:aux:pass>2 TN:ROOT>2 L:obl>2
N:nsubj:pass>2 is:aux:pass>2 placed:ROOT>2 L:obl>2
N:nsubj:pass>2 is:aux:pass>2 located:ROOT>2 L:obl>2
N:nsubj:pass>2 is:aux:pass>2 positioned:ROOT>2 L:obl>2
N:nsubj:pass>2 is:aux:pass>2 parked:ROOT>2 L:obl>2
N:nsubj:pass>2 is:aux:pass>2 mounted:ROOT>2 L:obl>2
P:nsubj:pass>2 are:aux:pass>2 placed:ROOT>2 L:obl>2
it:nsubj:pass>2 is:aux:pass>2 placed:ROOT>2 L:obl>2
N:nsubj:pass>2 is:aux:pass>2 located:ROOT>2 L:obl>2 ,:punct>5 L:obl>2
N:nsubj:pass>2 is:aux:pass>2 placed:ROOT>2 L:obl>2 ,:punct>7 and:cc>7 N:nsubj>7 L:conj>2
N:nsubj:pass>2 is:aux:pass>2 positioned:ROOT>2 L:obl>2 ,:punct>5 TG:advcl>2 O:obj>5
N:nsubj:pass>2 is:aux:pass>2 placed:ROOT>2 on:case>4 F:obl>2 L:obl>2
N:nsubj:pass>2 is:aux:pass>2 surrounded:ROOT>2 by:case>4 P:obl:agent>2
N:nsubj:pass>2 is:aux:pass>2 filled:ROOT>2 with:case>4 O:obl>2
N:nsubj:pass>2 is:aux:pass>2 covered:ROOT>2 with:case>4 O:obl>2
N:nsubj:pass>2 is:aux:pass>2 covered:ROOT>2 in:case>4 O:obl>2
N:nsubj:pass>2 is:aux:pass>2 made:ROOT>2 of:case>4 wood:obl>2
N:nsubj:pass>2 is:aux:pass>2 painted:ROOT>2 K:xcomp>2
N:nsubj>2 is:cop>2 Q:ROOT>2
N:nsubj>2 is:cop>2 J:ROOT>2
P:nsubj>2 are:cop>2 Q:ROOT>2
P:nsubj>2 are:cop>2 J:ROOT>2
it:nsubj>2 is:cop>2 J:ROOT>2
N:nsubj>3 is:cop>3 relatively:advmod>3 J:ROOT>3
N:nsubj>2 is:cop>2 J:ROOT>2 and:cc>4 J:conj>2
N:nsubj>2 is:cop>2 J:ROOT>2 ,:punct>7 and:cc>7 N:nsubj>7 is:cop>7 J:conj>2
N:nsubj>2 is:cop>2 K:ROOT>2 ,:punct>6 N:nsubj>6 is:cop>6 K:parataxis>2 and:cc>10 N:nsubj>10 is:cop>10 K:conj>2
N:nsubj>2 is:cop>2 J:ROOT>2 and:cc>4 has:conj>2 O:obj>4
N:nsubj>2 is:cop>2 K:ROOT>2 and:cc>5 is:aux:pass>5 placed:conj>2 L:obl>5
N:nsubj>2 is:cop>2 K:ROOT>2 and:cc>4 located:conj>2 L:obl>4
N:nsubj>2 is:cop>2 K:ROOT>2 ,:punct>5 with:case>5 O:obl>2
N:nsubj>2 is:cop>2 N:ROOT>2
it:nsubj>2 is:cop>2 N:ROOT>2
S:nsubj>2 is:cop>2 S:ROOT>2
N:nsubj>2 is:cop>2 N:ROOT>2 with:case>4 O:nmod>2
N:nsubj>2 is:cop>2 N:ROOT>2 ,:punct>6 which:nsubj:pass>6 is:aux:pass>6 placed:acl:relcl>2 L:obl>6
N:nsubj>2 is:cop>2 N:ROOT>2 ,:punct>7 and:cc>7 it:nsubj:pass>7 is:aux:pass>7 placed:conj>2 L:obl>7
N:nsubj>3 is:cop>3 the:det>3 M:ROOT>3
N:nsubj>4 is:cop>4 the:det>4 M:amod>4 NX:ROOT>4
N:nsubj>4 is:cop>4 the:det>4 M:amod>4 NX:ROOT>4 in:case>6 G:nmod>4
the:det>2 M:amod>2 NX:nsubj>4 is:cop>4 K:ROOT>4
the:det>2 M:amod>2 NX:nsubj>5 is:cop>5 LC0:case>5 G:ROOT>5
N:nsubj>2 is:cop>2 R:ROOT>2 than:case>4 N:obl>2
S:nsubj>2 is:cop>2 R:ROOT>2 than:case>4 S:obl>2
N:nsubj>3 is:cop>3 much:advmod>3 R:ROOT>3 than:case>5 N:obl>3
N:nsubj>3 is:cop>3 AS:advmod>3 J:ROOT>3 as:case>5 N:obl>3
N:nsubj>4 is:cop>4 not:advmod>4 AS:advmod>4 J:ROOT>4 as:case>6 N:obl>4
N:nsubj>3 is:cop>3 MORE:advmod>3 J:ROOT>3 than:case>5 N:obl>3
S:nsubj>1 I3:ROOT>1 MORE:advmod>3 slowly:advmod>1 than:case>5 S:obl>3
there:expl>1 are:ROOT>1 more:amod>3 PX:nsubj>1 than:case>5 PX:nmod>3
there:expl>1 is:ROOT>1 N:nsubj>1
there:expl>1 is:ROOT>1 N:nsubj>1 L:obl>1
there:expl>1 are:ROOT>1 P:nsubj>1 L:obl>1
there:expl>1 are:ROOT>1 P:nsubj>1
there:expl>1 is:ROOT>1 S:nsubj>1 TG:acl>2 O:obj>3
there:expl>1 is:ROOT>1 S:nsubj>1 IG:acl>2 L:obl>3
there:expl>1 are:ROOT>1 P:nsubj>1 IG:acl>2 L:obl>3
there:expl>1 is:ROOT>1 N:nsubj>1 with:case>4 O:nmod>2
there:expl>1 is:ROOT>1 no:det>3 NX:nsubj>1 L:obl>1
there:expl>1 are:ROOT>1 no:det>3 PX:nsubj>1 L:obl>1
in:case>2 the:det>2 image:obl>5 ,:punct>2 there:expl>5 is:ROOT>5 N:nsubj>5 L:obl>5
in:case>2 the:det>2 image:obl>6 ,:punct>2 S:nsubj>6 is:aux>6 TG:ROOT>6 O:obj>6
in:case>2 the:det>2 background:obl>4 ,:punct>2 I3:ROOT>4 S:nsubj>4
in:case>2 the:det>2 photo:obl>5 ,:punct>2 S:nsubj>5 I3:ROOT>5 L:obl>5
the:det>1 image:nsubj>2 shows:ROOT>2 N:obj>2
the:det>1 image:nsubj>2 features:ROOT>2 N:obj>2 with:case>5 O:nmod>3
the:det>1 image:nsubj>2 features:ROOT>2 N:obj>2 placed:acl>3 L:obl>4
the:det>1 picture:nsubj>2 shows:ROOT>2 S:obj>2 TG:acl>3 O:obj>4
the:det>1 video:nsubj>2 shows:ROOT>2 S:obj>2 IG:acl>3 L:obl>4
the:det>1 photo:nsubj>2 depicts:ROOT>2 S:obj>2 IG:acl>3 L:obl>4
the:det>1 room:nsubj>2 contains:ROOT>2 O:obj>2
the:det>1 frame:nsubj>2 captures:ROOT>2 S:obj>2 TG:acl>3 O:obj>4
S:nsubj:pass>2 is:aux:pass>2 seen:ROOT>2 TG:xcomp>2 O:obj>3
S:nsubj:pass>3 can:aux>3 be:aux:pass>3 seen:ROOT>3 IG:xcomp>3 L:obl>4
N:nsubj>2 is:cop>2 visible:ROOT>2 L:obl>2
I:nsubj>1 see:ROOT>1 O:obj>1 L:obl>1
I:nsubj>1 see:ROOT>1 S:obj>1 TG:acl>2 O:obj>3
I:nsubj>2 can:aux>2 SEE:ROOT>2 O:obj>2
I:nsubj>3 do:aux>3 not:advmod>3 SEE:ROOT>3 any:det>5 PX:obj>3
N:nsubj>1 has:ROOT>1 O:obj>1
S:nsubj>1 has:ROOT>1 O:obj>1 in:case>5 his:nmod:poss>5 hand:obl>1
P:nsubj>1 have:ROOT>1 O:obj>1
S:nsubj>1 has:ROOT>1 no:det>3 NX:obj>1
S:nsubj>3 with:case>2 O:nmod>0 T3:ROOT>3 O:obj>3
S:nsubj>4 with:case>2 O:nmod>0 is:aux>4 TG:ROOT>4 O:obj>4
S:nsubj>4 with:case>2 O:nmod>0 is:aux>4 IG:ROOT>4 L:obl>4
S:nsubj>4 without:case>2 O:nmod>0 is:aux>4 IG:ROOT>4 L:obl>4
S:nsubj>3 L:nmod>0 is:aux>3 TG:ROOT>3 O:obj>3
S:nsubj>2 L:nmod>0 T3:ROOT>2 O:obj>2
N:nsubj>3 L:nmod>0 is:cop>3 J:ROOT>3
N:nsubj>3 L:nmod>0 is:cop>3 R:ROOT>3 than:case>5 N:obl>3 L:nmod>5
S:nsubj>4 TG:acl>0 O:obj>1 is:aux>4 TG:ROOT>4 O:obj>4
S:nsubj>3 TG:acl>0 O:obj>1 T3:ROOT>3 O:obj>3
S:nsubj>4 IG:acl>0 L:obl>1 is:aux>4 TG:ROOT>4 O:obj>4
S:nsubj>5 TG:acl>0 O:obj>1 is:cop>5 LC0:case>5 G:ROOT>5
S:nsubj>6 who:nsubj>3 is:aux>3 IG:acl:relcl>0 L:obl>3 is:aux>6 TG:ROOT>6 O:obj>6
S:nsubj>4 who:nsubj>2 T3:acl:relcl>0 O:obj>2 I3:ROOT>4 L:obl>4
N:nsubj>5 THAT:nsubj>2 I3:acl:relcl>0 L:obl>2 is:cop>5 Q:ROOT>5
N:nsubj>8 ,:punct>4 which:nsubj:pass>4 is:aux:pass>4 placed:acl:relcl>0 L:obl>4 ,:punct>4 is:cop>8 J:ROOT>8
N:nsubj>5 THAT:obj>3 S:nsubj>3 T3:acl:relcl>0 is:cop>5 J:ROOT>5
N:nsubj>5 S:nsubj>3 is:aux>3 TG:acl:relcl>0 is:cop>5 J:ROOT>5
N:nsubj:pass>2 is:aux:pass>2 placed:ROOT>2 L:obl>2 ,:punct>7 with:mark>7 S:nsubj>7 IG:advcl>2 L:obl>7
N:nsubj>3 is:cop>3 LC0:case>3 G:ROOT>3 ,:punct>7 with:mark>7 N:nsubj>7 placed:advcl>3 L:obl>7
S:nsubj>1 I3:ROOT>1 L:obl>1 with:case>4 O:obl>1 LH:nmod>4
N:nsubj>2 is:cop>2 L:ROOT>2
P:nsubj>2 are:cop>2 L:ROOT>2
it:nsubj>2 is:cop>2 L:ROOT>2
N:nsubj>3 is:cop>3 not:advmod>3 L:ROOT>3
N:nsubj>3 is:cop>3 still:advmod>3 L:ROOT>3
N:nsubj>3 is:cop>3 now:advmod>3 L:ROOT>3
N:nsubj>3 is:cop>3 still:advmod>3 Q:ROOT>3
N:nsubj>4 is:cop>4 NO:advmod>3 longer:advmod>4 Q:ROOT>4
S:nsubj>4 is:aux>4 NO:advmod>3 longer:advmod>4 TG:ROOT>4 O:obj>4
S:nsubj>3 is:aux>3 still:advmod>3 TG:ROOT>3 O:obj>3
S:nsubj>3 is:aux>3 not:advmod>3 TG:ROOT>3 O:obj>3
S:nsubj>3 does:aux>3 not:advmod>3 TB:ROOT>3 O:obj>3
S:nsubj>3 did:aux>3 n't:advmod>3 TB:ROOT>3 O:obj>3
P:nsubj>3 do:aux>3 not:advmod>3 IB:ROOT>3
S:nsubj>2 never:advmod>2 T3:ROOT>2 O:obj>2
no:det>1 one:NN:nsubj>3 is:aux>3 IG:ROOT>3 L:obl>3
nobody:nsubj>2 is:aux>2 TG:ROOT>2 O:obj>2
nobody:nsubj>1 T3:ROOT>1 O:obj>1
nothing:nsubj>2 is:cop>2 L:ROOT>2
neither:cc:preconj>1 S:nsubj>5 nor:cc>3 S:conj>1 is:aux>5 TG:ROOT>5 O:obj>5
S:nsubj>3 is:cop>3 neither:cc:preconj>3 J:ROOT>3 nor:cc>5 J:conj>3
S:nsubj>1 T3:ROOT>1 O:obj>1 without:mark>4 TG:advcl>1 O:obj>4
N:nsubj>3 is:cop>3 not:advmod>3 J:ROOT>3 but:cc>5 J:conj>3
N:nsubj>3 is:cop>3 not:advmod>3 L:ROOT>3 but:cc>5 L:conj>3
S:nsubj>3 is:aux>3 not:advmod>3 TG:ROOT>3 O:obj>3 but:cc>6 O:conj>4
S:nsubj>1 T3:ROOT>1 not:advmod>3 O:obj>1 but:cc>5 O:conj>3
S:nsubj>3 is:aux>3 not:advmod>3 TG:ROOT>3 anything:obj>3
C:nsubj>5 of:case>3 the:det>3 PX:nmod>0 are:cop>5 J:ROOT>5
C:nsubj>5 of:case>3 the:det>3 PX:nmod>0 are:aux>5 TG:ROOT>5 O:obj>5
most:nsubj>5 of:case>3 the:det>3 PX:nmod>0 are:cop>5 J:ROOT>5
all:nsubj>5 of:case>3 the:det>3 PX:nmod>0 are:aux>5 TG:ROOT>5 O:obj>5
both:det>1 PX:nsubj>3 are:aux>3 TG:ROOT>3 O:obj>3
none:nsubj>5 of:case>3 the:det>3 PX:nmod>0 is:aux>5 TG:ROOT>5 O:obj>5
each:det>1 NX:nsubj>2 has:ROOT>2 O:obj>2
every:det>1 NX:nsubj>3 is:cop>3 L:ROOT>3
at:case>1 least:nmod>2 C:nummod>3 PX:nsubj>5 are:cop>5 Q:ROOT>5
more:advmod>2 than:fixed>0 C:nummod>3 PX:nsubj>5 are:aux>5 IG:ROOT>5 L:obl>5
only:advmod>1 C:nummod>2 PX:nsubj>4 are:cop>4 Q:ROOT>4
N:nsubj>1 remains:ROOT>1 Q:xcomp>1
N:nsubj>1 stays:ROOT>1 L:obl>1
N:nsubj>1 becomes:ROOT>1 Q:xcomp>1
N:nsubj>1 turns:ROOT>1 K:xcomp>1
N:nsubj>1 looks:ROOT>1 J:xcomp>1
S:nsubj>1 appears:ROOT>1 TO:mark>4 be:aux>4 TG:xcomp>1 O:obj>4
N:nsubj>1 appears:ROOT>1 TO:mark>4 be:cop>4 J:xcomp>1
N:nsubj>1 appears:ROOT>1 TO:mark>6 be:cop>6 the:det>6 main:amod>6 focus:xcomp>1 of:case>8 N:nmod>6
S:nsubj>1 begins:ROOT>1 TO:mark>3 TB:xcomp>1 O:obj>3
S:nsubj>1 starts:ROOT>1 TG:xcomp>1 O:obj>2
S:nsubj>1 keeps:ROOT>1 TG:xcomp>1 O:obj>2
S:nsubj>1 continues:ROOT>1 TO:mark>3 IB:xcomp>1 L:obl>3
S:nsubj>1 stops:ROOT>1 TG:xcomp>1 O:obj>2
S:nsubj>1 finishes:ROOT>1 TG:xcomp>1 O:obj>2
S:nsubj>1 wants:ROOT>1 TO:mark>3 TB:xcomp>1 O:obj>3
S:nsubj>1 tries:ROOT>1 TO:mark>3 TB:xcomp>1 O:obj>3
S:nsubj>2 might:aux>2 TB:ROOT>2 O:obj>2
S:nsubj>3 must:aux>3 be:aux>3 TG:ROOT>3 O:obj>3
if:mark>2 S:nsubj>2 T3:advcl>6 O:obj>2 ,:punct>2 S:nsubj>6 I3:ROOT>6
since:mark>3 N:nsubj>3 is:cop>3 J:advcl>7 ,:punct>3 N:nsubj>7 is:cop>7 L:ROOT>7
because:mark>2 S:nsubj>2 T3:advcl>6 O:obj>2 ,:punct>2 N:nsubj>6 I3:ROOT>6
N:nsubj>2 is:cop>2 L:ROOT>2 ,:punct>7 so:advmod>7 N:nsubj>7 is:cop>7 L:conj>2
Therefore:advmod>4 ,:punct>0 N:nsubj>4 is:cop>4 L:ROOT>4
so:advmod>3 N:nsubj>3 is:cop>3 L:ROOT>3
I:nsubj>1 think:ROOT>1 that:mark>4 S:nsubj>4 T3:ccomp>1 O:obj>4
I:nsubj>1 W3:ROOT>1 W:advmod>1
I:nsubj>1 W3:ROOT>1 W:advmod>1 past:case>4 G:obl>1
I:nsubj>1 W3:ROOT>1 W:advmod>1 and:cc>4 TB:conj>1 O:obj>4
I:nsubj>1 W3:ROOT>1 through:case>3 G:obl>1 and:cc>5 W3:conj>1 W:advmod>5
I:nsubj>1 TP:ROOT>1 G:obj>1
I:nsubj>1 TP:ROOT>1 O:obj>1 on:case>5 my:nmod:poss>5 right:obl>1
W3:VB:ROOT>0 W:advmod>0 at:case>3 G:obl>0
TB:ROOT>0 O:obj>0 and:cc>3 TB:conj>0 O:obj>3
W3:VB:ROOT>0 W:advmod>0 and:cc>3 W3:conj>0 into:case>5 G:obl>3
X3:VB:ROOT>0 XP:compound:prt>0 O:obj>0 and:cc>4 TB:conj>0 O:obj>4 L:obl>4
L:obl>1 I3:ROOT>1 S:nsubj>1
L:ROOT>0 is:cop>0 N:nsubj>0
L:obl>2 there:expl>2 is:ROOT>2 N:nsubj>2
IG:ROOT>0 L:obl>0 is:aux>0 S:nsubj>0
between:case>1 N:obl>5 and:cc>3 N:conj>1 there:expl>5 is:ROOT>5 N:nsubj>5
N:nsubj>3 is:cop>3 between:case>3 N:ROOT>3 and:cc>5 N:conj>3
S:nsubj>1 I3:ROOT>1 between:case>3 N:obl>1 and:cc>5 N:conj>3
is:cop>3 N:nsubj>3 LC0:case>3 G:ROOT>3 ?:punct>3
does:aux>2 S:nsubj>2 TB:ROOT>2 O:obj>2 ?:punct>2
who:nsubj>2 is:aux>2 TG:ROOT>2 O:obj>2 ?:punct>2
where:advmod>1 is:ROOT>1 N:nsubj>1 ?:punct>1
what:obj>3 is:aux>3 S:nsubj>3 TG:ROOT>3 ?:punct>3
P:nsubj>1 TP:ROOT>1 O:obj>1 and:cc>7 C:nsubj>7 of:case>6 them:nmod>4 IP:conj>1
P:nsubj>1 IP:ROOT>1 L:obl>1 and:cc>7 C:nsubj>7 of:case>6 them:nmod>4 TP:conj>1 O:obj>7
H:nsubj>3 has:aux>3 just:advmod>3 XN:ROOT>3 O:obj>3 XP:compound:prt>3
H:nsubj>2 has:aux>2 XN:ROOT>2 XP:compound:prt>2 O:obj>2
S:nsubj>2 is:aux>2 XG:ROOT>2 O:obj>2 XP:compound:prt>2
IG:ROOT>0 L:obl>0 are:aux>0 P:nsubj>0
L:obl>1 IP:ROOT>1 P:nsubj>1
L:ROOT>0 are:cop>0 P:nsubj>0
A3:nsubj>2 are:aux>2 IG:ROOT>2 L:obl>2
A3:nsubj>2 are:cop>2 L:ROOT>2
S:nsubj>1 T3:ROOT>1 A3:obj>1
S:nsubj>2 is:aux>2 TG:ROOT>2 A3:obj>2
N:nsubj>1 has:ROOT>1 O:obj>1 and:cc>4 O:conj>2
there:expl>1 is:ROOT>1 A3:nsubj>1 L:obl>1
I:nsubj>1 see:ROOT>1 A3:obj>1
N:nsubj>5 in:case>3 the:det>3 image:nmod>0 is:cop>5 K:ROOT>5 and:cc>7 placed:conj>5 L:obl>7
N:nsubj>5 in:case>3 the:det>3 image:nmod>0 is:cop>5 N:ROOT>5
N:nsubj>5 in:case>3 the:det>3 photo:nmod>0 is:cop>5 J:ROOT>5 and:cc>7 has:conj>5 O:obj>7
N:nsubj>3 is:cop>3 relatively:advmod>3 J:ROOT>3 in:case>5 size:obl>3
N:nsubj>2 is:cop>2 K:ROOT>2 in:case>4 color:obl>2 and:cc>6 has:conj>2 O:obj>6
N:nsubj>2 is:cop>2 NA:ROOT>2
it:nsubj>2 is:cop>2 NA:ROOT>2 with:case>4 O:nmod>2 and:cc>6 O:conj>4
N:nsubj>2 is:cop>2 NA:ROOT>2 ,:punct>5 with:case>5 O:nmod>2 and:cc>7 O:conj>5
N:nsubj>2 is:cop>2 N:ROOT>2 ,:punct>4 placed:acl>2 L:obl>4
it:nsubj:pass>2 is:aux:pass>2 placed:ROOT>2 L:obl>2 ,:punct>5 positioned:advcl>2 L:obl>5
N:nsubj:pass>2 is:aux:pass>2 located:ROOT>2 L:obl>2 ,:punct>5 surrounded:advcl>2 by:case>7 O:obl:agent>5
S:nsubj>4 in:case>2 N:nmod>0 is:aux>4 TG:ROOT>4 O:obj>4
N:nsubj:pass>2 is:aux:pass>2 located:ROOT>2 L:obl>2 ,:punct>8 while:mark>8 N:nsubj:pass>8 is:aux:pass>8 positioned:advcl>2 L:obl>8
N:nsubj:pass>2 is:aux:pass>2 positioned:ROOT>2 L:obl>2 ,:punct>7 with:mark>7 N:nsubj>7 placed:advcl>2 L:obl>7
N:nsubj>1 appears:ROOT>1 TO:mark>4 be:cop>4 Q:xcomp>1 ,:punct>9 with:case>9 no:det>9 other:amod>9 PX:obl>4 on:case>11 it:nmod>9
N:nsubj>6 and:cc>2 N:conj>0 are:cop>6 the:det>6 main:amod>6 PX:ROOT>6 in:case>9 the:det>9 image:nmod>6
S:nsubj>4 TG:acl>0 A3:obj>1 is:aux>4 IG:ROOT>4 L:obl>4
S:nsubj>1 I3:ROOT>1 on:case>3 N:obl>1 near:case>5 N:nmod>3
S:nsubj>2 is:aux>2 IG:ROOT>2 L:obl>2 and:cc>5 TG:conj>2 O:obj>5
S:nsubj>2 is:aux>2 TG:ROOT>2 O:obj>2 and:cc>5 IG:conj>2 L:obl>5
S:nsubj>2 is:aux>2 TG:ROOT>2 O:obj>2 and:cc>6 is:aux>6 IG:conj>2 L:obl>6
so:advmod>6 C:nsubj>6 of:case>4 the:det>4 PX:nmod>1 are:cop>6 J:ROOT>6
C:nsubj>6 of:case>4 the:det>4 C:nummod>4 PX:nmod>0 are:cop>6 J:ROOT>6
S:nsubj>1 T3:ROOT>1 O:obj>1 ,:punct>4 T3:conj>1 O:obj>4 and:cc>7 T3:conj>1 O:obj>7
S:nsubj>1 T3:ROOT>1 it:obj>1 and:cc>4 T3:conj>1 it:obj>4
S:nsubj>1 T3:ROOT>1 O:obj>1 and:cc>5 S:nsubj>5 T3:conj>1 it:obj>5
S:nsubj>1 T3:ROOT>1 O:obj>1 ,:punct>6 so:advmod>6 H:nsubj>6 I3:conj>1
""".strip().splitlines()


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
        """Every word of the phrase, in order, with its head; its own for the first."""
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


def _literal(word: str, tag: str = "") -> _Word:
    lemma, usual = _WORDS[word]
    return _Word(
        word.casefold() if word.isupper() and word != "I" else word.lower() if word != "I" else word,
        lemma,
        tag or usual,
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
    """Fills patterns with words."""

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._rest = ""

    def draw(self, choices: list[str] | tuple[str, ...]) -> str:
        """One of some texts."""
        return choices[int(self._generator.integers(len(choices)))]

    def _happens(self, chance: float) -> bool:
        return bool(self._generator.random() < chance)

    def sentence(self, pattern: str) -> list[Row]:
        """A pattern filled with words, as rows."""
        phrases, links = [], []
        for item in pattern.split():
            what, _, link = item.partition(":")
            dep, _, head = link.rpartition(">")
            tag, _, rest = dep.partition(":")
            if tag.isupper() and tag != "ROOT":
                dep = rest
            phrase = self._filled(what)
            if tag.isupper() and tag != "ROOT":
                phrase.tag = tag
                phrase.text = phrase.lemma if tag == "VB" else phrase.text
            phrases.append(phrase)
            links.append((dep, int(head)))
        if not pattern.endswith("?:punct>" + pattern.rpartition(">")[2]):
            root = next(place for place, (dep, _) in enumerate(links) if dep == "ROOT")
            phrases.append(_Word(".", ".", "."))
            links.append(("punct", root))
        words = [pair for phrase in phrases for pair in phrase.words()]
        spot = {id(word): place for place, (word, _) in enumerate(words)}
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

    def _filled(self, what: str) -> _Word:
        if what in _WORDS:
            return _literal(what)
        if len(what) == 2 and what[0] in "TIVXYZ":
            return self._verb(what)
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
        if what in simple:
            words, tag = simple[what]
            word = self.draw(words)
            return _Word(word, _base(word) if tag in {"JJR", "JJS"} else word, tag)
        if what == "W3":
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
        return phrases[what]()

    def _verb(self, what: str) -> _Word:
        lists = {"T": _TRANSITIVE, "I": _INTRANSITIVE, "V": _GIVING}
        if what[0] in lists:
            return _verb(self.draw(lists[what[0]]), what[1])
        if what[1] == "P":  # the particle or preposition of the verb before
            return _Word(self._rest, self._rest, "RP" if what[0] in "XY" else "IN")
        verb, _, self._rest = self.draw({"X": _PARTICLE, "Y": _ALONE, "Z": _GOING}[what[0]]).partition("+")
        return _verb(verb, what[1])

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
        """*A cup, a fork and a spoon*."""
        nouns = _BEINGS if self._happens(0.3) else _THINGS
        first = self._one(nouns, extras=False)
        n = int(self._generator.integers(1, 3))
        for place in range(n):
            other = self._one(nouns, extras=False) if self._happens(0.8) else self._several(nouns)
            other.dep = "conj"
            is_last = place == n - 1
            comma = [_Word(",", ",", ",", "punct")] if not is_last or self._happens(0.3) else []
            other.left = [*comma, *([_Word("and", "and", "CC", "cc")] if is_last else []), *other.left]
            first.right.append(other)
        return first

    def _well_described(self) -> _Word:
        """*A small, round, and white object*."""
        word = self._noun(self.draw([*_THINGS, "object", "piece", "item"]), article="a", described=0)
        first, *others = dict.fromkeys(self.draw([*_COLOURS[:14], *_ADJECTIVES[:14]]) for _ in range(3))
        adjective = _Word(first, first, "JJ", "amod")
        is_joined = self._happens(0.5)
        rest = []
        for place, other in enumerate(others):
            comma = _Word(",", ",", ",", "punct")
            is_last = place == len(others) - 1
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
        """What describes a noun: *in a red coat*, *of juice*, *on the left*, *holding a cup*."""
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
            place = self._place()
            place.dep = "obl"
            phrase.right.append(place)
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
        word.left = [_Word(*[(parts := item.split("/"))[0], *parts]) for item in before]
        return word

    def _in_hand(self) -> _Word:
        word = _Word("hand", "hand", "NN")
        word.left = [
            _Word("in", "in", "IN", "case"),
            _Word(whose := self.draw(("his", "her")), whose, "PRP$", "nmod:poss"),
        ]
        return word


def _base(word: str) -> str:
    """The plain adjective of a comparative or superlative: *bigger*, *widest*."""
    stem = word[:-3] if word.endswith("est") else word[:-2]
    if stem.endswith("i"):
        return stem[:-1] + "y"
    if stem in {"larg", "wid", "clos"}:
        return stem + "e"
    return stem[:-1] if stem.endswith(("gg", "nn")) else stem
