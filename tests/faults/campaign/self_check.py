"""A check of the judge: the rig is broken on purpose, once for each wrong outcome, and every one must be found."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hil.errors import Blocked
from hil.link.flow_control import FlowControl
from hil.rig.locks import Locks
from hil.targets.probe_process import ProbeProcess
from hil.trial.outcome import Outcome

from .carry import NOTHING, FaultRunner
from .fault import Fault, Moment
from .judge import HANG, LEFTOVER, LOST, WRONG_VERDICT
from .measure import measure

IN_TRAINING = Moment("train", "to_board", 100)
POWER_CUT = Fault("board: power cut", str(IN_TRAINING), act="power", at=IN_TRAINING, options={"back_s": 0.0})
LINE_CUT = Fault(
    "line: cut to the board", str(IN_TRAINING), act="line", at=IN_TRAINING, options={"harms": ("cut",), "seed": 0, "sides": ("to_board",)}
)  # fmt: skip


@dataclass(frozen=True)
class Broken:
    """A rig that was broken on purpose.

    Attributes:
        what: is broken.
        fault: meets it.
        sabotage: breaks it.
        outcome: that the judge must find.
        within_s: the deadline of the fault; 0: the usual one.
    """

    what: str
    fault: Fault
    sabotage: Callable[[], None]
    outcome: str
    within_s: float = 0.0


def _always_pass() -> None:
    Outcome.block = Outcome.fail = lambda self, why: None  # type: ignore[method-assign, assignment]

    def judge(self: Outcome) -> None:
        self.verdict, self.reason = "pass", ""

    Outcome.judge = judge  # type: ignore[method-assign]


def _no_reason() -> None:
    def block(self: Outcome, blocked: Blocked) -> None:
        self._end("blocked", "something went wrong.")

    Outcome.block = block  # type: ignore[method-assign]


def _fail() -> None:
    Outcome.block = lambda self, blocked: self.fail(blocked.reason)  # type: ignore[method-assign]


def _wait_for_ever() -> None:
    FlowControl.is_over = lambda self, now: False  # type: ignore[method-assign]


def _lose() -> None:
    def block(self: Outcome, blocked: Blocked) -> None:
        raise KeyError(blocked.reason)

    Outcome.block = block  # type: ignore[method-assign]


def _keep_locks() -> None:
    Locks.release = lambda self: None  # type: ignore[method-assign]


def _keep_a_process() -> None:
    start = ProbeProcess.start

    def leaves_one(self: ProbeProcess) -> None:
        start(self)
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(20)"], start_new_session=True)

    ProbeProcess.start = leaves_one  # type: ignore[method-assign]


BROKEN = (
    Broken("nothing", NOTHING, lambda: None, "pass"),
    Broken("it says pass without comparing", POWER_CUT, _always_pass, WRONG_VERDICT),
    Broken("it does not name the cause", POWER_CUT, _no_reason, WRONG_VERDICT),
    Broken("it blames the firmware", POWER_CUT, _fail, WRONG_VERDICT),
    Broken("it waits for ever", LINE_CUT, _wait_for_ever, HANG, 20.0),
    Broken("it ends without an outcome", POWER_CUT, _lose, LOST),
    Broken("it keeps its locks", NOTHING, _keep_locks, LEFTOVER),
    Broken("it leaves a process", NOTHING, _keep_a_process, LEFTOVER),
)


def self_check(out: Path) -> int:
    """Print what the judge says of each; 1 where it is not what it must be."""
    missed = 0
    with tempfile.TemporaryDirectory(dir=out) as folder:
        runner = FaultRunner(Path(folder), measure(Path(folder), ()))
        try:
            for number, one in enumerate(BROKEN):
                row = runner.row(number, one.fault, one.sabotage, one.within_s)
                found = row["outcome"] == one.outcome
                missed += not found
                print(
                    f"{'found ' if found else 'MISSED'} {row['outcome']:13} {row['seconds']:6.1f} s  {one.what}: {row['why'][:200]!r}",
                    flush=True,
                )
        finally:
            runner.close()
    return int(missed > 0)
