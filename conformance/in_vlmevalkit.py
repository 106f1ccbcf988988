"""Runs in the environment of VLMEvalKit: loads the TSV files, builds prompts, writes results, evaluates choices."""

import json
import os
import shutil
import sys
from pathlib import Path

from stand_ins import stand_in
from transformers.utils.import_utils import is_torchvision_available

is_torchvision_available()  # asked before something stands in for it: the answer is kept
STOOD_IN = stand_in("vlmeval")


def main() -> None:
    folder, answers, out = (Path(each) for each in sys.argv[1:4])
    out.mkdir(parents=True, exist_ok=True)
    shutil.copytree(folder, out / "lmu")
    os.environ["LMUData"] = str(out / "lmu")
    import vlmeval
    from vlmeval.dataset import build_dataset
    from vlmeval.dataset.image_mcq import ImageMCQDataset
    from vlmeval.smp import dump

    recorded = json.loads(answers.read_text())
    said_by_id = {name: text for run in recorded.values() for name, text in run.items()}
    figures = {"files": 0, "rows": 0, "prompts": 0, "pictures": 0, "right": {}}
    for path in sorted(folder.glob("*.tsv")):
        data = build_dataset(path.stem)
        figures["files"] += 1
        figures["rows"] += len(data)
        for number in range(len(data)):
            message = data.build_prompt(number)
            figures["prompts"] += any(part["type"] == "text" for part in message)
            figures["pictures"] += sum(
                part["type"] == "image" and Path(part["value"]).is_file() for part in message
            )
        table = data.data.drop(columns=["image"], errors="ignore").copy()
        table["prediction"] = [said_by_id[str(name)] for name in table["id"]]
        result = out / f"recorded_{path.stem}.xlsx"
        dump(table, str(result))
        if isinstance(data, ImageMCQDataset):
            scores = data.evaluate(str(result), model="exact_matching")
            figures["right"][path.stem] = float(scores["Overall"].iloc[0])
    print(
        json.dumps(
            {"version": vlmeval.__version__, "stood in": sorted(STOOD_IN.used), **figures}, default=str
        )
    )


if __name__ == "__main__":
    main()
