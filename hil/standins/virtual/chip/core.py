"""A Cortex-M core on Unicorn: memories, registers, and runs that end at an instruction count.

Unicorn executes instructions; everything else of the chip (exceptions, sleep, peripherals, time) is modelled around it.
Memories are NumPy arrays that Unicorn maps in place, so that a debugger or a digest reads them without a copy.
"""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Callable

import numpy as np
import unicorn
from unicorn import arm_const as reg
from unicorn.unicorn_py3.unicorn import uclib

from hil.standins.virtual.chip.core_registers import PC, XPSR, RegisterSet
from hil.standins.virtual.chip.count import MAX_REGIONS, STATE_LENGTH, Slot, Stop, block_hook, instructions_in
from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.memories import Memory, MemoryMap

NOWHERE = 0xFFFFFFFE  # `until` of a run: no instruction can be there, the system space is never executable
_COUNT = int(Slot.COUNT)
WFE, WFE_WIDE = b"\x20\xbf", b"\xaf\xf3\x02\x80"
_READ, _WRITE, _FETCH = "read", "write", "fetch"
_ACCESS = {
    unicorn.UC_MEM_READ_UNMAPPED: _READ, unicorn.UC_MEM_READ_PROT: _READ,
    unicorn.UC_MEM_WRITE_UNMAPPED: _WRITE, unicorn.UC_MEM_WRITE_PROT: _WRITE,
    unicorn.UC_MEM_FETCH_UNMAPPED: _FETCH, unicorn.UC_MEM_FETCH_PROT: _FETCH,
}
_MMIO_READ = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint, ctypes.c_void_p)
_MMIO_WRITE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint, ctypes.c_uint64, ctypes.c_void_p)


class Ended(enum.Enum):
    """Why a run ended."""

    LIMIT = enum.auto()  # the count has reached the limit, or a waiting exception may now be taken
    SLEEP = enum.auto()  # WFI
    EVENT_SLEEP = enum.auto()  # WFE
    SVC = enum.auto()
    BKPT = enum.auto()  # pc is at the BKPT
    BREAKPOINT = enum.auto()  # pc is at an address in `breakpoints`
    UNDEFINED = enum.auto()  # pc is at the instruction
    NO_FPU = enum.auto()  # the next block holds a floating-point instruction and CPACR denies it
    INVALID_STATE = enum.auto()  # a branch cleared the Thumb bit
    EXCEPTION_RETURN = enum.auto()  # pc holds EXC_RETURN
    FAULT = enum.auto()  # `fault` says what


