"""A Cortex-M core on Unicorn: memories, registers, and runs that end at an instruction count.

Unicorn executes instructions. Everything else of the chip (exceptions, sleep, peripherals, time) is modelled around it.
Memories are NumPy arrays that Unicorn maps in place: a debugger or a digest reads them without a copy.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from collections.abc import Set as Addresses

import numpy as np
import unicorn
from unicorn.unicorn_py3.unicorn import uclib

from hil.standins.virtual.chip import block_hook
from hil.standins.virtual.chip.core_registers import PC, XPSR, RegisterSet
from hil.standins.virtual.chip.count import MAX_REGIONS, MAY_UNMASK, STATE_LENGTH, Slot, Stop
from hil.standins.virtual.chip.coverage import CoveredCode
from hil.standins.virtual.chip.ended import BY_EXCEPTION, NOT_EXECUTED, RunEnd
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.mapping import MappedMemories, Read, Write
from hil.standins.virtual.chip.memories import PhysicalMemory
from hil.standins.virtual.chip.ram_pages import RamPages

NOWHERE = 0xFFFFFFFE  # `until` of a run: an address that is never executed, because it is in the system space
EXC_RETURN = 0xFFFFFFE0  # the lowest value of LR that returns from an exception
_COUNT = int(Slot.COUNT)
# Hints at which Unicorn ends a run as at an undefined instruction, with pc after them (ARM DDI 0403E.e, A7.7).
HINTS = {
    b"\x20\xbf": RunEnd.EVENT_SLEEP, b"\xaf\xf3\x02\x80": RunEnd.EVENT_SLEEP,  # WFE
    b"\x10\xbf": RunEnd.LIMIT, b"\xaf\xf3\x01\x80": RunEnd.LIMIT,  # YIELD: the run goes on
}  # fmt: skip


class ArmCore(MappedMemories):
    """A Cortex-M core executed by Unicorn.

    Args:
        memories: memories of the chip; those that are not writable are filled with 0xFF.
        peripherals: (base, size) ranges whose accesses call `read` and `write`.
        read: (address, bytes) -> value. write: (address, bytes, value). Both may raise ModelFault.
        cpu: Unicorn's CPU model.
    """

    def __init__(
        self, memories: tuple[PhysicalMemory, ...], peripherals: tuple[tuple[int, int], ...], read: Read, write: Write,
        cpu: int,
    ) -> None:  # fmt: skip
        # Without UC_MODE_MCLASS, which silently makes every model a Cortex-M33. The CPU model sets the M profile.
        uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB)
        uc.ctl_set_cpu_model(cpu)
        assert uc._uch is not None  # an open engine has it
        self.handle = uc._uch
        self._shared = np.zeros(STATE_LENGTH, np.int64)
        self.state = self._shared.data  # access to an element takes a third of the time of an array's
        self._one = ctypes.c_uint32()
        self._one_reference = ctypes.byref(self._one)
        self._ended: RunEnd | None = None
        self._breakpoints: dict[int, object] = {}
        self._stale_code = False
        # Called first by code_changed(); they may change the contents of the memory again.
        self.on_code_changed: list[Callable[[], None]] = []
        self.on_poke: list[Callable[[int, int], None]] = []  # called with address and size
        self._stepping = False
        self.always_watched = 0  # flags after which every run ends
        super().__init__(uc, memories, peripherals, read, write)
        rams = tuple(memory for memory in memories if memory.writable)
        self._pages = RamPages(uc, rams, self._shared.ctypes.data + int(Slot.LIMIT) * self._shared.itemsize)
        self._install_hooks()

    # registers

    def registers(self, *ids: int) -> RegisterSet:
        """Return a set of registers, given by their numbers in `core_registers`."""
        return RegisterSet(self.handle, ids)

    def get(self, register: int) -> int:
        """Return the value of a register, given by its number in `core_registers`."""
        uclib.uc_reg_read(self.handle, register, self._one_reference)
        return self._one.value

    def set(self, register: int, value: int) -> None:
        """Set a register, given by its number in `core_registers`."""
        self._one.value = value
        uclib.uc_reg_write(self.handle, register, self._one_reference)

    # memory

    def poke(self, address: int, data: bytes) -> None:
        """Write memory, which may contain code, from outside the core; raise ModelFault if it is not writable."""
        self.store(address, data)
        self._was_poked(address, len(data))

    def poke_main(self, address: int, data: bytes, who: str) -> None:
        """Write memory as `store_main`, which may contain code; raise ModelFault if it is not writable."""
        place = self.find(address, len(data))
        if place is None or not place[0].writable:
            raise ModelFault(f"write of 0x{address:08X}: the chip has no writable memory there", address, "write")
        self.store_main(address, data, who)
        self._was_poked(address, len(data))

    def _was_poked(self, address: int, size: int) -> None:
        self._stale_code = True
        for written in self.on_poke:
            written(address, size)

    def code_changed(self) -> None:
        """Discard cached information about code: a memory was changed from outside the core."""
        for changed in self.on_code_changed:
            changed()
        self._forget_counts()
        self._stale_code = True

    def _forget_counts(self) -> None:
        """Clear the cached counts, only where there are any: the core may call this for every word of its flash."""
        state = self.state
        self._counts[state[Slot.FIRST_CACHED] : state[Slot.END_CACHED]] = 0
        state[Slot.FIRST_CACHED], state[Slot.END_CACHED] = len(self._counts), 0

    # running

    @property
    def count(self) -> int:
        """Number of instructions executed since power-on."""
        return self.state[_COUNT]

    def break_soon(self) -> None:
        """End the run at the next block. Any thread and register accesses may call this."""
        self.state[Slot.LIMIT] = 0

    def run(self, limit: int, watch: bool) -> RunEnd:
        """Run from the present pc until the instruction count reaches `limit` or another reason in `Ended`.

        Args:
            limit: instruction count since power-on.
            watch: also end after a block that may unmask exceptions.
        """
        self.state[Slot.LIMIT] = limit
        self.watch(watch)
        self.state[Slot.FLAGS] = 0
        return self._go(0)

    def watch(self, unmasking: bool) -> None:
        """End runs after a block that may unmask exceptions, or not, besides those that are always watched."""
        self.state[Slot.WATCH] = (MAY_UNMASK if unmasking else 0) | self.always_watched

    def step(self) -> RunEnd:
        """Execute one instruction; an IT instruction together with its conditional instructions."""
        before = self.count
        together = self._at_once(self.peek(self.get(PC) & ~1, 2))
        self.state[Slot.LIMIT] = before + 1
        self.state[Slot.WATCH] = 0
        # Unicorn's own instruction count only works in blocks translated for it, and slows these blocks down for good.
        self._stale_code = self._stepping = True
        ended = self._go(1)
        while self._pages.new_code and self.count == before:  # it ended before the instruction
            self.state[Slot.LIMIT] = before + 1
            ended = self._go(1)
        self._stale_code, self._stepping = True, False
        self.state[Slot.COUNT] = before + (0 if ended in NOT_EXECUTED else together)
        return ended

    @staticmethod
    def _at_once(opcode: bytes) -> int:
        """Return how many instructions a step executes; the lowest 1 in the mask of IT gives its number (A7.7.38)."""
        mask = opcode[0] & 0xF
        return 5 - (mask & -mask).bit_length() + 1 if opcode[1] == 0xBF and mask else 1

    def set_breakpoints(self, addresses: Addresses[int]) -> None:
        """Set the addresses of all breakpoints; runs end before the instruction there."""
        for address in set(self._breakpoints) - addresses:
            self.uc.hook_del(self._breakpoints.pop(address))
            self._stale_code = True
        for address in addresses - set(self._breakpoints):
            self._breakpoints[address] = self.uc.hook_add(
                unicorn.UC_HOOK_CODE, self._on_breakpoint, begin=address, end=address
            )
            self._stale_code = True

    def _go(self, instructions: int) -> RunEnd:
        if self._make_changes() or self._stale_code:
            self.uc.ctl_flush_tb()  # type: ignore[attr-defined] # made at run time, from a table of controls
            self._pages.forget_code()
            self._stale_code = False
        elif self._pages.new_code:
            self._pages.forget_rights()
        self.state[Slot.STOPPED] = Stop.NONE
        self.state[Slot.AFTER_LAST] = self.state[Slot.FOLLOWED]  # an exception may come between two blocks
        self._ended = None
        pc = self.get(PC)
        error = uclib.uc_emu_start(self.handle, pc | 1, NOWHERE, 0, instructions)
        if self.fault is not None:
            self._subtract_unexecuted(self.get(PC))
            return RunEnd.FAULT
        if self.state[Slot.STOPPED] == Stop.LIMIT:
            return RunEnd.LIMIT
        if self.state[Slot.STOPPED] == Stop.REFUSED:
            self._take_back_new(self.count, 0)
            return RunEnd.REFUSED
        pc = self.get(PC)
        ended = self._ended
        if error == unicorn.UC_ERR_INSN_INVALID:
            ended = self._invalid(pc)
        elif error != unicorn.UC_ERR_OK and ended is None:
            self.fault = ModelFault(f"the emulator stopped at 0x{pc:08X}: {unicorn.UcError(error)}")
            ended = RunEnd.FAULT
        if ended is None:
            ended = RunEnd.LIMIT if instructions else RunEnd.SLEEP
        if ended is not RunEnd.EXCEPTION_RETURN:
            self._subtract_unexecuted(self.get(PC))
        return ended

    def _invalid(self, pc: int) -> RunEnd:
        """Return the reason of UC_ERR_INSN_INVALID: cleared Thumb bit, a hint that Unicorn lacks, or undefined."""
        if not self.get(XPSR) & 1 << 24:
            return RunEnd.INVALID_STATE
        # After a hint, pc is at the next instruction. If the block begins at pc, the instruction at pc is undefined.
        block = self.state[Slot.BLOCK]
        for hint, ended in HINTS.items():
            if pc - len(hint) >= block and self.peek(pc - len(hint), len(hint)) == hint:
                return ended
        return RunEnd.UNDEFINED

    def _subtract_unexecuted(self, pc: int) -> None:
        """Take back the instructions of the last block from pc on: they were counted but not executed."""
        block, size = self.state[Slot.BLOCK], self.state[Slot.BLOCK_SIZE]
        if block <= pc < block + size:
            executed = block_hook.instructions_in(self.peek(block, pc - block))
            self._take_back_new(self.count - self.state[Slot.BLOCK_COUNT], (pc - block) // 2)
            self.state[Slot.COUNT] -= self.state[Slot.BLOCK_COUNT] - executed
            self.state[Slot.BLOCK_SIZE] = 0

    def _take_back_new(self, began: int, halfwords: int) -> None:
        """Let only the first halfwords of the block that began at an instruction count be reached, if it is new."""
        if self.state[Slot.NEW_AT] == began:
            entry = self.state[Slot.NEW_ENTRY]
            self.coverage.reached[entry] = max(self.state[Slot.NEW_BEFORE], halfwords)
            self._counts[entry : entry + 1] = 0  # where counts are cached, only a new count reaches a block
            self.state[Slot.NEW_AT] = -1

    def clear_coverage(self) -> None:
        """Forget which code was executed so far, between two runs."""
        self.coverage.clear()
        self._forget_counts()

    # hooks

    def _install_hooks(self) -> None:
        fixed = [m for m in self.memories if m.executable and not m.writable]
        changing = [m for m in self.memories if m.executable and m.writable]
        regions = fixed + changing
        self.coverage = CoveredCode(regions)
        self._counts = np.zeros(sum(m.size for m in fixed) // 2, np.uint16)
        self._sizes = np.zeros_like(self._counts)
        if len(regions) > MAX_REGIONS:
            raise ValueError(f"{len(regions)} executable memories, at most {MAX_REGIONS} are supported")
        self.state[Slot.STOP_CALL] = ctypes.cast(uclib.uc_emu_stop, ctypes.c_void_p).value or 0
        self.state[Slot.COUNTS] = self._counts.ctypes.data
        self.state[Slot.SIZES] = self._sizes.ctypes.data
        self.state[Slot.REACHED] = self.coverage.reached.ctypes.data
        self.state[Slot.FOLLOWED] = self.coverage.followed.ctypes.data
        self.state[Slot.NEW_AT] = -1
        self._forget_counts()
        self.state[Slot.REGIONS] = len(regions)
        for i, (memory, first) in enumerate(zip(regions, self.coverage.first, strict=True)):
            slot = Slot.REGIONS + 1 + 4 * i
            place = self.bytes[memory.name].ctypes.data
            index = -1 - first if memory in changing else first
            self._shared[slot : slot + 4] = memory.base, memory.base + memory.size, place, index
        handle = ctypes.c_size_t()
        uclib.uc_hook_add(
            self.handle, ctypes.byref(handle), unicorn.UC_HOOK_BLOCK, ctypes.c_void_p(block_hook.address),
            ctypes.c_void_p(self._shared.ctypes.data), ctypes.c_uint64(1), ctypes.c_uint64(0),
        )  # fmt: skip
        self.uc.hook_add(unicorn.UC_HOOK_INTR, self._on_exception)

    def _on_exception(self, _uc: unicorn.Uc, number: int, _data: object) -> None:
        if number not in BY_EXCEPTION:
            why = f"the emulator raised its exception {number} at 0x{self.get(PC):08X}, which this model does not know"
            self._stop_with(ModelFault(why))
            return
        self._ended = BY_EXCEPTION[number]
        self.uc.emu_stop()

    def _on_breakpoint(self, _uc: unicorn.Uc, _address: int, _size: int, _data: object) -> None:
        if not self._stepping:
            self._ended = RunEnd.BREAKPOINT
            self.uc.emu_stop()

    def _access_again(self) -> None:
        self._ended = RunEnd.LIMIT

    def _is_exception_return(self, address: int) -> bool:
        # Unicorn's cores without the security extension do not notice that a register set from outside switched to
        # handler mode: they branch to EXC_RETURN as to any address (B1.5.8).
        if address < EXC_RETURN or not self.get(XPSR) & 0x1FF:
            return False
        self._ended = RunEnd.EXCEPTION_RETURN
        return True
