"""The course of one board through a soak: which fault comes next, how its trial ended, what its processes held."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import time
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

from hil.record.soak import SoakRow
from tests.faults.campaign.expected import EXPECTED
from tests.faults.campaign.fault import Fault, Measured
from tests.faults.campaign.judge import WRONG, Judged, judge_verdict, left_behind
from tests.faults.campaign.marked import Mark

from .kinds import FIRST, fault_of
from .sample import files_in, settled

ROOT = Path(__file__).resolve().parents[3]
END_WITHIN_S = 30.0
AGAIN = 3  # first trials, of a board that nothing is known of yet, that may be tried again: a busy computer is no fault
UNDISTURBED_S = 600.0  # for a trial of which nothing is known yet
HANG, LOST, LEFTOVER = WRONG[1:]


class Course:
    """Starts the process of a board (seat.py) and gives it one trial after the other.

    Args:
        seed: of the soak.
        number, board: of the boards, from 0, and its name.
        folder: takes the working folder of the process.
        run: folder of the run.
        leak: that the rig has on purpose (leaks.py).
        began: when the soak did, by time.monotonic.

    Attributes:
        pipe: from which an answer comes.
        trials: that have ended.
        fault: that meets the trial of the moment.
        deadline: until when that trial must be over, by time.monotonic.
    """

    def __init__(self, seed: int, number: int, board: str, folder: Path, run: Path, leak: str, began: float) -> None:
        self._seed, self._number, self.board, self._run, self._began = seed, number, board, run, began
        self._folder, self._mark = folder / board, Mark()
        self._folder.mkdir()
        self._measured = Measured({}, {}, 0.0, 0.0, 0)
        self._known: dict[str, dict[str, int]] = {"rig": {}, "bench": {}, "probe": {}}
        self.trials = self._again = 0
        self.fault = Fault("nothing", "never")
        self.deadline = 0.0
        self.pipe, theirs = Pipe()
        with theirs, (self._folder.parent / f"{board}.txt").open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.soak.seat", str(theirs.fileno()), board,
                 str(self._folder), str(run), leak],
                cwd=ROOT, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, pass_fds=[theirs.fileno()],
                start_new_session=True, env=self._mark.environment(),
            )  # fmt: skip

    def begin_trial(self) -> None:
        """Give the process its next fault; whether it takes it shows in the answer."""
        self.fault = fault_of(self._seed, self._number, self.trials - self._again, self._measured)
        known = 150.0 + 20 * self._measured.trial_s  # as in the campaign
        self.deadline = time.monotonic() + (known if self._measured.trial_s else UNDISTURBED_S)
        with contextlib.suppress(OSError):  # it has ended, and take_answer says so
            self.pipe.send(self.fault)

    def take_answer(self) -> tuple[Judged, list[SoakRow]]:
        """Return how the trial ended, and what the board's processes hold now: the rig waits for the next fault."""
        try:
            answer: dict[str, Any] = self.pipe.recv()
        except (EOFError, OSError):  # it says why before it has ended, and after its pipe is gone
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(END_WITHIN_S)
            return Judged(LOST, f"the rig's process has ended: {self._said()}"), []
        self.trials += 1
        trial = answer["trial"]
        if self.trials - self._again <= len(FIRST):
            if trial["verdict"] == "blocked" and self._again < AGAIN:
                self._again += 1
                shutil.rmtree(self._run / answer["folder"])
                return Judged("blocked", f"tried again: {trial['reason']}"), self._rows(answer["processes"])
            if trial["verdict"] != "pass":
                return Judged(WRONG[0], f"the first trials do not pass: {trial['reason']}"), []
            self._measured = Measured(
                {**self._measured.digests, self.fault.trial: trial["digest"]},
                {**self._measured.events, self.fault.trial: answer["events"]},
                answer["seconds"], 0.0, 0,
            )  # fmt: skip
        judged = judge_verdict(trial, self._measured.digests[self.fault.trial], EXPECTED[self.fault.kind])
        rows = self._rows(answer["processes"])
        if self.trials - self._again > 1 and judged.outcome not in WRONG:  # the first stays, and what must be looked at
            shutil.rmtree(self._run / answer["folder"])
        return judged, rows

    def _rows(self, processes: dict[str, int]) -> list[SoakRow]:
        seconds, files, rows = round(time.monotonic() - self._began, 2), files_in(self._folder), []
        for name, process in processes.items():
            if (held := settled(process, self._known[name])) is not None:
                own = files if name == "rig" else None
                rows.append(SoakRow(seconds, name, self.board, **held, files=own, trials=self.trials))
        return rows

    def is_late(self) -> bool:
        """Return whether the trial is not over within its deadline."""
        return time.monotonic() > self.deadline

    def hang(self) -> Judged:
        """Return what is to be said of a trial that is late."""
        return Judged(HANG, f"not over in time: {self._said()}")

    def end(self) -> Judged | None:
        """End the process; return what it left behind, if anything."""
        with contextlib.suppress(OSError):  # it has ended
            self.pipe.send(None)
        self.pipe.close()
        try:
            status = self.process.wait(END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return Judged(HANG, f"the rig's process does not end: {self._said()}")
        if status:
            return Judged(LOST, f"the rig's process ended with status {status}: {self._said()}")
        left = left_behind(self._folder / "locks", self._mark, killed=False)
        return Judged(LEFTOVER, left) if left else None

    def kill(self) -> None:
        """End the process and all that it has started, at once."""
        self._mark.kill()
        self.process.kill()
        self.process.wait()

    def _said(self) -> str:
        return (self._folder.parent / f"{self.board}.txt").read_text(encoding="utf-8", errors="replace")[-600:]
