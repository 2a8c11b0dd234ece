"""Bytes that never arrive: a line with software flow control takes XON and XOFF for itself, whatever they were a part of."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement

from hil.link.frames import Frame, parse
from hil.link.messages import REPLY_BIT
from hil.link.wire import Wire

NAMES = {0x11: "0x11 (XON)", 0x13: "0x13 (XOFF)"}
ANSWER_S = 0.5  # an agent answers `hello` within milliseconds, a slow line takes a tenth of a second
ROUNDS = 4  # of greetings with and without each value: by chance alone they do not go one way
CONTROLS = 3  # greetings without them, of which one must be answered: by chance one of thirty answers has such a byte in its checksum
MOST_PUT_BACK, LONGEST = 2, 100  # bytes put back into a damaged frame, and how long one may be for it


def swallowed(wire: Wire, hello: Callable[[int], bytes]) -> tuple[str, ...]:
    """Return the names of the values that the line swallows, in either direction; none where it is not sure.

    Sure is: a damaged frame is whole once they are put back, or greetings are answered always without a value and never with it.
    The session ends by this: the agent has been greeted with other nonces.

    Args:
        wire: over which the agent does not answer as it should.
        hello: makes the bytes of a greeting with a nonce.
    """
    found = {value for encoded in wire.reader.broken for value in put_back(encoded)}
    suspects = set(NAMES) - found
    for _ in range(ROUNDS):
        if not suspects or not any(_answers(wire, hello, None) for _ in range(CONTROLS)):
            break
        suspects = {value for value in suspects if not _answers(wire, hello, value)}
    else:
        found |= suspects
    return tuple(name for value, name in NAMES.items() if value in found)


def put_back(encoded: bytes) -> set[int]:
    """Return the values that make a damaged frame whole again where they are put in; empty where none do."""
    if len(encoded) > LONGEST:
        return set()
    for count in range(1, MOST_PUT_BACK + 1):
        for places in combinations_with_replacement(range(len(encoded) + 1), count):
            for values in _choices(count):
                if parse(_with(encoded, places, values)) is not None:
                    return set(values)
    return set()


def _choices(count: int) -> Iterator[tuple[int, ...]]:
    if count == 0:
        yield ()
        return
    for rest in _choices(count - 1):
        yield from ((value, *rest) for value in NAMES)


def _with(encoded: bytes, places: tuple[int, ...], values: tuple[int, ...]) -> bytes:
    data = bytearray(encoded)
    for place, value in reversed(list(zip(places, values, strict=True))):
        data.insert(place, value)
    return bytes(data)


def _answers(wire: Wire, hello: Callable[[int], bytes], value: int | None) -> bool:
    """Greet the agent with a session number that is `value` (None: any), and no other suspect in the frame; return whether it answers."""
    nonce, data = _greeting(hello, value)
    wire.send(b"\0" + data)
    until = time.monotonic() + ANSWER_S
    while time.monotonic() < until:
        if any(_is_of(frame, nonce) for frame in wire.receive()):
            return True
    return False


def _is_of(frame: Frame, nonce: int) -> bool:
    return frame.session == nonce & 0xFF and frame.seq == 0 and bool(frame.type & REPLY_BIT)


def _greeting(hello: Callable[[int], bytes], value: int | None) -> tuple[int, bytes]:
    while True:
        nonce = random.getrandbits(32)
        if value is not None:
            nonce = nonce & ~0xFF | value
        data = hello(nonce)
        if set(data) & set(NAMES) == ({value} if value is not None else set()):
            return nonce, data
