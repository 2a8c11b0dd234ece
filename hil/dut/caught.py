"""Errors of a device that its test may catch: it would pass, and nobody would know of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import pexpect

from hil.dut.expectations import CommandEnded
from hil.errors import RigError

T = TypeVar("T")
P = ParamSpec("P")


class Raised(list[RigError]):
    """The errors that a device has raised so far.

    Attributes:
        device: how messages name the device, such as `device 2`; empty for the only or the first one of a test.
    """

    device = ""


class Raises(Protocol):
    """A device, or a part of it, that remembers the errors that it has raised."""

    @property
    def raised(self) -> Raised:
        """The errors so far."""


D = TypeVar("D", bound=Raises)


class Remembered:
    """Remembers the error of a `with` block, unless a test may expect it: a mere time-out, or the end of a program.

    How a program ended is judged at the end of the test. Each error says of which device it is.
    """

    def __init__(self, device: Raises) -> None:
        self._device = device

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, RigError):
            error.device = error.device or self._device.raised.device
        if isinstance(error, RigError) and not isinstance(error, pexpect.TIMEOUT | CommandEnded):
            self._device.raised.append(error)


def remembered(method: Callable[Concatenate[D, P], T]) -> Callable[Concatenate[D, P], T]:
    """Remember the errors of a method of a device, or of a property: `@property` stands above it."""

    @functools.wraps(method)
    def remembering(device: D, /, *given: P.args, **named: P.kwargs) -> T:
        with Remembered(device):
            return method(device, *given, **named)

    return remembering


def each_remembered(
    device: Raises, items: Generator[T, None, CommandEnded | None]
) -> Generator[T, None, CommandEnded | None]:  # fmt: skip
    """Iterate over some items, and remember the error of an iteration; return how the device ended, as they do."""
    with Remembered(device):
        ended = yield from items
    if ended is not None:
        ended.device = device.raised.device
    return ended
