"""Write the C structures and the Python classes of the settings from methods.toml: `python -m hil.methods.generate`."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from hil.methods.settings import COMMON, Setting, described, sent, setting_tables

ENGINE_HEADER = "firmware/engine/common_settings.h"
METHODS_HEADER = "firmware/methods/settings.h"
METHODS_SOURCE = "firmware/methods/settings.c"
PYTHON_CLASSES = "hil/methods/settings_fields.py"
SOURCE = "Generated from hil/methods/methods.toml by `python -m hil.methods.generate`; edit that file."
C_TYPES = {"u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "f32": "float"}

Settings = Mapping[str, Setting]


def texts() -> dict[str, str]:
    """Return the generated texts by their paths in the checkout."""
    methods = {name: described(name) for name in setting_tables()}
    made = {
        ENGINE_HEADER: _engine_header(),
        METHODS_HEADER: _methods_header(methods),
        METHODS_SOURCE: _methods_source(methods),
        PYTHON_CLASSES: _python_classes(methods),
    }
    return {path: "\n".join(lines) + "\n" for path, lines in made.items()}


def bounds(setting: Setting) -> tuple[int, int]:
    """Return the least and the greatest value on the link as unsigned integers.

    For a float they are its bits in binary32: from 0 on, numbers are in the order of their bits.
    """
    if setting.words:
        return min(setting.numbers), max(setting.numbers)
    if setting.limits is not None:
        return setting.limits
    least = _bits(setting.least) if setting.above is None else _bits(setting.above) + 1
    most = _bits(setting.most) if setting.below is None else _bits(setting.below) - 1
    return least, most


def _bits(value: float | None) -> int:
    if value is None or value < 0:
        raise ValueError("a real setting has two bounds, from 0 on")
    bits: int = struct.unpack("<I", struct.pack("<f", value))[0]
    return bits


def _engine_header() -> list[str]:
    return [
        f"/* {SOURCE} */",
        "#pragma once",
        "",
        "#include <stdint.h>",
        "",
        "/* The settings of every method. Those of a method are a structure that begins with them. */",
        *_structure("settings_t", described(COMMON)),
    ]


def _methods_header(methods: Mapping[str, Settings]) -> list[str]:
    lines = [
        f"/* {SOURCE} */",
        "#pragma once",
        "",
        '#include "engine/settings.h"',
        "",
        "/* Words by their numbers. */",
        "enum {",
        *_words([described(COMMON), *methods.values()]),
        "};",
    ]
    for table, settings in methods.items():
        lines += [
            "",
            *_structure(f"{table}_settings_t", sent(settings)),
            "",
            f"extern const settings_table_t {table}_settings_table;",
        ]
    return lines


def _methods_source(methods: Mapping[str, Settings]) -> list[str]:
    lines = [f"/* {SOURCE} */", '#include "methods/settings.h"', "", "#include <stddef.h>"]
    for table, settings in methods.items():
        kind = f"{table}_settings_t"
        lines += [
            "",
            f'_Static_assert(sizeof({kind}) <= SETTINGS_BYTES, "the engine has room for {kind}");',
            "",
            f"static const setting_t {table}_rows[] = {{",
            *(_row(kind, setting) for setting in sent(settings).values()),
            "};",
            "",
            f"const settings_table_t {table}_settings_table = {{{table}_rows, {len(sent(settings))}, sizeof({kind})}};",
        ]
    return lines


def _row(kind: str, setting: Setting) -> str:
    least, most = bounds(setting)
    member = f"offsetof({kind}, {setting.name}), sizeof({C_TYPES[setting.type]})"
    return f"    {{{least}u, {most}u, {member}}},"


def _structure(name: str, settings: Settings) -> list[str]:
    members = (f"    {C_TYPES[setting.type]} {setting.name};" for setting in settings.values())
    return ["typedef struct {", *members, f"}} {name};"]


def _words(tables: list[Settings]) -> Iterator[str]:
    """Yield the enumerator of every word of every setting once.

    Raises:
        ValueError: two tables give a word of the same setting different numbers.
    """
    known: dict[str, int] = {}
    for setting in (setting for settings in tables for setting in settings.values() if setting.words):
        names = (f"{setting.name}_{word}".upper().replace("-", "_") for word in setting.words)
        numbers = dict(zip(names, setting.numbers, strict=True))
        for name in numbers.keys() & known.keys():
            if numbers[name] != known[name]:
                raise ValueError(f"{name} is {known[name]} and {numbers[name]}: give one of the words another name")
        yield from (f"    {name} = {number}," for name, number in numbers.items() if name not in known)
        known |= numbers


def _python_classes(methods: Mapping[str, Settings]) -> list[str]:
    lines = [
        f'"""{SOURCE}"""',
        "",
        "from __future__ import annotations",
        "",
        "from dataclasses import dataclass",
        "",
        "from hil.methods.settings import MethodSettings, described",
    ]
    for table, settings in methods.items():
        lines += [
            "",
            "",
            "@dataclass(frozen=True)",
            f"class {table.capitalize()}Fields(MethodSettings):",
            f'    """The settings of the table `{table}`."""',
            "",
            f'    table = described("{table}")',
            "",
            *map(_python_field, settings.values()),
        ]
    return lines


def _python_field(setting: Setting) -> str:
    kind = "str" if setting.words else "int" if setting.limits is not None else "float"
    default = "" if setting.default is None else f" = {json.dumps(setting.default)}"
    return f"    {setting.name}: {kind}{default}"


def main(argv: list[str]) -> int:
    """Write all texts below the given folder, by default the checkout."""
    root = Path(argv[1]) if len(argv) > 1 else Path(__file__).resolve().parents[2]
    for path, text in texts().items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
