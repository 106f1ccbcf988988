"""``python -m theodolite``."""

from __future__ import annotations

import sys

from theodolite.cli import main

if __name__ == "__main__":
    sys.exit(main())
