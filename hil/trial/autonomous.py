"""Compare board and reference after a run of autonomous steps, in which the line was silent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil.link.replies import Stepped
from hil.trial.difference import Difference, differing_tensors

if TYPE_CHECKING:
    from hil.trial.lockstep import LockStep


def same_after_run(trial: LockStep, reply: Stepped, reference: tuple[int, ...], steps: int) -> bool:
    """Record a run of autonomous steps; return whether board and reference ended on the same weights.

    If not, the outcome gets the difference.

    Args:
        trial: its next step is the one after the run.
        reply: reply of the board.
        reference: digests of the reference.
        steps: number of steps in the run.
    """
    trial.outcome.final_digests = reply.digests
    trial.outcome.autonomous += steps
    wrong = differing_tensors(reply.digests, reference)
    if not wrong:
        return True
    ours, theirs = f"digest {reply.digests[wrong[0]]:08X}", f"digest {reference[wrong[0]]:08X}"
    name, what = trial.p.subject.tensors[wrong[0]].name, f"after {steps} autonomous steps, weight"
    trial.outcome.difference = Difference(trial.next_step - 1, name, None, ours, theirs, what)
    return False
