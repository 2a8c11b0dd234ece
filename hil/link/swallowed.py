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
SURE = 10  # answers to greetings without a value, and none to as many with it: by chance once in 2^10, whatever the line loses
MOST_ROUNDS = 20  # of a greeting with a value and one without, in any order
DEAF_ROUNDS = 3  # without an answer, after which nobody is greeted any more
MOST_PUT_BACK, LONGEST = 2, 100  # bytes put back into a damaged frame, and how long one may be for it


def swallowed(wire: Wire, hello: Callable[[int], bytes]) -> tuple[str, ...]:
    """Return the names of the values that the line swallows, in either direction; none where it is not sure.

    Sure is: a damaged frame is whole once they are put back, and no such byte has ever come; or greetings are answered
    without a value and never with it. The session ends by this: the agent has been greeted with other nonces.

    Args:
        wire: over which the agent does not answer as it should.
        hello: makes the bytes of a greeting with a nonce.
    """
    missing = {value for encoded in wire.reader.broken for value in put_back(encoded)} - wire.reader.values
    return tuple(name for value, name in NAMES.items() if value in missing or _stops(wire, hello, value))


def _stops(wire: Wire, hello: Callable[[int], bytes], value: int) -> bool:
    """Return whether greetings without a value are answered and those with it never are, each as often as it takes."""
    answers = 0
    for done in range(MOST_ROUNDS):
        if answers == SURE or (done == DEAF_ROUNDS and not answers):
            break
        for tried in random.sample((None, value), 2):
            if _answers(wire, hello, tried):
                if tried is not None:
                    return False
                answers += 1
    return answers == SURE


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
