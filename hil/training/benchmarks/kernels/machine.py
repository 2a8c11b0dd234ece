"""Call functions of a kernel image on the virtual core, and count their instructions."""

from __future__ import annotations

import struct
from typing import Any, NoReturn

import numpy as np
from unicorn import arm_const

from hil.images.images import Image
from hil.standins.virtual.chip.core import ArmCore
from hil.standins.virtual.chip.core_registers import LR, PC, SP, XPSR, R
from hil.standins.virtual.chip.count import NOT_V6M, Slot
from hil.standins.virtual.chip.ended import RunEnd
from hil.standins.virtual.chip.memories import PhysicalMemory

CODE, CODE_SIZE = 0x0800_0000, 1 << 20
DATA, DATA_SIZE = 0x2000_0000, 8 << 20
RETURN = CODE + CODE_SIZE - 16  # a free address with a breakpoint
STACK = 1 << 14  # bytes at the end of the data
THUMB = 1 << 24  # in xPSR
MOST = 1 << 40  # instructions in one call

# Unicorn's CPU model for each core, and the flags of `count` that refuse instructions which the core does not have.
CORES = {
    "cortex-m7": (arm_const.UC_CPU_ARM_CORTEX_M7, 0),
    "cortex-m4": (arm_const.UC_CPU_ARM_CORTEX_M4, 0),
    "cortex-m0plus": (arm_const.UC_CPU_ARM_CORTEX_M0, NOT_V6M),
}


class KernelMachine:
    """A core of CORES with memory, an image with kernels, and without peripherals."""

    def __init__(self, image: Image, core: str) -> None:
        cpu, refused = CORES[core]
        self.result = 0  # of the last call
        self._symbols = image.symbols
        memories = (
            PhysicalMemory("code", CODE, CODE_SIZE, writable=False),
            PhysicalMemory("data", DATA, DATA_SIZE, executable=False),
        )
        self._core = ArmCore(memories, (), _no_peripheral, _no_peripheral, cpu)
        self._core.state[Slot.REFUSED] = refused
        for address, data in image.segments:
            at = address - CODE
            self._core.bytes["code"][at : at + len(data)] = np.frombuffer(data, np.uint8)
        self._core.code_changed()
        self._core.set_breakpoints({RETURN})
        self._free = DATA

    def put(self, values: np.ndarray | bytes) -> int:
        """Copy values into new memory, aligned to 16 bytes, and return the address."""
        data = values if isinstance(values, bytes) else values.tobytes()
        address = self.room(len(data))
        self._core.store(address, data)
        return address

    def room(self, size: int) -> int:
        """Return the address of `size` new bytes, filled with a pattern that shows what a kernel does not write."""
        address = self._free
        self._free += -(-size // 16) * 16
        if self._free > DATA + DATA_SIZE - STACK:
            raise MemoryError(f"{size} bytes do not fit into the {DATA_SIZE} bytes of the kernel machine")
        self._core.store(address, b"\xa5" * size)
        return address

    def get(self, address: int, shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return the array at an address."""
        count = int(np.prod(shape))
        raw = self._core.peek(address, count * np.dtype(dtype).itemsize)
        return np.frombuffer(raw, dtype).reshape(shape)

    def address(self, function: str) -> int:
        """Return the address of a function, for kernels that take a function pointer."""
        return self._symbols[function]

    def call(self, function: str, *arguments: int) -> int:
        """Call a function with 32-bit arguments (AAPCS32, 6.4) and return the number of its instructions.

        Raises:
            KeyError: the image has no such function.
            RuntimeError: it did not return.
        """
        core, words = self._core, [argument & 0xFFFF_FFFF for argument in arguments]
        on_stack = struct.pack(f"<{max(len(words) - 4, 0)}I", *words[4:])
        stack = (DATA + DATA_SIZE - len(on_stack)) & ~7
        core.store(stack, on_stack)
        for register, word in zip(R[:4], words, strict=False):
            core.set(register, word)
        for register, value in ((SP, stack), (LR, RETURN | 1), (XPSR, THUMB), (PC, self._symbols[function])):
            core.set(register, value)
        before = core.count
        ended = self.run(before + MOST)
        if ended is not RunEnd.BREAKPOINT:
            raise RuntimeError(f"{function} ended by {ended.name} at 0x{core.get(PC):08X}: {core.fault}")
        self.result = core.get(R[0])
        return core.count - before

    def run(self, limit: int) -> RunEnd:
        """Run until the function returns, or until this count of instructions."""
        return self._core.run(limit, watch=False)

    def forget_data(self) -> None:
        """Give all memory that `put` and `room` have used to later calls."""
        self._free = DATA


class KernelCalls:
    """Base of the classes that call kernels with random data; values are given by their addresses."""

    def __init__(self, machine: KernelMachine) -> None:
        self.machine, self.rng = machine, np.random.default_rng(1)
        self.call, self.put, self.room = machine.call, machine.put, machine.room

    def s8(self, size: int, largest: int = 127) -> int:
        """Put random int8 in -largest..largest into memory."""
        return self.put(self.rng.integers(-largest, largest + 1, size, np.int8))

    def all_of_s8(self, size: int) -> int:
        """Put random int8 in -128..127 into memory."""
        return self.put(self.rng.integers(-128, 128, size, np.int8))

    def zeros32(self, size: int) -> int:
        """Put int32 zeros into memory."""
        return self.put(np.zeros(size, np.int32))


def _no_peripheral(*_: int) -> NoReturn:
    raise AssertionError("there is no peripheral")
