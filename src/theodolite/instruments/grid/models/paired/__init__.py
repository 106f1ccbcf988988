"""The paired networks ``grid:pure`` and ``grid:spur``. This package imports torch and is loaded only when used."""
