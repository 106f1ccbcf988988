"""What a method reads from the shared pass, so that the pass does no more than it must."""

from __future__ import annotations

from enum import Flag, auto


class Need(Flag):
    """Parts of the evidence. Each says how deep gradients must go."""

    NOTHING = 0
    ATTENTION = auto()
    """Attention of all layers; no gradient."""
    HIDDEN_GRADIENT = auto()
    """Hidden states of the last layers and their gradients; no deeper."""
    ATTENTION_GRADIENT = auto()
    """Gradients through all language layers."""
    FEATURE_GRADIENT = auto()
    """Gradients through all language layers and the projector, to the vision features."""
    TAIL = auto()
    """Running the last layers again on other hidden states."""

    @property
    def is_deep(self) -> bool:
        """Whether gradients must go through the whole language model."""
        return bool(self & (Need.ATTENTION_GRADIENT | Need.FEATURE_GRADIENT))
