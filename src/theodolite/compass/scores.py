"""Scoring a compass run: the paper's tables, each row beside the uniform map and its evidence share.

- all at once: `score_run`, `score_samples` with `ScoreSettings`
- step by step: `project_samples` reads the maps once, and every table is a function of what it gives: `framework_table`,
  `target_control`, `class_table`, `answer_split`, `readout_agreement`, `prompt_table`, `ablation_table`
- settings chosen on some pictures and reported on others: `split_samples`, `choose_on_development`
"""

from __future__ import annotations

from theodolite.compass._ablations import (
    ABLATIONS,
    AblationRow,
    DevelopmentChoice,
    SampleSplit,
    ablation_table,
    choose_on_development,
    default_key,
    split_samples,
)
from theodolite.compass._comparisons import (
    AnswerSplit,
    ClassFigures,
    PromptFigures,
    ReadoutAgreement,
    TargetControl,
    answer_split,
    class_table,
    prompt_table,
    readout_agreement,
    target_control,
)
from theodolite.compass._framework import EvidenceShares, Row, framework_table
from theodolite.compass._project_samples import project_samples
from theodolite.compass._published import Published, published_figures
from theodolite.compass._published_tables import PublishedRow, published_row
from theodolite.compass._readings import CONTROLS, Projected, Readings
from theodolite.compass._score_records import (
    PROJECTIONS,
    SECTIONS,
    Comparisons,
    CompassScore,
    ScoreSettings,
)
from theodolite.compass._scoring import score_run, score_samples

__all__ = [
    "ABLATIONS",
    "CONTROLS",
    "PROJECTIONS",
    "SECTIONS",
    "AblationRow",
    "AnswerSplit",
    "ClassFigures",
    "Comparisons",
    "CompassScore",
    "DevelopmentChoice",
    "EvidenceShares",
    "Projected",
    "PromptFigures",
    "Published",
    "PublishedRow",
    "Readings",
    "ReadoutAgreement",
    "Row",
    "SampleSplit",
    "ScoreSettings",
    "TargetControl",
    "ablation_table",
    "answer_split",
    "choose_on_development",
    "class_table",
    "default_key",
    "framework_table",
    "project_samples",
    "prompt_table",
    "published_figures",
    "published_row",
    "readout_agreement",
    "score_run",
    "score_samples",
    "split_samples",
    "target_control",
]
