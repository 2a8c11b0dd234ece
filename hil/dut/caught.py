"""Errors of a device that its test may catch: it would pass, and nobody would know of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

import pexpect

from hil.errors import RigError

T = TypeVar("T")
P = ParamSpec("P")


class Raises(Protocol):
    """A device that remembers the errors that it has raised."""

    raised: list[RigError]


D = TypeVar("D", bound=Raises)


class Remembered:
    """Remembers the error of a `with` block, unless it is a mere time-out, which a test may expect."""

    def __init__(self, device: Raises) -> None:
        self._device = device

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, RigError) and not isinstance(error, pexpect.TIMEOUT):
            self._device.raised.append(error)


def remembered(method: Callable[Concatenate[D, P], T]) -> Callable[Concatenate[D, P], T]:
    """Remember the errors of a method of a device."""

    @functools.wraps(method)
    def remembering(device: D, /, *given: P.args, **named: P.kwargs) -> T:
        with Remembered(device):
            return method(device, *given, **named)

    return remembering
