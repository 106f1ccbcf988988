"""``theodolite compass stability``: do relevance maps depend on precision, attention implementation or batch?"""

from __future__ import annotations

from typing import Annotated

import typer

from theodolite.cli import options as o
from theodolite.cli.output import counter, show


def stability(
    data: o.Data,
    model: o.ModelName,
    methods: Annotated[
        str,
        typer.Option(
            "--methods", metavar="LIST", help="Relevance methods, or all; see `theodolite list methods`."
        ),
    ] = "all",
    prompt: Annotated[
        str,
        typer.Option(
            "--prompt", metavar="NAME", help="The prompt to ask. Default: A, or A8 if a pair is diagonal."
        ),
    ] = "",
    images: o.MaybeImages = None,
    limit: o.Limit = 16,
    json: o.AsJson = False,
) -> None:
    """Compare maps in bfloat16, float32 and float64, with eager attention, and in a batch; one verdict per method.

    The model's own dtype and attention are replaced. It is opened four times.
    """
    from theodolite.cli.data import asked_pairs
    from theodolite.instruments.compass.experiments.stability import measure_stability, stability_table
    from theodolite.instruments.compass.questions import pair_item

    pairs, (asked, *_) = asked_pairs(data, images, prompt)
    items = [pair_item(pair, asked) for pair in pairs[:limit]]
    with counter("conditions") as progress:
        chosen, maps = measure_stability(model, items, methods=o.listed(methods), progress=progress)
    table = stability_table(model, items, chosen, maps)
    show([table], json=json, instrument="compass", model=model)
