"""``python -m conformance``: export, check in each package's environment, compare with Theodolite's own figures."""

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path

from conformance.expected import answers_of, figures_of
from conformance.runs import make_runs
from conformance.viewer import shown_pictures
from theodolite.diagnose.api import diagnose
from theodolite.diagnose.export.exporter import export
from theodolite.diagnose.export.samples import read_samples
from theodolite.models import open_model

HERE = Path(__file__).parent
HOME = HERE.parent / "build" / "conformance"


class Checks:
    """The checks, and those that failed."""

    def __init__(self) -> None:
        self.wrong: list[str] = []

    def tell(self, what: str, value: object) -> None:
        """Print a figure."""
        print(f"{what}: {value}", flush=True)

    def same(self, what: str, found: object, expected: object) -> None:
        """Check that two figures are equal."""
        self.tell(what, found)
        if found != expected:
            self.wrong.append(f"{what}: {found}, expected {expected}")

    def close(self, what: str, found: dict[str, float], expected: dict[str, float]) -> None:
        """Check that all expected figures are present, up to the rounding of a double."""
        names = {_plain(name): value for name, value in found.items()}
        compared = 0
        for name, value in expected.items():
            mine = names.get(_plain(name))
            if mine is None or not math.isclose(mine, value, rel_tol=1e-12, abs_tol=1e-12):
                self.wrong.append(f"{what}, {name}: {mine}, expected {value}")
            compared += 1
        self.tell(what, f"{compared} figures compared")


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name).replace("__", "_")


