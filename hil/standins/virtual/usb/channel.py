"""A program of the host beside others, and when its next transaction can begin: frames, gaps, intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hil.standins.virtual.usb.steps import Program, Transaction
from hil.standins.virtual.usb.wire import Speed


@dataclass
class Channel:
    """A program of the host, and where it stands.

    Attributes:
        program: yields what it wants of the bus next.
        ended: called when the program has returned.
    """

    program: Program[None]
    ended: Callable[[], None]
    step: object = None
    since: int = 0  # when the step was begun
    until: int | None = None  # when its pause or its time ends
    parked: bool = False  # the device answered NAK, and has not changed since
    asked_in: int = -1  # number of the frame since the start in which it was asked last
    silences: int = 0


def begin_at(channel: Channel, free_at: int, began: int, speed: Speed) -> int | None:
    """Return when the transaction of a channel can begin and end in one frame; None if none waits for the bus.

    Args:
        channel: whose step may be a transaction.
        free_at: virtual time from which the bus is free [ps].
        began: when the first frame began [ps].
        speed: of the bus.
    """
    step = channel.step
    if not isinstance(step, Transaction) or channel.parked:
        return None
    at = max(free_at, channel.since)
    number = (at - began) // speed.frame_ps
    if step.frames and channel.asked_in >= 0:
        number = max(number, channel.asked_in + step.frames)
    first = began + number * speed.frame_ps + speed.ps(speed.frame_start)
    longest = speed.ps(speed.overhead + (speed.largest if step.packet is None else len(step.packet.data)))
    at = max(at, first)
    return at if at + longest <= began + (number + 1) * speed.frame_ps else first + speed.frame_ps
