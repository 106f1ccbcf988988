"""``python -m train certify``: test models of known reasoning, and write their certificates."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import cast

from theodolite.core.errors import UsageError
from theodolite.core.tables import Table
from theodolite.report.tables import as_markdown
from theodolite.runs import slug
from theodolite.twins.certificate import Task, certificate_tables, missed_bars
from train.certify.certify import CertificateSettings, certify, collect, write_certificate

_PAIR = ("grid:pure", "grid:spur")


def run(given: argparse.Namespace) -> int:
    """Make the certificates, print them as Markdown, and return 1 if a requirement is missed."""
    tables: list[Table] = []
    missed: list[str] = []
    others = [name for name in given.model if name not in _PAIR]
    if others:
        tasks = tuple(word.strip() for word in given.tasks.split(",") if word.strip())
        settings = CertificateSettings(given.size, given.seed, cast("tuple[Task, ...]", tasks), given.workers)
        if given.only_ask:
            collect(others, given.out, settings, progress=_show)
        else:
            for certificate in certify(others, given.out, settings, progress=_show):
                _log(f"wrote {write_certificate(certificate, given.out / slug(certificate.model))}")
                tables += certificate_tables(certificate)
                missed += missed_bars(certificate)
    for name in (name for name in given.model if name in _PAIR):
        if given.only_ask:
            raise UsageError("--only-ask is of pocket models and checkpoints: a grid model is scored at once")
        tables += _grid_tables(name, given)
    print("\n\n".join(map(as_markdown, tables)))
    if missed:
        _log(f"missed: {'; '.join(missed)}")
    return int(bool(missed))


def _grid_tables(name: str, args: argparse.Namespace) -> list[Table]:
    from theodolite.instruments.grid.models import certificate as grid
    from train.certify import paired

    certificate = paired.certify_model(
        cast("grid.PairedKind", name.removeprefix("grid:")),
        weights=args.weights,
        n=args.size,
        seed=args.seed,
        device=args.device,
        progress=_by_tenths(name),
    )
    _log(f"wrote {paired.write_certificate(certificate, args.out)}")
    return grid.certificate_tables(certificate)


def _show(task: str, n_asked: int) -> None:
    _log(f"{task}: {n_asked} asked")


def _by_tenths(name: str) -> Callable[[int, int], None]:
    shown: set[int] = set()

    def show(done: int, total: int) -> None:
        tenth = 10 * done // total
        if tenth not in shown:
            shown.add(tenth)
            _log(f"{name}: {done} of {total} scenes")

    return show


def _log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
