"""A board's serial port, exported by the real ser2net, and its probe behind a network of some length."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path as File

import pytest

from hil.rig import Rig
from hil.rig.rig import Taken

from .path import Path
from .proxy import Proxy, proxied

ACCEPTERS = {"socket": "tcp", "rfc2217": "telnet(rfc2217,mode=server),tcp"}
READY_S = 30.0


def free_port() -> int:
    """Return a port of the loopback on which nobody listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def program(name: str) -> str:
    """Return the path of a server; where it is missing the test is skipped, or fails if CI is set."""
    path = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")
    if path is None:
        reason = f"{name} is not installed"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return path


@contextlib.contextmanager
def ser2net(device: str, kind: str, folder: File) -> Iterator[str]:
    """Export a serial port; yield `host:port`."""
    address = f"127.0.0.1:{free_port()}"
    settings = folder / f"ser2net-{address.rpartition(':')[2]}.yaml"
    accepter = f"{ACCEPTERS[kind]},{address.replace(':', ',')}"
    settings.write_text(f"connection: &c\n  accepter: {accepter}\n  connector: serialdev,{device},921600n81,local\n")
    command = [program("ser2net"), "-n", "-d", "-c", str(settings)]
    with (folder / "ser2net.log").open("ab") as log:
        running = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _await_listening(running, address)
        yield address
    finally:
        running.kill()
        running.wait()


def _await_listening(running: subprocess.Popen[bytes], address: str) -> None:
    """Wait until the port is taken, without a connection, which ser2net would count as a client."""
    host, port = address.split(":")
    until = time.monotonic() + READY_S
    while running.poll() is None and time.monotonic() < until:
        with socket.socket() as probe:
            try:
                probe.bind((host, int(port)))
            except OSError:
                return
        time.sleep(0.05)
    raise AssertionError(f"ser2net does not listen on {address}")


class OverNetwork:
    """A rig whose boards are at the far end of a network: it stands in for `Rig` in `run_trial`.

    Args:
        rig: gives the boards.
        kind: `socket` or `rfc2217`.
        path: makes the path of one direction of a connection.
        folder: of ser2net's settings and log.
        probe: whether the probe is behind the network too.

    Attributes:
        serial: the proxy before the port.
    """

    def __init__(self, rig: Rig, kind: str, path: Callable[[], Path], folder: File, probe: bool = False) -> None:
        self._rig, self._kind, self._path, self._folder, self._probe = rig, kind, path, folder, probe
        self.bench = rig.bench
        self.serial: Proxy | None = None

    @contextlib.contextmanager
    def take(
        self, board: object, image: object, log: File, inject: tuple[str, ...] = (), *more: object
    ) -> Iterator[Taken]:
        """Take a board, with the network before its port."""
        with contextlib.ExitStack() as stack:
            taken = stack.enter_context(self._rig.take(board, image, log, inject, *more))
            ends = taken.endpoints
            exported = stack.enter_context(ser2net(ends.serial, self._kind, self._folder))
            self.serial = stack.enter_context(proxied(exported, self._path))
            ends = replace(ends, serial=f"{self._kind}://{self.serial.address}")
            if self._probe:
                probe = stack.enter_context(proxied(ends.probe.removeprefix("remote:"), self._path))
                ends = replace(ends, probe=f"remote:{probe.address}")
            yield replace(taken, endpoints=ends)