class Core(MemoryMap):
    """Args:
        memories: what the core can reach besides peripherals; filled with 0xFF where not writable, else left to the chip.
        peripherals: (base, size) ranges whose accesses go to `read` and `write`.
        read: (address, bytes) -> value. write: (address, bytes, value). Both may raise ModelFault.
        cpu: Unicorn's CPU model.
    """

    def __init__(
        self,
        memories: tuple[Memory, ...],
        peripherals: tuple[tuple[int, int], ...],
        read: Callable[[int, int], int],
        write: Callable[[int, int, int], None],
        cpu: int = reg.UC_CPU_ARM_CORTEX_M7,
    ) -> None:
        self.uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        self.uc.ctl_set_cpu_model(cpu)
        self.handle = self.uc._uch
        super().__init__(memories)
        self._shared = np.zeros(STATE_LENGTH, np.int64)
        self.state = memoryview(self._shared)  # an element of this costs a third of an array's
        self._one = ctypes.c_uint32()
        self._one_reference = ctypes.byref(self._one)
        self.fault: ModelFault | None = None
        self._read, self._write = read, write
        self._ended: Ended | None = None
        self._breakpoints: dict[int, int] = {}
        self._stale_code = False
        self._stepping = False
        self._keep: list[object] = []
        self._guard: Callable[[int, int, int], None] | None = None
        self._guard_hook: object | None = None
        self._changes: list[Callable[[], None]] = []
        for memory in memories:
            self._map(memory)
        for base, size in peripherals:
            self._map_peripherals(base, size)
        self._install_hooks()

    # registers

    def registers(self, *ids: int) -> RegisterSet:
        """Return a set of registers by their numbers in `core_registers`."""
        return RegisterSet(self.handle, ids)

    def get(self, register: int) -> int:
        """Return a register, by its number in `core_registers`."""
        uclib.uc_reg_read(self.handle, register, self._one_reference)
        return self._one.value

    def set(self, register: int, value: int) -> None:
        """Set a register, by its number in `core_registers`."""
        self._one.value = value
        uclib.uc_reg_write(self.handle, register, self._one_reference)

    # memory

    def poke(self, address: int, data: bytes) -> None:
        """Write memory from outside; it may hold code. Raises ModelFault outside the writable memories."""
        self.store(address, data)
        self._stale_code = True

    def code_changed(self) -> None:
        """Forget what is known about code: a memory that holds some was changed from outside the core."""
        self._counts[:] = 0
        self._stale_code = True

    def guard_writes(self, memory: str, guard: Callable[[int, int, int], None] | None) -> None:
        """Let the core write a read-only memory while `guard` is set; it sees each (address, bytes, value) before the store.

        As all changes of access it holds from the next run on; the present one ends at the next block or refused access.
        """
        self._when_stopped(lambda: self._apply_guard(self._named(memory), guard))

    def open(self, memory: str, accessible: bool) -> None:
        """Let the core reach a memory or not (its clock)."""
        one = self._named(memory)
        rights = self._rights(one) if accessible else unicorn.UC_PROT_NONE
        self._when_stopped(lambda: self.uc.mem_protect(one.base, one.size, rights))

    def _named(self, name: str) -> Memory:
        return next(m for m in self.memories if m.name == name)

    def _when_stopped(self, change: Callable[[], None]) -> None:
        self._changes.append(change)
        self.break_soon()

    def _apply_guard(self, memory: Memory, guard: Callable[[int, int, int], None] | None) -> None:
        if self._guard_hook is not None:
            self.uc.hook_del(self._guard_hook)
            self._guard_hook = None
        if guard is not None:
            self._guard_hook = self.uc.hook_add(
                unicorn.UC_HOOK_MEM_WRITE, self._on_guarded_write, begin=memory.base, end=memory.base + memory.size - 1
            )
        self._guard = guard
        extra = unicorn.UC_PROT_WRITE if guard is not None else 0
        self.uc.mem_protect(memory.base, memory.size, self._rights(memory) | extra)

    # running

    @property
    def count(self) -> int:
        """Instructions executed since power-on."""
        return self.state[_COUNT]

    def break_soon(self) -> None:
        """End the run at the next block; may be called from any thread and from register accesses."""
        self.state[Slot.LIMIT] = 0

    def run(self, limit: int, watch: bool) -> Ended:
        """Run from the present pc until `limit` instructions have been executed in all, or something needs attention.

        Args:
            limit: absolute instruction count.
            watch: also end after a block that may unmask exceptions.
        """
        self.state[Slot.LIMIT] = limit
        self.state[Slot.WATCH] = watch
        self.state[Slot.FLAGS] = 0
        return self._go(0)

    def step(self) -> Ended:
        """Execute one instruction; an IT instruction goes together with those that it makes conditional."""
        before = self.count
        together = self._at_once(self.peek(self.get(PC) & ~1, 2))
        self.state[Slot.LIMIT] = before + 1
        self.state[Slot.WATCH] = 0
        # Unicorn's own count works on blocks that were translated under it only, and slows these down for ever.
        self._stale_code = self._stepping = True
        ended = self._go(1)
        self._stale_code, self._stepping = True, False
        executed = ended not in (Ended.BKPT, Ended.BREAKPOINT, Ended.UNDEFINED, Ended.NO_FPU, Ended.FAULT)
        self.state[Slot.COUNT] = before + (together if executed else 0)
        return ended

    @staticmethod
    def _at_once(opcode: bytes) -> int:
        """Return how many instructions a step executes: the mask of IT ends with a 1 behind the last of them (A7.7.38)."""
        mask = opcode[0] & 0xF
        return 5 - (mask & -mask).bit_length() + 1 if opcode[1] == 0xBF and mask else 1

    def set_breakpoints(self, addresses: set[int]) -> None:
        """Stop before the instructions at these addresses."""
        for address in set(self._breakpoints) - addresses:
            self.uc.hook_del(self._breakpoints.pop(address))
            self._stale_code = True
        for address in addresses - set(self._breakpoints):
            self._breakpoints[address] = self.uc.hook_add(
                unicorn.UC_HOOK_CODE, self._on_breakpoint, begin=address, end=address
            )
            self._stale_code = True

    def _go(self, instructions: int) -> Ended:
        for change in self._changes:
            change()
            self._stale_code = True
        self._changes.clear()
        if self._stale_code:
            self.uc.ctl_flush_tb()
            self._stale_code = False
        self.state[Slot.STOPPED] = Stop.NONE
        self._ended = None
        pc = self.get(PC)
        error = uclib.uc_emu_start(self.handle, pc | 1, NOWHERE, 0, instructions)
        if self.fault is not None:
            self._uncount(self.get(PC))
            return Ended.FAULT
        if self.state[Slot.STOPPED] == Stop.LIMIT:
            return Ended.LIMIT
        if self.state[Slot.STOPPED] == Stop.FPU:
            return Ended.NO_FPU
        pc = self.get(PC)
        ended = self._ended
        if error == unicorn.UC_ERR_INSN_INVALID:
            ended = self._invalid(pc)
        elif error != unicorn.UC_ERR_OK and ended is None:
            self.fault = ModelFault(f"the emulator stopped at 0x{pc:08X}: {unicorn.UcError(error)}")
            ended = Ended.FAULT
        if ended is None:
            ended = Ended.LIMIT if instructions else Ended.SLEEP
        if ended is not Ended.EXCEPTION_RETURN:
            self._uncount(self.get(PC))
        return ended

    def _invalid(self, pc: int) -> Ended:
        """Tell WFE, which Unicorn does not know, a lost Thumb bit and an undefined instruction apart."""
        if not self.get(XPSR) & 1 << 24:
            return Ended.INVALID_STATE
        # After a WFE pc is behind it; a block that begins at pc holds no WFE, so the instruction at pc is the culprit.
        block = self.state[Slot.BLOCK]
        if (pc - 2 >= block and self.peek(pc - 2, 2) == WFE) or (pc - 4 >= block and self.peek(pc - 4, 4) == WFE_WIDE):
            return Ended.EVENT_SLEEP
        return Ended.UNDEFINED

    def _uncount(self, pc: int) -> None:
        """Take back the instructions of the last block at and behind pc: they were counted but not executed."""
        block, size = self.state[Slot.BLOCK], self.state[Slot.BLOCK_SIZE]
        if block <= pc < block + size:
            executed = instructions_in(np.frombuffer(self.peek(block, pc - block), "<u2"))
            self.state[Slot.COUNT] -= self.state[Slot.BLOCK_COUNT] - executed
            self.state[Slot.BLOCK_SIZE] = 0

    # hooks

    @staticmethod
    def _rights(memory: Memory) -> int:
        rights = unicorn.UC_PROT_READ
        rights |= unicorn.UC_PROT_WRITE if memory.writable else 0
        return rights | (unicorn.UC_PROT_EXEC if memory.executable else 0)

    def _map(self, memory: Memory) -> None:
        place = self.bytes[memory.name].ctypes.data
        self.uc.mem_map_ptr(memory.base, memory.size, self._rights(memory), place)

    def _map_peripherals(self, base: int, size: int) -> None:
        def on_read(_uc: int, offset: int, length: int, _data: int) -> int:
            try:
                return self._read(base + offset, length)
            except ModelFault as fault:
                self._stop_with(fault)
                return 0

        def on_write(_uc: int, offset: int, length: int, value: int, _data: int) -> None:
            try:
                self._write(base + offset, length, value & (1 << 8 * length) - 1)
            except ModelFault as fault:
                self._stop_with(fault)

        callbacks = _MMIO_READ(on_read), _MMIO_WRITE(on_write)
        self._keep.extend(callbacks)
        error = uclib.uc_mmio_map(
            self.handle, ctypes.c_uint64(base), ctypes.c_size_t(size), callbacks[0], None, callbacks[1], None
        )
        if error != unicorn.UC_ERR_OK:
            raise unicorn.UcError(error)

    def _install_hooks(self) -> None:
        fixed = [m for m in self.memories if m.executable and not m.writable]
        changing = [m for m in self.memories if m.executable and m.writable]
        self._counts = np.zeros(sum(m.size for m in fixed) // 2, np.uint16)
        self._sizes = np.zeros_like(self._counts)
        regions = fixed + changing
        if len(regions) > MAX_REGIONS:
            raise ValueError(f"{len(regions)} executable memories, at most {MAX_REGIONS} are supported")
        self.state[Slot.STOP_CALL] = ctypes.cast(uclib.uc_emu_stop, ctypes.c_void_p).value
        self.state[Slot.COUNTS] = self._counts.ctypes.data
        self.state[Slot.SIZES] = self._sizes.ctypes.data
        self.state[Slot.REGIONS] = len(regions)
        cached = 0
        for i, memory in enumerate(regions):
            offset = cached if memory in fixed else -1
            cached += memory.size // 2 if memory in fixed else 0
            slot = Slot.REGIONS + 1 + 4 * i
            place = self.bytes[memory.name].ctypes.data
            self._shared[slot : slot + 4] = memory.base, memory.base + memory.size, place, offset
        handle = ctypes.c_size_t()
        uclib.uc_hook_add(
            self.handle, ctypes.byref(handle), unicorn.UC_HOOK_BLOCK, ctypes.c_void_p(block_hook.address),
            ctypes.c_void_p(self._shared.ctypes.data), ctypes.c_uint64(1), ctypes.c_uint64(0),
        )
        self.uc.hook_add(unicorn.UC_HOOK_INTR, self._on_exception)
        self.uc.hook_add(unicorn.UC_HOOK_MEM_INVALID, self._on_bad_access)

    def _stop_with(self, fault: ModelFault) -> None:
        self.fault = self.fault or fault
        self.uc.emu_stop()

    def _on_exception(self, _uc: unicorn.Uc, number: int, _data: object) -> None:
        # Numbers of QEMU's target/arm/cpu.h, whose core Unicorn is.
        known = {1: Ended.UNDEFINED, 2: Ended.SVC, 7: Ended.BKPT, 8: Ended.EXCEPTION_RETURN, 17: Ended.NO_FPU,
                 18: Ended.INVALID_STATE}
        if number not in known:
            why = f"the emulator raised its exception {number} at 0x{self.get(PC):08X}, which this model does not know"
            self._stop_with(ModelFault(why))
            return
        self._ended = known[number]
        self.uc.emu_stop()

    def _on_breakpoint(self, _uc: unicorn.Uc, _address: int, _size: int, _data: object) -> None:
        if not self._stepping:
            self._ended = Ended.BREAKPOINT
            self.uc.emu_stop()

    def _on_bad_access(self, _uc: unicorn.Uc, kind: int, address: int, size: int, _value: int, _data: object) -> bool:
        if self._changes and self.find(address, 1):
            self._ended = Ended.LIMIT  # the access comes again when the change is in place
            return False
        access = _ACCESS.get(kind, "access")
        place = self.find(address, 1)
        why = f"{place[0].name} does not allow it" if place else "the chip has nothing there"
        self.fault = self.fault or ModelFault(f"{access} of {size} bytes at 0x{address:08X}: {why}", address, access)
        return False

    def _on_guarded_write(self, _uc: unicorn.Uc, _kind: int, address: int, size: int, value: int, _data: object) -> None:
        assert self._guard is not None
        try:
            self._guard(address, size, value & (1 << 8 * size) - 1)
        except ModelFault as fault:
            self._stop_with(fault)
