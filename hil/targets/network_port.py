"""Serial ports on a network: raw TCP (`socket://host:port`) and RFC 2217 (`rfc2217://host:port`), through pyserial.

pyserial's own ports read raw TCP byte by byte, leave Nagle's algorithm on there, wait a quarter of an hour for a
network that is gone, and do not repeat what a server says before it closes the connection.
"""

from __future__ import annotations

import contextlib
import select
import socket
import time
from collections.abc import Callable
from typing import Any, TypeVar

import serial
import serial.rfc2217
from serial.urlhandler import protocol_socket

from hil.errors import Blocked, message_of
from hil.port_errors import ConnectionCut
from hil.steady_clock import steady_s

T = TypeVar("T")
GONE_S = 20  # without an acknowledgement by the other end's TCP, until the connection counts as cut
IDLE_S, PROBES = 5, 3  # keep-alive: seconds between its segments, and how many may be lost
LISTENS_WITHIN_S = 5.0  # for the program that exports a port to listen after it was started, or to lose its client
POLL_S = 0.1
PEEKED = 65_536
FIRST = 80  # bytes: the longest refusal that is repeated


class _Connection:
    """What both kinds of port do with their connection. `port` is the address."""

    port: str
    _socket: Any
    _first: bytes

    @property
    def cure(self) -> str:
        """What to look at if the board does not answer."""
        return f"look whether another client has {self.port}, and check the network and the board."

    def _tune(self, write_timeout_s: float | None = None) -> None:
        """Send frames at once, and notice within seconds that the network is gone."""
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (
            ("TCP_KEEPIDLE", IDLE_S), ("TCP_KEEPINTVL", IDLE_S), ("TCP_KEEPCNT", PROBES),
            ("TCP_USER_TIMEOUT", 1000 * GONE_S),
        ):  # fmt: skip
            if hasattr(socket, name):  # each system has some of them
                self._socket.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        if write_timeout_s is not None:
            self._socket.settimeout(write_timeout_s)

    def _note(self, data: bytes) -> bytes:
        if len(self._first) < FIRST:
            self._first += data[: FIRST - len(self._first)]
        return data

    def _guarded(self, action: Callable[[], T]) -> T:
        try:
            return action()
        except (ConnectionCut, serial.SerialTimeoutException):
            raise
        except OSError as error:
            raise self._cut(error) from error

    def _cut(self, error: Exception) -> ConnectionCut:
        said = _text(self._first)
        if said:
            return ConnectionCut(
                f"{self.port} answered {said!r} and closed the connection: end the other client that has the port."
            )
        return ConnectionCut(
            f"the connection to {self.port} was cut ({message_of(_cause(error))}): check the network, "
            "and that the program that exports the port still runs."
        )


class RawPort(_Connection, protocol_socket.Serial):  # type: ignore[misc]
    """A serial port behind raw TCP."""

    _first = b""

    def open(self) -> None:
        """Open the connection."""
        super().open()
        self._tune()

    def close(self) -> None:
        """Close the connection, even one that the other end has reset."""
        end = self._socket
        super().close()
        if end is not None:
            end.close()

    @property
    def in_waiting(self) -> int:
        """Bytes that can be read at once."""
        try:
            return len(self._socket.recv(PEEKED, socket.MSG_PEEK))
        except BlockingIOError:
            return 0
        except OSError as error:
            raise self._cut(error) from error

    def read(self, size: int = 1) -> bytes:
        """Return up to `size` bytes, as far as they come within the time-out."""
        return self._note(self._guarded(lambda: super(RawPort, self).read(size)))

    def write(self, data: bytes) -> int:
        """Send bytes."""
        return int(self._guarded(lambda: super(RawPort, self).write(data)))

    def reset_input_buffer(self) -> None:
        """Discard what has arrived. Raises ConnectionCut if the other end has closed the connection."""
        while select.select([self._socket], [], [], 0)[0]:
            if not self._note(self._guarded(lambda: self._socket.recv(PEEKED))):
                raise self._cut(ConnectionResetError("it was closed"))