def run_in(env: Path, module: str, *arguments: Path, has_theodolite: bool) -> dict:
    """Start a module in an environment, and return the JSON that it prints last."""
    variables = {**os.environ, "HF_HOME": str(HOME / "hf"), "OMP_NUM_THREADS": "1"}
    variables["PYTHONPATH"] = str(HERE.parent / "src") if has_theodolite else ""
    done = subprocess.run(
        [env / "bin" / "python", HERE / f"{module}.py", *arguments],
        env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{module} failed in {env}:\n{done.stderr[-4000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def check_replay(checks: Checks, what: str, log: Path, runs: list[Path], kinds: tuple[str, ...]) -> None:
    """Check that a replay of a harness's log answers every sample as recorded."""
    model = open_model(f"replay:{log}")
    asked = matched = 0
    for folder in runs:
        for sample in read_samples(folder, folder.name).samples:
            is_asked = sample.row.condition == "plain" or bool(sample.pairs)
            if (is_asked or "all" in kinds) and (sample.item.request.pictures or "blind" in kinds):
                asked += 1
                matched += model.generate([sample.item.request])[0].text == sample.record.response.text
    checks.same(f"{what}: answers that come back", matched, asked)


def check_inspect(checks: Checks, env: Path, runs: list[Path], expected: dict[str, float]) -> None:
    """Check that samples open, scores equal ours, pictures are shown, and the log can be replayed."""
    written = export(HOME / "runs", HOME / "inspect", to="inspect")
    samples = sum(n for name, n in written.items() if name.endswith(".eval"))
    figures = run_in(env, "in_inspect", HOME / "inspect", HOME / "inspect-out", has_theodolite=True)
    checks.tell("inspect_ai", figures["version"])
    checks.same("inspect_ai: samples opened", figures["opened"]["opened"], samples)
    checks.same("inspect_ai: pictures embedded", figures["opened"]["embedded"], figures["opened"]["pictures"])
    checks.close("inspect score", figures["scored"], expected)
    checks.same("inspect eval theodolite/pairs", figures["asked"].pop("status"), "success")
    outcomes = {name: value for name, value in figures["asked"].items() if name != "log"}
    checks.tell("inspect eval theodolite/pairs: outcomes", outcomes)
    # of 4 pairs in each of three epochs, that model follows 4, 0 and 2
    for kind, shares in figures["strangers"].items():
        what = f"inspect score theodolite/looking, strangers' task ({kind}): pairs, followed"
        checks.same(what, (shares["pairs"], shares["followed"]), (12.0, 0.5))
    notes = open_model(f"replay:{figures['strangers']['free']['log'].removeprefix('file://')}").notes
    is_told = [any(words in note for note in notes) for words in ("Be brief.", "3 epochs")]
    checks.same("strangers' task: system prompt and epochs told", is_told, [True, True])
    for kind in ("choices", "letters", "free"):
        log = figures["strangers"][kind]["log"].removeprefix("file://")
        (own,) = diagnose(f"replay:{log}", out=HOME / f"strangers-{kind}").diagnosis.instruments
        what = f"strangers' task ({kind}), diagnosed alone: pairs, followed in the first epoch"
        looking = own.models[0].looking[0]
        checks.same(what, (looking.n_relevant, looking.followed.value), (4, 1.0))
    check_replay(checks, "inspect_ai", HOME / "inspect", runs, ("all", "blind"))
    (log,) = (HOME / "inspect").rglob("*theodolite-compass*.eval")
    sample = read_samples(HOME / "runs" / "compass").samples[0]
    shown = shown_pictures(env / "bin" / "inspect", log, sample.id, HOME / "inspect-view.png")
    checks.same("inspect view: pictures", shown, {"shown": 1, "broken": 0})


def check_lmms_eval(checks: Checks, env: Path, runs: list[Path], expected: dict[str, float]) -> None:
    """Check that tasks load from a moved folder, the copied reader gives our scores, and the log can be replayed."""
    export(HOME / "runs", HOME / "lmms-before", to="lmms-eval")
    moved = (HOME / "lmms-before").rename(HOME / "lmms")
    figures = run_in(
        env, "in_lmms_eval", moved, HOME / "answers.json", HOME / "lmms-logs", has_theodolite=False
    )
    summary = f"{figures['version']}: {figures['tasks']} tasks, {figures['asked']} samples, {figures['pictures']} pictures"
    checks.tell("lmms-eval", summary)
    checks.same("lmms-eval: reader", figures["reader"], "theodolite_copy")
    checks.close("lmms-eval", figures["scored"], expected)
    check_replay(checks, "lmms-eval", HOME / "lmms-logs", runs, ())


def check_vlmevalkit(checks: Checks, env: Path, runs: list[Path]) -> None:
    """Check that tables load, prompts have their pictures, and result files can be replayed."""
    if not any(env.glob("lib/*/site-packages/vlmeval-*")):
        checks.tell("VLMEvalKit", "left out, since it is not installed; VLMEVALKIT=PATH names a checkout")
        return
    written = export(HOME / "runs", HOME / "vlmevalkit", to="vlmevalkit")
    rows = sum(n for name, n in written.items() if name.endswith(".tsv"))
    figures = run_in(
        env,
        "in_vlmevalkit",
        HOME / "vlmevalkit",
        HOME / "answers.json",
        HOME / "vlmevalkit-out",
        has_theodolite=False,
    )
    summary = (
        f"{figures['version']}: {figures['files']} files; stood in for: {', '.join(figures['stood in'])}"
    )
    checks.tell("VLMEvalKit", summary)
    checks.same("VLMEvalKit: rows with a prompt", (figures["rows"], figures["prompts"]), (rows, rows))
    shown = [s for folder in runs for s in read_samples(folder).samples if s.item.request.pictures]
    checks.same("VLMEvalKit: pictures", figures["pictures"], sum(len(s.item.request.pictures) for s in shown))
    checks.tell("VLMEvalKit: right, by its own exact matching", figures["right"])
    scored = sum(not math.isnan(value) for value in figures["right"].values())
    checks.same("VLMEvalKit: files of choices with a score", scored, len(figures["right"]))
    check_replay(checks, "VLMEvalKit", HOME / "vlmevalkit-out", runs, ("all",))


def check_datasets(checks: Checks) -> None:
    """Check that `load_dataset` opens every configuration, with pictures."""
    import datasets

    exported = export(HOME / "runs", HOME / "datasets", to="datasets")
    written = {name: n for name, n in exported.items() if name.endswith(".parquet")}
    n_rows = {}
    for name in written:
        config = Path(name).stem
        rows = datasets.load_dataset(str(HOME / "datasets"), config, cache_dir=str(HOME / "hf"))["train"]
        assert all(row["images"][0].size[0] > 0 for row in rows if row["images"])
        n_rows[name] = rows.num_rows
    checks.tell("datasets", datasets.__version__)
    checks.same("datasets: rows", n_rows, written)


def main() -> int:
    """Check everything, print the figures, and return the exit status."""
    parser = argparse.ArgumentParser(prog="conformance", description=__doc__)
    for name in ("inspect-ai", "lmms-eval", "vlmevalkit"):
        parser.add_argument(f"--{name}", type=Path, default=HOME / "env" / name, help="its environment")
    given = parser.parse_args()
    runs = make_runs(HOME)
    _clear(
        "inspect",
        "inspect-out",
        "lmms",
        "lmms-before",
        "lmms-logs",
        "vlmevalkit",
        "vlmevalkit-out",
        "datasets",
    )
    (HOME / "answers.json").write_text(json.dumps(answers_of(runs)))
    pictures = [str(path) for path in sorted((HOME / "questions").glob("*.png"))[:8]]
    (HOME / "pictures.json").write_text(json.dumps(pictures))
    expected = {name: value for folder in runs for name, value in figures_of(folder).items()}
    checks = Checks()
    for check in (
        lambda: check_datasets(checks),
        lambda: check_vlmevalkit(checks, given.vlmevalkit, runs),
        lambda: check_lmms_eval(checks, given.lmms_eval, runs, expected),
        lambda: check_inspect(checks, given.inspect_ai, runs, expected),
    ):
        try:
            check()
        except RuntimeError as error:  # the others are checked all the same
            checks.wrong.append(str(error))
    for what in checks.wrong:
        print(f"NOT AS EXPECTED: {what}")
    return bool(checks.wrong)


def _clear(*names: str) -> None:
    import shutil

    for name in names:
        shutil.rmtree(HOME / name, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
