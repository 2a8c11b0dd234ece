"""Which faults the soak has, and which of them meets a trial."""

from __future__ import annotations

import numpy as np

from tests.faults.campaign.carry import NOTHING
from tests.faults.campaign.desk_kinds import DESK_KINDS
from tests.faults.campaign.fault import Fault, Measured

# Faults after which the board serves the next trial, and which end within seconds.
NAMES = (
    "line: bytes lost to the board",
    "probe: gone while connecting, and back",
    "meter: an answer is late",
    "line: bits flipped from the board",
    "port: gone and back under another name",
    "process: SIGKILL to the probe's process",
    "line: late bytes to the board",
    "board: brown-out",
    "probe: gone while flashing, and back",
    "meter: gone",
    "line: bytes lost from the board",
    "probe: one answer is an error",
    "port: gone while flashing and back under another name",
    "meter: half an answer",
    "line: bits flipped to the board",
    "probe: gone while reading, and back",
    "line: late bytes from the board",
)
BY_NAME = {kind.name: kind for kind in DESK_KINDS}
FIRST = tuple(Fault(NOTHING.kind, NOTHING.moment, trial=trial) for trial in ("flash", "plain", "energy"))
ROUND = len(FIRST) + 2 * len(NAMES)  # trials until every kind has been met
DRAW = 16  # first word of the seed of a fault; the others are the soak's seed, the board's number and the trial's


def fault_of(seed: int, board: int, number: int, measured: Measured) -> Fault:
    """Return what meets a trial: nothing the first ones and every second after them, the others a kind after the other.

    Args:
        seed: of the soak.
        board: number of the board.
        number: of the trial on this board, from 0.
        measured: of the first ones; moments are drawn within it.
    """
    if number < len(FIRST):
        return FIRST[number]
    met, odd = divmod(number - len(FIRST), 2)
    if odd:
        return NOTHING
    rng = np.random.Generator(np.random.PCG64([DRAW, seed, board, number]))
    return BY_NAME[NAMES[met % len(NAMES)]].draw(rng, measured)
