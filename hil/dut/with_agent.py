"""The agent of a device under test: a greeted session, and why a board that fell silent or faulted did so."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from hil.dut.as_command import BENCH_LOG
from hil.dut.caught import Remembered, remembered
from hil.dut.hang_diagnosis import fault_sentence, looked_at
from hil.dut.one_board import check_one_board
from hil.dut.with_port import WithPort
from hil.errors import Blocked, DeviceFault, RigError
from hil.link.failures import Faulted, PortLost, Silent
from hil.link.pending_request import POLL_AFTER_S
from hil.link.session import Session, fresh_nonce
from hil.link.wire import CURE
from hil.targets.probe import ChipUnreachable, Probe

ENDS_WITHIN_S = 1.0  # a killed stand-in closes its connections before its process has ended
Explained = Callable[[], AbstractContextManager[None]]


class DutSession(Session):
    """A session with the agent of a device under test; `WithAgent.explained` explains its errors."""

    def __init__(self, explained: Explained, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._explained = explained

    def hello(self, deadline_s: float = 10.0) -> dict[str, Any]:
        """Open the session, as `Session.hello`."""
        with self._explained():
            return super().hello(deadline_s)

    def check_line(self) -> None:
        """Send all byte values to the board and back, as `Session.check_line`."""
        with self._explained():
            super().check_line()

    def request(
        self, name: str, deadline_s: float = 60.0, poll_after_s: float = POLL_AFTER_S, **values: Any
    ) -> dict[str, Any]:
        """Send one request and return the fields of its reply, as `Session.request`."""
        with self._explained():
            return super().request(name, deadline_s, poll_after_s, **values)

    def ask(self, number: int, body: bytes = b"", deadline_s: float = 60.0) -> bytes:
        """Send a request of one's own and return the body of its reply, as `Session.ask`."""
        with self._explained():
            return super().ask(number, body, deadline_s)

    def stream(self, name: str, bodies: Iterable[dict[str, Any]]) -> None:
        """Send windowed requests, as `Session.stream`."""
        with self._explained():
            super().stream(name, bodies)


class WithAgent(WithPort):
    """What a device has whose firmware has the agent."""

    _agent: DutSession | None = None
    _explains = False

    @property
    @remembered
    def agent(self) -> Session:
        """A greeted session with the agent in the firmware, on the same port; a new one after each reset.

        If the probe is open, it is checked that it is at the board that answers on the port. Errors of the session are
        explained (`explained`).

        Raises:
            RigError: the agent is not in this firmware.
            Blocked: it does not answer, or it runs on another board than that at the probe.
        """
        if self._agent is None:
            if self.image.table and not self.image.has_agent:
                raise RigError(
                    f"{self.image.path.name} has no agent in it: add it with `hil agent --copy` "
                    "(docs/own-firmware.md), or speak its own protocol through dut.serial."
                )
            with self._by_rig():
                session = self._greeted()
                if isinstance(self._probe, Probe):
                    try:
                        check_one_board(self._probe, str(self.serial.port), self.board, self.image, session)
                    except ChipUnreachable:
                        self._probe.attach_after_power_loss(session.hello)
                        check_one_board(self._probe, str(self.serial.port), self.board, self.image, session)
            self._agent = session
        return self._agent

    def _greeted(self) -> DutSession:
        """Return a greeted session. A port that is lost soon after a reset may come back, under another name too."""
        while True:
            port, nonce = self.serial.logged_port, fresh_nonce()
            session = DutSession(self.explained, port, nonce, self._taken.alive, self._cure, self._taken.lost_s)
            self.record.link = session.counters
            try:
                session.hello()
                return session
            except PortLost:
                came_back = self._port_again(self.serial.pyserial)
                if came_back is None:
                    raise
                self.serial.replace_port(came_back)

    @contextlib.contextmanager
    def _by_rig(self) -> Iterator[None]:
        """Count what comes in the `with` block as no answer to the test."""
        before = self.serial.received
        try:
            yield
        finally:
            self.record.by_rig += self.serial.received - before

    def _forget_session(self) -> None:
        self._agent = None

    @property
    def _cure(self) -> str:
        """What to do about a silent board; a stand-in has no cable and no port to check."""
        ends = self._taken.endpoints
        if self._is_attached or self._taken.is_command:
            return CURE
        where = f"its process {ends.process} runs" if ends.process is not None else "it runs"
        return f"this is the {ends.reality} stand-in, and {where}: look at {BENCH_LOG} in the folder of the trial."

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Explain an error of the `with` block by what the device did; of nested blocks the outermost one does it.

        In this order: the chip of a stand-in has reported an invalid access; the stand-in or the place is gone; the
        agent has reported a fault, whose place is found; the probe finds a board that does not answer in a fault, in a
        hang, or waiting for bytes (docs/recovery.md). A probe that was closed is opened again, without a halt or a
        reset.

        Raises:
            DeviceFault: the processor has faulted, or hangs: `Hang`.
            Blocked: the stand-in or the place is gone.
            Silent: the error itself, with the findings of the probe if there is one.
            RigError: any other error, as it was.
        """
        if self._explains:
            yield
            return
        self._explains = True
        with Remembered(self):
            try:
                yield
            except RigError as error:
                why = self._why(error)
                self._saw_fault |= isinstance(why, DeviceFault)
                if why is error:
                    raise
                raise why from error
            finally:
                self._explains = False

    def _why(self, error: RigError) -> RigError:
        known = self._known(error)
        if known is not None:
            return known
        if isinstance(error, Faulted):
            found: RigError = DeviceFault(fault_sentence(error, self.board, self.image))
        elif isinstance(error, Silent) and not error.looked_at and self.has_probe:
            found = self._looked_at(error)
        else:
            return error
        return self._known(found) or found  # what a stand-in prints may come late

    def _known(self, error: RigError) -> RigError | None:
        """Return what explains any error: a stand-in has reported it, or is gone."""
        chip = self._taken.chip_fault(self.image)
        if chip:
            return DeviceFault(chip)
        try:
            self._taken.alive(ENDS_WITHIN_S if isinstance(error, Blocked) else 0.0)
        except RigError as gone:
            return gone
        return None

    def _looked_at(self, silence: Silent) -> Silent | DeviceFault:
        try:
            probe = self._probe_now()
        except Blocked as blocked:
            return Silent(f"{silence.reason} Nor can the probe say where the core is: {blocked.reason}", looked_at=True)
        try:
            port = self._serial_now().pyserial if self.has_port else None
        except Blocked:  # the line cannot be tested
            port = None
        return looked_at(silence, probe, port, self.board, self.image)
