"""Short names of models, for tables, figures and pages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl

from theodolite.diagnose.record import Diagnosis

__all__ = ["short_name", "short_names", "with_short_names"]


def short_name(model: str) -> str:
    """Shorten the name of a model: no folders, address or options.

    >>> short_name("openai:some-vlm@http://127.0.0.1:8000/v1"), short_name("hf:/models/Qwen3-VL-2B?dtype=float16")
    ('openai:some-vlm', 'hf:Qwen3-VL-2B')
    """
    kind, _, rest = model.partition(":")
    rest = rest.partition("@")[0].partition("?")[0].rstrip("/")
    return f"{kind}:{rest.rpartition('/')[2]}" if rest else model


def short_names(models: Iterable[str]) -> dict[str, str]:
    """Shorten the names of several models. Those that would be equal keep the options in which they differ, or the whole name.

    >>> list(short_names(["replay:a/b.json?prompt=one", "replay:a/b.json?prompt=two words", "pocket:mixed"]).values())
    ['replay:b.json, one', 'replay:b.json, two words', 'pocket:mixed']
    >>> list(short_names(["hf:a/x", "hf:b/x"]).values())
    ['hf:a/x', 'hf:b/x']
    """
    every = list(dict.fromkeys(models))
    alike: dict[str, list[str]] = {}
    for model in every:
        alike.setdefault(short_name(model), []).append(model)
    found = {}
    for short, group in alike.items():
        options = {model: dict(parse_qsl(model.partition("?")[2])) for model in group}
        keys = dict.fromkeys(key for each in options.values() for key in each)
        telling = [key for key in keys if len({each.get(key) for each in options.values()}) > 1]
        for model in group:
            values = [options[model][key] for key in telling if key in options[model]]
            found[model] = ", ".join([short, *values])
    used = Counter(found.values())
    return {model: found[model] if used[found[model]] == 1 else model for model in every}


def with_short_names(diagnosis: Diagnosis) -> Diagnosis:
    """Return a copy with short names of models in all its texts, for tables in a terminal."""
    names = {
        long: short for long, short in short_names(m.name for m in diagnosis.models).items() if long != short
    }
    if not names:
        return diagnosis
    longest_first = sorted(names, key=len, reverse=True)

    def shortened(value: Any) -> Any:
        if isinstance(value, dict):
            return {shortened(key): shortened(each) for key, each in value.items()}
        if isinstance(value, list):
            return [shortened(each) for each in value]
        if isinstance(value, str):
            for name in longest_first:
                value = value.replace(name, names[name])
        return value

    return Diagnosis.model_validate(shortened(diagnosis.model_dump()))
