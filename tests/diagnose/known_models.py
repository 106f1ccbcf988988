"""Two scripted models of known reasoning for the twins' sets: one that looks, and one that reads the words alone.

Both read the items' hints as a person reads a crib. The first uses its crib only if there is a picture to see that is not
blank and is the scene's own; the second never.
"""

import hashlib
import json
import re

import numpy as np

from theodolite.core.types import Request
from theodolite.models import scripted as _scripted

OPTIONS = (
    re.compile(r"Answer with one of: ([^\n]+?)\.(?:\n|$)"),
    re.compile(r"(?:^|\n)\(?([A-D])[).:]", re.MULTILINE),
)


def put_in(patch) -> None:
    """Lets ``scripted:looks`` and ``scripted:reads`` be opened, as models that give text alone, for as long as a patch lasts."""
    patch.setitem(_scripted.BEHAVIOURS, "looks", looks)
    patch.setitem(_scripted.BEHAVIOURS, "reads", reads)
    patch.setattr(_scripted.ScriptedModel, "lacks", {"choose": "this one only talks"})


def looks(request: Request, _) -> str:
    """Answers by the picture."""
    if not sees(request):
        return guess(request)
    return str(request.hint["gold"])


def reads(request: Request, _) -> str:
    """Answers by the words."""
    return guess(request)


def sees(request: Request) -> bool:
    """Whether there is a picture of this very item that shows anything."""
    if not request.pictures or request.hint.get("setting") == "blind" or "gold" not in request.hint:
        return False
    return any(np.ptp(picture.pixels().reshape(-1, 3), axis=0).max() > 0 for picture in request.pictures)


def guess(request: Request) -> str:
    """Some answer of the right form, by the words of the question alone."""
    text = re.sub(r"Frame \d+ \([^)]*\):", "", request.text)
    number = int(hashlib.sha256(text.encode()).hexdigest(), 16)
    hint = request.hint
    if hint.get("task") == "graph":
        return json.dumps({"objects": [], "edges": []})
    if "Step <number>" in text:
        chosen = OPTIONS[0].search(text).group(1).split(", ")
        return f"Step 1 (frame 1): There is a purple rabbit.\nFinal answer: {chosen[number % len(chosen)]}"
    if "yes or no" in text:
        return ("yes", "no")[number % 2]
    if "number alone" in text:
        return str(number % 4)
    letters = OPTIONS[1].findall(text)
    if letters:
        return letters[number % len(letters)]
    return ("1", "2", "3", "4")[number % 4]
