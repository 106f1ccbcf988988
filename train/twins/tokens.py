"""The tokenizer of the twins: whole phrases of the prompts are single tokens, and so is every name, digit and length.

Prompts consist mostly of fixed text. The parts between names and numbers become single tokens (`phrases_of`), so that a
prompt of fifty words takes about ten tokens and a small model is fast. All other text is encoded as bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from theodolite.instruments.grid.data.world import COLOURS, SHAPES
from theodolite.instruments.scene.data import small_rooms as rooms
from theodolite.worlds.relations import THINGS

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

PAD, USER, ASSISTANT, END, IMAGE = "<pad>", "<|user|>", "<|assistant|>", "<|end|>", "<image>"
SPECIALS = (PAD, USER, ASSISTANT, END, IMAGE)
TEMPLATE = (
    "{% for m in messages %}{{ '<|user|>' if m['role'] != 'assistant' else '<|assistant|>' }}"
    "{% if m['content'] is string %}{{ m['content'] }}{% else %}{% for part in m['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% elif part['type'] == 'text' %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}{% if m['role'] == 'assistant' %}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)

_WORLD_WORDS = (
    *("ball", "cube", "cylinder", "chair", "lamp", "plant", "barrel", "box", "key", "door", "room", "screen"),
    *(
        "left",
        "right",
        "above",
        "below",
        "up",
        "down",
        "behind",
        "front",
        "back",
        "yes",
        "no",
        "open",
        "closed",
    ),
    *("column", "row", "turn", "forward", "holding", "object", "objects", "shape", "shapes"),
    *("A", "B", "C", "D", "E", "F", "G", "H", "Yes", "No"),
)
WORDS: tuple[str, ...] = tuple(
    sorted(
        {*THINGS, *rooms.CATEGORIES, *COLOURS, *SHAPES, *(f"{s}s" for s in SHAPES), *_WORLD_WORDS},
        key=lambda word: (-len(word), word),
    )
)
"""Names and other content words, each a single token."""
_MEANT = re.compile(rf"\b(?:{'|'.join(map(re.escape, WORDS))})\b|\d+\.\d+|\d+")
_PAINTED = tuple(f"{c} {n}" for c in COLOURS for n in _WORLD_WORDS[:11])
"""*red ball* and similar are one token. *red circle* of the grid is two, because colour and shape matter separately."""
_NAMES = tuple(
    sorted({*THINGS, *rooms.CATEGORIES, *COLOURS, *SHAPES, *_WORLD_WORDS[:12]}, key=lambda w: (-len(w), w))
)
_NAMED = re.compile(rf"\b(?:{'|'.join(map(re.escape, _NAMES))})s?\b|\d+\.\d+|\d+")
_OFTEN = 12
_LONG = 30
"""A fixed part of at least this many characters is cut out first."""
_LENGTHS = (
    *(f"{i / 100:.2f}" for i in range(1, 100)),
    *(f"{i / 10:.1f}" for i in range(10, 100)),
    *(str(i) for i in range(100)),
)


def phrases_of(texts: Iterable[str], *, fixed: Iterable[str] = ()) -> list[str]:
    """Return the frequent parts between names and numbers, and of the rest those between content words.

    Args:
        texts: Prompts and answers.
        fixed: Parts that are always phrases, whatever their frequency and content.

    >>> phrases_of(["Find the cup.", "Find the key.", "Find the car."] * 5)
    ['.', 'Find the ']
    >>> phrases_of(["Look at all 3 of these things here. Find the cup."] * 12, fixed=["Look at all 3 of these things here. "])
    ['.', 'Find the ', 'Look at all 3 of these things here. ']
    """
    longer: Counter[str] = Counter()
    shorter: Counter[str] = Counter()
    fixed = sorted(fixed, key=lambda part: (-len(part), part))
    whole = re.compile("|".join(re.escape(part) for part in fixed if len(part) >= _LONG) or r"(?!)")
    for text in texts:
        for stretch in whole.split(text):
            longer.update(part for part in _NAMED.split(stretch) if part)
            shorter.update(part for part in _MEANT.split(stretch) if part)
    often = {part for part, n in longer.items() if n >= _OFTEN} | {
        part for part, n in shorter.items() if n >= 3
    }
    return sorted(often | set(fixed))


def make_backend(texts: Iterable[str], *, fixed: Iterable[str] = ()) -> Tokenizer:
    """Create the tokenizer: bytes, the words and lengths above, and the phrases of sample prompts and answers."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate([*SPECIALS, *alphabet])}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIALS])
    known = set(alphabet)
    more = [
        t
        for t in (*WORDS, *_PAINTED, *_LENGTHS, *phrases_of(texts, fixed=fixed))
        if len(t) > 1 or t not in known
    ]
    backend.add_tokens([AddedToken(t, normalized=False) for t in dict.fromkeys(more)])
    return backend


def as_tokenizer(path: str | Path) -> PreTrainedTokenizerFast:
    """Load a tokenizer file for transformers."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_file(str(path)),
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[USER, ASSISTANT, IMAGE],
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
        extra_special_tokens={"image_token": IMAGE},
    )
