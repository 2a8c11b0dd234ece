"""The line between the rig and a bench: a port under a name that stays, as /dev/serial/by-id has it, and what may happen to it."""

from __future__ import annotations

import os
import select
import threading
import time
import tty
from collections.abc import Callable
from pathlib import Path

import serial

from tests.faults.lines.harm import Harm

OURS = "campaign"  # name of all threads of the campaign within a trial
LOOK_S = 0.005
SIDES = ("to_board", "to_host")
Count = Callable[
    [str, int], int
]  # an event, and how many there are; returns after how many of them something has happened, or all


class Port:
    """A pseudo-terminal before another one, in a thread.

    Args:
        board: path of the bench's own port; None: the rig opens that itself, and there is no line here.
        link: symbolic link to the pseudo-terminal of the moment: what the rig opens.
        count: is called with what passes, before it passes.

    Attributes:
        harms: what each direction's bytes meet.
        stopped: while set nothing is read or written: bytes pile up on both sides.
        answered: when the board last said something, by time.monotonic.
    """

    def __init__(self, board: str | None, link: Path, count: Count) -> None:
        self._link, self._count = link, count
        self.harms: dict[str, list[Harm]] = {side: [] for side in SIDES}
        self.stopped = threading.Event()
        self.answered = 0.0
        self._master: int | None = None
        self._slave: int | None = None
        self._lock = threading.RLock()
        self._ends = threading.Event()
        self._board = serial.Serial(board, timeout=0, write_timeout=0) if board is not None else None
        self._thread = threading.Thread(target=self._run, name=OURS, daemon=True)
        if self._board is not None:
            self.back()
            self._thread.start()

    def back(self) -> None:
        """Let the port appear, under a name of its own."""
        with self._lock:
            if self._master is not None:
                return
            self._master, self._slave = os.openpty()
            tty.setraw(self._slave)
            os.set_blocking(self._master, False)
            new = self._link.with_suffix(".new")
            new.symlink_to(os.ttyname(self._slave))
            new.replace(self._link)

    def gone(self) -> None:
        """Let the port vanish under whoever has it open."""
        with self._lock:
            self._link.unlink(missing_ok=True)
            for end in (self._master, self._slave):
                if end is not None:
                    os.close(end)
            self._master = self._slave = None

    def close(self) -> None:
        """End the line."""
        if self._board is not None:
            self._ends.set()
            self._thread.join()
            self.gone()
            self._board.close()

    def _run(self) -> None:
        while not self._ends.is_set():
            if self.stopped.is_set():
                time.sleep(LOOK_S)
                continue
            self._pass()

    def _pass(self) -> None:
        assert self._board is not None
        with self._lock:
            ends = [self._board.fd] + ([self._master] if self._master is not None else [])
        try:
            readable, _, _ = select.select(ends, [], [], LOOK_S)
        except (OSError, ValueError):  # the port has gone meanwhile
            return
        for side, end in zip(SIDES, (self._master, self._board.fd), strict=True):
            if end is not None and end in readable:
                most = min((harm.portion for harm in self.harms[side]), default=Harm.portion)
                self._through(side, self._read(end, most))
            if any(self.harms.values()):
                self._write(side, b"".join(harm.unasked() for harm in self.harms[side]))

    def _read(self, end: int, most: int) -> bytes:
        try:
            return os.read(end, most)
        except OSError:
            if self._board is not None and end == self._board.fd:  # the bench is gone, and its port with it
                self._ends.set()
                self.gone()
            return b""

    def _through(self, side: str, data: bytes) -> None:
        if side == "to_host":
            self.answered = time.monotonic()
        while data:
            first = max(1, self._count(side, len(data)))
            part, data = data[:first], data[first:]
            for harm in self.harms[side]:
                part = harm.through(part)
            self._write(side, part)

    def _write(self, side: str, data: bytes) -> None:
        while data and not self._ends.is_set():
            with self._lock:
                assert self._board is not None
                end = self._board.fd if side == "to_board" else self._master
            if end is None:
                return  # nobody is there to take it
            try:
                data = data[os.write(end, data) :]
            except BlockingIOError:
                time.sleep(LOOK_S)
            except OSError:  # it has gone meanwhile
                return
