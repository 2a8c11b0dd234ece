"""Why a training step fails, in words (docs/arithmetic-fqt.md, section 8)."""

from __future__ import annotations

CAUSES = {
    1: "all weights of {name} are 0, so their range collapses",
    2: "a weight or bias of {name} leaves -2^20..2^20",
    3: "the error that {name} gives has a scale above 2^40",
    4: "the range of the output of {name} is wider than 2^30",
}
"""By the number of the cause."""


def failed_step(step: int, name: str, cause: int) -> str:
    """Return the sentence about a step that failed at the layer of this name, by the number of the cause."""
    what = CAUSES.get(cause, f"cause {cause} at {{name}}").format(name=name)
    return f"step {step} fails: {what}: choose a smaller eta, or begin with other weights."
