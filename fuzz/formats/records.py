"""The project's own records."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fuzz.formats.sample import Format, json_of, lines_of


def example(schema: Mapping[str, Any], known: Mapping[str, Any]) -> Any:  # noqa: PLR0911 - one for each kind
    """Return a value that fits a JSON schema, with one entry in every list and object."""
    if "$ref" in schema:
        return example(known[schema["$ref"].rpartition("/")[2]], known)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return example(schema[key][0], known)
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if schema.get("type") == "array":
        items = schema.get("prefixItems") or [schema.get("items") or {"type": "string"}]
        return [example(child, known) for child in items]
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        plain = {name: example(child, known) for name, child in schema.get("properties", {}).items()}
        return plain or ({"a": example(inner, known)} if isinstance(inner, dict) else {})
    if schema.get("format") == "date-time":
        return "2026-01-01T00:00:00Z"
    return {"integer": 1, "number": 0.5, "boolean": True, "null": None}.get(schema.get("type", ""), "a")


def record_formats(made: Path) -> list[Format]:
    from theodolite.core.scores import ItemScore
    from theodolite.core.views import ItemRow
    from theodolite.diagnose.record import Diagnosis, read_diagnosis
    from theodolite.diagnose.running import read_items
    from theodolite.diagnose.separation import read_calibration, write_calibration
    from theodolite.instruments.grid.data.files import DatasetPlan, make_dataset, read_dataset, write_dataset
    from theodolite.runs import RunInfo
    from theodolite.runs.run import Run, read_info
    from theodolite.twins.certificate import read_certificate
    from theodolite.twins.separate import read_table
    from train.certify.certify import _read_answers

    scores = [ItemScore(f"i{n}", "compass.right", n / 3, f"c{n}", "aligned") for n in range(3)]
    twins = {"pocket:grounded": "x"}
    write_calibration(made / "c.json.gz", {"pocket:grounded": scores}, items="h", identities=twins)
    write_dataset(
        make_dataset(DatasetPlan("pure", 1, seed=0, buckets=("A-F0-D1",))),
        made / "grid",
        pictures=False,
        table=False,
    )
    grid = {path.name: path.read_bytes() for path in (made / "grid").glob("*.json*")}
    documents = {
        name: example(form.model_json_schema(), form.model_json_schema().get("$defs", {}))
        for name, form in (("d", Diagnosis), ("i", ItemRow), ("r", RunInfo))
    }
    estimate = {
        "value": 0.5,
        "low": 0.4,
        "high": 0.6,
        "n": 10,
        "level": 0.95,
        "method": "BCa",
        "n_items": 20,
        "p_value": None,
    }
    line = {
        "task": "grid",
        "what": "right",
        "split": "crossed",
        "estimate": estimate,
        "part": "",
        "unread": 0,
    }
    certificate = {
        "model": "pocket:grounded",
        "identity": "x",
        "n": 5,
        "seed": 1,
        "lines": [line, line],
        "theodolite": "1",
    }
    metric = {
        "key": "grid.right",
        "name": "right",
        "higher_is_grounded": True,
        "origin": "ours",
        "needs": "text",
        "bounds": [0, 1],
    }
    row = {
        "metric": metric,
        **dict.fromkeys(("auc", "grounded", "shortcut", "mixed", "position"), estimate),
        "n": [3, 4],
        "why": "",
    }
    sides = {"grounded": "a", "shortcut": "b", "mixed": "c"}
    separation = {"sides": sides, "split": "aligned", "seed": 9, "rows": [row, row]}
    answers = lines_of({"identity": "x"}, {"gold": "left", "answer": "left"})

    def scored(folder: Path, _: Path) -> None:
        with Run.open(folder) as run:
            run.scores()

    return [
        Format("diagnosis", {"diagnosis.json": json_of(documents["d"])}, lambda f, _: read_diagnosis(f)),
        Format(
            "items",
            {"items.jsonl": lines_of(documents["i"], documents["i"])},
            lambda f, _: list(read_items(f)),
        ),
        Format("run", {"run.json": json_of(documents["r"])}, lambda f, _: read_info(f)),
        Format(
            "calibration",
            {"c.json.gz": (made / "c.json.gz").read_bytes()},
            lambda f, _: read_calibration(f / "c.json.gz", items="h", identities=twins),
        ),
        Format(
            "certificate",
            {"certificate.json": json_of(certificate)},
            lambda f, _: read_certificate(f / "certificate.json"),
        ),
        Format(
            "separation",
            {"s.json.gz": gzip.compress(json_of(separation))},
            lambda f, _: read_table(f / "s.json.gz"),
        ),
        Format(
            "twin answers",
            {"a.jsonl.gz": gzip.compress(answers)},
            lambda f, _: _read_answers(f / "a.jsonl.gz"),
        ),
        Format("grid data", grid, lambda f, _: read_dataset(f)),
    ]
