"""`hil campaign` in a folder of its own, as a user runs it, with a checkpoint after every step on both sides."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from .fault import BOARD, Fault
from .marked import Mark, kept_in
from .strike import fill

STEPS = 6
TRIAL = (
    "--board", BOARD, "--network", "lenet5-tflite", "--method", "last-layer", "--batch", "2", "--set", "queries=1", "--set", "eta=1.0",
    "--steps", str(STEPS), "--evaluate", "0", "--checkpoint-every", "1", "--board-every", "1",
)  # fmt: skip
LOOK_S = 0.002


class LongRun:
    """A campaign, and the processes that work on it one after another.

    Args:
        folder: takes locks, and what is written to the terminal.
        rig: text of rig.toml.
        home: the working folder, in which the campaign is `c`; None: `folder`.

    Attributes:
        codes: exit codes of the processes that have ended.
    """

    def __init__(self, folder: Path, rig: str, home: Path | None = None) -> None:
        self.folder, self.home, self.mark = folder, home or folder, Mark()
        self.codes: list[int] = []
        self._filler: Path | None = None
        (self.home / "rig.toml").write_text(rig)
        self._begin("start", "c", *TRIAL)

    def _begin(self, *arguments: str) -> None:
        with (self.folder / "said.txt").open("ab") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "hil.commands.main", "campaign", *arguments], cwd=self.home, env=self.mark.environment() | kept_in(self.folder), start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT,
            )  # fmt: skip

    @property
    def said(self) -> str:
        """What has been written to the terminal."""
        return (self.folder / "said.txt").read_text(encoding="utf-8", errors="replace")

    def journal(self) -> bytes:
        """Return the whole lines of the journal."""
        with contextlib.suppress(FileNotFoundError):
            text = (self.home / "c" / "journal.jsonl").read_bytes()
            return text[: text.rfind(b"\n") + 1]
        return b""

    def strike(self, fault: Fault) -> bytes | None:
        """Carry out a fault at its moment; return the journal of that moment, or None where the campaign was over before."""
        while self.journal().count(b'"kind":"step"') < fault.options["steps"]:
            if self._process.poll() is not None:
                return None
            time.sleep(LOOK_S)
        time.sleep(fault.after_s)
        before = self.journal()
        if self._process.poll() is not None:
            return None
        if fault.act == "signal":
            self._process.send_signal(signal.Signals[fault.options["name"]])
        else:
            self._filler = fill(self.home)
        return before

    def end(self, within_s: float) -> bool:
        """Return whether the process at work ends by itself in time; kill what is left of it otherwise."""
        try:
            self.codes.append(self._process.wait(within_s))
        except subprocess.TimeoutExpired:
            self.mark.kill()
            self._process.wait()
            return False
        return True

    def resume(self) -> None:
        """Give the disk its room back, and go on."""
        if self._filler is not None:
            self._filler.unlink()
        self._begin("resume", "c")

    def status(self) -> dict[str, Any]:
        """Return what `hil campaign status --json` says.

        Raises:
            ValueError: it says no JSON.
        """
        done = subprocess.run(
            [sys.executable, "-m", "hil.commands.main", "campaign", "status", "c", "--json"], cwd=self.home, capture_output=True, text=True, check=False
        )  # fmt: skip
        try:
            return dict(json.loads(done.stdout))
        except json.JSONDecodeError as error:
            raise ValueError(done.stdout + done.stderr) from error
