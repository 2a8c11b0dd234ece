"""The serial port of a device under test: pyserial's object with `expect`, one buffer for both, and a log."""

from __future__ import annotations

import contextlib
import io
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import serial

from hil.dut.caught import Raised, remembered
from hil.dut.expectations import CommandEnded, NotSeen, PortGone, Received
from hil.dut.expecter import Deadline, Expecter
from hil.dut.followed import MOST, Followed
from hil.dut.lines_seen import LinesSeen
from hil.dut.logged_port import LoggedPort, TrafficLog
from hil.dut.requests import check_patterns, check_timeout
from hil.errors import DeviceFault, RigError, shown
from hil.link.failures import Silent
from hil.link.received_words import is_text
from hil.port_errors import PORT_ERRORS
from hil.process_time import LOOK_S
from hil.steady_clock import steady_s
from hil.targets.serial_port import SerialPort

TIMEOUT_S = 10.0
EXIT_KNOWN_S = 2.0  # the port of a stand-in disappears up to this long before its exit is known
LEFT_S = 2.0  # for threads to leave the port at the end
SILENT_SHARE = 0.5  # of a time-out without a byte, after which a device counts as silent
UNSEEN_S = 1.0  # for what has come before it is discarded; a device may print without end
REMEMBERED = 512  # of the last bytes, for messages


