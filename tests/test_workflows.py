"""The workflows name commands that exist, and the classifiers the Pythons that are tested."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
CI = ROOT / ".github" / "workflows" / "ci.yml"
ACTION = ROOT / "examples" / "github-action" / "looking.yml"


def commands(path):
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]


def test_every_target_of_the_workflow_is_in_the_makefile():
    targets = set(
        re.findall(r"^([\w %:-]+?):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    known = {name for line in targets for name in line.replace(":", " ").split()}
    asked = {word for run in commands(CI) for word in re.findall(r"make (\w[\w-]*)|'(test[\w-]*)'", run)}
    found = {word for pair in asked for word in pair if word}
    assert found == {"audit", "check", "docs", "test", "test-newest", "test-slow", "wheel"}
    assert found <= known


def test_what_is_tested_is_what_is_promised():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    promised = [
        line.rpartition(" ")[2]
        for line in project["classifiers"]
        if line.startswith("Programming Language :: Python :: 3.")
    ]
    workflow = yaml.safe_load(CI.read_text(encoding="utf-8"))
    assert (
        workflow["jobs"]["test"]["strategy"]["matrix"]["python"]
        == promised
        == ["3.11", "3.12", "3.13", "3.14"]
    )
    assert project["requires-python"] == f">={promised[0]}"


def test_the_ci_of_this_repository_runs_both_lanes_and_builds_the_wheel():
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("make ")] == [
        f"make {target}" for target in ("check", "test", "test-slow", "docs", "wheel")
    ]


def test_the_workflow_keeps_how_long_the_tests_took():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    jobs = yaml.safe_load(CI.read_text(encoding="utf-8"))["jobs"]
    for name, pattern in (("test", "build/test*.xml"), ("slow", "build/test-slow.xml")):
        (kept,) = [step for step in jobs[name]["steps"] if "upload-artifact" in step.get("uses", "")]
        assert kept["with"]["path"] == pattern
        assert kept["if"] == "always()"
    written = re.findall(r"--junitxml (\S+)", makefile)
    assert written == ["build/test.xml", "build/test-slow.xml", "build/test-$*.xml"]


def test_what_the_slow_lane_lists_is_there(pytestconfig):
    tests = ROOT / "tests"
    lanes = pytestconfig.pluginmanager.get_plugin(str(tests / "conftest.py"))
    assert [path for path in lanes.SLOW if not (tests / path).exists()] == []


@pytest.mark.parametrize("noun", ["diagnose", "compare"])
def test_the_options_of_the_example_exist(noun, capsys):
    from theodolite.cli.main import main

    (line,) = [run for run in commands(ACTION) if f"theodolite {noun}" in run]
    main([noun, "--help"])
    told = capsys.readouterr().out
    assert all(option in told for option in re.findall(r"--[\w-]+", line))
