"""Ground truth of scenes: pictures, masks, objects, phrases, and interventions that must or must not touch the answer."""

from theodolite.grid._interventions import (
    harmless_contents,
    move_objects,
    remove_roles,
    replace_objects,
    safe_changes,
    swap_directions,
    with_cells,
)
from theodolite.grid._masks import (
    PARTS,
    MaskName,
    SceneObject,
    SceneRegions,
    cell_mask,
    phrase_spans,
    pixel_mask,
    regions_of,
    scene_objects,
    word_roles,
)
from theodolite.grid._render import atlas, read_cells, render

__all__ = [
    "PARTS",
    "MaskName",
    "SceneObject",
    "SceneRegions",
    "atlas",
    "cell_mask",
    "harmless_contents",
    "move_objects",
    "phrase_spans",
    "pixel_mask",
    "read_cells",
    "regions_of",
    "remove_roles",
    "render",
    "replace_objects",
    "safe_changes",
    "scene_objects",
    "swap_directions",
    "with_cells",
    "word_roles",
]
