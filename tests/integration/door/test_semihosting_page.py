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
PAGE = (ROOT / "docs/how-to/side-by-side.md").read_text(encoding="utf-8")
PAGE = PAGE[PAGE.index("## Semihosting") : PAGE.index("## Side by side")]
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
MEMORY { CODE (rx) : ORIGIN = {code}, LENGTH = 1M   RAM (rwx) : ORIGIN = {ram}, LENGTH = 192K }
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


@pytest.mark.parametrize(("board", "reality", "core", "code", "ram"), [
    ("mps2-an386", "qemu", "-mcpu=cortex-m4 -mfpu=fpv4-sp-d16", "0", "0x20000000"),
    ("stm32f746", "virtual", "-mcpu=cortex-m7 -mfpu=fpv5-sp-d16", "0x08000000", "0x20010000"),
], ids=["qemu", "virtual"])  # fmt: skip
def test_the_page(
    strange: Callable[..., object], tmp_path: Path, board: str, reality: str, core: str, code: str, ram: str
) -> None:
    for program in ("arm-none-eabi-gcc", *["qemu-system-arm"] * (reality == "qemu")):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    if reality == "virtual":
        pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    script = SCRIPT.replace("{code}", code).replace("{ram}", ram)
    for name, text in (("main.c", MAIN), ("start.c", START), ("mine.ld", script)):
        (tmp_path / name).write_text(text)
    compiler = re.search(r"arm-none-eabi-gcc (?:.*\\\n)?.*", PAGE)[0].replace("\\\n", "").split()
    words = [word for word in compiler if not word.startswith(("-mcpu=", "-mfpu="))]
    subprocess.run([*words, *core.split()], check=True, cwd=tmp_path)
    found = strange(tmp_path, TEST + MORE, f"--board={board}", "--elf=mine.elf", "--semihosting")
    assert found.verdict("test_loss") == ("pass", ""), found.out
    entry = found.entry("test_loss")
    assert (entry.exit_code, entry.command, entry.reality) == (0, [], reality)
    assert "the test read how the firmware ended: exit code 0." in entry.judged and len(entry.comparisons) == 1
    assert (found.run / entry.folder / "files/loss.bin").is_file()
    for name, instead in (("test_no_batch", " and did not print 'done'"), ("test_nothing_asked", "")):
        verdict, reason = found.verdict(name)
        assert verdict == "fail" and f"the firmware ended with exit code 2{instead}" in reason, (name, reason)
