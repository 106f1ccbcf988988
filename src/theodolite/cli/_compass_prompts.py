"""``--prompt`` of the commands that ask about pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from theodolite.compass import PROMPTS, Prompt

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
    """What a run keeps of its prompts: what was written, and the words of those that are not the paper's."""
    own = [
        {"name": each.name, "template": each.template, "options": dict(each.options)}
        for each in prompts
        if PROMPTS.get(each.name) != each
    ]
    return {"prompt": text, **({"own_prompts": own} if own else {})}
