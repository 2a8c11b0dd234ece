"""The reference of the messages of the link protocol, from hil/link/messages.toml and the comments in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hil.link import messages
from hil.link.messages import REPLY_BIT, Fields, description
from tools.docs_site.markdown import cell, code, page, table

PAGE = "reference/messages.md"
SOURCE = Path(messages.__file__).with_name("messages.toml")
INTRODUCTION = """\
# Messages of the link

Every message of the link protocol, number {protocol}, from `hil/link/messages.toml`. [The link protocol](../link.md)
explains frames, sessions and repeats. Integers are little-endian; a body is packed, without padding, and has at most
{max_body:,} bytes. `bytes`, `u32[]` and `u64[]` are the rest of the body. *Windowed*: many of these requests may be on
their way at a time.
"""


def text() -> str:
    """Return the page."""
    found = description()
    comments = dict(commented(SOURCE.read_text(encoding="utf-8")))
    requests = [part for one in found.requests.values() for part in _request(one, comments.get(f"type.{one.name}", ""))]
    controls = [
        (code(f"0x{one.id:02X}"), code(name), _fields(one.fields), cell(comments.get(f"control.{name}", "")))
        for name, one in found.controls.items()
    ]
    errors = [(str(number), code(name), cell(comments.get(name, ""))) for number, name in found.errors.items()]
    enums = [
        f"- {code(name)}: {', '.join(f'{code(word)} {value}' for word, value in values.items())}"
        for name, values in found.enums.items()
    ]
    return page(
        INTRODUCTION.format(protocol=found.protocol, max_body=found.max_body),
        "## Requests",
        *requests,
        "## Control frames",
        table(("type", "frame", "fields", "meaning"), controls),
        "## Errors",
        "The code of a frame `error`, with the meaning of its words `a` and `b`.",
        table(("code", "name", "meaning"), errors),
        "## Numbers of words",
        "\n".join(enums),
    )


def commented(toml: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each table and key of the file with its comment: the lines right above it, and at its end."""
    above: list[str] = []
    for line in toml.splitlines():
        if line.startswith("#"):
            above.append(line.lstrip("# "))
            continue
        if found := re.match(r"\[([\w.]+)\]|(\w+) =", line):
            behind = re.search(r"\s#\s(.*)$", line)
            parts = [" ".join(above), behind[1] if behind else ""]
            yield found[1] or found[2], "; ".join(part for part in parts if part)
        above = []


def _request(one: messages.Request, comment: str) -> Iterator[str]:
    yield f"### {one.name}"
    windowed = ", windowed" if one.windowed else ""
    yield f"Type {code(f'0x{one.id:02X}')}{windowed}; reply {code(f'0x{one.id | REPLY_BIT:02X}')}."
    if comment:
        yield cell(f"{comment[0].upper()}{comment[1:]}".rstrip(".")) + "."
    yield table(("body", "fields"), [("request", _fields(one.request)), ("reply", _fields(one.reply))])


def _fields(fields: Fields) -> str:
    return ", ".join(f"{code(name)} {kind}" for name, kind in fields) or "none"
