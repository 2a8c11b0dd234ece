"""Which method, slots and memory plan of a trial fit a board."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from hil.boards import Board
from hil.errors import Blocked, RigError
from hil.training.graph.plan import Plan
from hil.training.methods import Method
from hil.training.trial.choose import method_of
from hil.training.trial.spec import TrialSpec

SELECTED, BLOCKS = "selected", (1, 2, 3, 4)  # the variant that selects its block, and the blocks


def fitting(spec: TrialSpec, board: Board, arena: int, kept: int = 0) -> tuple[Method, int, Plan]:
    """Return method, slots and plan; if the trial selects its block, those of the first block that fits.

    The plan begins behind `kept` bytes of samples that stay in the arena. Raises as `method_of` and `fit`.
    """
    if spec.variant != SELECTED:
        method = method_of(spec, board, arena - kept)
        return method, *fit(spec, method, arena, kept)
    *others, last = (replace(spec, variant=f"block{block}") for block in BLOCKS)
    for one in others:
        with contextlib.suppress(Blocked):
            return fitting(one, board, arena, kept)
    return fitting(last, board, arena, kept)


def fits_behind(spec: TrialSpec, board: Board, arena: int, kept: int) -> bool:
    """Return whether a trial fits behind `kept` bytes of samples that stay in the arena."""
    try:
        fitting(spec, board, arena, kept)
    except Blocked:
        return False
    return True


def fit(spec: TrialSpec, method: Method, arena: int, kept: int = 0) -> tuple[int, Plan]:
    """Return the slots and the plan: of the whole batch, or of as many samples as fit.

    The plan begins behind `kept` bytes of samples that stay in the arena.

    Raises:
        RigError: slots in a scope that needs the whole batch.
        Blocked: it does not fit.
    """
    batch = method.settings.batch
    most = batch if spec.slots is None else spec.slots
    if most < batch and not method.request.streams():
        raise RigError(
            f"{most} slots in exponent scope 'batch': all {batch} samples must be on the board, leave slots out."
        )
    planned = method.plan.memory(most).behind(kept)
    if planned.total > arena and spec.slots is None and method.request.streams():
        low, high = 0, most  # low fits (or nothing does), high does not
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if method.plan.memory(middle).behind(kept).total <= arena else (low, middle)
        most = max(low, 1)
        planned = method.plan.memory(most).behind(kept)
    if planned.total > arena:
        raise Blocked(
            "plan",
            f"{spec.network_name} by {spec.variant} at batch {spec.batch} needs {planned.total:,} bytes, "
            f"{spec.board} has an arena of {arena:,}: "
            f"choose {method.smaller}.",
        )
    return most, planned
