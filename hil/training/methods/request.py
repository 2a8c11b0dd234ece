"""What a method asks of the agent: the second of the three interfaces of a method."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from hil.training.methods.plan import MethodPlan
from hil.training.methods.settings import MethodSettings


@dataclass(frozen=True)
class MethodRequest:
    """What the agent is asked, and what it may answer; the defaults are those of most methods.

    Attributes:
        plan: what is trained.
        loop: name of the training loop.
    """

    plan: MethodPlan
    loop: str

    def configuration(self, settings: MethodSettings, slots: int, first_step: int) -> dict[str, Any]:
        """Return the fields of the request `configure` that sets the method."""
        return settings.request_fields(self.loop, slots, first_step)

    def fault_of_weights(self, settings: Any) -> str:
        """Return why the first weights cannot be trained with some settings, a sentence; empty if they can."""
        return ""

    def kept_state(self, settings: Any) -> tuple[str, str] | None:
        """Return what a step leaves for the next one besides the trained tensors, and how to turn it off."""
        return None

    def ranking_steps(self, settings: Any) -> int:
        """Return how many steps at the beginning train nothing."""
        return 0

    def fault_of_steps(self, settings: Any, steps: int) -> str:
        """Return why so many steps train nothing, a sentence; empty if they train."""
        return ""

    def passes(self) -> int:
        """Return how often a batch that comes in parts goes through the board in a step."""
        return 1

    def streams(self) -> bool:
        """Return whether a batch may come in parts."""
        return True

    def shows(self, stage: int) -> bool:
        """Return whether the board can show a stage of a traced sample."""
        return True

    def first_wrong(self, tensors: Sequence[int], losses_agree: bool) -> int:
        """Return which of the tensors that differ went wrong first; most methods train from input to output."""
        return tensors[0]


def fault_of_step(setting: str, value: float, tensors: Iterable[tuple[str, np.ndarray]]) -> str:
    """Return why most weights of a tensor in `float32` would not change by a step, a sentence; empty if they would.

    See docs/arithmetic-float32.md, section 10. The tensors come with their names.
    """
    least, name = max(((_least_step(array), name) for name, array in tensors), key=itemgetter(0), default=(0.0, ""))
    if np.float32(value) >= least:
        return ""
    return (
        f"setting {setting} is {value}: most weights of {name} would not change by it, the smallest step "
        f"that acts there is {least}, choose at least that."
    )


def _least_step(array: np.ndarray) -> float:
    """Return half the unit in the last place of the lower median of the magnitudes of a tensor."""
    sizes = np.sort(np.abs(array), axis=None)
    return float(np.spacing(sizes[(sizes.size - 1) // 2])) / 2
