"""Stored runs and what was computed from them: numbers that a change of the code must not change.

``runs.tar.xz`` holds runs of all instruments by scripted and bundled models, and the runs of one diagnosis, as
Theodolite 0.1 wrote them; pictures are kept only where something reads them. ``expected/`` holds the JSON that each
command printed. Nothing here calls a model.

    python tests/golden/goldens.py NAME …     writes what these commands print now (all, if no name is given)

An intended difference is written into the changelog with the number before and after.
"""

from __future__ import annotations

import hashlib
import io
import json
import lzma
import math
import os
import re
import shlex
import sys
import tarfile
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

HERE = Path(__file__).parent
EXPECTED = HERE / "expected"
ROOT = "@ROOT@"
"""Stands for the folder in which the runs lie."""

_COMPASS = "--tables all"
TABLES = {
    "ask-pocket": "ask score runs/ask-pocket",
    "ask-guesser": "ask score runs/ask-guesser",
    "compass-squares": f"compass score runs/compass-squares {_COMPASS} --seed 1",
    "compass-controls": f"compass score runs/compass-controls {_COMPASS} --controls all --centres 20",
    "compass-several": "compass score runs/compass-squares runs/compass-controls",
    "compass-projection": "compass score runs/compass-squares --projection sound --sectors 4 --sigma 35% --negative positive",
    "compass-faithfulness": "compass faithfulness runs/compass-squares --out runs/compass-faithfulness --score-only --tables curves",
    "grid-explain": "grid score runs/grid-explain-pure runs/grid-explain-bow --tables measures",
    "scene-disconnected": "scene score runs/scene-disconnected --tables all",
    "scene-trusting": "scene score runs/scene-trusting --tables all --solver geometric --mra <=",
    "scene-several": "scene score runs/scene-trusting runs/scene-disconnected",
    "scene-solver": "scene solver data/scenes",
    "trace-dial": "trace score runs/trace-dial --tables all",
    "trace-pocket": "trace score runs/trace-pocket --unverifiable penalise --guesses stated",
    "trace-several": "trace score runs/trace-pocket runs/trace-dial",
    "trace-predict": "trace predict --paper",
    "trace-audit": "trace audit --data data/episodes",
    "compare-ask": "compare runs/ask-pocket runs/ask-guesser --all",
    "compare-grid": "compare runs/grid-explain-pure runs/grid-explain-bow --all",
    "compare-diagnosis": "compare report/runs/pocket-grounded report/runs/pocket-shortcut --all",
    "runs-list": "runs list runs/",
    "runs-show": "runs show runs/scene-disconnected",
}
"""Commands that print numbers as JSON, by name."""

EXPORTS = {
    "export-inspect": "export runs/ask-pocket --to inspect",
    "export-lmms-eval": "export runs/ask-pocket --to lmms-eval",
    "export-vlmevalkit": "export runs/ask-pocket --to vlmevalkit",
    "export-datasets": "export runs/ask-pocket --to datasets",
    "export-parquet": "export runs/scene-disconnected --to parquet",
    "export-csv": "export runs/compass-squares --to csv",
    "export-jsonl": "export runs/trace-dial --to jsonl",
    "export-crisp": "export runs/scene-disconnected --to crisp",
    "export-crisp-na": "export data/scenes --to crisp-na",
    "export-trace": "trace export runs/trace-dial",
}
"""Commands that write files, by name; ``--out`` is added."""


