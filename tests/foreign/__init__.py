"""A firmware that was not written for the rig, built for some boards."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hil import boards

SOURCE = Path(__file__).with_name("foreign.c")
CASES = Path(__file__).with_name("cases.c")  # tests itself, and prints as Unity does; for MPS2
SEMIHOSTING = Path(__file__).with_name("semihosting.c")  # asks the host for files, output and an end; for MPS2
AT_PROBE = Path(__file__).with_name("semihosting_at_probe.c")  # the same, as a probe commands it; without a port
CALLS = Path(__file__).with_name("calls.c")  # calls that are hard to follow; for any of these boards
MACROS = {
    "mps2-an386": "BOARD_MPS2", "mps2-an385": "BOARD_MPS2", "mps2-an505": "BOARD_AN505",
    "stm32f746": "BOARD_STM32F746", "stm32h7b3": "BOARD_STM32H7B3", "nrf52840": "BOARD_NRF52840",
}  # fmt: skip
STACK = 1024
SCRIPT = """
ENTRY(Reset_Handler)
MEMORY {{ FLASH (rx) : ORIGIN = {flash:#x}, LENGTH = 64K   RAM (rwx) : ORIGIN = {ram:#x}, LENGTH = 16K }}
SECTIONS {{
    .text : {{ KEEP(*(.vectors)) *(.text*) *(.rodata*) . = ALIGN(4); }} > FLASH
    _sidata = LOADADDR(.data);
    .data : {{ _sdata = .; *(.data*) . = ALIGN(4); _edata = .; }} > RAM AT > FLASH
    .bss (NOLOAD) : {{ _sbss = .; *(.bss*) *(COMMON) . = ALIGN(4); _ebss = .; }} > RAM
    {stack}
}}
"""


def build(
    folder: Path, board: str, *options: str, name: str = "foreign.elf", stack_symbols: bool = True, source: Path = SOURCE
) -> Path:  # fmt: skip
    """Return the firmware, built for a board; the test is skipped without a compiler."""
    compiler = shutil.which("arm-none-eabi-gcc")
    if compiler is None:
        pytest.skip("arm-none-eabi-gcc is not installed")
    entry = boards.load(board)
    flash = next(region.start for region in entry.memory if region.kind == "flash")
    ram = next(region.start for region in entry.memory if region.kind == "ram" and region.name in ("sram", "dtcm"))
    top = f"__StackTop = {ram:#x} + 16K;"
    limit = f" __StackLimit = __StackTop - {STACK};" if stack_symbols else ""
    script = folder / f"{board}.ld"
    script.write_text(SCRIPT.format(flash=flash, ram=ram, stack=top + limit), encoding="ascii")
    elf = folder / name
    subprocess.run(
        [compiler, f"-mcpu={entry.core}", "-mthumb", "-std=c11", "-Og", "-g", "-ffreestanding", "-ffunction-sections",
         "-fdata-sections", "-fno-omit-frame-pointer", f"-D{MACROS[board]}", *options, str(source), "-o", str(elf),
         "-nostdlib", "-lgcc", f"-T{script}", "-Wl,--gc-sections"],
        check=True,
    )  # fmt: skip
    return elf
