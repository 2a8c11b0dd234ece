"""Steps on the board: compared ones, whose batch may be sent in parts, and runs in which the line is silent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from hil.link.replies import Stepped
from hil.threads import ThreadPool
from hil.training.methods.request import MethodRequest
from hil.training.trial.batch import Batch
from hil.training.trial.device import Device
from hil.training.trial.difference import first_digest
from hil.training.trial.step_failure import both

if TYPE_CHECKING:
    from hil.training.trial.lockstep import LockStep

T = TypeVar("T")
Counted = Callable[[int, int, str], None]


class Carries(Protocol):
    """Carries out a request, and may measure it."""

    def __call__(self, call: Callable[[], T]) -> T:
        """Return the result of a call that makes one request."""


def at_once(call: Callable[[], T]) -> T:
    """Carry out a request that nothing measures."""
    return call()


@dataclass(frozen=True)
class BoardSteps:
    """Trains steps on a board.

    Attributes:
        device: configured for a method with so many slots.
        request, slots: what it was configured with.
        counted: told how many samples a part has processed, how many were sent, and where that was.
    """

    device: Device
    request: MethodRequest
    slots: int
    counted: Counted | None = None

    def train(self, step: int, batch: Batch, timed: Carries = at_once) -> Stepped:
        """Train a step, whose index is `step`, and return the reply; `timed` carries out each request that computes."""
        n = len(batch.images)
        if n <= self.slots:
            self.device.fill(batch)
            return timed(partial(self.device.step, step, n))
        for number in range(self.request.passes()):
            for first in range(0, n, self.slots):
                part = batch.part(first, self.slots)
                self.device.fill(part)
                count = len(part.images)
                done = timed(partial(self.device.part, step, number, first, count))
                if self.counted is not None:
                    self.counted(done, first + count, f" of pass {number} in step {step}")
        return timed(partial(self.device.step, step, n))


def autonomous_run(
    trial: LockStep, steps: int, idle_ms: int, silence_s: float, timed: Callable[[Callable[[], Stepped]], Stepped]
) -> Stepped | None:
    """Train some steps on board and reference; return the board's reply, or None if they ended on different weights.

    Args:
        idle_ms: sleep before and after the steps.
        silence_s: how long the line may stay silent.
        timed: measures the request.
    """
    batch = trial.next_batch()
    images, labels, _ = batch
    first, trial.next_step = trial.next_step, trial.next_step + steps
    with ThreadPool(max_workers=1) as worker:
        pending = worker.submit(lambda: [trial.reference.step(images, labels) for _ in range(steps)])
        trial.device.fill(batch)
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
