"""Runs in the environment of inspect_ai: opens and rescores every sample, asks pairs, and opens the viewer's page."""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

from inspect_ai import Task, score
from inspect_ai import eval as evaluate
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log, read_eval_log_sample, read_eval_log_sample_summaries
from inspect_ai.model import (
    ChatMessageSystem,
    ChatMessageUser,
    ContentImage,
    ContentText,
    ModelAPI,
    ModelOutput,
    modelapi,
)
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, system_message
from inspect_ai.solver._task_state import sample_state

from theodolite.diagnose.export.inspect_plugin import answer, looking

ENV = {**os.environ, "INSPECT_DISPLAY": "none"}


def metrics_of(log) -> dict[str, dict[str, float]]:
    return {
        score.name: {name: metric.value for name, metric in score.metrics.items()}
        for score in log.results.scores
    }


def opened(folder: Path) -> dict:
    """Open every sample; count those with all pictures embedded."""
    counts = {"samples": 0, "opened": 0, "pictures": 0, "embedded": 0}
    for path in sorted(folder.rglob("*.eval")):
        for summary in read_eval_log_sample_summaries(str(path)):
            counts["samples"] += 1
            sample = read_eval_log_sample(str(path), summary.id, summary.epoch, resolve_attachments=True)
            counts["opened"] += sample.id == summary.id and "condition" in sample.metadata
            for message in sample.messages:
                for part in message.content if isinstance(message.content, list) else ():
                    if part.type == "image":
                        counts["pictures"] += 1
                        counts["embedded"] += part.image.startswith("data:image/")
    return counts


def scored(folder: Path, out: Path) -> dict:
    """Rescore every log from its answers: one with the command line, the others like the command."""
    figures: dict = {}
    paths = sorted(folder.rglob("*.eval"))
    for path in paths:
        log = read_eval_log(str(path))
        if path == paths[0]:
            again = out / path.name
            command = [Path(sys.executable).with_name("inspect"), "score", path, "--action", "overwrite"]
            subprocess.run(
                [*command, "--output-file", again, "--overwrite"], check=True, capture_output=True, env=ENV
            )
            done = read_eval_log(str(again), header_only=True)
        else:
            done = score(log, [answer(), looking()], action="overwrite", display="none")
        name = "/".join((log.eval.metadata["run"], *(["graph"] if "graph" in log.eval.task else [])))
        for means in metrics_of(done).values():
            figures |= {f"{name}/{key}": value for key, value in means.items()}
    return figures


def asked(out: Path) -> dict:
    """Run the native task with a shipped model."""
    (log,) = evaluate(
        "theodolite/pairs",
        model="theodolite/pocket:mixed",
        task_args={"size": "4"},
        log_dir=str(out),
        display="none",
    )
    return {
        "status": log.status,
        "samples": len(log.samples),
        "log": log.location,
        **metrics_of(log)["looking"],
    }


def said(number: int, epoch: int) -> str:
    """Return the model's answer about a picture, whose right answer is A if its number is even, else B.

    The three epochs answer: right; A; right half of the time.
    """
    right = "AB"[number % 2]
    return (right, "A", right if number < 4 else "A")[epoch - 1]


@modelapi("recited")
class Recitation(ModelAPI):
    """Returns given texts. inspect_ai's mockllm would count tokens with a vocabulary from the network."""

    async def generate(self, input, tools, tool_choice, config):  # noqa: A002 - the names in inspect_ai
        state = sample_state()
        letter = said(int(str(state.sample_id)[1:]), state.epoch)
        text = f"It is on the {SIDES[letter]}." if "free" in self.model_name else f"ANSWER: {letter}"
        return ModelOutput.from_content(self.model_name, text)


SIDES = {"A": "left", "B": "right"}
EPOCHS = 3
WORDS = {
    "choices": "Where is it?",
    "letters": "Where is it?\nA) left\nB) right\nAnswer with the letter.",
    "free": "Where is it?",
}


def strangers(out: Path, pictures: list[str]) -> dict:
    """Run tasks made without Theodolite, with a system prompt and epochs, and rescore them by the command line."""
    results: dict = {}
    for kind, words in WORDS.items():
        samples = [
            Sample(
                id=f"s{n}",
                input=[ChatMessageUser(content=[ContentImage(image=picture), ContentText(text=words)])],
                choices=list(SIDES.values()) if kind == "choices" else None,
                target=SIDES["AB"[n % 2]] if kind == "free" else "AB"[n % 2],
            )
            for n, picture in enumerate(pictures)
        ]
        task = Task(
            dataset=MemoryDataset(samples),
            solver=[system_message("Be brief."), generate()],
            scorer=includes(),
            epochs=EPOCHS,
            name=f"strangers-{kind}",
        )
        (log,) = evaluate(task, model=f"recited/{kind}", log_dir=str(out / kind), display="none")
        assert any(isinstance(message, ChatMessageSystem) for message in log.samples[0].messages)
        results[kind] = {
            "log": log.location,
            "epochs": EPOCHS,
            **rescored(log.location, out / f"{kind}.eval"),
        }
    results["by includes"] = rescored(results["free"]["log"], out / "by.eval", "-S", "right=includes")
    return results


def rescored(log: str, again: Path, *more: str) -> dict[str, float]:
    """Return the outcomes that ``inspect score`` adds to a log."""
    command = [Path(sys.executable).with_name("inspect"), "score", log, "--model", "mockllm/model"]
    how = ["--scorer", "theodolite/looking", "--action", "append", "--output-file", again, "--overwrite"]
    done = subprocess.run([*command, *more, *how], capture_output=True, env=ENV, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    return metrics_of(read_eval_log(str(again), header_only=True))["looking"]


def main() -> None:
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    pictures = json.loads((folder.parent / "pictures.json").read_text())
    print(
        json.dumps(
            {
                "version": importlib.metadata.version("inspect_ai"),
                "opened": opened(folder),
                "scored": scored(folder, out),
                "asked": asked(out / "native"),
                "strangers": strangers(out / "strangers", pictures),
            }
        )
    )


if __name__ == "__main__":
    main()
