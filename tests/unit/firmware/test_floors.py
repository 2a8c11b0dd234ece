"""The floors of the firmware: a room includes headers of rooms below it only (docs/architecture.md)."""

from __future__ import annotations

import re
from pathlib import Path

FIRMWARE = Path(__file__).resolve().parents[3] / "firmware"
FLOORS = ("libc", "arith", "kernels", "graph", "engine", "formats", "methods", "agent", "trainer", "ports")
APART = {"agent": {"kernels", "graph", "engine", "formats", "methods"}}  # below it, and yet not for it
INCLUDE = re.compile(r'#include "(\w+)/')
METHOD_OR_FORMAT = re.compile(r"\b(bfp8|tflite8|elasticzo|poor_mans|deepzero|back_propagation)\w*")


def _sources(room: str) -> list[Path]:
    return sorted(path for path in (FIRMWARE / room).rglob("*.[ch]"))


def test_a_room_includes_only_rooms_below_it() -> None:
    wrong = []
    for floor, room in enumerate(FLOORS):
        allowed = {room, *FLOORS[:floor]} - APART.get(room, set())
        if room == "ports":
            allowed = {room, "agent", "libc", "arith"}
        for path in _sources(room):
            for included in INCLUDE.findall(path.read_text()):
                if included not in allowed:
                    wrong.append(f"{path.relative_to(FIRMWARE)} includes {included}/")
    assert not wrong, "\n".join(wrong)


def test_the_engine_names_no_format_and_no_method() -> None:
    found = [
        f"{path.relative_to(FIRMWARE)}: {name.group()}"
        for path in _sources("engine")
        for name in METHOD_OR_FORMAT.finditer(re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL))
    ]
    assert not found, "\n".join(found)


def test_only_the_registry_includes_the_table_of_a_method() -> None:
    tables = {"poor_mans.h", "deepzero.h", "back_propagation.h", "elasticzo_int8.h", "bfp8.h", "tflite8.h"}
    wrong = [
        f"{path.name} includes {name}"
        for path in _sources("trainer")
        for name in re.findall(r'#include "(?:methods|formats)/(\w+\.h)"', path.read_text())
        if name in tables and path.name != "registry.c"
    ]
    assert not wrong, "\n".join(wrong)
