"""An object of a plugin in the hands of the house: whatever its methods raise is one sentence that names the plugin."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hil.errors import Blocked, message_of, shown
from hil.plugins.offer import Offer

Checks = Mapping[str, Callable[[Any], str]]


def wanted(kind: type) -> Callable[[Any], str]:
    """Return a check that a value is of a type."""
    return lambda value: "" if isinstance(value, kind) else f"it is {shown(value)}, and no {kind.__name__}"


class Missing(Blocked, AttributeError):
    """A plugin's object has no such attribute: `Blocked` for who needs it, `AttributeError` for who only asks."""


class Guarded:
    """Stands for an object of a plugin; it passes as an instance of its class.

    Args:
        thing: the object.
        offer: of the plugin.
        signals: exceptions that are part of the interface, and pass.
        gives: by name of an attribute or a method: why a value, or what the method returns, is not what it must be, as
            a clause; empty if it is.
    """

    def __init__(self, thing: Any, offer: Offer, signals: tuple[type[Exception], ...], gives: Checks) -> None:
        self.__dict__.update(_thing=thing, _offer=offer, _signals=signals, _gives=gives)

    @property  # type: ignore[misc]  # `object` can set it
    def __class__(self) -> type:  # `isinstance` asks for it
        return type(self._thing)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python's own questions
            raise AttributeError(name)
        try:
            with self._offer.running(*self._signals, AttributeError):
                found = getattr(self._thing, name)
        except AttributeError as error:
            broken = self._offer.broken(f"{type(self._thing).__name__} has no {name} ({message_of(error)})")
            raise Missing(broken.stage, broken.reason) from error
        if not callable(found):
            return self._checked(name, found)

        @functools.wraps(found)
        def called(*arguments: Any, **named: Any) -> Any:
            with self._offer.running(*self._signals):
                result = found(*arguments, **named)
            return self._each(name, result) if isinstance(result, Iterator) else self._checked(name, result)

        return called

    def __setattr__(self, name: str, value: Any) -> None:
        with self._offer.running(*self._signals):
            setattr(self._thing, name, value)

    def _each(self, name: str, values: Iterator[Any]) -> Iterator[Any]:
        while True:
            with self._offer.running(*self._signals):
                try:
                    value = next(values)
                except StopIteration:
                    return
            yield self._checked(name, value)

    def _checked(self, name: str, value: Any) -> Any:
        check = self._gives.get(name)
        wrong = check(value) if check is not None else ""
        if wrong:
            raise self._offer.broken(f"its {name} is not what the interface says: {wrong}")
        return value
