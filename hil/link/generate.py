"""Write the firmware's C header of messages from messages.toml: `python -m hil.link.generate [PATH]`."""

from __future__ import annotations

import sys
from pathlib import Path

from hil.link.messages import OPEN, Description, Fields, description, fixed_size

HEADER = "firmware/agent/messages.h"


def header(messages: Description) -> str:
    """Return the text of the C header: ids, sizes, packed structures, error codes and enumerations."""
    lines = [
        "/* Generated from hil/link/messages.toml by `python -m hil.link.generate`; edit that file. */",
        "#pragma once",
        "",
        "#include <stdint.h>",
        "",
        f"#define MSG_PROTOCOL {messages.protocol}u",
        f"#define MSG_MAX_BODY {messages.max_body}u",
        "#define MSG_REPLY_BIT 0x80u",
        "",
        "/* Bodies, little-endian and packed. An open last field (bytes, u32[], u64[]) is not a member: "
        "it begins at sizeof. */",
        "",
    ]
    named: dict[tuple[str, ...], str] = {}
    for request in messages.requests.values():
        lines.append(f"#define MSG_{request.name.upper()} 0x{request.id:02X}u")
        lines += _structure(f"msg_{request.name}_request_t", request.request, named)
        lines += _structure(f"msg_{request.name}_reply_t", request.reply, named)
        lines.append("")
    for control in messages.controls.values():
        lines.append(f"#define MSG_{control.name.upper()} 0x{control.id:02X}u")
        lines += _structure(f"msg_{control.name}_t", control.fields, named)
        lines.append("")
    lines += _enumeration("msg_error_code", "MSG_ERROR", {name: code for code, name in messages.errors.items()})
    for name, members in messages.enums.items():
        lines += _enumeration(f"msg_{name}", f"MSG_{name.upper()}", members)
    return "\n".join(lines)


def _structure(name: str, fields: Fields, named: dict[tuple[str, ...], str]) -> list[str]:
    """Return a structure, or another name of one with the same members; `named` has the names so far."""
    members = tuple(_member(field, kind) for field, kind in fields if kind not in OPEN)
    if not members:
        return []
    if named.setdefault(members, name) != name:
        return [f"typedef {named[members]} {name};"]
    size = fixed_size(fields)
    return [
        "typedef struct __attribute__((packed, may_alias)) {",
        *members,
        f"}} {name};",
        f'_Static_assert(sizeof({name}) == {size}, "{name} is packed");',
    ]


def _member(field: str, kind: str) -> str:
    if kind.startswith("bytes["):
        return f"    uint8_t {field}[{kind[6:-1]}];"
    c_type = "float" if kind == "f32" else f"{'u' if kind[0] == 'u' else ''}int{kind[1:]}_t"
    return f"    {c_type} {field};"


def _enumeration(name: str, prefix: str, members: dict[str, int]) -> list[str]:
    return [
        f"enum {name} {{",
        *(f"    {prefix}_{member.upper().replace('-', '_')} = {value}," for member, value in members.items()),
        "};",
        "",
    ]


def main(argv: list[str]) -> int:
    """Write the header to the given path, by default to firmware/agent/messages.h of the checkout."""
    path = Path(argv[1]) if len(argv) > 1 else Path(__file__).resolve().parents[2] / HEADER
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(header(description()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
