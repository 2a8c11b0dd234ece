"""The ports of the virtual board: for the user who runs it, through the clients that people use, and with an end to every line."""

from __future__ import annotations

import errno
import os
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyocd.probe.debug_probe import DebugProbe
from pyocd.probe.tcp_client_probe import TCPClientProbe

from hil.standins.virtual.meter import server as instruments
from hil.standins.virtual.meter.server import InstrumentServer
from hil.standins.virtual.peer import user_of
from hil.standins.virtual.probe_server import LONGEST, OwnProbeServer
from hil.standins.virtual.uart import SerialPort
from hil.visa import VisaSession
from tests.other_user import NOBODY, as_user, needs_root

DEADLINE_S = 20.0


class Supply:
    """Notes every line that it carries out."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def execute(self, line: str) -> str | None:
        self.lines.append(line)
        return "ACME,SUPPLY,0,0" if line.endswith("?") else None


class Probe(DebugProbe):
    """Something that pyOCD's server can serve."""

    vendor_name = product_name = "nobody's"
    unique_id = "probe-of-a-test"
    supported_wire_protocols = (DebugProbe.Protocol.SWD,)
    wire_protocol = DebugProbe.Protocol.SWD
    is_open = False
    capabilities = frozenset()

    def open(self) -> None: ...

    def close(self) -> None: ...

    def flush(self) -> None: ...


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def supply(said: list[str]) -> Iterator[tuple[Supply, InstrumentServer]]:
    supply = Supply()
    server = InstrumentServer(supply, said.append)
    server.start()
    yield supply, server
    server.close()


@pytest.fixture
def probe(said: list[str]) -> Iterator[OwnProbeServer]:
    server = OwnProbeServer(Probe(), said.append)
    server.start()
    end = time.monotonic() + DEADLINE_S
    while server.port == 0 and time.monotonic() < end:
        time.sleep(0.01)
    yield server
    server.stop()


def port_of(server: InstrumentServer) -> int:
    return int(server.resource.split("::")[2])


def exchange(port: int, sent: bytes) -> bytes:
    """Send bytes and return what comes until the other end hangs up, or nothing comes any more."""
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as connection:
        received = b""
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(4096):
                received += piece
        except (BrokenPipeError, ConnectionResetError):
            pass
        except OSError as error:
            if error.errno != errno.ENOTCONN:  # reset before our end was closed
                raise
        return received


def test_pyvisa_is_served(supply: tuple[Supply, InstrumentServer], said: list[str]) -> None:
    session = VisaSession(supply[1].resource, "supply")
    assert session.identify("SUPPLY") == "ACME,SUPPLY,0,0" and said == []


def test_pyocd_is_served(probe: OwnProbeServer, said: list[str]) -> None:
    client = TCPClientProbe(f"127.0.0.1:{probe.port}")
    client.open()
    assert client.product_name == "nobody's"
    client.close()
    assert said == []


@needs_root
def test_another_user_switches_no_supply_off(supply: tuple[Supply, InstrumentServer], said: list[str]) -> None:
    instrument, server = supply
    port = port_of(server)
    for _ in range(5):
        assert as_user(NOBODY, lambda: exchange(port, b"OUTP OFF\n*IDN?\n")) == b""
    assert exchange(port, b"*IDN?\n") == b"ACME,SUPPLY,0,0\n"
    assert instrument.lines == ["*IDN?"]
    assert len(said) == 5 and set(said) <= {refused(str(NOBODY), port), refused("", port)}


def refused(user: str, port: int) -> str:
    """Return the line of the log; without a user for one who had hung up by then."""
    who = f"user {user}" if user else "an unknown user"
    return f"a connection of {who} to port {port} is refused: the virtual board belongs to user 0"


def and_away(port: int) -> None:
    """Send a command and be gone before anybody can look."""
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S) as connection:
        connection.sendall(b"OUTP OFF\n")


@needs_root
def test_another_user_who_hangs_up_at_once_is_not_taken_for_root(supply: tuple[Supply, InstrumentServer]) -> None:
    """The system shows a socket that its owner has closed as root's."""
    instrument, server = supply
    port = port_of(server)
    for _ in range(40):
        as_user(NOBODY, lambda: and_away(port))
    assert exchange(port, b"*IDN?\n") == b"ACME,SUPPLY,0,0\n"
    assert instrument.lines == ["*IDN?"]


@needs_root
def test_another_user_debugs_nothing(probe: OwnProbeServer, said: list[str]) -> None:
    hello = b'{"id": 1, "request": "hello", "arguments": [1]}\n'
    port = probe.port
    assert as_user(NOBODY, lambda: exchange(port, hello)) == b""
    assert b'"status": 0' in exchange(port, hello)
    assert len(said) == 1 and said[0] in (refused(str(NOBODY), port), refused("", port))


def test_who_is_at_the_other_end() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.create_connection(listening.getsockname()) as client,
    ):
        ours, _ = listening.accept()
        with ours:
            assert user_of(client.getsockname(), ours.getsockname()) == os.geteuid()
            assert user_of(ours.getsockname(), client.getsockname()) == os.geteuid()
            assert user_of(("127.0.0.1", 1), ours.getsockname()) is None


def test_a_line_of_scpi_has_an_end(supply: tuple[Supply, InstrumentServer]) -> None:
    instrument, server = supply
    assert exchange(port_of(server), b"x" * (instruments.LONGEST - 2) + b"?\n") == b"ACME,SUPPLY,0,0\n"
    assert exchange(port_of(server), b"x" * (1 << 22) + b"?\n") == b"", "it hung up"
    assert [len(line) for line in instrument.lines] == [instruments.LONGEST - 1]
    assert exchange(port_of(server), b"*IDN?\n") == b"ACME,SUPPLY,0,0\n", "others are served as before"


def test_a_request_of_the_probe_has_an_end(probe: OwnProbeServer) -> None:
    assert exchange(probe.port, b"[" * (LONGEST + (1 << 20))) == b"", "it hung up"
    assert b"invalid request format" in exchange(probe.port, b"[]\n")


def test_the_serial_port_is_this_users_own() -> None:
    port = SerialPort(lambda: None, lambda line: None)
    port.start()
    assert stat.S_IMODE(Path(port.path).stat().st_mode) == 0o600
    port.close()
