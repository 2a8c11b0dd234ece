"""All kinds of faults, and how many of each are in the gate."""

from __future__ import annotations

from collections import Counter

from .checkpoint_kinds import CHECKPOINT_KINDS
from .desk_kinds import DESK_KINDS
from .fault import Kind, kind_at
from .instrument_kinds import INSTRUMENT_KINDS
from .session_kinds import SESSION_KINDS

KINDS: tuple[Kind, ...] = (*DESK_KINDS, *SESSION_KINDS, *CHECKPOINT_KINDS, *INSTRUMENT_KINDS)

# Those that need neither a session of pytest, nor a bench of their own, nor the time that a silence takes; and one of each of these.
GATE = {
    **{f"line: {what} to the board": 1 for what in ("bytes lost", "bits flipped")},
    **{f"line: {what} from the board": 1 for what in ("byte doubled", "noise inserted")},
    "line: the adapter stops for a moment": 1, "line: cut from the board": 1, "port: gone": 1, "port: gone and back under another name": 1,
    "port: gone while flashing and back under another name": 1,
    **{f"probe: gone while {doing}": 1 for doing in ("connecting", "resetting", "reading")},
    "probe: gone while flashing, and back": 1, "probe: gone while reading, and back": 1, "probe: one answer is an error": 1, "board: brown-out": 1,
    "process: SIGKILL to the probe's process": 1, "process: the probe's process stopped for a while": 1, "computer: no descriptor left": 1,
    "computer: no memory left": 1, "lock: another session has the board": 1, "lock: its holder is stopped": 1, "lock: its holder is killed": 1,
    "session: SIGKILL to pytest": 1, "checkpoint: SIGKILL to the campaign": 1, "meter: instrument": 1,
}  # fmt: skip


def gate() -> list[int]:
    """Return the numbers of the faults of the gate."""
    left, numbers = Counter(GATE), []
    for number in range(max(GATE.values()) * len(KINDS)):
        name = kind_at(KINDS, number).name
        if left[name] > 0:
            left[name] -= 1
            numbers.append(number)
    return numbers
