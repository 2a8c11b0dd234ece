"""The floors of the firmware: a room includes headers of rooms below it only (docs/architecture.md)."""

from __future__ import annotations

import re
from pathlib import Path

FIRMWARE = Path(__file__).resolve().parents[3] / "firmware"
FLOORS = ("libc", "arith", "kernels", "graph", "engine", "formats", "methods", "agent", "trainer", "ports")
APART = {"agent": {"kernels", "graph", "engine", "formats", "methods"}}  # below it, and yet not for it
UPWARD = {("agent/fault.c", "cortex_m.h")}  # the registers that name a fault
INCLUDE = re.compile(r'#include "(\w+)/')
BARE_INCLUDE = re.compile(r'#include "([^/"]+)"')  # found in the file's folder, or by an -I of the Makefile
PRIVATE = re.compile(r"private\s+to", re.IGNORECASE)
METHOD_OR_FORMAT = re.compile(r"\b(bfp8|tflite8|affine8|elasticzo|poor_mans|deepzero|back_propagation|fqt)\w*")


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


def test_private_headers_of_kernels_stay_in_their_room() -> None:
    """The comment at the top of a private header says whose it is."""
    headers = {path.name: path.read_text() for path in (FIRMWARE / "kernels").glob("*.h")}
    private = {name for name, text in headers.items() if PRIVATE.search(text[: text.index("*/")])}
    public = set(headers) - private
    assert {"dsp.h", "core.h"} <= private
    assert {"convolution.h", "shapes.h"} <= public
    wrong = [
        f"{path.relative_to(FIRMWARE)} includes {name}"
        for room in FLOORS
        if room != "kernels"
        for path in _sources(room)
        for name in re.findall(r'#include "kernels/([^"]+)"', path.read_text())
        if name in private
    ]
    assert not wrong, "\n".join(wrong)


def test_only_the_named_files_include_a_header_of_a_port_by_its_bare_name() -> None:
    found = {
        (str(path.relative_to(FIRMWARE)), header)
        for room in FLOORS
        if room != "ports"
        for path in _sources(room)
        for header in BARE_INCLUDE.findall(path.read_text())
        if not (path.parent / header).exists()
    }
    assert found == UPWARD


def test_the_engine_names_no_format_and_no_method() -> None:
    found = [
        f"{path.relative_to(FIRMWARE)}: {name.group()}"
        for path in _sources("engine")
        for name in METHOD_OR_FORMAT.finditer(re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL))
    ]
    assert not found, "\n".join(found)


def test_only_the_registry_names_the_table_of_a_format_or_method() -> None:
    defining = "\n".join(path.read_text() for room in ("formats", "methods") for path in _sources(room))
    tables = set(re.findall(r"^const (?:format|method)_t (\w+) = {", defining, flags=re.MULTILINE))
    assert len(tables) >= 6
    wrong = [
        f"{path.name} names {name}"
        for path in _sources("trainer")
        for name in re.findall(r"\w+", re.sub(r"/\*.*?\*/|#include [^\n]*", "", path.read_text(), flags=re.DOTALL))
        if name in tables and path.name != "registry.c"
    ]
    assert not wrong, "\n".join(wrong)
