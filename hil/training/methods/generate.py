"""Write the C and Python classes of the settings of methods.toml: `python -m hil.training.methods.generate`."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import jinja2

from hil.training.methods.settings import COMMON, MethodSetting, described, sent, setting_tables

TEMPLATES = {  # by the path of what is made from it, in the checkout
    "firmware/engine/common_settings.h": "common_settings.h.j2",
    "firmware/methods/settings.h": "settings.h.j2",
    "firmware/methods/settings.c": "settings.c.j2",
    "hil/training/methods/settings_fields.py": "settings_fields.py.j2",
}
SOURCE = (
    "Generated from hil/training/methods/methods.toml by `python -m hil.training.methods.generate`; edit that file."
)
LINE = 120
C_TYPES = {"u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "f32": "float"}

Settings = Mapping[str, MethodSetting]


def texts() -> dict[str, str]:
    """Return the generated texts by their paths in the checkout."""
    methods = {name: described(name) for name in setting_tables()}
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hil.training.methods"),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    values = {
        "source": SOURCE, "c_types": C_TYPES, "common": described(COMMON), "methods": methods,
        "words": [_enumeration(words) for words in _words([described(COMMON), *methods.values()])],
        "bounds": bounds, "sent": sent, "json": json.dumps,
    }  # fmt: skip
    return {path: environment.get_template(name).render(values) for path, name in TEMPLATES.items()}


def bounds(setting: MethodSetting) -> tuple[int, int]:
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


def _enumeration(words: dict[str, int]) -> str:
    """Return words as an enum, on one line if it is not too long."""
    named = [f"{name} = {number}" for name, number in words.items()]
    line = f"enum {{ {', '.join(named)} }};"
    return line if len(line) <= LINE else "\n".join(["enum {", *(f"    {word}," for word in named), "};"])


def _words(tables: list[Settings]) -> Iterator[dict[str, int]]:
    """Yield the names in C and the numbers of the words of every setting, each word once.

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
        if new := {name: number for name, number in numbers.items() if name not in known}:
            yield new
        known |= numbers


def main(argv: list[str]) -> int:
    """Write all texts below the given folder, by default the checkout."""
    root = Path(argv[1]) if len(argv) > 1 else Path(__file__).resolve().parents[3]
    for path, text in texts().items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