class DutSerial(io.RawIOBase):
    """The serial port of a device under test.

    It has every attribute of pyserial's port (`baudrate`, `dtr`, `write_timeout`, ...), and `expect` by the rules of
    pexpect. What `expect` has received and not matched, `read` returns next: both use one buffer. `timeout` is that of
    `read`, `readline` and `expect`, in seconds; None waits for ever. On a stand-in a time-out counts only the time in
    which its processes could run.

    Args:
        port: an open port with a short read time-out.
        log: file for all traffic with times (`TrafficLog`).
        alive: called while waiting, with how long to wait for the end of the other end; raises Blocked if it is gone.
        lost_s: returns the seconds in which the other end, a stand-in, could not run.
        look: called when something was expected and did not come, with whether the device fell silent; returns what the
            probe says of a core that has faulted or hangs, as a sentence, None if nothing.
        again: called with the port when its device is gone; returns the open port of a device that comes back after a
            reset, None of another.
        simulated: whether the line is that of a stand-in, which no cable can cut.
        waits: returns where the core waits for input, as part of a sentence; None if it does not.
        rated: whether the line has a rate, which may be wrong; that of a stand-in and of a command has none.
        console: an open port with what the firmware prints by semihosting through a probe, which is read beside the
            other; None without one.
        raised: takes the errors of calls, which the test may catch, but those that `Remembered` leaves out.

    Attributes:
        log: path of the log.
    """

    def __init__(
        self,
        port: SerialPort,
        log: Path | None = None,
        alive: Callable[[float], None] = lambda within_s: None,
        lost_s: Callable[[], float] = lambda: 0.0,
        look: Callable[[bool], str | None] = lambda quiet: None,
        again: Callable[[SerialPort], SerialPort | None] = lambda port: None,
        simulated: bool = False,
        rated: bool = True,
        waits: Callable[[], str | None] = lambda: None,
        console: SerialPort | None = None,
        raised: Raised | None = None,
    ) -> None:
        self._traffic = TrafficLog(log)
        self._console = LoggedPort(console, self._traffic) if console is not None else None
        self._port = LoggedPort(port, self._traffic)
        self._alive, self._lost_s, self._look, self._again, self._simulated = alive, lost_s, look, again, simulated
        self._rated, self._waits = rated, waits
        self._raised = raised if raised is not None else Raised()
        self._first_bytes: bytes | None = None  # since the last reset; None if nobody knows it
        self._timeout: float | None = TIMEOUT_S
        self._recent, self._came_at = b"", steady_s()  # last bytes, and when they came
        self._expecter = Expecter(self.more)
        self._ends = Deadline(None, lost_s)
        self._matches = 0
        self._lines_seen = LinesSeen()
        self._used = False
        self._too_late: Callable[[], RigError] | None = None  # the error of a use from now on
        self._inside: list[None] = []  # an entry for each thread that uses the port
        self._followed = Followed(b"")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # not one of pyserial's, also while this object is being made
            raise AttributeError(name)
        return getattr(self._port, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") or hasattr(type(self), name):
            super().__setattr__(name, value)
        else:
            setattr(self._port, name, value)

    @property
    def log(self) -> Path | None:
        """Path of the log of all traffic; None without one."""
        return self._traffic.path

    @property
    def raised(self) -> Raised:
        """Errors of calls so far."""
        return self._raised

    @property
    def received(self) -> int:
        """Bytes that have come so far."""
        return self._traffic.received

    @property
    def recent(self) -> bytes:
        """The last bytes that came, read or not."""
        return self._recent

    @property
    def matches(self) -> int:
        """How often a pattern of `expect` or of `lines` has matched so far."""
        return self._matches

    @property
    def used(self) -> bool:
        """Whether anybody has waited for bytes, looked for some, or sent some, since `begin_run`."""
        return self._used

    def begin_run(self) -> None:
        """Note that the program has been started, and that nobody has used it."""
        self._used = False

    @property
    def lines_seen(self) -> LinesSeen:
        """What all calls of `lines` have found so far."""
        return self._lines_seen

    @property
    def timeout(self) -> float | None:
        """Seconds that `read`, `readline` and `expect` wait; None: for ever."""
        return self._timeout

    @timeout.setter
    def timeout(self, seconds: float | None) -> None:
        check_timeout(seconds)
        self._timeout = seconds

    # What pexpect says of the last `expect`.

    @property
    def before(self) -> Any:
        """Bytes before the last match; all unread bytes after a time-out."""
        return self._expecter.before

    @property
    def after(self) -> Any:
        """Bytes of the last match, or pexpect.TIMEOUT or pexpect.EOF."""
        return self._expecter.after

    @property
    def match(self) -> Any:
        """The last match of `re` over bytes; `int(match[1])` and `float(match[1])` take its groups as they are."""
        return self._expecter.match

    @remembered
    def expect(self, patterns: Any, timeout: float | None = -1, searchwindowsize: int | None = None) -> int:
        """Wait for a pattern and return its index among `patterns`, by the rules of pexpect.

        Args:
            patterns: a regular expression (str, UTF-8, or bytes; or compiled), `pexpect.EOF` or `pexpect.TIMEOUT`, or
                a list of these. One that the empty text matches, such as `.*`, matches at once: it judges nothing.
            timeout: in seconds; None waits for ever, -1 means the attribute `timeout`.
            searchwindowsize: search only this many of the last bytes. Without it, all that is unread is searched, and
                with what comes then the 64 KiB before it: a match of new bytes does not begin earlier.

        Raises:
            NotSeen: nothing matched in time (a `pexpect.TIMEOUT` too). It is a DeviceFault if the device printed
                something else, has faulted or hangs; Blocked if nothing came, or no text from the first byte on.
            PortGone: the port is gone (a `pexpect.EOF` too).
            RigError: a pattern is no regular expression, there is none, or the time-out is none.
        """
        listed = check_patterns(patterns)
        check_timeout(timeout, has_default=True)
        try:
            compiled = self._expecter.compiled(listed)
        except re.error as error:
            raise RigError(f"{shown(patterns)} is no regular expression ({error}): correct the pattern.") from error
        seconds = self._timeout if timeout == -1 else timeout
        self._ends = self.deadline(seconds)
        try:
            index = self._expecter.expect(compiled, searchwindowsize)
        except pexpect.EOF as ended:
            gone = self._gone(ended)
            named = " or ".join(shown(each) for each in listed)
            raise (gone.instead_of(named) if isinstance(gone, CommandEnded) else gone) from None
        except pexpect.TIMEOUT:
            named = " or ".join(shown(each) for each in listed)
            raise self._not_seen(named, seconds, self._expecter.before, self._ends.began) from None
        if isinstance(self._expecter.after, bytes):  # not a TIMEOUT or EOF that the caller listed
            empty = self._expecter.match.re.search(b"") is not None
            self.note_match(not empty)
            if empty:
                self._lines_seen.note_empty(shown(listed[index]))
        return index

    def expect_exact(self, strings: Any, timeout: float | None = -1) -> int:
        """Wait for one of some plain strings, as `expect`."""
        listed = check_patterns(strings)
        encoded = [each.encode() if isinstance(each, str) else each for each in listed]
        plain = [re.escape(each) if isinstance(each, bytes) else each for each in encoded]
        return self.expect(plain, timeout)

    # What pyserial offers, from the same buffer.

    @property
    def in_waiting(self) -> int:
        """Bytes that can be read without waiting."""
        self._used = True
        return len(self._expecter.data) + self._ready

    def readable(self) -> bool:
        """Return True."""
        return True

    def writable(self) -> bool:
        """Return True."""
        return True

    @remembered
    def read(self, size: int = 1) -> bytes:
        """Return `size` bytes, fewer after `timeout`."""
        return self._until(lambda data: size if len(data) >= size else None, size)

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, as `read`; return the number of bytes."""
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    @remembered
    def read_until(self, expected: bytes = b"\n", size: int | None = None) -> bytes:
        """Return the bytes up to and with `expected`, at most `size`; fewer after `timeout`."""

        def end(data: bytearray) -> int | None:
            at = data.find(expected)
            found = at + len(expected) if at >= 0 else None
            return min(found or size, size) if size is not None and (found or len(data)) >= size else found

        return self._until(end, size)

    def readline(self, size: int | None = -1) -> bytes:
        """Return a line with its end, at most `size` bytes; less after `timeout`."""
        return self.read_until(b"\n", None if size is None or size < 0 else size)

    def read_all(self) -> bytes:
        """Return what can be read without waiting."""
        return self.read(self.in_waiting) if self.in_waiting else b""

    def reset_input_buffer(self) -> None:
        """Discard what has come and was not read."""
        self._cut_followed()
        self._expecter.unread = b""
        self._recent = b""
        if self._console is not None:
            self._console.reset_input_buffer()
        self._guarded(lambda: self._port.reset_input_buffer())

    @remembered
    def write(self, data: Any) -> int:
        """Send bytes and return their number.

        Raises:
            RigError: it is a str: encode it.
            DeviceFault: the port accepts no bytes, and the probe finds that the core has faulted or hangs.
            Blocked: the port is gone, or accepts no bytes.
        """
        if isinstance(data, str):
            raise RigError(f"a serial port sends bytes, and {shown(data)} is a str: write {shown(data.encode())}.")
        self._used = True
        try:
            return int(self._guarded(lambda: self._port.write(bytes(data))))
        except serial.SerialTimeoutException as error:
            self._alive(0.0)
            found = self._look(True)
            if found is not None:
                raise DeviceFault(found) from error
            raise Silent(
                f"the serial port {self._port.port} accepts no more bytes (its other end has stopped, or flow control "
                "holds it): check the adapter and the board."
            ) from error

    def discard_run(self) -> None:
        """Discard what came, before the program is started; what nobody has used is not kept for `followed` either."""
        self.reset_input_buffer()
        if not self._used:
            self.follow()

    def end(self, too_late: Callable[[], RigError]) -> None:
        """End the use of the port: threads that wait for something get this error, and so does a later use."""
        self._too_late = too_late
        self._expecter.unread = b""
        ends = steady_s() + LEFT_S
        while self._inside and steady_s() < ends:
            time.sleep(LOOK_S)

    def close(self) -> None:
        """Close the port and the log."""
        if not self.closed:
            self._port.close()
            if self._console is not None:
                self._console.close()
            self._traffic.close()
        super().close()

    # For the rest of this room.

    def deadline(self, seconds: float | None) -> Deadline:
        """Return a deadline for several waits together; None: never."""
        return Deadline(seconds, self._lost_s)

    def next_line(
        self, wanted: str, timeout: float | None = -1, ends: Deadline | None = None, passed: bytes = b""
    ) -> bytes:
        """Wait for a line and return it without its end; it is found in one pass over what comes.

        Args:
            wanted: what was expected, for messages.
            timeout: as that of `expect`.
            ends: takes its place, for several lines together.
            passed: lines before it that were not what was expected, for messages.

        Raises as `expect`; `before` then has the begin of the line, which stays unread.
        """
        seconds = self._timeout if timeout == -1 else timeout
        self._ends = ends or self.deadline(seconds)
        data, searched = self._expecter.data, 0
        try:
            while (end := data.find(b"\n", searched)) < 0:
                searched = len(data)
                data += (came := self.more())
                if not came:
                    raise self._not_seen(wanted, seconds, passed + bytes(data), self._ends.began)
        except RigError as error:
            self._expecter.before, self._expecter.data = bytes(data), data
            raise (error.instead_of(wanted) if isinstance(error, CommandEnded) else error) from None
        line = bytes(data[:end].rstrip(b"\r"))
        del data[: end + 1]
        self._expecter.data = data  # a port that was opened again has discarded it
        return line

    def arrived(self) -> bytes:
        """Return the last bytes that came, after a look at the port; they stay unread."""
        if self._ready:
            came = self._came()
            self._expecter.data += came
        return self._recent

    def keep_unseen(self) -> None:
        """Log what has come in a run that was used, before it is discarded, and keep it for `followed`.

        It does not count as received: nobody has looked at it.
        """
        if not (self._used or self._recent):
            return
        received, ends = self._traffic.received, self.deadline(UNSEEN_S)
        with contextlib.suppress(RigError):  # the port may be gone
            while self._ready and not ends.is_over:
                self.arrived()
        self._traffic.received = received

    def take_settled(self, quiet_s: float, most_s: float) -> bytes:
        """Wait until nothing came for `quiet_s`, at most `most_s` seconds, and take all that was not read.

        No error: what a device printed that is gone meanwhile is returned, too.
        """
        data, ends = bytearray(self._expecter.unread), self.deadline(most_s)
        with contextlib.suppress(RigError):
            while not ends.is_over and (came := self.more(self.deadline(quiet_s))):
                data += came
        self._expecter.unread = b""
        return bytes(data)

    def put_back(self, data: bytes) -> None:
        """Let bytes that were taken be the next ones to be read."""
        self._expecter.unread = data + self._expecter.unread

    def follow(self) -> None:
        """Keep from now on what comes, and what is not read yet, for `followed`."""
        self._followed = Followed(self._expecter.unread)

    def followed(self) -> list[bytes]:
        """Return what was read or discarded since the last call or `follow`, in parts between resets."""
        followed, unread = self._followed, self._expecter.unread
        self.follow()
        if followed.is_full:
            self._lines_seen.note_unjudged(MOST >> 20)
        return followed.read(len(unread))

    def _cut_followed(self) -> None:
        """Keep what has come by now as a part of its own: it is about to be discarded."""
        self.keep_unseen()
        self._followed.cut()

    def fell_silent(self, began: float) -> bool:
        """Return whether nothing came for a good part of the time since `began` (`steady_s`)."""
        now = steady_s()
        return now - max(began, self._came_at) >= SILENT_SHARE * (now - began)

    def note_match(self, matched: bool = True) -> None:
        """Count a match. A pattern that only looks ahead takes no byte: there are no more matches than bytes."""
        self._matches = min(self._matches + matched, self.received)

    @property
    def logged_port(self) -> LoggedPort | SerialPort:
        """The port itself, for who speaks a protocol on it: it bypasses the buffer; it is logged, if there is a log."""
        return self._port if self._traffic.path is not None else self.pyserial

    @property
    def pyserial(self) -> SerialPort:
        """The object of pyserial itself."""
        return self._port.inner

    def begin_output(self) -> None:
        """Take what comes from now on as the output since a reset."""
        self._first_bytes = b""

    def _started_again(self) -> str | None:
        """Return the first line since the reset if the last whole line is the same; None if it is another."""
        first, end, _ = (self._first_bytes or b"").partition(b"\n")
        lines = self._recent.split(b"\n")
        again = end and first.strip() and len(lines) > 2 and lines[-2] == first and not lines[-1].strip()
        return repr(first.strip().decode("utf-8", "replace")) if again else None

    def replace_port(self, port: SerialPort, released: bool = False) -> None:
        """Use this port from now on: the device of the former one was gone and came back. The buffer is emptied.

        It is not if the test had only released the port: what came before that can still be read.
        """
        self._followed.cut()
        self._port = LoggedPort(port, self._traffic)
        if not released:
            self._expecter.unread = b""

    def more(self, ends: Deadline | None = None) -> bytes:
        """Return bytes that came, at least one, empty after the deadline (default: that of `expect`)."""
        self._used = True
        ends = ends or self._ends
        while ends.allows_a_look():
            data = self._came()
            if data:
                return data
            try:
                self._alive(0.0)
            except RigError:
                data = self._came()  # what the other end has sent before it ended
                if not data:
                    raise
                return data
        return b""

    @property
    def _ready(self) -> int:
        """Bytes that port and console have."""
        printed = int(self._console.in_waiting) if self._console is not None else 0
        return printed + int(self._guarded(lambda: self._port.in_waiting))

    def _came(self) -> bytes:
        """Return the bytes that came, after the time-out of the port at most."""
        data: bytes = self._guarded(self._read_what_came)
        if data:
            if self._first_bytes is not None and len(self._first_bytes) < REMEMBERED:
                self._first_bytes += data
            self._recent, self._came_at = (self._recent + data)[-REMEMBERED:], steady_s()
            self._followed.add(data)
        return data

    def _read_what_came(self) -> bytes:
        """Read the port, and after it the console; wait at the port if neither has anything."""
        ready = int(self._port.in_waiting)
        data: bytes = b""
        if self._console is not None:
            data = self._port.read(ready) if ready else b""
            printed = int(self._console.in_waiting)
            data += self._console.read(printed) if printed else b""
        return data or bytes(self._port.read(max(1, ready)))

    def _until(self, end: Callable[[bytearray], int | None], size: int | None) -> bytes:
        """Return the unread bytes before the index that `end` gives for them, or `size` of them after a time-out."""
        ends, data = Deadline(self._timeout, self._lost_s), self._expecter.data
        while (at := end(data)) is None:
            try:
                came = self.more(ends)
            except CommandEnded:
                if not data:
                    raise
                came = b""  # as at the end of a file
            if not came:
                at = len(data) if size is None else min(size, len(data))
                break
            data += came
        taken = bytes(data[:at])
        del data[:at]
        self._expecter.data = data
        return taken

    def _guarded(self, action: Callable[[], Any]) -> Any:
        while True:
            self._inside.append(None)
            try:
                if self._too_late is not None:
                    raise self._too_late()
                return action()
            except serial.SerialTimeoutException:
                raise
            except PORT_ERRORS as error:
                port = self._again(self._port.inner)
                if port is None:
                    raise self._gone(error) from error
                self._port = LoggedPort(port, self._traffic)
            finally:
                self._inside.pop()

    def _gone(self, error: BaseException) -> PortGone | CommandEnded:
        if isinstance(error, (PortGone, CommandEnded)):
            return error
        self._alive(EXIT_KNOWN_S)
        return PortGone(str(self._port.port), error)

    def _not_seen(self, wanted: str, seconds: float | None, unread: bytes, began: float) -> NotSeen:
        """Return the error of a device that did not print what was wanted since a time; `unread` came instead."""
        rate = int(self._port.baudrate) if self._rated else None
        received = Received(unread, self._recent, str(self._port.port), rate, self._simulated)
        self._alive(0.0)
        # One that waits for bytes in a loop looks as if it hangs; of bytes that are no text that is not the reason.
        quiet = self.fell_silent(began) and (not unread or is_text(unread))
        again = self._started_again() if quiet else None  # then it waits for its first input, which is no hang
        found = self._look(quiet and again is None)
        if found is not None or not self._simulated or not quiet:
            return received.error(wanted, seconds or 0.0, found)
        parts = [
            self._waits(),
            f"the last line that it printed, {again}, is the first one since its reset" if again else None,
        ]
        waits = "; ".join(part for part in parts if part)
        return received.error(wanted, seconds or 0.0, None, f"{waits}: it has started again" if again else waits)
