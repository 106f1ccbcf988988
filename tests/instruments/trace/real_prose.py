"""Real models' prose with what is known of their pictures: LLaVA-1.5 on photographs, Video-LLaVA on clips of STAR."""

import json
import re

from theodolite.core.types import Picture
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.data.episode import Episode, Frame, Relation, SceneObject
from theodolite.instruments.trace.data.traces import read_traces

RELATIONS = {"Left": "left of", "Right": "right of", "On top": "on", "Under": "under"}


def llava(folder):
    """Known of each photograph: the two things that are asked for, and their one relation."""
    episodes, texts = {}, {}
    for record in json.loads((folder / "results.json").read_text()):
        if record["prompt_label"] != "Chain-of-Thought":
            continue
        asked = re.search(r"Where is the (.+?) relative to the (.+?)\?", record["prompt"])
        things = tuple(SceneObject(name, name) for name in asked.groups())
        relation = Relation(things[0].id, RELATIONS[record["ground_truth"]], things[1].id)
        frame = Frame(0.0, Picture.from_path(folder / "images" / record["image"]), None, things, (relation,))
        name = record["image"]
        episodes[name] = Episode(
            name, asked[0], (frame,), known={"objects": "partial", "relations": "partial"}, cluster=str(asked.groups())
        )
        texts[name] = record["scene_graph"]
    return episodes, with_claims([read_trace(text, episodes[name]) for name, text in texts.items()])


def video_llava(folder):
    """Known of each clip: a person, and the things that the question and its right answer name."""
    labels = list(json.loads((folder / "classes.json").read_text())["object"].values())
    file, episodes = folder / "video_llava_traces.jsonl", {}
    for record in map(json.loads, file.read_text().splitlines()):
        right = record["choices"][record["true_index"]][0]
        told = f"{record['question']} {right}".casefold()
        named = [label for label in labels if label == "person" or re.search(rf"\b{re.escape(label)}\b", told)]
        frame = Frame(0.0, objects=tuple(SceneObject(label, label) for label in named))
        name = record["question_id"]
        episodes[name] = Episode(
            name, record["question"], (frame,), known={"objects": "partial"}, vocabulary={"objects": tuple(labels)}
        )
    return episodes, with_claims(read_traces(file, episodes)[0])
