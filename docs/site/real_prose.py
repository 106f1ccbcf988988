"""Computes the table of real models' prose on the page *Trace*: ``python docs/site/real_prose.py FOLDER``.

FOLDER holds ``whatsup_llava15`` (LLaVA-1.5-7B on photographs) and ``star`` (Video-LLaVA on clips). A test computes the same table
and compares it with the page.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from theodolite.core.types import Picture
from theodolite.instruments.trace.claims.reading import read_trace, with_claims
from theodolite.instruments.trace.claims.types import Trace
from theodolite.instruments.trace.data.traces import read_traces
from theodolite.instruments.trace.experiments.grounding import TraceGroup
from theodolite.instruments.trace.experiments.verify import LoadedTraces, trace_group
from theodolite.instruments.trace.score import TraceScoreOptions
from theodolite.instruments.trace.verifiers.judging import judge, open_verifier
from theodolite.stats import Estimate
from theodolite.worlds.episodes import Episode, Frame, FrameObject, Relation

_RELATIONS = {"Left": "left of", "Right": "right of", "On top": "on", "Under": "under"}
_Traces = tuple[Mapping[str, Episode], Sequence[Trace]]


def llava(folder: Path) -> _Traces:
    """Known of each photograph: the two things that are asked for, and their relation."""
    episodes, texts = {}, {}
    for record in json.loads((folder / "results.json").read_text(encoding="utf-8")):
        asked = re.search(r"Where is the (.+?) relative to the (.+?)\?", record["prompt"])
        if record["prompt_label"] != "Chain-of-Thought" or asked is None:
            continue
        things = tuple(FrameObject(name, name) for name in asked.groups())
        relation = Relation(things[0].id, _RELATIONS[record["ground_truth"]], things[1].id)
        picture = Picture.from_path(folder / "images" / record["image"])
        name = record["image"]
        episodes[name] = Episode(
            name,
            asked[0],
            (Frame(0.0, picture, None, things, (relation,)),),
            known={"objects": "partial", "relations": "partial"},
            cluster=" / ".join(asked.groups()),
        )
        texts[name] = record["scene_graph"]
    return episodes, with_claims([read_trace(text, episodes[name]) for name, text in texts.items()])


def video_llava(folder: Path) -> _Traces:
    """Known of each clip: a person, and the things that the question and its right answer name."""
    labels = json.loads((folder / "classes.json").read_text(encoding="utf-8"))["object"].values()
    file, episodes = folder / "video_llava_traces.jsonl", {}
    for record in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
        told = f"{record['question']} {record['choices'][record['true_index']][0]}".casefold()
        named = [name for name in labels if name == "person" or re.search(rf"\b{re.escape(name)}\b", told)]
        name = record["question_id"]
        episodes[name] = Episode(
            name,
            record["question"],
            (Frame(0.0, objects=tuple(FrameObject(label, label) for label in named)),),
            known={"objects": "partial"},
            vocabulary={"objects": tuple(labels)},
        )
    return episodes, with_claims(read_traces(file, episodes)[0])


def measured(traces: _Traces) -> TraceGroup:
    """Return the traces, judged by what is known of their pictures. TCS is left out, since no sentence model is needed for SGR."""
    episodes, said = traces
    verifier = open_verifier("annotation")
    judged, how = judge(said, episodes, verifier), TraceScoreOptions(sentence_model="none")
    return trace_group(LoadedTraces(list(said), dict(episodes)), judged, verifier, how)[0]


def table(folder: Path) -> str:
    """Return the rows of the page."""
    heads = [
        "prose of",
        "known",
        "claims",
        "judged",
        "SGR",
        "all unverifiable wrong",
        "all right",
        "false claims refuted",
        "not understood",
    ]
    rows = [
        [
            "LLaVA-1.5-7B, 208 photographs",
            "two things, their relation",
            *_cells(measured(llava(folder / "whatsup_llava15"))),
        ],
        [
            "Video-LLaVA, 300 clips",
            "a person, what the question names",
            *_cells(measured(video_llava(folder / "star"))),
        ],
    ]
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(group: TraceGroup) -> Iterator[str]:
    labels = [verdict.label for _, verdict, _ in group.verdicts]
    yield f"{len(labels):,}"
    yield f"{len(labels) - labels.count('unverifiable'):,}"
    for key in ("sgr", "sgr_low", "sgr_high", "refutable", "not_understood"):
        yield _share(group.mean(key))


def _share(found: Estimate | None) -> str:
    if found is None:
        return "–"
    return f"{100 * found.value:.1f} % [{100 * found.low:.1f}, {100 * found.high:.1f}]"


if __name__ == "__main__":
    sys.stdout.write(table(Path(sys.argv[1])) + "\n")
