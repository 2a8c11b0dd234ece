"""The kernels as the compiler builds them for Cortex-M0+, called one at a time in Unicorn with an eye on every access."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile
from host_agent import FIRMWARE, tool
from unicorn import UC_ARCH_ARM, UC_HOOK_MEM_READ, UC_HOOK_MEM_WRITE, UC_MODE_MCLASS, UC_MODE_THUMB, Uc
from unicorn.arm_const import (
    UC_ARM_REG_LR,
    UC_ARM_REG_PC,
    UC_ARM_REG_R0,
    UC_ARM_REG_R4,
    UC_ARM_REG_R8,
    UC_ARM_REG_SP,
    UC_CPU_ARM_CORTEX_M0,
)

CODE, RAM, STACK, RETURN = 0x1000, 0x2000_0000, 0x3000_0000, 0x0030_0000
STACK_SIZE = 8 << 10
TIMEOUT = 20_000_000  # microseconds
FLAGS = ["-mcpu=cortex-m0plus", "-std=c11", "-O3", "-mthumb", "-ffreestanding", "-fbuiltin", "-ffp-contract=off"]
LIBRARY = FIRMWARE / "libc/string.c"


def build_kernels(folder: Path) -> Path:
    """Build every kernel for Armv6-M and link them as they are; return the ELF file."""
    gcc = tool("arm-none-eabi-gcc")
    common = [gcc, *FLAGS, f"-I{FIRMWARE}", "-isystem", str(FIRMWARE / "libc/include")]
    library = folder / "string.o"
    subprocess.run([*common, "-fno-tree-loop-distribute-patterns", "-c", LIBRARY, "-o", library], check=True)
    sources = sorted([*(FIRMWARE / "kernels").glob("*.c"), *(FIRMWARE / "arith").glob("*.c")])
    program = folder / "kernels.elf"
    link = ["-nostdlib", "-static", f"-Wl,-Ttext={CODE:#x}", f"-Wl,-e,{CODE:#x}"]
    subprocess.run([*common, *link, *sources, library, "-lgcc", "-o", program], check=True)
    return program


class Kernels:
    """Memory with kernels in it. Buffers lie `GUARD` bytes apart, and what is between them must stay as it is.

    Raises AssertionError where a kernel accesses a word or halfword that is not aligned, reads or writes outside the buffers and
    the stack, or does not restore a register that the procedure call standard wants restored.
    """

    GUARD = 64

    def __init__(self, program: Path) -> None:
        with program.open("rb") as file:
            elf = ELFFile(file)
            self._symbols = {s.name: s["st_value"] for s in elf.get_section_by_name(".symtab").iter_symbols()}
            segments = [(s["p_vaddr"], s.data()) for s in elf.iter_segments() if s["p_type"] == "PT_LOAD"]
        self._core = Uc(UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS)
        self._core.ctl_set_cpu_model(UC_CPU_ARM_CORTEX_M0)
        for base, size in ((0, 4 << 20), (RAM, 1 << 20), (STACK, 1 << 20)):
            self._core.mem_map(base, size)
        for address, data in segments:
            self._core.mem_write(address, data)
        self._image_end = max(address + len(data) for address, data in segments)
        self._core.hook_add(UC_HOOK_MEM_READ | UC_HOOK_MEM_WRITE, self._on_access)
        self._buffers: list[tuple[int, int]] = []
        self._wrong: list[str] = []

    def forget(self) -> None:
        """Free all buffers."""
        self._buffers.clear()

    def place(self, array: np.ndarray, offset: int = 0) -> int:
        """Copy an array into memory, `offset` bytes behind a multiple of 8; return its address."""
        end = self._buffers[-1][1] if self._buffers else RAM
        address = (end + self.GUARD + 7) // 8 * 8 + offset
        self._core.mem_write(address, np.ascontiguousarray(array).tobytes())
        self._buffers.append((address, address + array.nbytes))
        return address

    def read(self, address: int, like: np.ndarray) -> np.ndarray:
        """Return the array of the dtype and shape of `like` at an address."""
        data = bytes(self._core.mem_read(address, like.nbytes))
        return np.frombuffer(data, like.dtype).reshape(like.shape)

    def call(self, name: str, *arguments: int) -> int:
        """Call a kernel with integers or addresses; return what it leaves in r0, signed."""
        words = np.array([a & 0xFFFF_FFFF for a in arguments], np.uint32)
        sp = STACK + STACK_SIZE - 8 * ((len(words[4:]) + 1) // 2)
        self._core.mem_write(sp, words[4:].tobytes())
        for i, word in enumerate(words[:4]):
            self._core.reg_write(UC_ARM_REG_R0 + i, int(word))
        kept = [UC_ARM_REG_R4 + i for i in range(4)] + [UC_ARM_REG_R8 + i for i in range(4)]
        for i, register in enumerate(kept):
            self._core.reg_write(register, 0xC0DE_0000 + i)
        self._core.reg_write(UC_ARM_REG_SP, sp)
        self._core.reg_write(UC_ARM_REG_LR, RETURN | 1)
        self._core.emu_start(self._symbols[name] | 1, RETURN, timeout=TIMEOUT)
        wrong, self._wrong = self._wrong, []
        assert not wrong, f"{name}: {wrong[0]}"
        assert self._core.reg_read(UC_ARM_REG_PC) == RETURN, f"{name} does not return"
        assert [self._core.reg_read(r) for r in kept] == [0xC0DE_0000 + i for i in range(8)], f"{name}: r4 to r11"
        assert self._core.reg_read(UC_ARM_REG_SP) == sp, f"{name}: sp"
        return int(np.uint32(self._core.reg_read(UC_ARM_REG_R0)).astype(np.int32))

    def _on_access(self, core: Uc, access: int, address: int, size: int, value: int, data: object) -> None:
        if address % size != 0:
            self._wrong.append(f"{size} bytes at {address:#x} are not aligned")
        if STACK <= address < STACK + STACK_SIZE or address < self._image_end:
            return
        if not any(begin <= address and address + size <= end for begin, end in self._buffers):
            self._wrong.append(f"{size} bytes at {address:#x} lie in no buffer")
