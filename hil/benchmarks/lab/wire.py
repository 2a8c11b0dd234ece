"""What gRPC adds: processor time of a real coordinator process for a call, a message to a client and a new session."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil.child_process import module_command
from hil.errors import RigError
from hil.lab import Coordinator
from hil.lab.package import Package, load

READY_S, QUIET_S, LOOK_S = 60.0, 0.5, 0.1
SESSIONS, CALLS, UPDATES = 16, 400, 100
LISTENING = re.compile(rb"listening on \S+:(\d+)")


@dataclass(frozen=True)
class MeasuredWire:
    """Processor seconds of the coordinator on this computer, measured.

    Attributes:
        call_s: for a poll of a reservation, with what gRPC needs for it.
        message_s: for a message to one client.
        session_s: for a session that asks for the lists of places and resources.
        places: that it had.
    """

    call_s: float
    message_s: float
    session_s: float
    places: int


def measure(places: int) -> MeasuredWire:
    """Start a coordinator with so many places and two resources for each, and measure it.

    Raises:
        RigError: it does not start.
    """
    package = load()
    with tempfile.TemporaryDirectory() as folder, _coordinator(folder) as (process, address):
        channel = package.grpc.insecure_channel(address)
        stub, outgoing = package.stubs.CoordinatorStub(channel), queue.SimpleQueue[Any]()
        stream = stub.ExporterStream(iter(outgoing.get, None))
        try:
            _fill(package, stub, outgoing, places)
            return _measured(package, stub, process, address, places)
        finally:
            outgoing.put(None)
            stream.cancel()
            channel.close()


def _measured(package: Package, stub: Any, process: int, address: str, places: int) -> MeasuredWire:
    began, opened = _processor(process), []
    try:
        for number in range(SESSIONS):
            session = Coordinator(address, f"client/{number}")
            opened.append(session)
            if not session.wait_for(lambda session=session: session.connected, READY_S):  # type: ignore[misc]
                raise session.away()
        session_s = (_processor(process) - began) / SESSIONS
        token = opened[0].reserve({"board": "none"})
        began = _processor(process)
        for _ in range(CALLS):
            opened[0].allocated(token)
        call_s = (_processor(process) - began) / CALLS
        began = _processor(process)
        for number in range(UPDATES):
            stub.SetPlaceComment(package.messages.SetPlaceCommentRequest(placename="place-0", comment=str(number)))
        message_s = max(0.0, (_processor(process) - began) / UPDATES - call_s) / SESSIONS
        return MeasuredWire(call_s, message_s, session_s, places)
    finally:
        for session in opened:
            session.close()


def _fill(package: Package, stub: Any, outgoing: queue.SimpleQueue[Any], places: int) -> None:
    messages = package.messages
    outgoing.put(messages.ExporterInMessage(startup={"version": package.version, "name": "exporter"}))
    for number in range(places):
        name = f"place-{number}"
        for cls in ("NetworkSerialPort", "NetworkService"):
            message = messages.ExporterInMessage()
            path = message.resource.path
            path.group_name, path.resource_name, message.resource.cls = name, cls, cls
            message.resource.params["host"].string_value, message.resource.avail = "exporter.example.org", True
            outgoing.put(message)
        stub.AddPlace(messages.AddPlaceRequest(name=name))
        stub.AddPlaceMatch(messages.AddPlaceMatchRequest(placename=name, pattern=f"exporter/{name}/*"))


@contextlib.contextmanager
def _coordinator(folder: str) -> Iterator[tuple[int, str]]:
    """Yield the number of the process of a running coordinator, and its address. It prints a line for every call."""
    command = module_command("labgrid.remote.coordinator", "-l", "127.0.0.1:0", unbuffered=True)
    said = Path(folder) / "said"
    with said.open("wb") as output:
        running = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
    try:
        until = time.monotonic() + READY_S
        while (found := LISTENING.search(said.read_bytes())) is None:
            if time.monotonic() > until or running.poll() is not None:
                raise RigError("labgrid's coordinator does not start: try `labgrid-coordinator -l 127.0.0.1:0`.")
            time.sleep(LOOK_S)
        yield running.pid, f"127.0.0.1:{int(found[1])}"
    finally:
        running.kill()
        running.wait()


def _processor(process: int) -> float:
    """Return the processor time of a process so far, in seconds, once it is idle. Linux only."""
    last = -1.0
    while True:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        now = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        if now == last:
            return last
        last = now
        time.sleep(QUIET_S)
