"""The host's end of a cable in virtual time: frames, transactions one after another, NAK, resets, suspend.

The bus is as fast as its controller could be: a transaction follows the last one at once, while there is room in the
frame, and an endpoint that answered NAK is asked again as soon as the device may answer otherwise. What happens while a
device answers NAK again and again is not seen by it, and takes no event: a chip that sleeps on an idle bus is left to
sleep. A device that wants to hear of every frame, or of every NAK, is told of the first one only of the latter.
"""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.clock import Clock
from hil.standins.virtual.usb.channel import Channel, begin_at
from hil.standins.virtual.usb.steps import MS, BusReset, Fate, Idle, Outcome, Pause, Program, Sleep, Transaction
from hil.standins.virtual.usb.wire import FULL, HIGH, Handshake, Packet, Token, UsbFunction

_ATTEMPTS = 3
_FRAMES = 2048
_IDLE_PS = 3 * MS  # of an idle bus, then the device is suspended (7.1.7.6)
_RESUME_PS = 20 * MS


class UsbHost:
    """A root port with a device, or without one; it is a `UsbBus` and a source of events (`EventSource`).

    Args:
        clock: virtual time.
        function: device controller at the other end.
        break_soon: ends the chip's present run, because an event has come nearer.
        plugged: called with whether a device pulls D+ up, when that has changed.

    Attributes:
        address: address that tokens are sent to.
        carried: bytes of data that were carried and acknowledged since the start, by direction.
        naks: how often the device answered NAK.
        fastest: best speed of this port.
        speed: present speed of the bus.
        loses_every: of so many data packets of other endpoints than 0 one is lost, that of the device or its
            acknowledgement; 0: none is.
    """

    def __init__(
        self, clock: Clock, function: UsbFunction, break_soon: Callable[[], None], plugged: Callable[[bool], None]
    ) -> None:
        self._clock, self._function, self._break_soon, self._plugged = clock, function, break_soon, plugged
        self.address = 0
        self.carried = {Token.IN: 0, Token.OUT: 0}
        self.naks = self.loses_every = 0
        self.fastest, self.speed = HIGH, FULL
        self._data_packets = 0
        self._began = clock.now
        self._cable = self._present = self._changed_since = False
        self._channels: list[Channel] = []
        self._turn = 0
        self._free_at = 0  # when the last transaction ends
        self._running: tuple[Channel, Transaction, Outcome] | None = None
        self._stale = False  # the device has changed since the running transaction began
        self._told_frame = -1
        self._silent_until = 0  # reset or resume: no frames
        self._asleep_at: int | None = None  # when the device notices that there are no frames
        self._told_asleep = False
        self._reset_ends: int | None = None

    # the cable

    def plug(self, on: bool) -> None:
        """Plug the cable in or out."""
        self._cable = on
        self._function.connect(self if on else None)
        self._watch_plug()
        self._break_soon()

    @property
    def present(self) -> bool:
        """Whether a device is attached that pulls D+ up."""
        return self._present

    @property
    def device_chirps(self) -> bool:
        """Whether the device asks for high speed, also where this port does not grant it."""
        return self._function.chirps

    def start(self, program: Program[None], ended: Callable[[], None] = lambda: None) -> Channel:
        """Run a program beside the others; it begins at once."""
        channel = Channel(program, ended)
        self._channels.append(channel)
        self._go_on(channel, None, self._clock.now)
        return channel

    def stop(self, channel: Channel) -> None:
        """End a program."""
        if channel in self._channels:
            self._channels.remove(channel)
        if self._is_running(channel):
            self._running = None
            self._function.handshake(False)
        channel.program.close()

    def stop_all(self) -> None:
        """End every program."""
        for channel in list(self._channels):
            self.stop(channel)

    def call(self, channel: Channel) -> None:
        """Go on with a program that is idle."""
        if isinstance(channel.step, Idle) and channel in self._channels:
            self._go_on(channel, None, self._clock.now)
            self._break_soon()

    # UsbBus

    def changed(self) -> None:
        if not self._changed_since:
            self._changed_since = True
            self._break_soon()

    def frame_number(self) -> int:
        return self._frame(self._clock.now) // self.speed.in_1_ms % _FRAMES

    def microframe(self) -> int:
        return self._frame(self._clock.now) % self.speed.in_1_ms

    def wake_up(self) -> None:
        """Resume a suspended bus: a host that allows remote wake-up drives the resume for 20 ms (7.1.7.7)."""
        for channel in self._channels:
            if isinstance(channel.step, Sleep) and self._told_asleep:
                channel.until = self._clock.now
        self._break_soon()

    # time

    def _frame(self, at: int) -> int:
        return (at - self._began) // self.speed.frame_ps

    def update(self, now: int) -> None:
        """Do what is due until `now` (EventSource)."""
        self._note_changes(now)
        while True:
            due = self._next(now)
            if due is None or due > now:
                return
            self._act(due)
            self._note_changes(now)

    def next_event(self) -> int | None:
        return self._next(self._clock.now)

    def _note_changes(self, now: int) -> None:
        if self._changed_since:
            self._changed_since, self._stale = False, True
            for channel in self._channels:
                channel.parked = False
            self._free_at = max(self._free_at, now) if self._running is None else self._free_at
            self._watch_plug()

    def _watch_plug(self) -> None:
        present = self._cable and self._function.pulls_up
        if present != self._present:
            self._present = present
            self.stop_all()
            self._reset_ends, self._silent_until, self._told_asleep = None, 0, False
            # A port sends no frames before its first reset, so that the device is suspended (11.5.1.5).
            self._asleep_at = self._clock.now + _IDLE_PS if present else None
            self._plugged(present)

    def _next(self, now: int) -> int | None:
        """Return when something is to be done next, or None."""
        times = [at for at in (self._reset_ends, self._asleep_at) if at is not None]
        if self._changed_since:
            times.append(now)
        if self._running is not None:
            times.append(self._free_at)
        else:
            times += [at for channel in self._channels if (at := self._begin_at(channel)) is not None]
        times += [one.until for one in self._channels if one.until is not None and not self._is_running(one)]
        if self._present and self._function.wants_frames and self._asleep_at is None and not self._told_asleep:
            times.append(max(self._began + (self._told_frame + 1) * self.speed.frame_ps, self._silent_until))
        return min(times, default=None)

    def _begin_at(self, channel: Channel) -> int | None:
        """Return when the transaction of a channel can begin, or None if it has none that waits for the bus."""
        return begin_at(channel, max(self._free_at, self._silent_until), self._began, self.speed)

    def _act(self, now: int) -> None:
        """Do the one thing that is due first."""
        if self._reset_ends is not None and self._reset_ends <= now:
            self._reset_ends = None
            self._function.bus_reset(False, self.speed)
            return
        if self._asleep_at is not None and self._asleep_at <= now:
            self._asleep_at, self._told_asleep = None, True
            self._function.suspend(True)
            return
        if self._running is not None and self._free_at <= now:
            self._end(now)
            return
        for channel in list(self._channels):
            if channel.until is not None and channel.until <= now and not self._is_running(channel):
                self._time_is_over(channel, now)
                return
        self._tell_frame(now)
        if self._running is None:
            self._begin_next(now)

    def _is_running(self, channel: Channel) -> bool:
        return self._running is not None and self._running[0] is channel

    def _tell_frame(self, now: int) -> None:
        number = self._frame(now)
        if self._present and number > self._told_frame:
            self._told_frame = number
            if self._function.wants_frames:
                self._function.frame()

    # programs

    def _go_on(self, channel: Channel, outcome: Outcome, now: int) -> None:
        """Give a program the outcome of its step, and take its next one."""
        channel.until, channel.parked, channel.silences = None, False, 0
        channel.since = now
        try:
            channel.step = step = channel.program.send(outcome)
        except StopIteration:
            if channel in self._channels:
                self._channels.remove(channel)
            channel.ended()
            return
        if isinstance(step, Pause):
            channel.until = now + step.ps
        elif isinstance(step, BusReset):
            self._drive_reset(channel, now, step.ps)
            channel.until = now + step.ps
        elif isinstance(step, Sleep):
            self._asleep_at = now + _IDLE_PS
            self._silent_until = now + step.ps + _RESUME_PS
            channel.until = now + step.ps
        elif isinstance(step, Transaction):
            channel.until = None if step.within_ps is None else now + step.within_ps

    def _drive_reset(self, by: Channel, now: int, ps: int) -> None:
        for other in [channel for channel in self._channels if channel is not by]:
            self.stop(other)
        self._running = None
        self.address = 0
        self._silent_until = now + ps
        self._asleep_at, self._told_asleep = None, False
        self.speed = HIGH if self.fastest is HIGH and self._function.chirps else FULL
        self._told_frame, by.asked_in = self._frame(now), -1  # they are counted at the new speed
        self._function.bus_reset(True, self.speed)
        self._reset_ends = now + ps

    def _time_is_over(self, channel: Channel, now: int) -> None:
        if isinstance(channel.step, Sleep):
            if self._asleep_at is None and not self._told_asleep:  # it is resumed already
                self._go_on(channel, None, now)
                return
            self._asleep_at = None
            told, self._told_asleep = self._told_asleep, False
            self._silent_until = channel.until = now + _RESUME_PS
            if told:
                self._function.suspend(False)
            return
        self._go_on(channel, Fate.LATE if isinstance(channel.step, Transaction) else None, now)

    # transactions

    def _begin_next(self, now: int) -> None:
        """Begin the transaction of the channel whose turn it is."""
        count = len(self._channels)
        for place in range(count):
            channel = self._channels[(self._turn + place) % count]
            at = self._begin_at(channel)
            if at is not None and at <= now:
                self._turn = (self._turn + place + 1) % count
                self._begin(channel, now)
                return

    def _begin(self, channel: Channel, now: int) -> None:
        step = channel.step
        assert isinstance(step, Transaction)
        channel.asked_in = self._frame(now)
        answer: Outcome = self._function.token(step.kind, self.address, step.endpoint)
        if step.kind is not Token.IN:
            size = self.speed.overhead + (0 if step.packet is None else len(step.packet.data))
        else:
            size = self.speed.overhead + len(answer.data) if isinstance(answer, Packet) else self.speed.asked_in_vain
        self._free_at = now + self.speed.ps(size)
        self._running, self._stale = (channel, step, answer), False

    def _is_lost(self, step: Transaction) -> bool:
        self._data_packets += step.endpoint != 0
        return bool(step.endpoint and self.loses_every) and self._data_packets % self.loses_every == 0

    def _end(self, now: int) -> None:
        """End the transaction that is on the bus."""
        assert self._running is not None
        (channel, step, answer), self._running = self._running, None
        if step.packet is not None:
            answer = self._function.data(step.packet)
            if answer is Handshake.ACK and self._is_lost(step):
                return  # and so the packet is sent once more, with the same toggle (8.6.4)
            if answer is Handshake.ACK and step.kind is Token.OUT:
                self.carried[Token.OUT] += len(step.packet.data)
        elif isinstance(answer, Packet):
            lost = self._is_lost(step)
            self._function.handshake(not lost)
            if lost:
                return
            self.carried[Token.IN] += len(answer.data)
        if answer is None:
            channel.silences += 1
            if channel.silences >= _ATTEMPTS:
                self._go_on(channel, Fate.SILENT, now)
        elif answer is Handshake.NAK:
            self.naks += 1
            channel.parked = not self._stale
        else:
            self._go_on(channel, answer, now)
