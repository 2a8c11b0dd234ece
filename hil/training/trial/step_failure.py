"""Steps that fail by the method's own arithmetic: board and reference must fail alike (docs/link.md, `step_failed`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

from hil.errors import DeviceFault, RigError
from hil.link.failures import Refused
from hil.link.replies import Stepped
from hil.training.methods.fqt_settings import failed_step
from hil.training.reference.methods import StepFailed

CODE = "step_failed"
T = TypeVar("T")


def both(board: Callable[[], Stepped], reference: Future[T], step: int, layers: Sequence[str]) -> tuple[Stepped, T]:
    """Return the board's reply and what the reference found.

    Args:
        board: requests the step, or the steps of a run.
        reference: trains the same.
        step: the first of them.
        layers: their names.

    Raises:
        StepFailed: board and reference fail at the same layer by the same cause.
        DeviceFault: one of them fails, or they fail differently.
    """
    try:
        reply = board()
    except Refused as refusal:
        raise explained(refusal, reference, step, layers) from refusal
    return reply, trained(reference)


def trained(reference: Future[T]) -> T:
    """Return what the reference found in steps that the board has trained.

    Raises:
        DeviceFault: the reference fails.
    """
    try:
        return reference.result()
    except StepFailed as failed:
        raise DeviceFault(f"the board trains a step that fails in the reference: {failed}") from failed


def explained(refusal: Refused, reference: Future[T], step: int, layers: Sequence[str]) -> RigError:
    """Return the error for a refusal of a step: what `both` raises, or the refusal itself if it is another."""
    if refusal.code != CODE:
        return refusal
    name = layers[refusal.a] if refusal.a < len(layers) else f"layer {refusal.a}"
    theirs = "trains it"
    try:
        reference.result()
    except StepFailed as failed:
        if (failed.layer, failed.cause) == (refusal.a, refusal.b):
            return failed
        theirs = f"says: {failed}"
    return DeviceFault(f"the board says: {failed_step(step, name, refusal.b)} The reference {theirs.rstrip('.')}.")
