"""A running counter in a file, such as energy or charge: find where it was reset, went round or jumped.

Between two of its values a counter shows what flowed in that time. A reset or a jump would count as energy of the
board. A counter of 32 bits that goes round is continued if that is certain.
"""

from __future__ import annotations

import numpy as np

from hil.errors import RigError

ROUND = 2.0**32  # in the unit of the file
JUMP = 20.0  # times the power of every other step: no load of the board that the other readings show
FEW = 3  # such steps may be bursts of the board, each within one reading; a single one is refused
CURE = "export the stretch before or after that line, or record it again"


def continued(name: str, counter: np.ndarray, times: np.ndarray, lines: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return a counter without its going round, and notes about it.

    Args:
        name: of the file.
        counter: float64[n], in the unit of the file.
        times: float64[n], in seconds, ascending.
        lines: int64[n], the lines of the file.

    Raises:
        RigError: the counter was reset or jumped; the message has the line.
    """
    steps = np.diff(counter)
    way = 1.0 if np.sum(steps > 0) >= np.sum(steps < 0) else -1.0  # a meter that is wired the other way counts down
    steps, notes = way * steps, []
    for place in np.flatnonzero(steps < -_largest(steps)):
        line, before, after = int(lines[place + 1]), counter[place], counter[place + 1]
        if not 0 <= steps[place] + ROUND <= _largest(steps) or np.min(counter) < 0 or np.max(counter) >= ROUND:
            raise RigError(
                f"{name}, line {line}: its counter goes from {before:.10g} to {after:.10g}, against its direction in "
                f"the other lines: it was reset, or it went round at an unknown value; {CURE}."
            )
        steps[place] += ROUND
        notes.append(f"line {line}: the counter went round at 2^32 and was continued.")
    whole = counter[0] + way * np.concatenate([[0.0], np.cumsum(steps)])
    return (whole if notes else counter), [*notes, *_jumps(name, whole, steps, times, lines)]


def _largest(steps: np.ndarray) -> float:
    """Return the largest step forward."""
    return float(np.max(steps, initial=0.0))


def _jumps(name: str, counter: np.ndarray, steps: np.ndarray, times: np.ndarray, lines: np.ndarray) -> list[str]:
    """Return a note about a few steps that stand far above all others; raise RigError if it is a single one."""
    power = np.abs(steps) / np.diff(times)
    order = np.argsort(power)[::-1]
    for count in range(1, min(FEW, len(order) - 1) + 1):
        others = power[order[count]]
        if others > 0 and power[order[count - 1]] > JUMP * others:
            break
    else:
        return []
    places = np.sort(order[:count])
    if count == 1:
        place, faster = int(places[0]), power[places[0]] / others
        raise RigError(
            f"{name}, line {lines[place + 1]}: its counter jumps from {counter[place]:.10g} to "
            f"{counter[place + 1]:.10g}, {faster:.3g} times as fast as in any other line: {CURE}; if the board did "
            "draw that, record more readings in that time."
        )
    named = ", ".join(str(lines[place + 1]) for place in places)
    return [
        f"lines {named}: the counter steps more than {JUMP:g} times as fast as in all others: it jumps there, or the "
        "board has bursts that are shorter than a reading."
    ]
