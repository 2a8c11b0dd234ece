"""A session with an instrument through PyVISA: every failure is `Blocked` and says which command met it.

After a time-out the late answer would be taken for that of the next query, and a device clear cures it only if it has already arrived. So
whatever failed, the connection is dropped, and the next command opens another: what the instrument still sends goes to the closed one.
One session is for one thread.
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
from pyvisa.resources import MessageBasedResource, TCPIPSocket

from hil.errors import Blocked, RigError

TIMEOUT_MS = 5000
END = "\n"  # of a line
LONGEST = 1 << 24  # bytes of a line: the longest that a driver asks for, readings as text, has a tenth of that
LONGEST_BLOCK = 1 << 28  # bytes of a block: all that a digitising multimeter holds, 27 million readings, has 110 MB
EXAMPLE = "TCPIP0::192.168.1.7::5025::SOCKET"


class VisaSession:
    """A session with one instrument.

    Args:
        address: VISA resource name.
        name: the instrument's, for messages.
        timeout_ms: of every answer.
        stage: of `Blocked`.
        options: more attributes of the resource, such as `baud_rate` of a serial one.

    Raises:
        RigError: the address is that of a USB instrument, and what speaks USB is not installed.
        Blocked: the address is none, or has nothing to be opened; a socket where nobody listens is only seen by the first command.
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
            raise Blocked(stage, f"{address!r} is no VISA resource name: name the {name} as in {EXAMPLE}.") from None
        if address.upper().startswith("USB"):
            _require_usb(name)
        with self._blocked("open"):
            self._resource()

    def _resource(self) -> MessageBasedResource:
        """Return the open resource; after a failure it is opened again."""
        if self._opened is None:
            try:
                resource = self._manager.open_resource(self.address, **self._options)
            except Exception as error:  # pyvisa-py: plain Exception where a host name is not known
                raise OSError(error) from error
            if not isinstance(resource, MessageBasedResource):
                resource.close()
                raise ValueError("its address is not that of an instrument that takes commands")
            self._hurry(resource)
            self._opened = resource
        return self._opened

    def _hurry(self, resource: MessageBasedResource) -> None:
        """Let a socket send every command at once: one behind another would else wait 40 ms (RFC 896 and delayed acknowledgements).

        VISA's attribute for it is on by default (VPP-4.3, VI_ATTR_TCPIP_NODELAY); pyvisa-py 0.8 leaves it off, and refuses to set it.
        """
        opened = getattr(self._manager.visalib, "sessions", {}).get(resource.session)
        wire = getattr(opened, "interface", None)
        if isinstance(wire, socket.socket):
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def tell(self, *commands: str) -> None:
        """Send commands that have no answer."""
        for command in commands:
            with self._blocked(command):
                self._resource().write(command)

    def ask(self, query: str) -> str:
        """Return the answer to a query.

        Raises:
            Blocked: none comes, or one that does not end.
        """
        with self._blocked(query):
            resource = self._resource()
            resource.write(query)
            line = resource.read_bytes(
                LONGEST, break_on_termchar=True
            )  # PyVISA's own reading of a line goes on as long as somebody sends
            if len(line) == LONGEST:
                raise ValueError(f"its answer does not end within {LONGEST:,} bytes")
            return line.decode("ascii").strip()

    def ask_number(self, query: str) -> float:
        """Return the one number of an answer; what is none, not finite, or more than one is `Blocked`."""
        answer = self.ask(query)
        with self._blocked(query):
            number = float(answer)
            if not math.isfinite(number):
                raise ValueError(f"{answer!r} is no number")
            return number

    def ask_whole(self, query: str) -> int:
        """Return the one whole number of an answer; anything else is `Blocked`."""
        number = self.ask_number(query)
        with self._blocked(query):
            if not number.is_integer():
                raise ValueError(f"{number:g} is no whole number")
            return int(number)

    def ask_floats(self, query: str, count: int | None = None) -> np.ndarray:
        """Return the comma-separated numbers of an answer, float64[n]; `count`: how many there must be."""
        answer = self.ask(query)
        with self._blocked(query):
            values = np.array(answer.split(","), np.float64) if answer else np.empty(0)
            _require_count(values, count)
            return values

    def ask_block(
        self, query: str, datatype: Literal["f", "d"] = "f", *, big_endian: bool = True, count: int = 0
    ) -> np.ndarray:
        """Return the numbers of a binary block (IEEE 488.2, 8.7.9 and 8.7.10), float64[n].

        Args:
            query: what to ask.
            datatype: of a number, as in `struct`.
            big_endian: order of its bytes.
            count: how many there must be; a block that begins with #0 does not say so itself, and on a socket nothing else tells its end.

        Raises:
            Blocked: no block comes, or a part of one.
        """
        with self._blocked(query):
            resource = self._resource()
            array: Any = np.array  # a type that PyVISA reads the bytes into as they are
            if isinstance(resource, TCPIPSocket):
                data = _block_by_socket(resource, query, count * np.dtype(datatype).itemsize)
                found = np.frombuffer(data, f"{'>' if big_endian else '<'}{datatype}").astype(np.float64)
            else:
                resource.write(query)
                values: Any = resource.read_binary_values(
                    datatype, big_endian, array, data_points=count, monitoring_interface=_Count()
                )
                found = np.asarray(values, np.float64)
            _require_count(found, count or None)
            return found

    def ask_text_block(self, query: str) -> np.ndarray:
        """Return the comma-separated numbers of a definite-length block of text, float64[n].

        Raises:
            Blocked: the answer is no block, or not as long as it says.
        """
        answer = self.ask(query)
        with self._blocked(query):
            if answer[:1] != "#" or not answer[1:2].isdigit():
                raise ValueError(f"{answer[:20]!r} is no block")
            start = 2 + int(answer[1])
            text = answer[start:]
            if len(text) != int(answer[2:start]):
                raise ValueError(f"{len(text)} of {answer[2:start]} characters came")
            return np.array(text.split(","), np.float64) if text else np.empty(0)

    def check(
        self, query: str = ":SYST:ERR?", cure: str = "power it off and on, and update its firmware if it stays"
    ) -> None:
        """Ask for an error: an instrument goes on after a refused command and measures something else.

        Args:
            query: what tells the oldest error.
            cure: what to do about one, for people.

        Raises:
            Blocked: it reports one.
        """
        answer = self.ask(query)
        with self._blocked(query):
            code = int(answer.split(",")[0])
        if code:
            raise Blocked(self._stage, f"the {self.name} reports {answer}: {cure}.")

    def identify(self, expected: str) -> str:
        """Return its answer to *IDN?.

        Raises:
            Blocked: `expected` is not in it.
        """
        identity = self.ask("*IDN?")
        if expected not in identity:
            cure = "put its address or its model right, in rig.toml or on the command line"
            raise Blocked(self._stage, f"what answers at {self.address} is {identity!r}, not a {self.name}: {cure}.")
        return identity

    def close(self) -> None:
        """Let go of the instrument."""
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
            cure = "check its cable, its power and its address (rig.toml, or --meter)"
            raise Blocked(self._stage, f"the {self.name} did not take {command!r} ({why}): {cure}.") from error


