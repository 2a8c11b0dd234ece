"""Serial ports on a network: what the rig adds to pyserial's, and the sentence of each fault. No board."""

from __future__ import annotations

import contextlib
import queue
import socket
import time
from collections.abc import Iterator

import pytest
from network_servers import rfc2217_loop, serving

from hil.errors import Blocked
from hil.link.session import EVERY_BYTE, Session
from hil.targets import network_port
from hil.targets.serial_port import SerialPort, close_and_discard, open_serial

BAUD = 921_600
BUSY = b"Port already in use\r\n"


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_port, "LISTENS_WITHIN_S", 0.2)


@contextlib.contextmanager
def opened(address: str) -> Iterator[SerialPort]:
    port = open_serial(address, BAUD)
    try:
        yield port
    finally:
        close_and_discard(port)


def held(connection: socket.socket) -> None:
    """Keep a connection until the client ends it."""
    while connection.recv(4096):
        pass


def read(port: SerialPort, size: int) -> tuple[bytes, int]:
    """Return so many bytes, and the calls that it took to read them."""
    data, calls, until = b"", 0, time.monotonic() + 10.0
    while len(data) < size and time.monotonic() < until:
        data, calls = data + port.read(max(1, port.in_waiting)), calls + 1
    return data, calls


def test_raw_tcp_is_read_in_whole_segments() -> None:
    """pyserial's own port would return one byte a call."""
    sent = bytes(range(256)) * 200

    def serve(connection: socket.socket) -> None:
        connection.recv(1)
        connection.sendall(sent)
        held(connection)

    with serving(serve) as there, opened(f"socket://{there}") as port:
        port.write(b"x")
        data, calls = read(port, len(sent))
    assert data == sent
    assert calls < len(sent) / 20


@pytest.mark.parametrize("kind", ["socket", "rfc2217"])
def test_frames_are_not_held_back_and_a_dead_network_is_noticed(kind: str) -> None:
    """Nagle's algorithm would hold back every frame until the one before it is acknowledged."""
    with serving(held if kind == "socket" else rfc2217_loop) as there, opened(f"{kind}://{there}") as port:
        for level, option in ((socket.IPPROTO_TCP, socket.TCP_NODELAY), (socket.SOL_SOCKET, socket.SO_KEEPALIVE)):
            assert port._socket.getsockopt(level, option)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            assert port._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 1000 * network_port.GONE_S


def test_rfc2217_carries_every_byte() -> None:
    with serving(rfc2217_loop) as there, opened(f"rfc2217://{there}") as port:
        port.write(4 * EVERY_BYTE)
        assert read(port, 1024)[0] == 4 * EVERY_BYTE


def test_a_server_that_refuses_to_purge_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object, value: bytes) -> None:
        raise ValueError("remote rejected value for option 'purge'")

    monkeypatch.setattr("serial.rfc2217.Serial.rfc2217_send_purge", refuse)
    with serving(rfc2217_loop) as there, opened(f"rfc2217://{there}") as port:
        port.write(b"x")
        assert read(port, 1)[0] == b"x"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("kind", ["socket", "rfc2217"])
def test_a_port_where_nobody_listens(kind: str) -> None:
    address = f"{kind}://127.0.0.1:{free_port()}"
    with pytest.raises(Blocked) as blocked:
        open_serial(address, BAUD)
    assert blocked.value.reason == (
        f"the serial port {address} cannot be opened ([Errno 111] Connection refused): "
        "look whether the board is attached there, and the program runs that exports its port."
    )


@pytest.mark.parametrize("kind", ["socket", "rfc2217"])
def test_a_host_that_does_not_resolve_is_known_at_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    monkeypatch.setattr(network_port, "LISTENS_WITHIN_S", 1e9)
    with pytest.raises(Blocked, match=r"lab-9:4001 cannot be opened \(.*Name or service not known\): correct the host"):
        open_serial(f"{kind}://lab-9:4001", BAUD)


@pytest.mark.parametrize("address", ["socket://lab-1", "rfc2217://lab-1:70000", "rfc2217://h:1?x=1", "gopher://h:1"])
def test_an_address_that_is_none_is_known_at_once(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_port, "LISTENS_WITHIN_S", 1e9)
    with pytest.raises(Blocked, match=r"correct `serial` in rig.toml\."):
        open_serial(address, BAUD)


@pytest.mark.parametrize("kind", ["socket", "rfc2217"])
def test_a_port_that_another_client_has_says_so(kind: str) -> None:
    """ser2net answers so; of raw TCP it may come after the port was opened."""

    def serve(connection: socket.socket) -> None:
        connection.sendall(BUSY)
        time.sleep(0.05)

    with serving(serve) as there, pytest.raises(Blocked) as blocked, opened(f"{kind}://{there}") as port:
        Session(port, 1).hello()
    assert blocked.value.stage == "link"
    assert blocked.value.reason == (
        f"{kind}://{there} answered 'Port already in use' and closed the connection: "
        "end the other client that has the port."
    )


def test_a_server_that_closes_without_a_word() -> None:
    with (
        serving(lambda connection: None) as there,
        pytest.raises(Blocked, match="(accepted the connection and closed it|cannot be opened)"),
    ):
        open_serial(f"rfc2217://{there}?timeout=0.2", BAUD)


def test_a_server_that_accepts_and_is_silent_is_no_rfc2217() -> None:
    """So are one that serves another client first, and raw TCP."""
    with serving(held) as there, pytest.raises(Blocked, match=r"another client has it, or it is raw TCP\): look"):
        open_serial(f"rfc2217://{there}?timeout=0.2", BAUD)


@pytest.mark.parametrize("kind", ["socket", "rfc2217"])
def test_a_connection_that_is_cut_names_its_address(kind: str) -> None:
    accepted: queue.SimpleQueue[socket.socket] = queue.SimpleQueue()

    def serve(connection: socket.socket) -> None:
        accepted.put(connection)
        (held if kind == "socket" else rfc2217_loop)(connection)

    with serving(serve) as there, opened(f"{kind}://{there}") as port:
        accepted.get(timeout=10).shutdown(socket.SHUT_RDWR)
        with pytest.raises(Blocked) as blocked:
            Session(port, 1).hello()
    assert blocked.value.reason.startswith(f"the connection to {kind}://{there} was cut (")
    assert blocked.value.reason.endswith("check the network, and that the program that exports the port still runs.")


def test_a_silent_board_behind_a_network_names_its_address() -> None:
    with (
        serving(held) as there,
        opened(f"socket://{there}") as port,
        pytest.raises(Blocked, match=f": look whether another client has socket://{there}, and check the network"),
    ):
        Session(port, 1).hello(deadline_s=0.1)
