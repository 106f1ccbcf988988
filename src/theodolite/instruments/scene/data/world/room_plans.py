"""What each kind of room contains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """What a kind of room contains, in order of importance."""

    walls: tuple[str, ...]
    """Stand with their backs to a wall."""
    floor: tuple[str, ...]
    """Stand anywhere."""
    tops: Mapping[str, tuple[str, ...]]
    """What may be put on what."""
    hung: tuple[str, ...] = ("clock", "framed picture")


_ON_DESK = ("monitor", "laptop", "table lamp", "vase", "bottle")


PLANS: Mapping[str, Plan] = {
    "bedroom": Plan(
        ("bed", "wardrobe", "chest of drawers", "bookshelf", "chest of drawers"),
        (
            "armchair",
            "suitcase",
            "potted plant",
            "backpack",
            "floor lamp",
            "chair",
            "guitar",
            "cardboard box",
            "fan",
        ),
        {"chest of drawers": ("table lamp", "vase", "television", "backpack")},
    ),
    "living room": Plan(
        ("sofa", "chest of drawers", "bookshelf", "piano", "armchair"),
        ("coffee table", "armchair", "potted plant", "floor lamp", "guitar", "fan", "stool", "backpack"),
        {
            "coffee table": ("vase", "laptop", "bottle"),
            "chest of drawers": ("television", "vase", "table lamp"),
        },
    ),
    "study": Plan(
        ("desk", "bookshelf", "desk", "bookshelf", "wardrobe"),
        (
            "office chair",
            "office chair",
            "rubbish bin",
            "potted plant",
            "cardboard box",
            "floor lamp",
            "backpack",
            "chair",
            "suitcase",
        ),
        {"desk": _ON_DESK},
    ),
    "kitchen": Plan(
        ("refrigerator", "stove", "kitchen counter", "washing machine", "kitchen counter"),
        (
            "table",
            "chair",
            "chair",
            "chair",
            "rubbish bin",
            "stool",
            "chair",
            "potted plant",
            "cardboard box",
        ),
        {"table": ("vase", "bottle", "laptop"), "kitchen counter": ("microwave", "bottle", "vase")},
        ("clock",),
    ),
    "bathroom": Plan(
        ("bathtub", "toilet", "washbasin", "washing machine", "chest of drawers"),
        ("rubbish bin", "stool", "potted plant", "suitcase", "fan"),
        {"washing machine": ("bottle", "vase"), "chest of drawers": ("vase", "table lamp")},
    ),
}
