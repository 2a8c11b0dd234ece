"""The page on semihosting as it stands there: its firmware with newlib, its test, and what becomes of an exit code."""

from __future__ import annotations

import re
import shutil
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/how-to/semihosting.md").read_text(encoding="utf-8")
MAIN, TEST = (
    textwrap.dedent(block)
    for block in re.findall(r"(?:^    [^\n]*\n|^\n(?=    |\n    ))+", PAGE, re.M)
    if "loss" in block
)
START = """
#include <stdint.h>
extern uint32_t _sidata[], _sdata[], _edata[], _sbss[], _ebss[], __StackTop[];
int main(void);
void initialise_monitor_handles(void);
void _init(void) {}
void _fini(void) {}
void Reset_Handler(void) {
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20;
    for (uint32_t *from = _sidata, *to = _sdata; to < _edata;) *to++ = *from++;
    for (uint32_t *to = _sbss; to < _ebss;) *to++ = 0;
    initialise_monitor_handles();
    main();
}
__attribute__((section(".vectors"), used)) static void *const vectors[2] = {__StackTop, (void *)Reset_Handler};
"""
SCRIPT = """
ENTRY(Reset_Handler)
MEMORY { CODE (rx) : ORIGIN = 0, LENGTH = 4M   RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 4M }
SECTIONS {
    .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) . = ALIGN(4); } > CODE
    _sidata = LOADADDR(.data);
    .data : { _sdata = .; *(.data*) . = ALIGN(4); _edata = .; } > RAM AT > CODE
    .bss (NOLOAD) : { _sbss = .; *(.bss*) *(COMMON) . = ALIGN(4); _ebss = .; end = .; } > RAM
    __StackTop = ORIGIN(RAM) + LENGTH(RAM);
}
"""
MORE = """
import time

def test_no_batch(hil_dut):
    hil_dut.serial.expect("done")


def test_nothing_asked(hil_dut):
    while hil_dut.failed() is None:
        time.sleep(0.1)
"""


def test_the_page(strange: Callable[..., object], tmp_path: Path) -> None:
    for program in ("arm-none-eabi-gcc", "qemu-system-arm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    for name, text in (("main.c", MAIN), ("start.c", START), ("mine.ld", SCRIPT)):
        (tmp_path / name).write_text(text)
    compiler = re.search(r"arm-none-eabi-gcc (?:.*\\\n)?.*", PAGE)[0].replace("\\\n", "").split()
    subprocess.run(compiler, check=True, cwd=tmp_path)
    found = strange(tmp_path, TEST + MORE, "--board=mps2-an386", "--elf=mine.elf", "--semihosting")
    assert found.verdict("test_loss") == ("pass", ""), found.out
    entry = found.entry("test_loss")
    assert (entry.exit_code, entry.command, entry.reality) == (0, [], "qemu")
    assert "the test read how the firmware ended: exit code 0." in entry.judged and len(entry.comparisons) == 1
    assert (found.run / entry.folder / "files/loss.bin").is_file()
    for name, instead in (("test_no_batch", " and did not print 'done'"), ("test_nothing_asked", "")):
        verdict, reason = found.verdict(name)
        assert verdict == "fail" and f"the firmware ended with exit code 2{instead}" in reason, (name, reason)
