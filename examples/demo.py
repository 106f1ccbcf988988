"""The main job on what is embedded: three models, the same questions, and whether each of them looks.

``make demo`` runs this. It prints every command that it uses, so that each can be tried by hand.
"""

import shlex
import shutil
import sys
from pathlib import Path

from rich.console import Console
from rich.rule import Rule

from theodolite.cli import main
from theodolite.testing import tiny_checkpoint

FOLDER = Path("demo")
console = Console(highlight=False)


def theodolite(*words: str) -> None:
    """Shows a command and runs it."""
    console.print(f"\n[bold cyan]$ theodolite {shlex.join(words)}[/]")
    status = main(list(words))
    if status:
        sys.exit(status)


def demo() -> None:
    """Makes the questions, asks three models, lists the runs."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    squares = str(FOLDER / "squares")
    theodolite("ask", "make", "--n", "120", "--out", squares)

    console.print(Rule("a scripted model that reads the pixels"))
    theodolite("ask", "run", "--data", squares, "--model", "scripted:looker", "--out", str(FOLDER / "looker"))

    console.print(Rule("a scripted model that reads only the question"))
    theodolite(
        "ask", "run", "--data", squares, "--model", "scripted:guesser", "--out", str(FOLDER / "guesser")
    )

    console.print(Rule("a real LLaVA, tiny and with random weights: it has learnt nothing"))
    checkpoint = f"hf:{tiny_checkpoint(FOLDER / 'tiny-llava')}"
    run = (
        "ask",
        "run",
        "--data",
        squares,
        "--model",
        checkpoint,
        "--answer",
        "choose",
        "--out",
        str(FOLDER / "tiny"),
    )
    theodolite(*run)

    console.print(Rule("what was measured"))
    theodolite("runs", "list", str(FOLDER))


if __name__ == "__main__":
    demo()
