"""Lesson workers that fail or die are told at once, with their own error."""

import os
import signal
import time

import pytest

from theodolite.core.errors import WorkerError
from train.twins.curriculum import TWINS
from train.twins.lesson_workers import LessonWorkers


def until_told(workers):
    for _ in range(1200):
        workers.get(wait_s=0.05)
        workers.check()
    pytest.fail("nothing was told")


def test_a_lesson_worker_s_own_error_is_told():
    workers = LessonWorkers("this is no tokenizer", workers=1, seed=0, curriculum=TWINS)
    try:
        with pytest.raises(WorkerError, match=r"a lesson worker failed \(relation.*expected"):
            until_told(workers)
    finally:
        workers.stop()


def test_a_killed_lesson_worker_is_told():
    workers = LessonWorkers("{}", workers=2, seed=0, curriculum=TWINS)
    try:
        time.sleep(0.2)
        os.kill(workers._processes[0].pid, signal.SIGKILL)
        with pytest.raises(WorkerError, match=r"a lesson worker of 2 was killed by signal 9 \(SIGKILL\)"):
            until_told(workers)
    finally:
        workers.stop()
