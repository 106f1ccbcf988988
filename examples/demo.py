"""The main job on what is embedded: models of known reasoning, and whether each instrument finds out.

``make demo`` runs this. It prints every command that it uses, so that each can be tried by hand.
"""

import shlex
import shutil
import sys
from pathlib import Path

from rich.console import Console
from rich.rule import Rule

from theodolite.cli import main

FOLDER = Path("demo")
console = Console(highlight=False)


def theodolite(command: str, **options: str | Path | int) -> None:
    """Shows a command and runs it."""
    words = command.split() + [word for name, value in options.items() for word in (f"--{name}", str(value))]
    console.print(f"\n[bold cyan]$ theodolite {shlex.join(words)}[/]")
    status = main(words)
    if status:
        sys.exit(status)


def demo() -> None:
    """Asks, counts on a grid, looks at scenes and follows steps; each with models whose fault is known."""
    shutil.rmtree(FOLDER, ignore_errors=True)

    console.print(Rule("ask: does the picture matter to the answers?"))
    theodolite("ask make", n=120, out=FOLDER / "squares")
    for model in ("looker", "guesser"):
        theodolite("ask run", data=FOLDER / "squares", model=f"scripted:{model}", out=FOLDER / model)

    console.print(
        Rule("grid: two trained networks, the same but for their scenes; one evaluates, one counts words")
    )
    theodolite(
        "grid make", n=12, buckets="A-F0-D1,M-F0-D1,M-F0-D2,M-F0-D3", density="dense", out=FOLDER / "grid"
    )
    for model in ("pure", "spur"):
        theodolite("grid accuracy", data=FOLDER / "grid", model=f"grid:{model}", out=FOLDER / f"grid-{model}")

    console.print(Rule("scene: right answers beside a scene graph that does not bear them out"))
    theodolite("scene make", indoor=6, outdoor=6, out=FOLDER / "scenes")
    theodolite(
        "scene run", data=FOLDER / "scenes", model="scripted:scene-shortcut", out=FOLDER / "scene-shortcut"
    )
    theodolite(f"scene score {FOLDER / 'scene-shortcut'}")

    console.print(Rule("what was measured"))
    theodolite(f"runs list {FOLDER}")


if __name__ == "__main__":
    demo()
