"""Encode and decode the bodies of messages by their description in `messages.toml`."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from hil.bounded_read import packaged_toml
from hil.errors import RigError, close_matches, shown

FORMATS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i8": "b", "i16": "h", "i32": "i", "f32": "f"}
WORDS = {"u32[]": "I", "u64[]": "Q"}
OPEN = ("bytes", *WORDS)  # kinds of a last field that holds the rest of the body
REPLY_BIT = 0x80

Fields = tuple[tuple[str, str], ...]
OWN_FIELDS: Fields = (("body", "bytes"),)  # of a request of one's own, and of its reply


class MessageError(ValueError):
    """A body does not fit its description."""


@dataclass(frozen=True)
class Request:
    """One request and its reply, as messages.toml describes them."""

    name: str
    id: int
    request: Fields
    reply: Fields
    windowed: bool


@dataclass(frozen=True)
class Control:
    """One control frame of the agent."""

    name: str
    id: int
    fields: Fields


@dataclass(frozen=True)
class OwnRequests:
    """The numbers of requests of one's own, and the code of the errors of their handlers."""

    first: int
    last: int
    error: int


@dataclass(frozen=True)
class Description:
    """The contents of messages.toml."""

    protocol: int
    max_body: int
    requests: dict[str, Request]
    controls: dict[str, Control]
    errors: dict[int, str]
    enums: dict[str, dict[str, int]]
    own: OwnRequests

    def request(self, name: str, windowed: bool) -> Request:
        """Return a request by its name, of those with a reply of their own or of the windowed ones.

        Raises:
            RigError: there is none of this name, or it is of the other kind.
        """
        found = self.requests.get(name)
        if found is None:
            raise RigError(f"the link has no request {name!r}: {close_matches(name, self.requests)}")
        if found.windowed and not windowed:
            raise RigError(
                f"the agent does not reply to {name!r}, it only acknowledges it (docs/link.md): send it with `stream`."
            )
        if windowed and not found.windowed:
            raise RigError(f"{name!r} is no windowed request (docs/link.md): send it with `request`.")
        return found

    def own_request(self, number: int) -> Request:
        """Return a request of one's own by its number.

        Raises:
            RigError: it is no such number.
        """
        if isinstance(number, bool) or not isinstance(number, int) or not self.own.first <= number <= self.own.last:
            given = f"{number:#04x}" if isinstance(number, int) else shown(number)
            raise RigError(
                f"{given} is no number of a request of your own: they are {self.own.first:#04x} to "
                f"{self.own.last:#04x} (docs/own-firmware.md)."
            )
        return Request(f"request {number:#04x}", number, OWN_FIELDS, OWN_FIELDS, windowed=False)


@cache
def description() -> Description:
    """Return the contents of messages.toml."""
    raw = packaged_toml(Path(__file__).with_name("messages.toml"))

    def fields(rows: list[list[str]]) -> Fields:
        return tuple((name, kind) for name, kind in rows)

    return Description(
        protocol=raw["protocol"],
        max_body=raw["max_body"],
        requests={
            name: Request(name, t["id"], fields(t.get("request", [])), fields(t.get("reply", [])), "windowed" in t)
            for name, t in raw["type"].items()
        },
        controls={name: Control(name, c["id"], fields(c["fields"])) for name, c in raw["control"].items()},
        errors={code: name for name, code in raw["error"].items()},
        enums=raw["enum"],
        own=OwnRequests(**raw["own"]),
    )


def fixed_size(fields: Fields) -> int:
    """Return the size of a body in bytes, without an open last field."""
    return sum(_width(kind) for _, kind in fields)


def encode(fields: Fields, values: dict[str, Any]) -> bytes:
    """Pack `values` into a body. Raises MessageError if a field is missing, unknown or out of range."""
    if set(values) != {name for name, _ in fields}:
        raise MessageError(f"fields {sorted(values)} were given, but {[name for name, _ in fields]} are described")
    try:
        return b"".join(_pack(kind, values[name]) for name, kind in fields)
    except struct.error as error:
        raise MessageError(f"value out of range in {values}: {error}") from error


def decode(fields: Fields, body: bytes) -> dict[str, Any]:
    """Unpack a body into a dictionary of its fields.

    Raises:
        MessageError: the body is too short or too long for its description.
    """
    values: dict[str, Any] = {}
    offset = 0
    for name, kind in fields:
        if kind == "bytes":
            values[name], offset = body[offset:], len(body)
        elif kind in WORDS:
            count, rest = divmod(len(body) - offset, struct.calcsize("<" + WORDS[kind]))
            if rest:
                raise MessageError(f"{rest} bytes are left over after the words of {name}")
            values[name], offset = struct.unpack_from(f"<{count}{WORDS[kind]}", body, offset), len(body)
        else:
            width = _width(kind)
            if offset + width > len(body):
                raise MessageError(f"body of {len(body)} bytes ends inside {name}")
            chunk = body[offset : offset + width]
            values[name] = chunk if kind.startswith("bytes[") else struct.unpack("<" + FORMATS[kind], chunk)[0]
            offset += width
    if offset != len(body):
        raise MessageError(f"body of {len(body)} bytes is longer than the {offset} in its description")
    return values


def _width(kind: str) -> int:
    if kind in OPEN:
        return 0
    if kind.startswith("bytes["):
        return int(kind[6:-1])
    return struct.calcsize("<" + FORMATS[kind])


def _pack(kind: str, value: Any) -> bytes:
    if kind == "bytes":
        return bytes(value)
    if kind in WORDS:
        return struct.pack(f"<{len(value)}{WORDS[kind]}", *value)
    if kind.startswith("bytes["):
        if len(value) > _width(kind):
            raise MessageError(f"{len(value)} bytes do not fit into {kind}")
        return struct.pack(f"{_width(kind)}s", value)
    return struct.pack("<" + FORMATS[kind], value)
