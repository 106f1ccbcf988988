"""``--prompt`` of the commands that ask about pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from theodolite.instruments.compass.prompts import PROMPTS, Prompt

PromptNames = Annotated[
    str,
    typer.Option(
        "--prompt",
        metavar="LIST",
        help=f"How the question is put: {', '.join(PROMPTS)} or all (Table 9), or JSON Lines of one's own with "
        "name, template (with {tgt} and {ref}) and options (token to direction).",
    ),
]


def prompt_settings(text: str, prompts: Sequence[Prompt]) -> dict[str, Any]:
    """What a run keeps of its prompts: their names, and the words of those that are not the paper's.

    A file's place is not kept: moved, it is the same sweep.
    """
    own = [
        {"name": each.name, "template": each.template, "options": dict(each.options)}
        for each in prompts
        if PROMPTS.get(each.name) != each
    ]
    if not own:
        return {"prompt": text}
    return {"prompt": ",".join(each.name for each in prompts), "own_prompts": own}