class _Count:
    """Counts what PyVISA reads of an answer, and ends it at the cap (its protocol `SupportsUpdate`)."""

    def __init__(self) -> None:
        self._bytes = 0

    def update(self, count: int) -> None:
        """Take so many bytes more.

        Raises:
            ValueError: they are more than any driver asks for.
        """
        self._bytes += count
        if self._bytes > LONGEST_BLOCK:
            raise ValueError(f"its answer does not end within {LONGEST_BLOCK:,} bytes")


def _block_by_socket(resource: TCPIPSocket, query: str, unsized: int) -> bytes:
    """Return the bytes of a block; `unsized` are how many there are where it does not say so.

    PyVISA would look for the end of a line within the block, and stop at each of its bytes that looks like one: a third of the speed.

    Raises:
        ValueError: the answer is no block.
    """
    resource.write(query)
    resource.read_termination = None
    try:
        head = resource.read_bytes(2)
        if head[:1] != b"#" or not head[1:].isdigit():
            raise ValueError(f"{head!r} does not begin a block")
        digits = int(head[1:])
        size = int(resource.read_bytes(digits)) if digits else unsized
        if not 0 <= size <= LONGEST_BLOCK:
            raise ValueError(f"a block of {size:,} bytes is longer than any that is asked for")
        data = resource.read_bytes(size + 1, chunk_size=size + 1)
    finally:
        resource.read_termination = END
    if data[-1:] != END.encode():
        raise ValueError(f"a block of {size} bytes goes on behind its end")
    return data[:-1]


def _require_count(values: np.ndarray, count: int | None) -> None:
    if count is not None and len(values) != count:
        raise ValueError(f"{len(values):,} of {count:,} numbers came")


def _require_usb(name: str) -> None:
    """See that pyvisa-py can speak USBTMC, whose own message without PyUSB names no cure of this project."""
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
            f"the {name} is at a USB address, and PyUSB finds no libusb ({error}): install it, such as by apt install libusb-1.0-0."
        ) from error
