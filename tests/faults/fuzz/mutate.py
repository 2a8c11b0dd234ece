"""Changes of one answer of an agent, drawn from a seed: of a field, of bytes, of the kind of frame. Written from docs/link.md and messages.toml alone."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, replace

from hil.link.frames import LinkFrame
from hil.link.messages import FORMATS, REPLY_BIT, WORDS, Fields, decode, description, encode

MESSAGES = description()
BY_ID = {request.id: request for request in MESSAGES.requests.values()}
CONTROLS = {control.id: control for control in MESSAGES.controls.values()}
ID = {control.name: control.id for control in MESSAGES.controls.values()}
FLOATS = (0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e-45, 3.4e38, -1.0)
COMPARED = {  # what decides on the verdict, by the issue: no trial passes where one of these is another
    "hello": ("board", "image_digest", "protocol"), "load_end": ("tensors",), "configure": ("arena_planned",), "digests": ("digests",),
    "step": ("step", "loss_plus", "loss_minus", "sign", "digests"), "run": ("digests",), "infer": ("correct", "logits_digest", "predictions"),
}  # fmt: skip


@dataclass(frozen=True)
class Told:
    """A change that was made: in words, and whether a compared value is another by it."""

    words: str
    compared: bool


class Mutator:
    """Args:
        seed: of all that is drawn.

    Attributes:
        told: the change, once an answer came to be changed.
    """

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self.told: Told | None = None

    def __call__(self, frame: LinkFrame) -> list[LinkFrame]:
        """Return what is sent in the place of an answer."""
        ways = [self._other_kind] + 2 * [self._bytes] + 5 * [self._field]
        frames, words = self._rng.choice(ways)(frame)
        self.told = Told(f"{_name(frame)}: {words}", any(_compared(frame, each) for each in frames))
        return frames

    def _field(self, frame: LinkFrame) -> tuple[list[LinkFrame], str]:
        fields = _fields(frame)
        if not fields:
            return self._bytes(frame)
        values = decode(fields, frame.body)
        name, kind = self._rng.choice(fields)
        values[name] = self._value(kind, values[name])
        return [replace(frame, body=encode(fields, values)[: MESSAGES.max_body])], f"{name} is {str(values[name])[:60]}"

    def _value(self, kind: str, value: object) -> object:
        rng = self._rng
        if kind == "f32":
            return rng.choice([*FLOATS, struct.unpack("<f", rng.randbytes(4))[0]])
        if kind in FORMATS:
            signed, bits = kind[0] == "i", int(kind[1:])
            low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
            assert isinstance(value, int)
            drawn = rng.choice(
                [
                    0,
                    1,
                    2,
                    low,
                    high,
                    value + 1,
                    value - 1,
                    2 * value,
                    value // 2,
                    high // 2 + 1,
                    rng.randint(low, high),
                    1 << rng.randrange(bits),
                ]
            )
            return min(max(drawn, low), high)
        if kind in WORDS:
            return self._words(kind, tuple(value))  # type: ignore[arg-type]
        data = bytes(value)  # type: ignore[call-overload]
        if kind.startswith("bytes["):
            return rng.choice([bytes(len(data)), rng.randbytes(len(data)), b"\xff" * len(data), data[::-1]])
        return rng.choice(
            [
                b"",
                data[:-1],
                data + data,
                data[: len(data) // 2],
                rng.randbytes(len(data)),
                data + b"\0",
                b"\xff" * MESSAGES.max_body,
            ]
        )

    def _words(self, kind: str, words: tuple[int, ...]) -> tuple[int, ...]:
        high, most = (1 << int(kind[1:-2])) - 1, MESSAGES.max_body // (int(kind[1:-2]) // 8)
        drawn = self._rng.choice(
            [
                (),
                words[:-1],
                words + words,
                (*words, 0),
                tuple(high for _ in words),
                tuple(0 for _ in words),
                (high,) * most,
                self._one(words, high),
            ]
        )
        return drawn[:most]

    def _one(self, words: tuple[int, ...], high: int) -> tuple[int, ...]:
        if not words:
            return (high,)
        at = self._rng.randrange(len(words))
        return (*words[:at], self._rng.choice([0, high, words[at] ^ 1, high >> 1]), *words[at + 1 :])

    def _bytes(self, frame: LinkFrame) -> tuple[list[LinkFrame], str]:
        body, rng = bytearray(frame.body), self._rng
        what = rng.choice(["flip", "cut", "more", "noise", "empty"])
        if what == "flip" and body:
            body[rng.randrange(len(body))] ^= 1 << rng.randrange(8)
        elif what == "cut":
            del body[rng.randrange(len(body) + 1) :]
        elif what == "more":
            body += rng.randbytes(rng.randrange(1, 200))
        elif what == "noise":
            body = bytearray(rng.randbytes(len(body)))
        else:
            body = bytearray()
        return [replace(frame, body=bytes(body[: MESSAGES.max_body]))], what

    def _other_kind(self, frame: LinkFrame) -> tuple[list[LinkFrame], str]:
        rng = self._rng
        others = {
            "twice": [frame, frame], "another type": [replace(frame, type=rng.randrange(256))], "another reply before": [replace(frame, type=0x80 | rng.randrange(64)), frame],
            "another number before": [replace(frame, seq=frame.seq ^ 1 << rng.randrange(16)), frame],
            "another session before": [replace(frame, session=frame.session ^ 1), frame],
            "an error": [replace(frame, type=ID["error"], body=struct.pack("<BII", rng.randrange(256), rng.getrandbits(32), rng.getrandbits(32)))],
            "a short error": [replace(frame, type=ID["error"], body=rng.randbytes(rng.randrange(9)))],
            "a fault": [replace(frame, type=ID["fault"], body=rng.randbytes(17))],
            "a short fault": [replace(frame, type=ID["fault"], body=rng.randbytes(rng.randrange(17)))],
            "a short ack before": [replace(frame, type=ID["ack"], body=rng.randbytes(rng.choice([0, 1, 3]))), frame],
            "an ack of anything before": [replace(frame, type=ID["ack"], body=rng.randbytes(2)), frame],
            "a nak of anything before": [replace(frame, type=ID["nak"], body=rng.randbytes(2)), frame],
        }  # fmt: skip
        words = rng.choice(list(others))
        return others[words], words


def _name(frame: LinkFrame) -> str:
    if frame.type in CONTROLS:
        return CONTROLS[frame.type].name
    return BY_ID[frame.type & ~REPLY_BIT].name


def _fields(frame: LinkFrame) -> Fields:
    return CONTROLS[frame.type].fields if frame.type in CONTROLS else BY_ID[frame.type & ~REPLY_BIT].reply


def _compared(honest: LinkFrame, sent: LinkFrame) -> bool:
    """Whether a frame would be taken for the honest one's reply, and tells another value of what is compared."""
    if (sent.type, sent.session, sent.seq) != (honest.type, honest.session, honest.seq):
        return False
    names = COMPARED.get(_name(honest), ())
    try:
        was, told = (decode(_fields(honest), frame.body) for frame in (honest, sent))
    except ValueError:
        return bool(names)
    return any(_bits(was[name]) != _bits(told[name]) for name in names)


def _bits(value: object) -> object:
    return struct.pack("<f", value) if isinstance(value, float) else value
