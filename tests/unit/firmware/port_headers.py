"""What the headers of a port define, as the compiler takes it: addresses of registers, and constants that are written to them."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile
from host_agent import FIRMWARE, tool

_MACRO = re.compile(r"^#define (\w+)(\([\w, ]+\))? (.+)$", re.MULTILINE)
_ENUM = re.compile(r"enum \{([^}]*)\}")
_ALIAS = re.compile(r"^[A-Za-z_]\w*$")  # another name of a macro that is there
_NOT_NUMBERS = re.compile(r"volatile uint|&\(|^\w+\(address\)")


@dataclass(frozen=True)
class Header:
    """The registers of one header with their addresses (of a macro with an argument: for 0 and for 1), and its constants."""

    registers: dict[str, tuple[int, ...]]
    constants: dict[str, int]


@cache
def header(path: str, board: str) -> Header:
    """Return what a header of `firmware/ports` defines when it is included for a board."""
    text = re.sub(r"\\\n", " ", re.sub(r"/\*.*?\*/", "", (FIRMWARE / "ports" / path).read_text(), flags=re.DOTALL))
    registers: dict[str, list[str]] = {}
    constants = {
        name: name for one in _ENUM.findall(text) for name in re.findall(r"([A-Z]\w*)\s*(?:=[^,]*)?(?:,|$)", one)
    }
    for name, parameters, body in _MACRO.findall(text):
        uses = [re.sub(r"\w+", f"{i}u", parameters) for i in (0, 1)] if parameters else [""]
        uses = [name + use for use in uses]
        if name.endswith("_REGISTER"):
            continue  # what the others are made of
        if "REGISTER" in body and not _NOT_NUMBERS.search(body):
            registers[name] = uses
        elif not _ALIAS.match(body.strip()) and not _NOT_NUMBERS.search(body):
            constants |= dict(zip((name, f"{name} of 1"), uses, strict=False))
    every = [f"(uint32_t)(uintptr_t)&({use})" for uses in registers.values() for use in uses] + list(constants.values())
    words = iter(_values(path, board, every))
    return Header(
        {n: tuple(next(words) for _ in uses) for n, uses in registers.items()}, {n: next(words) for n in constants}
    )


def _values(path: str, board: str, expressions: list[str]) -> list[int]:
    """Return the values of constant expressions, as the compiler for the board lays them down."""
    lines = ",\n".join(f"(uint32_t)({one})" for one in expressions)
    source = f'#include "board.h"\n#include "ports/{path}"\n__attribute__((section("the_values"), used)) const uint32_t list_of_values[] = {{{lines}}};'
    folders = [f"-I{FIRMWARE}", *(f"-I{FIRMWARE / 'ports' / one}" for one in (board, "stm32", "rp2", "common"))]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "values.o"
        command = [tool("arm-none-eabi-gcc"), "-mcpu=cortex-m7", "-mthumb", "-std=c11", *folders]
        command += ["-isystem", str(FIRMWARE / "libc/include"), "-xc", "-", "-c", "-o", str(out)]
        subprocess.run(command, input=source, text=True, check=True)
        with out.open("rb") as file:
            return [int(x) for x in np.frombuffer(ELFFile(file).get_section_by_name("the_values").data(), "<u4")]
