"""Runs of autonomous steps, in which the line is silent; board and reference are compared at the end."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from hil.link.replies import Stepped
from hil.threads import ThreadPool
from hil.training.trial.difference import first_digest
from hil.training.trial.step_failure import both

if TYPE_CHECKING:
    from hil.training.trial.lockstep import LockStep


def autonomous_run(
    trial: LockStep, steps: int, idle_ms: int, silence_s: float, timed: Callable[[Callable[[], Stepped]], Stepped]
) -> Stepped | None:
    """Train some steps on board and reference; return the board's reply, or None if they ended on different weights.

    Args:
        idle_ms: sleep before and after the steps.
        silence_s: how long the line may stay silent.
        timed: measures the request.
    """
    images, labels = trial.next_batch()
    first, trial.next_step = trial.next_step, trial.next_step + steps
    with ThreadPool(max_workers=1) as worker:
        pending = worker.submit(lambda: [trial.reference.step(images, labels) for _ in range(steps)])
        trial.device.samples(images, labels)
        run = partial(trial.device.run, first, steps, len(images), idle_ms, silence_s)
        reply, outcomes = both(lambda: timed(run), pending, first, trial.p.method.plan.layers)
    return reply if same_after_run(trial, reply, outcomes[-1].digests, steps) else None


def same_after_run(trial: LockStep, reply: Stepped, reference: tuple[int, ...], steps: int) -> bool:
    """Record a run of steps; return whether board and reference ended on the same weights.

    If not, the outcome gets the difference.
    """
    trial.outcome.final_digests = reply.digests
    trial.outcome.autonomous += steps
    what = f"after {steps} autonomous steps, weight"
    found = first_digest(trial.next_step - 1, trial.p.method.plan.tensors, reply.digests, reference, what)
    trial.outcome.difference = found or trial.outcome.difference
    return found is None
