"""Sessions with instruments through PyVISA. Every failure raises `Blocked` with the command that failed.

After a time-out, a late answer would be read as the answer to the next query. A device clear removes it only if it has
already arrived. Therefore the connection is closed after every failure, and the next command opens a new one; late
answers go to the closed connection. A session must be used by one thread only.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import socket
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pyvisa
from pyvisa import rname
from pyvisa.resources import MessageBasedResource, SerialInstrument, TCPIPSocket

from hil.errors import Blocked, RigError

TIMEOUT_MS = 5000
END = "\n"  # terminates a line
LONGEST = 1 << 24  # bytes of a line; the longest that a driver requests, readings as text, has a tenth of that
LONGEST_BLOCK = 1 << 28  # bytes of a block; the full memory of a digitising multimeter, 27 million readings, has 110 MB
EXAMPLE = "TCPIP0::192.168.1.7::5025::SOCKET"


class VisaSession:
    """A session with one instrument.

    Args:
        address: VISA resource name.
        name: name of the instrument, for messages.
        timeout_ms: for each answer.
        stage: stage of the `Blocked` errors.
        options: more attributes of the resource, such as `baud_rate` of a serial port.

    Raises:
        RigError: the address is that of a USB instrument, and USB support is not installed.
        Blocked: the address is invalid or cannot be opened. A socket on which nothing listens fails at the first
            command only.
    """

    def __init__(
        self, address: str, name: str, timeout_ms: int = TIMEOUT_MS, stage: str = "meter", **options: Any
    ) -> None:
        self.address, self.name, self._stage = address, name, stage
        self._options: dict[str, Any] = {
            "read_termination": END,
            "write_termination": END,
            "timeout": timeout_ms,
        } | options
        self._manager = pyvisa.ResourceManager("@py")
        self._opened: MessageBasedResource | None = None
        try:
            rname.ResourceName.from_string(address)
        except rname.InvalidResourceName:
            raise Blocked(stage, f"{address!r} is not a VISA resource name: name the {name} as in {EXAMPLE}.") from None
        if address.upper().startswith("USB"):
            _require_usb(name)
        with self._blocked("open"):
            self._resource()

    def _resource(self) -> MessageBasedResource:
        """Return the resource; open it on first use and after a failure."""
        if self._opened is None:
            try:
                resource = self._manager.open_resource(self.address, **self._options)
            except Exception as error:  # pyvisa-py raises a plain Exception for an unknown host name
                raise OSError(error) from error
            if not isinstance(resource, MessageBasedResource):
                resource.close()
                raise ValueError("its address is not that of an instrument that accepts commands")
            self._set_no_delay(resource)
            self._opened = resource
        return self._opened

    def _set_no_delay(self, resource: MessageBasedResource) -> None:
        """Make a socket send every command at once. Otherwise consecutive commands wait 40 ms (RFC 896, delayed ACK).

        VISA's attribute for this is on by default (VPP-4.3, VI_ATTR_TCPIP_NODELAY), but pyvisa-py 0.8 leaves it off and
        refuses to set it.
        """
        opened = getattr(self._manager.visalib, "sessions", {}).get(resource.session)
        wire = getattr(opened, "interface", None)
        if isinstance(wire, socket.socket):
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def write(self, *commands: str) -> None:
        """Send commands that return no answer."""
        for command in commands:
            with self._blocked(command):
                self._resource().write(command)

    def query(self, query: str) -> str:
        """Return the answer to a query. Raises Blocked if no answer arrives, or it does not end."""
        with self._blocked(query):
            resource = self._resource()
            resource.write(query)
            # PyVISA's own `read` has no limit on the length of a line.
            line = resource.read_bytes(LONGEST, break_on_termchar=True)
            if len(line) == LONGEST:
                raise ValueError(f"its answer does not end within {LONGEST:,} bytes")
            return line.decode("ascii").strip()

    def query_number(self, query: str) -> float:
        """Return the answer as a number. Raises `Blocked` if it is not a single finite number."""
        answer = self.query(query)
        with self._blocked(query):
            number = float(answer)
            if not math.isfinite(number):
                raise ValueError(f"{answer!r} is not a number")
            return number

    def query_integer(self, query: str) -> int:
        """Return the answer as a whole number. Raises `Blocked` if it is not a single whole number."""
        number = self.query_number(query)
        with self._blocked(query):
            if not number.is_integer():
                raise ValueError(f"{number:g} is not a whole number")
            return int(number)

    def query_floats(self, query: str, count: int | None = None) -> np.ndarray:
        """Return the comma-separated numbers of an answer, float64[n]. Raises `Blocked` if they are not `count`."""
        answer = self.query(query)
        with self._blocked(query):
            values = np.array(answer.split(","), np.float64) if answer else np.empty(0)
            _require_count(values, count)
            return values

    def query_block(
        self, query: str, datatype: Literal["f", "d"] = "f", *, big_endian: bool = True, count: int = 0
    ) -> np.ndarray:
        """Return the numbers of a binary block (IEEE 488.2, 8.7.9 and 8.7.10), float64[n].

        `count` is the expected number of values; 0 accepts any. A block that begins with #0 has no length: it ends with
        the message, which sockets and serial lines do not mark, so there it needs `count`. Raises `Blocked` if no block
        arrives, or an incomplete one.
        """
        with self._blocked(query):
            resource = self._resource()
            resource.write(query)
            resource.read_termination = None  # a byte of the block may equal the line terminator
            try:
                if isinstance(resource, (TCPIPSocket, SerialInstrument)):
                    data = _block_by_length(resource, count * np.dtype(datatype).itemsize)
                else:
                    data = _block_by_end(resource)
            finally:
                resource.read_termination = END
            found = np.frombuffer(data, f"{'>' if big_endian else '<'}{datatype}").astype(np.float64)
            _require_count(found, count or None)
            return found

    def query_text_block(self, query: str) -> np.ndarray:
        """Return the comma-separated numbers of a text block, float64[n]. Raises `Blocked` if its length is wrong."""
        answer = self.query(query)
        with self._blocked(query):
            if answer[:1] != "#" or not answer[1:2].isdigit():
                raise ValueError(f"{answer[:20]!r} is not a block")
            start = 2 + int(answer[1])
            text = answer[start:]
            if start > 2 and len(text) != int(answer[2:start]):  # #0 has no length, and ends with the line
                raise ValueError(f"{len(text)} of {answer[2:start]} characters arrived")
            return np.array(text.split(","), np.float64) if text else np.empty(0)

    def check(
        self, query: str = ":SYST:ERR?", cure: str = "power it off and on, and update its firmware if it stays"
    ) -> None:
        """Query the oldest error, because an instrument that refused a command continues with other settings.

        Raises `Blocked` if there is one; `cure` says how to correct it.
        """
        answer = self.query(query)
        with self._blocked(query):
            code = int(answer.split(",")[0])
        if code:
            raise Blocked(self._stage, f"the {self.name} reports {answer}: {cure}.")

    def identify(self, expected: str) -> str:
        """Return the answer to *IDN?. Raises Blocked if the answer does not contain `expected`."""
        identity = self.query("*IDN?")
        if expected not in identity:
            cure = "correct its address or its model, in rig.toml or on the command line"
            reason = f"the instrument at {self.address} is {identity!r}, not a {self.name}: {cure}."
            raise Blocked(self._stage, reason)
        return identity

    def close(self) -> None:
        """Close the session."""
        opened, self._opened = self._opened, None
        if opened is not None:
            with contextlib.suppress(pyvisa.Error, OSError):
                opened.close()

    @contextlib.contextmanager
    def _blocked(self, command: str) -> Iterator[None]:
        try:
            yield
        except (pyvisa.Error, OSError, ValueError) as error:
            self.close()
            why = str(error).partition("\n")[0]
            cure = getattr(error, "cure", "check its cable, its power and its address (rig.toml, or --meter)")
            raise Blocked(self._stage, f"the {self.name} did not take {command!r} ({why}): {cure}.") from error


class _NoEnd(ValueError):
    """A block without a length arrives where nothing marks the end of a message."""

    cure = "name its VXI-11, HiSLIP or USB address (rig.toml, or --meter), where messages have an end"


def _block_by_length(resource: MessageBasedResource, unsized: int) -> bytes:
    """Return the bytes of a block by its length; `unsized` is that of one that begins with #0, 0 if it is unknown.

    PyVISA would stop at every byte of the block that equals the line terminator, at a third of the speed. Raises
    ValueError if there is no block.
    """
    digits = _digits(resource.read_bytes(2))
    if not digits and not unsized:
        raise _NoEnd("its block has no length, #0, and nothing on this line marks its end")
    size = int(resource.read_bytes(digits)) if digits else unsized
    if not 0 <= size <= LONGEST_BLOCK:
        raise ValueError(f"a block of {size:,} bytes is longer than any that is requested")
    data = resource.read_bytes(size + 1, chunk_size=size + 1)
    if data[-1:] != END.encode():
        raise ValueError(f"a block of {size} bytes continues after its end")
    return data[:-1]


def _block_by_end(resource: MessageBasedResource) -> bytes:
    """Return the bytes of a block that is a whole message. Raises ValueError if it is none, or incomplete."""
    message = resource.read_bytes(LONGEST_BLOCK, break_on_termchar=True)
    if len(message) == LONGEST_BLOCK:
        raise ValueError(f"its answer does not end within {LONGEST_BLOCK:,} bytes")
    digits = _digits(message[:2])
    begin = 2 + digits
    size = int(message[2:begin]) if digits else len(message) - begin - message.endswith(END.encode())
    if message[begin + size :] not in (b"", END.encode()):
        raise ValueError(f"a block of {size} bytes continues after its end")
    if len(message) < begin + size:
        raise ValueError(f"{len(message) - begin:,} of {size:,} bytes arrived")
    return message[begin : begin + size]


def _digits(head: bytes) -> int:
    """Return how many digits give the length of a block; 0 for a block without a length. Raises ValueError if none."""
    if head[:1] != b"#" or not head[1:].isdigit():
        raise ValueError(f"{head!r} does not begin a block")
    return int(head[1:])


def _require_count(values: np.ndarray, count: int | None) -> None:
    if count is not None and len(values) != count:
        raise ValueError(f"{len(values):,} of {count:,} numbers arrived")


def _require_usb(name: str) -> None:
    """Check that pyvisa-py can use USBTMC. Its own message without PyUSB does not name the extra to install."""
    try:
        usb = importlib.import_module("usb.core")
    except ImportError as error:
        raise RigError(
            f'the {name} is at a USB address, and PyUSB is not installed ({error}): pip install "trainrig[usb]".'
        ) from error
    try:
        usb.find()
    except usb.NoBackendError as error:
        raise RigError(
            f"the {name} is at a USB address, and PyUSB finds no libusb ({error}): "
            "install it, for example with apt install libusb-1.0-0."
        ) from error
