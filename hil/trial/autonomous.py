"""Steps that the board trained without a word on the line: what it ended on, beside the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hil.link.replies import Stepped
from hil.trial.difference import Difference, differing_tensors

if TYPE_CHECKING:
    from hil.trial.lockstep import LockStep


def same_after_run(trial: LockStep, reply: Stepped, reference: tuple[int, ...], steps: int) -> bool:
    """Note a run of autonomous steps; return whether board and reference ended on the same weights. If not, the difference stands in the outcome.

    Args:
        trial: whose next step is the one behind the run.
        reply: of the board.
        reference: digests of the reference.
        steps: of the run.
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
