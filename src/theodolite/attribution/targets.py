"""Attribution targets: an option's logit z_c at the last position, alone or against its rival.

contrastive target (equation 5 of the paper):  τ = z_tgt − z_neg,  z_neg = z_pred if pred ≠ tgt, else z_2nd
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from theodolite.core.errors import UsageError

if TYPE_CHECKING:
    import torch


_OPTION = re.compile(r"option:\d+")


def check_targets(wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the targets without duplicates.

    Raises:
        UsageError: If a target is unknown or there is none.

    >>> check_targets(["gt", "option:2", "gt"])
    ('gt', 'option:2')
    """
    unknown = [name for name in wanted if name not in {"gt", "pred"} and not _OPTION.fullmatch(name)]
    if unknown:
        raise UsageError(f"there is no target {unknown[0]!r}; there are: gt, pred and option:<index>")
    if not wanted:
        raise UsageError("there is no target to explain; use gt, pred or both")
    return tuple(dict.fromkeys(wanted))


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """The option of each role for each request of a batch; every array has shape (batch,)."""

    roles: dict[str, torch.Tensor]
    """``pred``, ``second``, and the requested ones: ``gt`` or ``option:<index>``."""

    @classmethod
    def choose(cls, logits: torch.Tensor, wanted: tuple[str, ...], gold: list[int] | None) -> Targets:
        """Determine the options of the roles.

        Args:
            logits: The options' logits, (batch, options).
            wanted: The targets to explain.
            gold: The index of each request's correct option. Required for ``gt``.
        """
        import torch

        top = logits.topk(2, dim=1).indices
        roles = {"pred": top[:, 0], "second": top[:, 1]}
        for name in wanted:
            if name == "gt":
                if gold is None:
                    raise UsageError("the target 'gt' needs the correct option of every request")
                roles["gt"] = torch.tensor(gold, device=logits.device)
            elif name.startswith("option:"):
                index = int(name.removeprefix("option:"))
                if not 0 <= index < logits.shape[1]:
                    raise UsageError(f"there is no {name}: the options are 0 to {logits.shape[1] - 1}")
                roles[name] = torch.full_like(top[:, 0], index)
        return cls(roles)

    def repeated(self, roles: Sequence[str]) -> dict[str, str]:
        """Return the roles that stand for the same options as an earlier one in every request, with that one."""
        return {
            role: other
            for i, role in enumerate(roles)
            for other in reversed(roles[:i])
            if bool((self.roles[role] == self.roles[other]).all())
        }

    def is_predicted(self, name: str) -> torch.Tensor:
        """True where a target is the model's own answer, (batch,)."""
        return self.roles[name] == self.roles["pred"]
