"""Runs in the environment of lmms-eval, without Theodolite: evaluates the exported tasks with recorded answers."""

import importlib.metadata
import json
import sys
from pathlib import Path

from lmms_eval.api.model import lmms
from lmms_eval.evaluator import simple_evaluate
from lmms_eval.loggers import EvaluationTracker
from lmms_eval.tasks import TaskManager


class Recorded(lmms):
    """Returns the recorded answers of a run, after opening the pictures."""

    is_simple = True

    def __init__(self, answers: dict[str, dict[str, str]], runs: dict[str, str]) -> None:
        super().__init__()
        self.answers, self.runs, self.asked, self.pictures = answers, runs, 0, 0

    def generate_until(self, requests):
        answers = []
        for request in requests:
            _, _, visual, number, task, split = request.args
            doc = self.task_dict[task][split][number]
            self.asked += 1
            self.pictures += sum(picture.size[0] > 0 for picture in visual(doc))
            answers.append(self.answers[self.runs[task]][doc["id"]])
        return answers

    def loglikelihood(self, requests):
        raise NotImplementedError

    def generate_until_multi_round(self, requests):
        raise NotImplementedError


def main() -> None:
    folder, answers, out = (Path(each) for each in sys.argv[1:4])
    recorded = json.loads(answers.read_text())
    names = {
        path.stem: json.loads(path.read_text().partition("\n")[0]) for path in (folder / "data").iterdir()
    }
    plain = {name: name.replace("-", "_") for name in recorded}
    runs = {
        task: max((run for run in plain if task.startswith(f"theodolite_{plain[run]}_")), key=len)
        for task in names
    }
    chosen = [task for task in names if "_plain" in task or task.endswith("_looking")]
    model = Recorded(recorded, runs)
    evaluation = simple_evaluate(
        model=model,
        tasks=chosen,
        task_manager=TaskManager(include_path=str(folder)),
        log_samples=True,
        bootstrap_iters=0,
    )
    tracker = EvaluationTracker(output_path=str(out))
    tracker.general_config_tracker.model_name_sanitized, tracker.date_id = "recorded", "20260101_000000"
    for task, samples in evaluation["samples"].items():
        tracker.save_results_samples(task, samples)
    figures = {}
    for task, results in evaluation["results"].items():
        rest = task.removeprefix(f"theodolite_{plain[runs[task]]}_")
        for key in ("score", "looking", "followed", "inverted", "moved", "unmoved", "lost", "kept"):
            value = results.get(f"{key},none")
            if isinstance(value, float) and value == value:
                figures[f"{runs[task]}/{rest if key == 'score' else key}"] = value
    import theodolite

    print(
        json.dumps(
            {
                "version": importlib.metadata.version("lmms_eval"),
                "reader": Path(theodolite.__file__).parents[1].name,
                "tasks": len(chosen),
                "asked": model.asked,
                "pictures": model.pictures,
                "scored": figures,
            }
        )
    )


if __name__ == "__main__":
    main()
