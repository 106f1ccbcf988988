"""``python -m theodolite``, and the program of that name."""

from __future__ import annotations

import sys

_INTERRUPTED = 130


def run() -> int:
    """Run the program. Ctrl-C while it is still loading ends it as quietly as later on."""
    try:
        from theodolite.cli.main import main
    except KeyboardInterrupt:
        return _INTERRUPTED
    return main()


if __name__ == "__main__":
    sys.exit(run())
