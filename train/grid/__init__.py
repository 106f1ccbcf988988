"""Training of ``grid:pure`` and ``grid:spur``."""
