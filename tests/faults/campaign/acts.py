"""What a fault does to a trial: acts on its line, its probe, its meter, its power, its processes, its computer, and on who holds the board.

An act that is taken back by itself says when; `restore` takes back what is left, so that the desk serves the next trial.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.lines import harm

from .port import OURS, Port
from .wire import Wire

SPARE_BYTES = 4 << 20  # that a trial may still ask for
HOLDER = """
import sys, time
from pathlib import Path
from hil.rig.locks import Locks
held = Locks(folder=Path(sys.argv[1]))
held.hold("stm32h7b3", sys.argv[2:])
print("held", flush=True)
time.sleep(600)
"""


@dataclass
class Scene:
    """What a trial on a desk consists of.

    Attributes:
        folder: of the trial.
        desk: process id of the bench.
        supply: VISA name of what feeds the board.
        port, probe, meter: what is between bench and rig.
        probe_process: returns the id of the process at the probe.
        waits_s: how long the rig waits for a board that somebody else has.
        returned: when what was gone was back, by time.monotonic.
    """

    folder: Path
    desk: int
    supply: str
    port: Port = field(init=False)
    probe: Wire = field(init=False)
    meter: Wire = field(init=False)
    probe_process: Callable[[], int | None] = field(init=False)
    waits_s: float = 0.0
    returned: float | None = None
    _undo: list[Callable[[], None]] = field(default_factory=list)
    _timers: list[threading.Timer] = field(default_factory=list)

    def undo(self, after_s: float, back: Callable[[], None]) -> None:
        """Take something back: after so many seconds, or with 0 when the trial is over."""
        done = threading.Event()

        def once() -> None:
            if not done.is_set():
                done.set()
                back()
                self.returned = time.monotonic()

        self._undo.append(once)
        if after_s:
            timer = threading.Timer(after_s, once)
            timer.name, timer.daemon = OURS, True
            timer.start()  # first: the trial's thread may wait for all of them at any time
            self._timers.append(timer)

    def wait_for_return(self) -> float:
        """Return when what was gone is back."""
        for timer in self._timers:
            timer.join()
        return self.returned or 0.0

    def restore(self) -> None:
        """Take back what comes back by itself when its time has come, and all else now."""
        self.wait_for_return()
        for each in self._undo:
            each()

    def close(self) -> None:
        """End what is between bench and rig."""
        for each in self._undo:
            with contextlib.suppress(OSError):
                each()
        for one in (self.port, self.probe, self.meter):
            one.close()


class _Once(harm.Harm):
    """Does something to the next bytes, and lets the others through."""

    def __init__(self, change: Callable[[bytes], bytes], number: int) -> None:
        self._change, self._number = change, number

    def through(self, data: bytes) -> bytes:
        hit, rest = data[: self._number], data[self._number :]
        self._number -= len(hit)
        return (self._change(hit) if hit else b"") + rest


class _FromNextFrame(harm.Harm):
    """Begins between two frames, for a harm that reads them."""

    def __init__(self, then: harm.Harm) -> None:
        self._then, self._begun = then, False

    def through(self, data: bytes) -> bytes:
        if self._begun:
            return self._then.through(data)
        rest, zero, following = data.partition(b"\0")
        self._begun = bool(zero)
        return rest + zero + (self._then.through(following) if zero else b"")

    def unasked(self) -> bytes:
        return self._then.unasked()


def once(scene: Scene, side: str, what: str, number: int, seed: int) -> None:
    """Lose, double, flip, insert or delay the next bytes of a direction."""
    rng = random.Random(seed)

    def late(data: bytes) -> bytes:
        time.sleep(rng.uniform(0.05, 1.0))
        return data

    changes: dict[str, Callable[[bytes], bytes]] = {
        "lose": lambda data: b"", "double": lambda data: data + data, "flip": lambda data: bytes(byte ^ 1 << rng.randrange(8) for byte in data),
        "insert": lambda data: rng.randbytes(rng.randint(1, 32)) + data, "late": late,
    }  # fmt: skip
    scene.port.harms[side].append(_Once(changes[what], number))


def line(scene: Scene, harms: tuple[str, ...], seed: int, sides: tuple[str, ...] = ("to_board", "to_host")) -> None:
    """Make a direction of the line, or both, a bad one from now on."""
    rng = random.Random(seed)
    make: dict[str, Callable[[], harm.Harm]] = {
        "flip 1e-5": lambda: harm.Flip(1e-5, rng), "flip 1e-2": lambda: harm.Flip(1e-2, rng), "lose 2e-2": lambda: harm.Lose(2e-2, rng),
        "swallow": lambda: harm.Swallow(b"\x11\x13"), "cut": lambda: harm.Cut(0), "chatter": harm.Chatter, "echoes": lambda: harm.Echoes(64),
        "gibberish": lambda: harm.Gibberish(rng), "naks": lambda: _FromNextFrame(harm.Only(harm.NAK, after=1)),
        "acks": lambda: _FromNextFrame(harm.Only(harm.ACK, after=1)),
    }  # fmt: skip
    for side in sides:
        new = [make[one]() for one in harms]
        scene.port.harms[side] += new
        scene.undo(
            0.0,
            lambda side=side, new=new: scene.port.harms.__setitem__(
                side, [one for one in scene.port.harms[side] if one not in new]
            ),
        )


def stop_line(scene: Scene, back_s: float) -> None:
    """Let the adapter neither read nor write."""
    scene.port.stopped.set()
    scene.undo(back_s, scene.port.stopped.clear)


def port_gone(scene: Scene, back_s: float) -> None:
    """Let the port vanish."""
    scene.port.gone()
    scene.undo(back_s, scene.port.back)


def wire_gone(scene: Scene, wire: str, back_s: float) -> None:
    """Let probe or meter vanish."""
    one: Wire = getattr(scene, wire)
    one.gone()
    scene.undo(back_s, one.back)


def wire_silent(scene: Scene, wire: str, back_s: float) -> None:
    """Let probe or meter take requests and answer none; what comes back has the answers that waited."""
    one: Wire = getattr(scene, wire)
    one.silent.set()
    scene.undo(back_s, one.silent.clear)


def answer(scene: Scene, wire: str, what: str, seconds: float = 0.0) -> None:
    """Spoil the next answer of probe or meter."""
    one: Wire = getattr(scene, wire)

    def late(data: bytes) -> bytes:
        time.sleep(seconds)
        return data

    changes: dict[str, Callable[[bytes], bytes]] = {
        "half": lambda data: data[: len(data) // 2], "word": lambda data: b"+++", "late": late,
        "error": lambda data: b'{"id": 0, "status": 10, "error": "no acknowledge"}',
    }  # fmt: skip

    def change(data: bytes) -> bytes:
        one.change = None
        return changes[what](data)

    one.change = change


def power(scene: Scene, back_s: float) -> None:
    """Switch the board off, and with `back_s` on again."""
    _, host, port, _ = scene.supply.split("::")

    def switch(on: bool) -> None:
        with socket.create_connection((host, int(port)), 10.0) as wire:
            wire.sendall(b"OUTP ON\nOUTP?\n" if on else b"OUTP OFF\nOUTP?\n")
            wire.recv(16)

    switch(False)
    scene.undo(back_s, lambda: switch(True))


def send_signal(scene: Scene, to: str, name: str, back_s: float = 0.0) -> None:
    """Send a signal to the bench's process (`desk`) or to the one at the probe."""
    target = scene.desk if to == "desk" else scene.probe_process()
    if target is None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(target, signal.Signals[name])
    if name == "SIGSTOP":
        scene.undo(back_s, lambda: _go_on(target))


