"""Check any plug-in by its name."""

from __future__ import annotations

import difflib
from pathlib import Path

from theodolite.core.errors import ContractError, UsageError
from theodolite.core.registry import Kind, registry
from theodolite.testing.check_edit import check_edit
from theodolite.testing.check_explainer import check_explainer
from theodolite.testing.check_extractor import check_extractor
from theodolite.testing.check_instrument import check_instrument
from theodolite.testing.check_method import check_method
from theodolite.testing.check_model import check_model
from theodolite.testing.check_source import check_source
from theodolite.testing.check_verifier import check_verifier
from theodolite.testing.findings import BrokenContractError, Findings

CHECKED: tuple[Kind, ...] = (
    "instrument",
    "model",
    "method",
    "explainer",
    "extractor",
    "verifier",
    "source",
    "behaviour",
    "edit",
)
"""The kinds that can be checked."""


def check_plugin(name: str, *, kind: Kind | None = None, data: str | Path | None = None) -> Findings:
    """Check a plug-in against the contract of its kind.

    Args:
        name: The name, as on the command line: ``scripted:looker``, ``chefer``, ``detector:FILE.onnx``.
        kind: Its kind, if several plug-ins have that name.
        data: A small sample of the data that it reads. Needed for sources, and for instruments without data of their own.

    Raises:
        BrokenContractError: If a check fails. The message lists all failures.
        UsageError: If there is no such plug-in, or the sample is missing.

    >>> check_plugin("removal").kind
    'explainer'
    """
    resolved = kind or kind_of(name)
    try:
        return _check(name, resolved, data)
    except BrokenContractError:
        raise
    except ContractError as error:  # what was registered cannot be loaded, or is something else
        raise BrokenContractError(Findings(resolved, name, (str(error),))) from error


def _check(name: str, kind: Kind, data: str | Path | None) -> Findings:
    if data is not None and kind not in {"source", "instrument"}:
        raise UsageError(f"--data is for sources and instruments, and {name} is of the kind {kind}")
    if kind == "source":
        if data is None:
            raise UsageError(
                f"the source {name} needs a small sample of the files that it reads: --data PATH"
            )
        return check_source(name, data)
    if kind == "instrument":
        return check_instrument(name, data)
    if kind == "behaviour":
        return check_model(f"scripted:{name}")
    checks = {
        "model": check_model,
        "method": check_method,
        "explainer": check_explainer,
        "extractor": check_extractor,
        "verifier": check_verifier,
        "edit": check_edit,
    }
    if kind not in checks:
        raise UsageError(f"the kind {kind!r} cannot be checked; there are: {', '.join(CHECKED)}")
    return checks[kind](name)


def kind_of(name: str) -> Kind:
    """Find the kind of a plug-in by its name.

    Raises:
        UsageError: If there is none, or plug-ins of several kinds.

    >>> kind_of("grid"), kind_of("grid:symbolic-pure"), kind_of("tracks:annotation"), kind_of("kitti")
    ('instrument', 'model', 'verifier', 'source')
    """
    names = {kind: [entry.name for entry in registry().entries(kind)] for kind in CHECKED}
    scheme, colon, _ = name.partition(":")
    asked: dict[Kind, bool] = {
        **{kind: name in names[kind] for kind in CHECKED},
        "model": bool(colon) and scheme in names["model"],
        "extractor": scheme in names["extractor"],
        "verifier": scheme in names["verifier"],
        "explainer": name in names["explainer"] or scheme == "relevance",
        "source": name in names["source"] or f"scene-{name}" in names["source"],
    }
    kinds = [kind for kind in CHECKED if asked[kind]]
    if len(kinds) == 1:
        return kinds[0]
    if kinds:
        raise UsageError(
            f"{name!r} names plug-ins of several kinds; say which with --kind {' or '.join(kinds)}"
        )
    near = difflib.get_close_matches(scheme, [name for known in names.values() for name in known], n=1)
    advice = f"did you mean {near[0]!r}?" if near else "`theodolite list` shows what there is"
    if scheme in names["model"]:
        advice = f"a model is written {scheme}:NAME"
    raise UsageError(f"there is no plug-in {name!r}; {advice}")
