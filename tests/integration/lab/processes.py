"""A labgrid of its own for the tests: a coordinator and exporters in processes, on ephemeral ports of the loopback."""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hil.endpoints import Endpoints
from hil.lab import Coordinator

from .ser2net import ADDRESS

READY_S = 60.0  # for a process of labgrid to start, on a busy computer


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def resources(ends: Endpoints) -> dict[str, dict[str, Any]]:
    """What an exporter offers for a virtual board: its serial port, and its probe server if it has one."""
    offered: dict[str, dict[str, Any]] = {"RawSerialPort": {"port": ends.serial}}
    if ends.probe is not None:
        host, port = ends.probe.removeprefix("remote:").rsplit(":", 1)
        offered["pyocd"] = {"cls": "NetworkService", "address": host, "port": int(port), "username": "none"}
    return offered


def meter(ends: Endpoints) -> dict[str, dict[str, Any]]:
    """What an exporter offers for the power meter of a virtual board."""
    kind, _, url = str(ends.meter).partition("::")
    return {"PyVISADevice": {"type": kind, "url": url}}


class Process:
    """A program of labgrid's package; it is ready when it has printed a line with `ready` in it."""

    def __init__(self, module: str, words: list[str], folder: Path, ready: str, path: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        environment = os.environ | {"PATH": path, "PYTHONUNBUFFERED": "1"}
        self._module, self._words, self._folder, self._ready = module, words, folder, ready
        self._environment, self.running = environment, None

    def start(self) -> None:
        command = [sys.executable, "-m", f"labgrid.remote.{self._module}", *self._words]
        with (self._folder / f"{self._module}.log").open("ab") as log:
            self.running = subprocess.Popen(
                command, cwd=self._folder, env=self._environment, stdout=subprocess.PIPE, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        until, said = time.monotonic() + READY_S, b""
        while self._ready.encode() not in said:
            readable, _, _ = select.select([self.running.stdout], [], [], max(0.0, until - time.monotonic()))
            more = os.read(self.running.stdout.fileno(), 4096) if readable else b""
            assert more, f"{self._module} did not get ready: {said!r}, {self.log()}"
            said += more

    def kill(self) -> None:
        """Kill it and what it has started, as a power cut does."""
        if self.running is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.running.pid, signal.SIGKILL)
            self.running.wait()
            self.running.stdout.close()
            self.running = None

    def log(self) -> str:
        return (self._folder / f"{self._module}.log").read_text(errors="replace")[-2000:]


@dataclass
class Lab:
    """A coordinator with its exporters.

    Attributes:
        address: of the coordinator.
        admin: a session with it, as `labgrid-client` has; its user is `desk/admin`.
        exporters: by name.
    """

    folder: Path
    address: str = field(default_factory=lambda: f"127.0.0.1:{free_port()}")
    exporters: dict[str, Process] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tools = self.folder / "bin"
        tools.mkdir()
        shutil.copy(Path(__file__).with_name("ser2net.py"), tools / "ser2net")
        text = (tools / "ser2net").read_text().replace("/usr/bin/env python3", sys.executable)
        (tools / "ser2net").write_text(text)
        (tools / "ser2net").chmod(0o755)
        self._path = f"{tools}{os.pathsep}{os.environ['PATH']}"
        self.coordinator = Process("coordinator", ["-l", self.address], self.folder / "c", "listening on", self._path)
        self.coordinator.start()
        self.admin = Coordinator(self.address, "desk/admin")
        self.await_session()

    def await_session(self) -> None:
        assert self.admin.wait_for(lambda: self.admin.connected, READY_S)

    def export(self, name: str, resources: dict[str, dict[str, Any]], *options: str) -> Process:
        """Start an exporter with `{group: {resource: parameters}}`, and options of labgrid-exporter."""
        folder = self.folder / re.sub(r"\W", "-", name)
        folder.mkdir()
        (folder / "resources.yaml").write_text(yaml.safe_dump(resources))
        words = ["-c", self.address, "-n", name, "--hostname", ADDRESS, *options, "resources.yaml"]
        exporter = self.exporters[name] = Process("exporter", words, folder, "Exporter ready", self._path)
        exporter.start()
        return exporter

    def place(self, name: str, *patterns: str, **tags: str) -> None:
        """Make a place with these patterns of resources (`exporter/group/class`)."""
        messages = self.admin._labgrid.messages
        self.admin._ask("AddPlace", messages.AddPlaceRequest(name=name))
        for pattern in patterns:
            self.admin._ask("AddPlaceMatch", messages.AddPlaceMatchRequest(placename=name, pattern=pattern))
        if tags:
            self.admin._ask("SetPlaceTags", messages.SetPlaceTagsRequest(placename=name, tags=tags))

    def holder(self, name: str) -> str:
        return self.admin.snapshot.places[name].holder

    def await_holder(self, name: str, said: str, seconds: float = 20.0) -> None:
        """Wait until the holder of a place matches a regular expression."""
        assert self.admin.wait_for(lambda: re.fullmatch(said, self.holder(name)) is not None, seconds), self.holder(
            name
        )

    def await_exported(self, exporter: str, there: bool = True) -> None:
        def found() -> bool:
            return any(each.exporter == exporter for each in self.admin.snapshot.resources)

        assert self.admin.wait_for(lambda: found() == there, READY_S)

    def await_saved(self, name: str) -> None:
        """Wait until the coordinator has written a place to its file, which it does every 15 s."""
        file, until = self.folder / "c" / "places.yaml", time.monotonic() + READY_S
        while not file.is_file() or name not in yaml.safe_load(file.read_text()):
            assert time.monotonic() < until
            time.sleep(0.2)

    def start_again(self) -> None:
        """Start the coordinator after `kill`, and its exporters, which have ended by themselves."""
        self.coordinator.start()
        self.await_session()
        for exporter in self.exporters.values():
            exporter.kill()
            exporter.start()

    def close(self) -> None:
        self.admin.close()
        for process in (*self.exporters.values(), self.coordinator):
            process.kill()


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Lab]:
    lab = Lab(folder)
    try:
        yield lab
    finally:
        lab.close()