def _go_on(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGCONT)


def limit(scene: Scene, what: str) -> None:
    """Leave the trial's own process no more descriptors, or no more memory."""
    kind = {"descriptors": resource.RLIMIT_NOFILE, "memory": resource.RLIMIT_AS}[what]
    used = len(list(Path("/proc/self/fd").iterdir())) if what == "descriptors" else _addresses() + SPARE_BYTES
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (used, before[1]))
    scene.undo(0.0, lambda: resource.setrlimit(kind, before))


def _addresses() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def hold(scene: Scene, then: str, after_s: float = 0.0) -> None:
    """Let another session have the board's port: it keeps it, is stopped, or is killed."""
    command = [sys.executable, "-c", HOLDER, str(scene.folder / "locks"), str(scene.folder / "tty")]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert holder.stdout is not None and holder.stdout.readline() == b"held\n"

    def end() -> None:
        holder.kill()
        holder.wait()
        holder.stdout.close()  # type: ignore[union-attr]

    if then == "stopped":
        holder.send_signal(signal.SIGSTOP)
    elif then == "killed":
        scene.waits_s = 60.0
    scene.undo(after_s if then == "killed" else 0.0, end)


ACTS: dict[str, Callable[..., Any]] = {
    "once": once, "line": line, "stop line": stop_line, "port gone": port_gone, "wire gone": wire_gone, "wire silent": wire_silent, "answer": answer,
    "power": power, "signal": send_signal, "limit": limit, "hold": hold,
}  # fmt: skip
