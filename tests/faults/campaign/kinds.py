"""All kinds of faults, and how many of each are in the gate."""

from __future__ import annotations

from collections import Counter

from .checkpoint_kinds import CHECKPOINT_KINDS
from .desk_kinds import DESK_KINDS
from .fault import Kind, kind_at
from .instrument_kinds import INSTRUMENT_KINDS
from .session_kinds import SESSION_KINDS

KINDS: tuple[Kind, ...] = (*DESK_KINDS, *SESSION_KINDS, *CHECKPOINT_KINDS, *INSTRUMENT_KINDS)

# One of each way to fail, of those that no other test of the gate runs, or that another runs without the judge of a campaign.
# Left to the night: a line that loses or doubles bytes (test_bench_faults.py), a port or a probe that goes in another
# stage than here, a computer without memory (test_disk.py), and a lock whose holder lives (test_plugin.py).
GATE = {
    "line: bits flipped to the board": 1, "line: noise inserted from the board": 1, "line: the adapter stops for a moment": 1,
    "line: cut from the board": 1, "port: gone": 1, "port: gone while flashing and back under another name": 1, "probe: gone while connecting": 1,
    "probe: gone while reading, and back": 1, "probe: one answer is an error": 1, "board: brown-out": 1, "process: SIGKILL to the probe's process": 1,
    "computer: no descriptor left": 1, "lock: its holder is killed": 1, "session: SIGKILL to pytest": 1, "checkpoint: SIGKILL to the campaign": 1,
    "meter: instrument": 1,
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
