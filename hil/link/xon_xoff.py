"""Detect a line that removes the bytes XON and XOFF from the data, because it uses software flow control."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations_with_replacement, product

from hil.link.frames import parse
from hil.link.messages import REPLY_BIT
from hil.link.wire import Wire
from hil.steady_clock import steady_s

NAMES = {0x11: "0x11 (XON)", 0x13: "0x13 (XOFF)"}
ANSWER_S = 0.5  # an agent answers `hello` within milliseconds; a slow line needs a tenth of a second
# Proof: so many greetings without a value are answered, and none with it. A line that loses frames at random does this
# once in 2^10 at most.
SURE = 10
MOST_ROUNDS = 20  # a round is a greeting with the value and one without, in random order
DEAF_ROUNDS = 3  # unanswered rounds after which greeting stops
MOST_PUT_BACK, LONGEST = 2, 100  # bytes inserted into a damaged frame; length of the longest frame that is tried


def removed_bytes(wire: Wire, hello: Callable[[int], bytes]) -> tuple[str, ...]:
    """Return the names of the bytes that the line removes in either direction; empty without proof.

    There are two proofs. Either a damaged frame becomes valid when the bytes are inserted again, and no byte of this
    value was ever received. Or greetings without the value are answered and none with it. `hello` returns the bytes of
    a greeting with a nonce. The session cannot continue after this check, because the nonces are others than its own.
    """
    repaired = {value for encoded in wire.reader.damaged_frames for value in inserted_values(encoded)}
    missing = repaired - wire.reader.byte_values
    return tuple(name for value, name in NAMES.items() if value in missing or _stops(wire, hello, value))


def _stops(wire: Wire, hello: Callable[[int], bytes], value: int) -> bool:
    """Return whether SURE greetings without a value are answered and none with it."""
    answers = 0
    for done in range(MOST_ROUNDS):
        if answers == SURE or (done == DEAF_ROUNDS and not answers):
            break
        for tried in random.sample((None, value), 2):
            if _is_answered(wire, hello, tried):
                if tried is not None:
                    return False
                answers += 1
    return answers == SURE


def inserted_values(encoded: bytes) -> set[int]:
    """Return the values that make a damaged frame valid when they are inserted; empty if none do."""
    if len(encoded) > LONGEST:
        return set()
    for count in range(1, MOST_PUT_BACK + 1):
        for places in combinations_with_replacement(range(len(encoded) + 1), count):
            for values in product(NAMES, repeat=count):
                if parse(_with(encoded, places, values)) is not None:
                    return set(values)
    return set()


def _with(encoded: bytes, places: tuple[int, ...], values: tuple[int, ...]) -> bytes:
    data = bytearray(encoded)
    for place, value in reversed(list(zip(places, values, strict=True))):
        data.insert(place, value)
    return bytes(data)


def _is_answered(wire: Wire, hello: Callable[[int], bytes], value: int | None) -> bool:
    """Greet the agent with `value` as session number (None: without any suspect); return whether it answers."""
    nonce, data = _greeting(hello, value)
    wire.send(b"\0" + data)
    until = steady_s() + ANSWER_S
    while steady_s() < until:
        for frame in wire.receive():
            if frame.session == nonce & 0xFF and frame.seq == 0 and frame.type & REPLY_BIT:
                return True
    return False


def _greeting(hello: Callable[[int], bytes], value: int | None) -> tuple[int, bytes]:
    """Draw a nonce until its greeting contains `value` and no other suspect; return both."""
    while True:
        nonce = random.getrandbits(32)
        if value is not None:
            nonce = nonce & ~0xFF | value
        data = hello(nonce)
        if set(data) & set(NAMES) == ({value} if value is not None else set()):
            return nonce, data
