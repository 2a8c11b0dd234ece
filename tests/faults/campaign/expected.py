"""Which ends are right, kind by kind: written from what issue and documents promise, not from what the program says today.

Right is always a `pass` that ends on the digest of an undisturbed trial, unless the reason must say more. Else it is `blocked` with words that
a person at the bench needs to find the cause; where `passes` stands, nothing but a pass is right.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Right:
    """Attributes:
    words: a regular expression that the reason of every `blocked` contains; empty: `blocked` is wrong.
    passes: whether the trial must pass in spite of the fault.
    cut: whether the process that records is itself ended, so that its trials may be `interrupted`, or recorded nowhere.
    """

    words: str = ""
    passes: bool = False
    cut: bool = False


MENDED = Right(passes=True)
LINE = r"serial (port|line)|the line (from|to)"
PORT = r"serial port"
POWER = r"power|supply"
PROBE = r"probe"
BENCH = r"bench|stand-in"
METER = r"meter|instrument|keithley|reading|TCPIP"
DISK = r"disk|space|read-only|cannot be recorded|record"
CUT = Right(cut=True)

EXPECTED: dict[str, Right] = {
    "nothing": MENDED,
    # The line. One damaged piece costs a retry and nothing else.
    **{f"line: {what} {side} the board": MENDED for what in ("bytes lost", "byte doubled", "bits flipped", "noise inserted", "late bytes") for side in ("to", "from")},
    "line: one bit in 100,000 is wrong": MENDED,
    "line: one bit in 100 is wrong": Right(rf"{LINE}|damaged"),
    "line: one byte in 50 is lost": Right(rf"{LINE}|damaged"),
    "line: XON and XOFF swallowed": Right(r"XON"),
    "line: cut to the board": Right(LINE),
    "line: cut from the board": Right(LINE),
    "line: other programs write": Right(rf"{LINE}|other program|noise|damaged"),
    "line: endless naks": Right(rf"{LINE}|firmware reads and answers"),
    "line: endless acks": Right(rf"{LINE}|firmware reads and answers"),
    "line: old bytes again and again": Right(LINE),
    "line: another speed": Right(rf"{LINE}|speed|baud"),
    "line: slower than its adapter says": MENDED,
    "line: the adapter stops for a moment": MENDED,
    "line: the adapter stops for good": Right(LINE),
    "port: gone": Right(PORT),
    "port: gone and back under another name": Right(PORT),
    "port: gone while flashing and back under another name": MENDED,
    # The probe.
    **{f"probe: gone while {doing}": Right(PROBE) for doing in ("connecting", "flashing", "resetting", "reading")},
    **{f"probe: gone while {doing}, and back": Right(PROBE) for doing in ("connecting", "flashing", "resetting", "reading")},
    **{f"probe: silent while {doing}": Right(PROBE) for doing in ("connecting", "flashing", "resetting", "reading")},
    "probe: one answer is an error": Right(PROBE),
    # The board.
    "board: a flash bit does not take": Right(r"flash"),
    "board: resets by itself": Right(r"board was reset"),
    "board: brown-out in an update": Right(rf"{POWER}|brown-out"),
    "board: power cut in an update": Right(POWER),
    "board: brown-out": Right(rf"{POWER}|brown-out"),
    "board: brown-out in mid-step": Right(rf"{POWER}|brown-out"),
    "board: power cut": Right(POWER),
    "board: power cut in mid-step": Right(POWER),
    "board: power cut, and the rig may switch it": MENDED,
    "board: latch-up": Right(POWER),
    "board: latch-up, and the rig may switch its power": MENDED,
    # The meter: between it and the rig, and within it.
    **{f"meter: {what}": Right(METER) for what in ("gone", "silent", "half an answer", "no number", "an answer is late")},
    "meter: instrument": Right(r""),  # the table of tests/faults/instruments says what is right
    # Processes.
    **{f"process: {name} to the {who}": Right(rf"{BENCH}|{PORT}|{PROBE}") for name in ("SIGKILL", "SIGTERM") for who in ("desk",)},
    "process: desk stopped for a while": Right(rf"{BENCH}|{LINE}|{PROBE}"),
    **{f"process: {name} to the probe's process": Right(PROBE) for name in ("SIGKILL", "SIGTERM")},
    "process: the probe's process stopped for a while": Right(PROBE),
    "process: the probe's process stopped for good": Right(PROBE),
    **{f"session: {name} to pytest": CUT for name in ("SIGKILL", "SIGTERM", "SIGINT")},
    "session: pytest stopped for a while": MENDED,
    **{f"session: {name} to its bench": Right(BENCH) for name in ("SIGKILL", "SIGTERM")},
    "session: its bench stopped for good": Right(rf"{BENCH}|{LINE}|{PROBE}"),
    **{f"session: {name} to its worker": Right(r"worker", cut=True) for name in ("SIGKILL", "SIGTERM")},
    "session: its worker stopped for a while": MENDED,
    # The computer.
    "computer: no descriptor left": Right(r"open files|descriptor"),
    "computer: no memory left": Right(r"memory"),
    "computer: disk full": Right(DISK, cut=True),
    **{f"computer: {what} read-only": Right(DISK, cut=True) for what in ("disk", "folder")},
    "computer: clock set back": MENDED,
    "computer: clock set forward": MENDED,
    "session: no descriptor left": Right(rf"open files|descriptor|{DISK}", cut=True),
    "session: no memory left": Right(rf"memory|{DISK}|{PROBE}|{BENCH}", cut=True),
    # A checkpoint: whatever the cut, the campaign ends on the digest of one that was not cut.
    "checkpoint: the supply fails while the board writes it": MENDED,
    **{f"checkpoint: {name} to the campaign": CUT for name in ("SIGKILL", "SIGTERM")},
    "checkpoint: disk full": Right(DISK, cut=True),
    # Who holds the board.
    "lock: another session has the board": Right(r"in use.*held by"),
    "lock: its holder is stopped": Right(r"in use.*held by"),
    "lock: its holder is killed": MENDED,
}  # fmt: skip
