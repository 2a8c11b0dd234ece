"""What a device printed, or did not print, instead of what was expected: errors whose type is the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import pexpect

from hil.errors import Blocked, DeviceFault
from hil.link.failures import Silent
from hil.link.received_words import hexadecimal, is_text, words
from hil.targets.one_command import ending

A_WORD = 4  # bytes of a line that are not text by chance


class Unexpected(DeviceFault, pexpect.TIMEOUT):  # type: ignore[misc]
    """The device printed something else, or faults or hangs.

    `found` is what the probe says of a core that has faulted or hangs; None if nothing.
    """

    def __init__(self, message: str, found: str | None = None) -> None:
        super().__init__(message)
        self.found = found


class Unreadable(Blocked, pexpect.TIMEOUT):  # type: ignore[misc]
    """No text came before bytes that are none, on a line with a rate: the rate of the port may be wrong."""

    def __init__(self, reason: str) -> None:
        super().__init__("link", reason)

    def __reduce__(self) -> tuple[Any, ...]:
        """Give pickle the argument of this class."""
        return type(self), (self.reason,)


class Quiet(Silent, pexpect.TIMEOUT):  # type: ignore[misc]
    """Nothing came, and whether device or line is to blame is not known."""


NotSeen: TypeAlias = "Unexpected | Unreadable | Quiet"


class PortGone(Blocked, pexpect.EOF):  # type: ignore[misc]
    """The serial port is gone."""

    def __init__(self, port: str, error: object) -> None:
        super().__init__("link", f"the serial port {port} is gone ({error}): plug the board in again, check its power.")
        self.port, self.error = port, str(error)

    def __reduce__(self) -> tuple[Any, ...]:
        """Give pickle the arguments of this class."""
        return type(self), (self.port, self.error)


class CommandEnded(DeviceFault, pexpect.EOF):  # type: ignore[misc]
    """The board is a command, or firmware that ends by semihosting, and has ended.

    Args:
        status: exit code; minus the number of a signal.
        late_s: longest time that it may run, if the rig has killed it after that.
        last: last lines of its output, for the message.
        errors: last lines of its standard error.
        what: `command` or `firmware`.
        wanted: what was expected.

    Attributes:
        status: exit code; minus the number of a signal.
        what: `command` or `firmware`.
    """

    def __init__(
        self, status: int, late_s: float | None, last: str, errors: str, what: str = "command", wanted: str = ""
    ) -> None:
        self.status, self.what, self.arguments = status, what, (status, late_s, last, errors, what)
        how = f"ended with {ending(status)}" if late_s is None else f"ran longer than {late_s:g} s and was killed"
        instead = f" and did not print {wanted}" if wanted else ""
        super().__init__(
            f"the {what} {how}{instead}; the last lines of its output: {last}; of its standard error: {errors}."
        )

    def instead_of(self, wanted: str) -> CommandEnded:
        """Return the error with what was expected."""
        return CommandEnded(*self.arguments, wanted)

    def __reduce__(self) -> tuple[Any, ...]:
        """Give pickle the arguments of this class."""
        return type(self), self.arguments


@dataclass(frozen=True)
class Received:
    """What has come on a port.

    Attributes:
        unread: bytes that nobody has read or matched.
        recent: the last bytes, read or not.
        port, baudrate: path and rate of the port; that of a stand-in and of a command has no rate.
        simulated: whether the line is that of a stand-in.
    """

    unread: bytes
    recent: bytes
    port: str
    baudrate: int | None
    simulated: bool

    @property
    def _came_as_text(self) -> bool:
        """Whether a line of what came last is text, so that the rate of the port is right."""
        return any(len(line) >= A_WORD and is_text(line) for line in self.recent.split(b"\n"))

    def error(self, wanted: str, seconds: float, found: str | None, waits: str = "") -> NotSeen:
        """Return the error of a device that did not print what was `wanted` within some seconds.

        Args:
            wanted: for the message.
            seconds: that were waited.
            found: what the probe says of a core that has faulted or hangs; None if nothing.
            waits: what is known of a device that waits for input.
        """
        rate = f"{self.baudrate or 0:,} baud"
        no_text = self.unread and not is_text(self.unread)
        if no_text and found is None and self.baudrate is not None and not self._came_as_text:
            return Unreadable(
                f"the device sent {len(self.unread):,} bytes on {self.port} that are no text "
                f"({hexadecimal(self.unread)}) instead of {wanted}: if its rate is not {rate}, set "
                "`dut.serial.baudrate`, or `baud` in rig.toml."
            )
        if self.unread:
            last = "last words are" if is_text(self.unread) else "output is no text, it ends with"
            came = f"its {last} {words(self.unread)}"
            also = (
                f", and {found.rstrip('.')}."
                if found
                else f", and it has printed nothing since: {waits}."
                if waits
                else "."
            )
            return Unexpected(f"the device did not print {wanted} within {seconds:g} s: {came}{also}", found)
        last = f"; its last words were {words(self.recent)}" if self.recent else ""
        if found or self.simulated:
            also = (
                f": {found.rstrip('.')}."
                if found
                else (f"{f': {waits}' if waits else ''}, and the line of a stand-in cannot be cut{last}.")
            )
            return Unexpected(f"the device printed nothing within {seconds:g} s instead of {wanted}{also}", found)
        return Quiet(
            f"the device printed nothing within {seconds:g} s: {wanted} was expected on {self.port}{last}: "
            f"check the serial port, its rate ({rate}) and the board.",
            looked_at=True,
        )
