"""The host's side of a session with an agent: greeting, check of the line, requests (docs/link.md)."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from hil.errors import Blocked
from hil.link.failures import Refused, Silent
from hil.link.transport import Transport
from hil.link.xon_xoff import removed_bytes

EVERY_BYTE = bytes(range(256))
# A probe whose serial port damages longer pieces (docs/boards.md, nrf52840) takes a USB packet of full speed.
SHORT = 64  # bytes of a frame on the wire
SHORT_DATA = SHORT - 10 - 8  # without the frame around the body, and the fields before the data in the longest of them
MOST_ECHOES = 5  # of `settle`, on a line on which each of them has to be sent again


def fresh_nonce() -> int:
    """Return 32 random bits that distinguish a session from the one before."""
    return random.SystemRandom().getrandbits(32)


def board_name(identity: Mapping[str, Any]) -> str:
    """Return the name of the board from the reply to `hello`."""
    name: bytes = identity["board"]
    return name.rstrip(b"\0").decode("ascii", "replace")


def check_board_name(greeting: Mapping[str, Any], board: str) -> None:
    """Raise Blocked if the agent that has sent this reply to `hello` is on another board."""
    name = board_name(greeting)
    if name != board:
        raise Blocked(
            "identity", f"the board says it is {name!r}, not {board!r}: correct rig.toml before anything is flashed."
        )


class Session(Transport):
    """One session with an agent over an open port; arguments as for `Transport`.

    Attributes:
        greeting: the fields of the last reply to `hello`; empty before the first one.
        short_frames: whether `check_line` has found that only frames of at most 64 bytes reach the agent undamaged.
    """

    greeting: Mapping[str, Any] = MappingProxyType({})
    short_frames = False

    _repeats_settled = 0  # value of counters.frames_repeated when all copies were last known to be handled

    @property
    def nonce(self) -> int:
        """The 32 bits that `hello` sends, which the agent keeps for the session."""
        return self._nonce

    def hello(self, deadline_s: float = 10.0) -> dict[str, Any]:
        """Open the session and return the fields of the reply to `hello`.

        Raises:
            Blocked: the agent does not answer, or uses another protocol version.
        """
        self._seq = 0
        self._wire.send(b"\0")  # ends any noise that came before
        try:
            with self._explain_swallowed_bytes():
                reply = self.request("hello", deadline_s=deadline_s, **self._hello_values(self._nonce))
        except Refused as refusal:
            if refusal.code != "protocol":
                raise
            raise self._version_error(refusal.a) from refusal
        if reply["protocol"] != self._messages.protocol:
            raise self._version_error(reply["protocol"])
        self._window = SHORT if self.short_frames else reply["rx_window"]
        self.greeting = reply
        return reply

    def check_line(self) -> None:
        """Send all 256 byte values to the board and back. An agent that does not know `echo` passes.

        If they only come back in pieces, `short_frames` is set, and no more than 64 bytes are on the line at a time.

        Raises:
            Blocked: they do not come back; the reason names XON and XOFF if the line removes them.
        """
        with self._explain_swallowed_bytes(), contextlib.suppress(Refused):
            try:
                self._echo_every_byte()
            except Silent:
                if self.short_frames or not self._comes_back_in_pieces():
                    raise

    def _echo_every_byte(self) -> None:
        block = self.block(len(EVERY_BYTE))
        for at in range(0, len(EVERY_BYTE), block):
            self.request("echo", data=EVERY_BYTE[at : at + block])

    def _comes_back_in_pieces(self) -> bool:
        """Greet again, in a session of its own, and return whether all byte values come back in short frames."""
        self._nonce, self.short_frames = fresh_nonce(), True
        try:
            self.hello()
            self._echo_every_byte()
        except Blocked:
            self.short_frames = False
        return self.short_frames

    def block(self, most: int) -> int:
        """Return how many bytes of data a frame may have, of at most `most`."""
        return min(most, SHORT_DATA) if self.short_frames else most

    def settle(self) -> None:
        """Wait until the agent has handled every copy of a repeated frame.

        An answer to one copy says nothing about the others, which may still be on the line. The line keeps the order,
        so the reply to an `echo` means that the copies before it are handled. If the line damages every `echo`, copies
        of the last one may be left.
        """
        for _ in range(MOST_ECHOES):
            if self.counters.frames_repeated == self._repeats_settled:
                break
            self._repeats_settled = self.counters.frames_repeated
            with contextlib.suppress(Refused):
                self.request("echo", data=b"")

    @contextlib.contextmanager
    def _explain_swallowed_bytes(self) -> Iterator[None]:
        """Replace `Silent` by the reason that the line removes XON or XOFF, if that is proved."""
        before = self.counters.bytes_received
        try:
            yield
        except Silent:
            lost = removed_bytes(self._wire, self._hello_frame) if self.counters.bytes_received > before else ()
            if lost:
                raise Blocked(
                    "link",
                    f"the line removes the bytes {' and '.join(lost)} as software flow control: "
                    "disable this in the serial adapter or its driver.",
                ) from None
            raise

    def _version_error(self, number: int) -> Blocked:
        ours = self._messages.protocol
        reason = f"the agent uses protocol {number}, this trainrig uses {ours}: "
        return Blocked("link", reason + "flash the firmware of this version.")
