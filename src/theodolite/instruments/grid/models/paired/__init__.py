"""The paired networks ``grid:pure`` and ``grid:spur``. Torch throughout: loaded where it is used."""