class Rfc2217Port(_Connection, serial.rfc2217.Serial):  # type: ignore[misc]
    """A serial port behind RFC 2217.

    Args:
        write_timeout_s: time-out of a write in seconds; pyserial has none here.
    """

    _first = b""

    def __init__(self, write_timeout_s: float) -> None:
        super().__init__()
        self._write_timeout_s = write_timeout_s

    def open(self) -> None:
        """Open the connection, and negotiate."""
        try:
            super().open()
        except OSError as error:
            if self._read_buffer is None or isinstance(error, ConnectionCut):
                raise
            self._note(b"".join(filter(None, iter(self._read_buffer.queue))))
            if _text(self._first):
                raise self._cut(error) from error
            if not isinstance(error, serial.SerialException):
                raise ConnectionCut(
                    f"{self.port} accepted the connection and closed it ({message_of(error)}): end the other client "
                    "that has the port, or look at the log of the program that exports it."
                ) from error
            if any(option.active for option in self._telnet_options):
                raise
            raise serial.SerialException(
                "it accepts the connection and does not answer by RFC 2217: another client has it, or it is raw TCP"
            ) from error
        self._tune(self._write_timeout_s)

    def _telnet_read_loop(self) -> None:
        with contextlib.suppress(OSError):  # an answer to a server that has gone; what follows says so
            super()._telnet_read_loop()

    def from_url(self, url: str) -> tuple[str, int]:
        """Return host and port of an address, and take its options."""
        found: tuple[str, int] = super().from_url(url)
        self._ignore_set_control_answer = True  # ser2net does not answer for a port without modem lines
        return found

    def close(self) -> None:
        """Close the connection, even one that the other end has reset."""
        end = self._socket
        super().close()
        if end is not None:
            end.close()

    def read(self, size: int = 1) -> bytes:
        """Return up to `size` bytes, as far as they come within the time-out."""
        return self._note(self._guarded(lambda: super(Rfc2217Port, self).read(size)))

    def write(self, data: bytes) -> int:
        """Send bytes."""
        return int(self._guarded(lambda: self._written(data)))

    def _written(self, data: bytes) -> int:
        try:
            return int(super().write(data))
        except serial.SerialException as error:
            if isinstance(error.__context__, TimeoutError):
                raise serial.SerialTimeoutException(str(error)) from error
            raise

    def reset_input_buffer(self) -> None:
        """Discard what has arrived here and, if the server can, there."""
        try:
            self._purged(super().reset_input_buffer)
        except ValueError:  # the server refuses to purge
            while self._read_buffer.qsize():
                self._read_buffer.get(False)

    def reset_output_buffer(self) -> None:
        """Discard what the server has not sent yet, if it can."""
        with contextlib.suppress(ValueError):
            self._purged(super().reset_output_buffer)

    def _purged(self, action: Callable[[], None]) -> None:
        try:
            action()
        except serial.SerialException:  # no answer in time
            raise
        except OSError as error:
            raise self._cut(error) from error


def open_network(address: str, baud: int, read_timeout_s: float, write_timeout_s: float, keep: bool = False) -> Any:
    """Open a port on a network with empty buffers, and return it. With `keep`, what has come stays in the buffer.

    Raises Blocked if the address is wrong, nobody listens there, or another client has the port.
    """
    until = steady_s() + LISTENS_WITHIN_S
    while True:
        try:
            return _opened(address, baud, read_timeout_s, write_timeout_s, keep)
        except ConnectionCut as error:
            if steady_s() > until:
                raise Blocked("link", str(error)) from error
        except (OSError, ValueError) as error:
            cause = _cause(error)
            waits, cure = _cure(cause)
            if not waits or steady_s() > until:
                reason = message_of(cause if isinstance(cause, OSError) else error)
                raise Blocked("link", f"the serial port {address} cannot be opened ({reason}): {cure}") from error
        time.sleep(POLL_S)


def _opened(address: str, baud: int, read_timeout_s: float, write_timeout_s: float, keep: bool) -> Any:
    rfc2217 = address.startswith("rfc2217:")
    port = Rfc2217Port(write_timeout_s) if rfc2217 else serial.serial_for_url(address, do_not_open=True)
    if address.startswith("socket:"):
        port = RawPort()
    if not rfc2217:
        port.write_timeout = write_timeout_s
    port.port, port.baudrate, port.timeout = address, baud, read_timeout_s
    port.open()
    try:
        if not keep:
            port.reset_input_buffer()
    except BaseException:
        port.close()
        raise
    return port


def _cause(error: BaseException) -> BaseException:
    """Return the first error behind one of pyserial's, which only quote it."""
    while isinstance(error, serial.SerialException) and error.__context__ is not None and error.__cause__ is None:
        error = error.__context__
    return error


def _cure(cause: BaseException) -> tuple[bool, str]:
    """Return whether it may help to wait, and what does otherwise."""
    if isinstance(cause, socket.gaierror):
        return False, "correct the host in `serial` of rig.toml, or the name service."
    if isinstance(cause, (ValueError, TypeError)):  # pyserial compares a missing number with 0
        return False, "correct `serial` in rig.toml."
    return True, "look whether the board is attached there, and the program runs that exports its port."


def _text(data: bytes) -> str:
    """Return bytes that are text, else nothing."""
    text = data.decode("ascii", "replace").strip()
    return text if text.isprintable() and "\ufffd" not in text else ""
