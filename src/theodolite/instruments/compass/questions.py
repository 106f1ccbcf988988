"""How pairs are asked: prompts, and the items of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, ClassVar, cast

from theodolite.answers import Answer, AnswerFormat, read_answer
from theodolite.answers.formats import Style
from theodolite.answers.items import FORMAT, format_to_json, read_record
from theodolite.core.errors import UsageError
from theodolite.core.files import check, lines_of, parse_json
from theodolite.core.types import Item, Json, Message, Request
from theodolite.geometry import Box
from theodolite.instruments.compass.data.pairs import Pair
from theodolite.pairs.directions import EIGHT, Vocabulary, vocabulary_of

if TYPE_CHECKING:
    from theodolite.runs import Result

PLAIN = "plain"
"""The condition of an item that is asked as it is."""

_NUMBERED = {"1": "left", "2": "right", "3": "above", "4": "below"}
_EIGHT = dict(zip("12345678", EIGHT.names, strict=True))
_MAX_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Prompt:
    """A question with the fields ``{tgt}`` for the target and ``{ref}`` for the reference, and the allowed answers.

    >>> mine = Prompt("mine", "Is the {tgt} left (L) or right (R) of the {ref}?", {"L": "left", "R": "right"})
    >>> mine.token_for("right")
    'R'
    """

    name: str
    template: str
    options: Mapping[str, str]
    """Answer token to direction, in the order offered."""

    def __post_init__(self) -> None:
        try:
            fields = [field for _, field, _, _ in Formatter().parse(self.template) if field is not None]
        except ValueError as error:
            raise UsageError(f"the prompt {self.name!r} cannot be read: {error}") from error
        if set(fields) != {"tgt", "ref"}:
            raise UsageError(
                f"the prompt {self.name!r} needs both {{tgt}} and {{ref}} and no other field; it has {fields}"
            )
        directions = list(self.options.values())
        if len(directions) < 2 or len(set(directions)) < len(directions) or not all(self.options):
            raise UsageError(
                f"the prompt {self.name!r} needs at least two tokens, each with its own direction, got {dict(self.options)}"
            )

    def ask(self, pair: Pair) -> str:
        """The question about a pair."""
        return self.template.format(tgt=pair.target.name, ref=pair.reference.name)

    @property
    def tokens(self) -> tuple[str, ...]:
        """The allowed answers, in order."""
        return tuple(self.options)

    @property
    def vocabulary(self) -> Vocabulary:
        """The eight directions if the prompt offers a diagonal, else the four."""
        return vocabulary_of(self.options.values())

    def token_for(self, direction: str) -> str:
        """The answer that stands for a direction.

        Raises:
            UsageError: The prompt does not offer it.
        """
        for token, offered in self.options.items():
            if offered == direction:
                return token
        raise UsageError(
            f"the prompt {self.name!r} does not offer {direction!r}; it offers {', '.join(self.options.values())}"
        )


PROMPTS: Mapping[str, Prompt] = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            "A",
            "In this image, where is the {tgt} relative to the {ref}? Choose one option: 1) to the left, "
            "2) to the right, 3) above, 4) below. Answer with just the number.",
            _NUMBERED,
        ),
        Prompt(
            "B",
            "Look at the image. Is the {tgt} to the left (1), right (2), above (3), or below (4) the {ref}? "
            "Answer with one number.",
            _NUMBERED,
        ),
        Prompt(
            "C",
            "I can see two objects: {ref} and {tgt}. What is the spatial position of {tgt} relative to {ref}? "
            "Options: 1=left, 2=right, 3=above, 4=below. Answer:",
            _NUMBERED,
        ),
        Prompt(
            "A8",
            "In this image, where is the {tgt} relative to the {ref}? Choose one option: 1) to the left, "
            "2) to the right, 3) above, 4) below, 5) above and to the right, 6) above and to the left, "
            "7) below and to the left, 8) below and to the right. Answer with just the number.",
            _EIGHT,
        ),
    )
}
"""A, B and C are the templates of the paper's Table 9, word for word; the paper uses A. A8 is A with the diagonals: the paper
evaluates eight directions (A.4) but gives no prompt for them."""

TABLE_9 = ("A", "B", "C")


def default_prompt(pairs: Iterable[Pair]) -> Prompt:
    """A, or A8 if the right answer to one of the pairs is a diagonal."""
    return PROMPTS["A8" if vocabulary_of(pair.direction for pair in pairs) == EIGHT else "A"]


def check_offered(pairs: Sequence[Pair], prompts: Iterable[Prompt]) -> None:
    """Raises a `UsageError` if a prompt does not offer the right answer to every pair, or offers a better one to some."""
    asked = vocabulary_of(pair.direction for pair in pairs)
    for prompt in prompts:
        if prompt.vocabulary == EIGHT != asked:
            raise UsageError(
                f"the prompt {prompt.name!r} offers diagonals, but none of the {len(pairs)} pairs is diagonal: where one lies "
                "between two directions, its answer would be wrong; make the pairs with --directions 8"
            )
        missing = Counter(p.direction for p in pairs if p.direction not in prompt.options.values())
        if missing:
            example, _ = missing.most_common(1)[0]
            raise UsageError(
                f"the prompt {prompt.name!r} does not offer the right answer to {missing.total()} of {len(pairs)} pairs, "
                f"such as {example!r}; ask with --prompt A8, or with a prompt of your own that offers it"
            )


@dataclass(frozen=True, slots=True)
class _PromptLine:
    """One line of a prompt file."""

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    name: str
    template: str
    options: dict[str, str] | None = None


def find_prompts(text: str) -> tuple[Prompt, ...]:
    """Prompts by name and from files.

    Args:
        text: Names of `PROMPTS`, ``all`` for those of Table 9, and files that `read_prompts` reads, separated by commas.

    Raises:
        UsageError: A name is unknown, a file cannot be read, or two prompts have the same name.

    >>> [prompt.name for prompt in find_prompts("A,C")]
    ['A', 'C']
    """
    found: list[Prompt] = []
    for word in (word.strip() for word in text.split(",")):
        if word == "all":
            found += [PROMPTS[name] for name in TABLE_9]
        elif word in PROMPTS:
            found.append(PROMPTS[word])
        elif word and Path(word).is_file():
            found += read_prompts(word)
        else:
            raise UsageError(
                f"there is no prompt {word!r}: name {', '.join(PROMPTS)} or all, or a JSON Lines file with "
                "name, template and options in every line"
            )
    return _unique(found, text)


def read_prompts(path: str | Path) -> tuple[Prompt, ...]:
    """Prompts from JSON Lines with ``name``, ``template`` and ``options``.

    Options map answer tokens to directions, in the order offered; without them, the four numbers of the paper's prompts.

    Raises:
        UsageError: A line is not a prompt, or there is none.
    """
    lines = lines_of(Path(path), "prompts")
    found = [_prompt(line, f"{Path(path).parent / where}") for where, line in lines]
    if not found:
        raise UsageError(f"{path} holds no prompt")
    return _unique(found, str(path))


def _prompt(line: bytes, place: str) -> Prompt:
    try:
        read = check(_PromptLine, parse_json(line))
    except (UsageError, ValueError) as error:
        raise UsageError(f"{place}: {error}") from error
    if not read.name or "/" in read.name or "," in read.name:
        raise UsageError(f"{place}: a prompt needs a name without '/' and ',', not {read.name!r}")
    try:
        return Prompt(read.name, read.template, _NUMBERED if read.options is None else read.options)
    except UsageError as error:
        raise UsageError(f"{place}: {error}") from error


def _unique(prompts: list[Prompt], origin: str) -> tuple[Prompt, ...]:
    names = [prompt.name for prompt in prompts]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"{origin} names the prompt {twice[0]!r} twice; every prompt needs its own name")
    return tuple(prompts)


def prompt_settings(text: str, prompts: Sequence[Prompt]) -> dict[str, Any]:
    """What a run stores about its prompts: their names, and the full text of those that are not the paper's.

    The path of a prompt file is not stored: a file that was moved gives the same run.
    """
    own = [
        {"name": each.name, "template": each.template, "options": dict(each.options)}
        for each in prompts
        if PROMPTS.get(each.name) != each
    ]
    if not own:
        return {"prompt": text}
    return {"prompt": ",".join(each.name for each in prompts), "own_prompts": own}


def plan_pairs(
    pairs: Iterable[Pair],
    prompts: Iterable[Prompt],
    *,
    condition: str = PLAIN,
    meta: Mapping[str, Json] | None = None,
) -> Iterator[Item]:
    """One item per pair and prompt.

    Args:
        pairs: The pairs to ask about.
        prompts: How they are asked.
        condition: What was done to the pairs; part of the items' names.
        meta: Added to the meta of every item.
    """
    asked = list(prompts)
    for pair in pairs:
        for prompt in asked:
            yield pair_item(pair, prompt, condition=condition, meta=meta)


def pair_item(
    pair: Pair, prompt: Prompt, *, condition: str = PLAIN, meta: Mapping[str, Json] | None = None
) -> Item:
    """The item of one pair."""
    gold = prompt.token_for(pair.direction)
    expected = direction_format(prompt.options, target=pair.target.name, reference=pair.reference.name)
    return Item(
        name=f"{pair.id}/{prompt.name}/{condition}",
        request=Request(
            (Message.user(pair.picture, prompt.ask(pair)),),
            max_tokens=_MAX_TOKENS,
            ref=pair.id if condition == PLAIN else f"{pair.id}/{condition}",
            recall="words" if condition == PLAIN else "id",
            hint={"gold": gold},
        ),
        options=prompt.tokens,
        meta={
            "pair": pair.id,
            "prompt": prompt.name,
            "condition": condition,
            "directions": list(prompt.options.values()),
            "gold": list(prompt.tokens).index(gold),
            "reference": {"name": pair.reference.name, "box": _corners(pair.reference.box)},
            "target": {"name": pair.target.name, "box": _corners(pair.target.box)},
            "others": [_corners(box) for box in pair.others],
            "size": list(pair.size_px),
            "cluster": pair.picture.digest,
            "group": pair.group,
            "source": pair.source,
            FORMAT: format_to_json(expected),
            **(meta or {}),
        },
    )


def _corners(box: Box) -> list[float]:
    return [box.x0, box.y0, box.x1, box.y1]


def direction_format(options: Mapping[str, str], *, target: str = "", reference: str = "") -> AnswerFormat:
    """The answer that a prompt asks for: a direction, named by number, letter or word.

    Args:
        options: Answer token to direction.
        target: The object whose place is asked for.
        reference: The object it is placed against.

    >>> direction_format({"L": "left", "R": "right"}).style
    'letter'
    """
    style: Style = "word"
    if all(token.isdigit() for token in options):
        style = "index"
    elif all(len(token) == 1 and token.isalpha() for token in options):
        style = "letter"
    return AnswerFormat.directions(options, style, subject=target, object=reference)


def read_direction(text: str, options: Mapping[str, str]) -> str | None:
    """The token of the direction that a text names; None if it names none or several.

    >>> offered = {"1": "left", "2": "right", "3": "above", "4": "below"}
    >>> read_direction("1) to the left", offered), read_direction("It is above.", offered), read_direction("1 or 2", offered)
    ('1', '3', None)
    """
    answer = read_answer(text, direction_format(options))
    return str(answer.value) if answer.is_read else None


def read_result(result: Result) -> Answer:
    """The answer to an item; its value is the token of an option. Items of older runs do not store their format."""
    item, meta = result.item, cast("Mapping[str, Any]", result.item.meta)
    if FORMAT not in meta:
        options = dict(zip(item.options, meta["directions"], strict=True))
        names = {role: str(meta[role]["name"]) for role in ("target", "reference")}
        expected = format_to_json(direction_format(options, **names))
        item = replace(item, meta={**item.meta, FORMAT: expected})
    return read_record(item, result.record)