def unpack(folder: Path) -> Path:
    """Unpack the stored runs, and let them find their data where they are now."""
    with tarfile.open(HERE / "runs.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    for path in folder.rglob("run.json"):
        text = path.read_text(encoding="utf-8").replace(ROOT, folder.as_posix())
        info = json.loads(text)
        info.pop("checksum", None)  # it was that of the path where the run was made
        path.write_text(json.dumps(info), encoding="utf-8")
    return folder


def printed(words: list[str]) -> str:
    """Return what a command prints."""
    from theodolite.cli.main import main

    out = io.StringIO()
    with redirect_stdout(out):
        status = main(words)
    assert status in {0, 1}, f"{shlex.join(words)} ended with {status}"
    return out.getvalue()


def table(name: str, folder: Path) -> Any:
    """Return the JSON of a command of `TABLES`."""
    if name == "runs-show":  # it shows what the last scoring left, and this worker may have scored nothing
        table("scene-disconnected", folder)
    words = [_inside(word, folder) for word in shlex.split(TABLES[name])]
    return neutral(json.loads(printed([*words, "--json"])), folder)


def exported(name: str, folder: Path, out: Path) -> Any:
    """Return the content of every file that a command of `EXPORTS` writes."""
    words = [_inside(word, folder) for word in shlex.split(EXPORTS[name])]
    out = out / name if not name.startswith("export-trace") else out / "traces.jsonl"
    printed([*words, "--out", str(out), "--json"])
    files = [out] if out.is_file() else sorted(path for path in out.rglob("*") if path.is_file())
    files = [
        path for path in files if "theodolite_copy" not in path.parts
    ]  # our own code, for harnesses without it
    return {
        (path.relative_to(out).as_posix() if path != out else path.name): neutral(content(path), folder, out)
        for path in files
    }


def diagnosis(folder: Path) -> Any:
    """Return ``diagnosis.json`` and the rows of the stored diagnosis, scored again from its runs."""
    from rescore import rescore

    found, rows = rescore(folder / "report")
    return neutral({"diagnosis": found, "rows": rows}, folder)


def content(path: Path) -> Any:
    """Return what a file holds: rows of tables, JSON, lines; of anything else its hash."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        return pq.read_table(path).to_pylist()
    if path.suffix == ".json":
        return json.loads(path.read_text(encoding="utf-8"))
    if path.suffix in {".jsonl", ".csv", ".tsv", ".md", ".yaml", ".py", ".txt"}:
        return path.read_text(encoding="utf-8").splitlines()
    if path.suffix == ".eval":
        import zipfile

        with zipfile.ZipFile(path) as archive:
            names = sorted(archive.namelist())
            return {name: json.loads(archive.read(name)) for name in names if name.endswith(".json")}
    return hashlib.sha256(path.read_bytes()).hexdigest()


_CHANGING = {"created", "seconds", "checksum", "theodolite", "version", "packages", "mtime", "total_time"}
"""Fields that say when or by what version something was computed."""


def neutral(value: Any, *places: Path) -> Any:
    """Leave out what differs from one machine or moment to the next: folders, times, versions; long bytes become hashes."""
    if isinstance(value, dict):
        return {
            key: neutral(each, *places)
            for key, each in value.items()
            if key not in _CHANGING and not key.endswith(("_at", "_time"))
        }
    if isinstance(value, list | tuple):
        return [neutral(each, *places) for each in value]
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, str):
        for place in places:
            value = value.replace(place.as_posix(), ROOT)
        value = re.sub(r'"(checksum|created|\w*_at)": ?"[^"]*"', r'"\1": ""', value)
        return f"sha256 {hashlib.sha256(value.encode()).hexdigest()}" if len(value) > 2000 else value
    return value


def differences(old: Any, new: Any, where: str = "") -> list[str]:
    """Return where two values differ; numbers may differ in the seventh digit (a sentence model computes in single precision)."""
    if isinstance(old, dict) and isinstance(new, dict):
        missing = [f"{where}.{key} is gone" for key in old if key not in new]
        more = [f"{where}.{key} is new" for key in new if key not in old]
        both = [d for key in old if key in new for d in differences(old[key], new[key], f"{where}.{key}")]
        return [*missing, *more, *both]
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return [f"{where} has {len(new)} entries, not {len(old)}"]
        return [
            d
            for i, (a, b) in enumerate(zip(old, new, strict=True))
            for d in differences(a, b, f"{where}[{i}]")
        ]
    is_number = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (old, new))
    if is_number and math.isclose(old, new, rel_tol=1e-6, abs_tol=1e-9):
        return []
    return [] if old == new else [f"{where}: {new!r:.200}, not {old!r:.200}"]


def helps() -> dict[str, str]:
    """Return the help of every command."""
    import click
    import typer.main

    from theodolite.cli.main import app

    def walk(command: Any, path: tuple[str, ...]) -> Any:
        yield path
        if hasattr(command, "list_commands"):
            context = click.Context(command)
            for name in command.list_commands(context):
                yield from walk(command.get_command(context, name), (*path, name))

    os.environ.update(COLUMNS="100", NO_COLOR="1", TERM="dumb")
    return {
        " ".join(("theodolite", *path)): re.sub(r"[ \t]+\n", "\n", printed([*path, "--help"]))
        for path in walk(typer.main.get_command(app), ())
    }


def expected(name: str) -> Any:
    """Return what was computed before."""
    return json.loads(lzma.open(EXPECTED / f"{name}.json.xz", "rt", encoding="utf-8").read())


def _inside(word: str, folder: Path) -> str:
    is_path = word.startswith(("runs/", "data/", "report"))
    return str(folder / word) if is_path else word.replace("report#", f"{folder / 'report'}#")


def _keep(name: str, value: Any) -> None:
    EXPECTED.mkdir(exist_ok=True)
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    (EXPECTED / f"{name}.json.xz").write_bytes(lzma.compress(text.encode(), preset=9))


def main(names: list[str]) -> None:
    """Write what is computed now."""
    sys.path.insert(0, str(HERE))
    with TemporaryDirectory() as scratch:
        folder = unpack(Path(scratch) / "stored")
        for name in TABLES:
            if not names or name in names:
                _keep(name, table(name, folder))
        for name in EXPORTS:
            if not names or name in names:
                _keep(name, exported(name, folder, Path(scratch)))
        if not names or "diagnosis" in names:
            _keep("diagnosis", diagnosis(folder))
        if not names or "helps" in names:
            _keep("helps", helps())


if __name__ == "__main__":
    main(sys.argv[1:])
