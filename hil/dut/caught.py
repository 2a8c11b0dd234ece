"""Errors of a device that its test may catch: it would pass, and nobody would know of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import pexpect

from hil.dut.expectations import CommandEnded
from hil.errors import RigError

T = TypeVar("T")
P = ParamSpec("P")


class Raises(Protocol):
    """A device, or a part of it, that remembers the errors that it has raised."""

    @property
    def raised(self) -> list[RigError]:
        """The errors so far."""


D = TypeVar("D", bound=Raises)


class Remembered:
    """Remembers the error of a `with` block, unless a test may expect it: a mere time-out, or the end of a program.

    How a program ended is judged at the end of the test.
    """

    def __init__(self, device: Raises) -> None:
        self._device = device

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, RigError) and not isinstance(error, pexpect.TIMEOUT | CommandEnded):
            self._device.raised.append(error)


def remembered(method: Callable[Concatenate[D, P], T]) -> Callable[Concatenate[D, P], T]:
    """Remember the errors of a method of a device, or of a property: `@property` stands above it."""

    @functools.wraps(method)
    def remembering(device: D, /, *given: P.args, **named: P.kwargs) -> T:
        with Remembered(device):
            return method(device, *given, **named)

    return remembering


def each_remembered(device: Raises, items: Iterator[T]) -> Iterator[T]:
    """Iterate over some items, and remember the error of an iteration."""
    with Remembered(device):
        yield from items
