"""Render pages from templates, with escaping, embedded data and a content security policy.

Text from models and files is untrusted. It gets into a page in two ways only: through the templates, which escape
everything, and as JSON in a data block, which the script shows as text. The policy allows only our styles and scripts, by
their hashes, and no connection except to the server of the page. So a mistake here could not run foreign code.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from theodolite import __version__
from theodolite.diagnose.pair_verdicts import OUTCOME_COLOURS, TONES
from theodolite.report.glossary import Glossary

if TYPE_CHECKING:
    from jinja2 import Environment

_PAGE = files("theodolite.report") / "page"
_STYLES = ("style.css", "items.css")
_SCRIPTS = ("dom", "list", "overlay", "above", "steps", "detail", "main", "save", "labels")
_LEAST_PACKED = 20_000
"""Data shorter than this stay readable."""
_HARMLESS = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


@dataclass(frozen=True, slots=True)
class DataBlock:
    """Data in a page, for its script."""

    id: str
    value: Any

    def packed(self) -> str:
        """The data as JSON, compressed if that makes it much shorter: gzip in base64, which the script of the page unpacks.

        Both are safe inside a page: base64 has no mark-up.
        """
        text = safe_json(self.value)
        if len(text) < _LEAST_PACKED:
            return text
        small = base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
        return small if len(small) < len(text) // 2 else text


def unpack(text: str) -> Any:
    """Read what `DataBlock.packed` returned, as the script of the page does."""
    is_packed = text.startswith("H4sI")
    return json.loads(gzip.decompress(base64.b64decode(text)) if is_packed else text)


def safe_json(value: Any) -> str:
    r"""Encode JSON such that no text in it can end its data block.

    >>> safe_json("</script><!--")
    '"\\u003c/script\\u003e\\u003c!--"'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escaped in _HARMLESS.items():
        text = text.replace(character, escaped)
    return text.encode("utf-8", "backslashreplace").decode()


def render_page(
    template: str, context: Mapping[str, Any], *, data: Sequence[DataBlock] = (), is_served: bool = False
) -> str:
    """Render a page.

    Args:
        template: Name of the template.
        context: Variables of the template.
        data: Data for the script.
        is_served: True if the page may send requests to its own server.
    """
    from markupsafe import Markup

    css, theme, script = style(), _theme(), items_script()
    blocks = [(block.id, Markup(block.packed())) for block in data]  # noqa: S704 - escaped by safe_json
    return (
        environment()
        .get_template(template)
        .render(
            **context,
            version=__version__,
            css=Markup(css),  # noqa: S704 - our own file
            theme_js=Markup(theme),  # noqa: S704 - the same
            items_js=Markup(script),  # noqa: S704 - the same
            policy=policy(is_served=is_served),
            data=blocks,
        )
    )


def finished(
    template: str,
    context: Mapping[str, Any],
    glossary: Glossary,
    data: Sequence[DataBlock] = (),
    *,
    is_served: bool = False,
) -> str:
    """Render a page with its definitions. It is rendered twice, since the first pass collects the links."""
    render_page(template, {**context, "definitions": []}, is_served=is_served)
    return render_page(
        template, {**context, "definitions": glossary.listed()}, data=data, is_served=is_served
    )


@cache
def policy(*, is_served: bool = False) -> str:
    """Return the content security policy of a page."""
    rules = [
        "default-src 'none'",
        f"style-src '{_digest(style())}'",
        f"script-src '{_digest(_theme())}' '{_digest(items_script())}'",
        "img-src 'self' data:" if is_served else "img-src 'self' file: data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    if is_served:
        rules.append("connect-src 'self'")
    return "; ".join(rules)


@cache
def style() -> str:
    """Return all style sheets as one text. The colours of outcomes and verdicts come first; a dark page has its own."""
    colours = {**OUTCOME_COLOURS, **{tone.name: tone.colour for tone in TONES.values()}}
    root = ":root {" + "".join(f"--{name}: {colour};" for name, colour in colours.items()) + "}"
    return "\n".join([root, *((_PAGE / name).read_text(encoding="utf-8") for name in _STYLES)])


@cache
def items_script() -> str:
    """Return the item browser as one script, without global names."""
    parts = [(_PAGE / "js" / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();\n"


@cache
def environment() -> Environment:
    """Return the template environment. All values are escaped, and undefined names are errors."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    def load(name: str) -> str:
        return (_PAGE / "templates" / name).read_text(encoding="utf-8")

    return Environment(
        loader=FunctionLoader(load),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _theme() -> str:
    return (_PAGE / "js" / "theme.js").read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
