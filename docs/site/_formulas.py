"""Formulas as MathML, made while the site is built: nothing is fetched and nothing runs in the reader's browser."""

from __future__ import annotations

import html
import re
from itertools import cycle
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def setup(app: Any) -> dict[str, bool]:
    """Make ``html_math_renderer = "mathml"`` known to Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(as_mathml(node.astext(), display="inline"))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(as_mathml(node.astext(), display="block"))
    raise nodes.SkipNode


def as_mathml(latex: str, *, display: str) -> str:
    """One formula.

    The LaTeX stays beside it as an annotation, for who copies or reads aloud.
    """
    source = latex.strip()
    math = _mended(convert(source, display=display))
    annotation = f'<annotation encoding="application/x-tex">{html.escape(source)}</annotation>'
    inner = re.sub(r"^<math[^>]*>|</math>$", "", math)
    body = f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="{display}"><semantics>{inner}{annotation}</semantics></math>'
    return f'<div class="formula">{body}</div>' if display == "block" else body


def _mended(math: str) -> str:
    """Bars that open and close, and a minus of sets that is an operator: what the converter leaves without a form."""
    sides = cycle(("prefix", "postfix"))
    math = re.sub(
        r'<mo(?: stretchy="false")?>&#x0007C;</mo>',
        lambda _: f'<mo stretchy="false" fence="true" form="{next(sides)}">|</mo>',
        math,
    )
    return math.replace("<mi>&#x029F5;</mi>", "<mo>\\</mo>")
