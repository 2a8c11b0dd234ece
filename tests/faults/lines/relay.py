"""A pseudo-terminal between the rig and a stand-in's own: what goes through it meets the harms of a bad line, in real time."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
import tty
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import serial

from hil.rig import Rig
from hil.rig.rig import Taken

from .harm import Harm

PORTION = 4096
LOOK_S = 0.01  # how often a line is asked whether it says something of itself
BITS = 10  # of a byte on the line


@dataclass
class Relay:
    """Args:
        board: path of the stand-in's serial port.
        to_board, to_host: what happens to the bytes of each direction.
        baud: how fast each direction is; 0: as fast as it goes.

    Attributes:
        path: of the port for the rig.
        stopped: while set, nothing is read or written: bytes pile up on both sides.
        counted: bytes that came in from the host, and from the board.
    """

    board: str
    to_board: Sequence[Harm] = ()
    to_host: Sequence[Harm] = ()
    baud: float = 0.0
    stopped: threading.Event = field(default_factory=threading.Event)
    counted: list[int] = field(default_factory=lambda: [0, 0])

    def __post_init__(self) -> None:
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self.path = os.ttyname(self._slave)
        self._port = serial.Serial(self.board, timeout=0, write_timeout=0.5)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the line: the rig's port is gone."""
        self._ends.set()
        self._thread.join()
        self._port.close()
        for end in (self._master, self._slave):
            with contextlib.suppress(OSError):
                os.close(end)

    def _run(self) -> None:
        while not self._ends.is_set():
            if self.stopped.is_set():
                time.sleep(LOOK_S)
                continue
            readable, _, _ = select.select([self._master, self._port.fd], [], [], LOOK_S)
            with contextlib.suppress(OSError, serial.SerialException):
                if self._master in readable:
                    self._pass(0, os.read(self._master, PORTION), self.to_board)
                if self._port.fd in readable:
                    self._pass(1, self._port.read(PORTION), self.to_host)
                for number, harms in enumerate((self.to_board, self.to_host)):
                    self._write(number, b"".join(harm.unasked() for harm in harms))

    def _pass(self, number: int, data: bytes, harms: Sequence[Harm]) -> None:
        self.counted[number] += len(data)
        for harm in harms:
            data = harm.through(data)
        self._write(number, data)

    def _write(self, number: int, data: bytes) -> None:
        if data and self.baud:
            time.sleep(len(data) * BITS / self.baud)
        while data and not self._ends.is_set():
            try:
                sent = self._port.write(data) if number == 0 else os.write(self._master, data)
            except BlockingIOError:  # nobody reads
                time.sleep(LOOK_S)
                continue
            data = data[sent or 0 :]


class OverRelay:
    """A rig whose boards have a bad line: it stands in for `Rig` in `run_trial`.

    Args:
        rig: gives the boards.
        options: of the relay.
    """

    def __init__(self, rig: Rig, **options: object) -> None:
        self._rig, self._options, self.bench = rig, options, rig.bench
        self.relay: Relay | None = None

    @contextlib.contextmanager
    def take(
        self, board: object, image: object, log: Path, inject: tuple[str, ...] = (), *more: object
    ) -> Iterator[Taken]:
        """Take a board, with the relay before its port."""
        with self._rig.take(board, image, log, inject, *more) as taken:
            self.relay = Relay(taken.endpoints.serial, **self._options)
            try:
                yield replace(taken, endpoints=replace(taken.endpoints, serial=self.relay.path))
            finally:
                self.relay.close()
