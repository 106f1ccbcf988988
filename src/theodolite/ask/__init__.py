"""The plainest test: one's own questions with the picture, without it, and with another picture.

It needs nothing of the model but answers, and says only whether the picture matters to them, not how it is used.
"""

from __future__ import annotations

from theodolite.ask._parse import Answer, parse_answer
from theodolite.ask._plan import SETTINGS, Setting, plan_questions
from theodolite.ask._questions import Question, read_questions, write_questions
from theodolite.ask._score import AskScore, Comparison, SettingScore, score_ask
from theodolite.ask._squares import make_squares

__all__ = [
    "SETTINGS",
    "Answer",
    "AskScore",
    "Comparison",
    "Question",
    "Setting",
    "SettingScore",
    "make_squares",
    "parse_answer",
    "plan_questions",
    "read_questions",
    "score_ask",
    "write_questions",
]
