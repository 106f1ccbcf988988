"""What happens at each fault in each command. ``docs/faults.md`` shows this table; ``test_faults.py`` tests each cell."""

COMMANDS = {
    "run": "`run` commands",
    "diagnose": "`diagnose`",
    "make": "`make` commands",
    "score": "`score` commands",
}
FAULTS = {
    "kill": "killed (`kill -9`)",
    "stop": "Ctrl-C or SIGTERM",
    "full": "disk full",
    "read-only": "read-only folder",
    "two": "two processes",
    "clock": "the clock jumps",
    "worker": "a worker process dies",
    "reply": "a strange reply of a server",
    "damage": "a flipped bit",
}
_SENTENCE = "One sentence, status 2."
_GOES_ON = "The same command goes on: nothing is lost, doubled or different."
_NONE = "–"
CELLS = {
    ("kill", "run"): _GOES_ON,
    ("kill", "diagnose"): _GOES_ON,
    (
        "kill",
        "make",
    ): "No half data set under that name, but a hidden folder beside it; the same command starts again.",
    ("kill", "score"): "`scores.json` is the old or the new one, never a part.",
    ("stop", "run"): f"Finished items are kept, status 130 or 143. {_GOES_ON}",
    ("stop", "diagnose"): f"Finished items are kept, status 130 or 143. {_GOES_ON}",
    ("stop", "make"): "Nothing is left, status 130 or 143; the same command starts again.",
    ("stop", "score"): "`scores.json` is the old or the new one, status 130 or 143.",
    ("full", "run"): f"{_SENTENCE} Finished items are kept; the same command goes on once there is space.",
    (
        "full",
        "diagnose",
    ): f"{_SENTENCE} Finished items are kept; the same command goes on once there is space.",
    ("full", "make"): f"{_SENTENCE} Nothing is left.",
    ("full", "score"): f"{_SENTENCE} The answers are untouched.",
    ("read-only", "run"): f"{_SENTENCE} Nothing is asked.",
    ("read-only", "diagnose"): f"{_SENTENCE} Nothing is asked.",
    ("read-only", "make"): f"{_SENTENCE} Nothing is made.",
    ("read-only", "score"): f"{_SENTENCE} The answers are untouched.",
    ("two", "run"): f"The second: {_SENTENCE} It names the process that measures.",
    ("two", "diagnose"): f"The second: {_SENTENCE} It names the process that measures.",
    ("two", "make"): f"The first to finish keeps the folder; the other: {_SENTENCE}",
    ("two", "score"): "Scores what a running command has finished so far.",
    ("clock", "run"): "No effect: waits and durations use a clock that cannot jump.",
    ("clock", "diagnose"): "No effect: waits and durations use a clock that cannot jump.",
    ("clock", "make"): "No effect.",
    ("clock", "score"): "No effect.",
    (
        "worker",
        "run",
    ): "Ray: its items go to another worker; an item whose worker died twice has failed. A head or an agent that is gone: one sentence, status 2; the same command goes on.",
    (
        "worker",
        "diagnose",
    ): "Ray: its items go to another worker; an item whose worker died twice has failed. A head or an agent that is gone: one sentence, status 2; the same command goes on.",
    ("worker", "make"): f"{_SENTENCE} It names the signal or status, at once. Nothing is left.",
    ("worker", "score"): _NONE,
    ("reply", "run"): "Only that item fails, with the reason; the same command asks it again.",
    ("reply", "diagnose"): "Only that item fails, with the reason; the same command asks it again.",
    ("reply", "make"): _NONE,
    ("reply", "score"): _NONE,
    ("damage", "run"): "Told. Whole records are kept, and only the damaged ones are asked again.",
    ("damage", "diagnose"): "Told. Whole records are kept, and only the damaged ones are asked again.",
    ("damage", "make"): _NONE,
    ("damage", "score"): "Told. A damaged record counts as missing.",
}


def commands_of(fault):
    """The commands in which a fault can occur."""
    return [command for command in COMMANDS if CELLS[fault, command] != _NONE]


def as_markdown():
    """The table as it stands in the documentation."""
    lines = [f"| fault | {' | '.join(COMMANDS.values())} |", f"| --- |{' --- |' * len(COMMANDS)}"]
    for fault, words in FAULTS.items():
        cells = " | ".join(CELLS[fault, command] for command in COMMANDS)
        lines.append(f"| **{words}** | {cells} |")
    return "\n".join(lines)
