"""Memories and peripherals mapped into Unicorn's address space, with access rights that can change."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Collection

import unicorn
from unicorn.unicorn_py3.unicorn import uclib

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.memories import MemoryMap, PhysicalMemory

_READ, _WRITE, _FETCH = "read", "write", "fetch"
_LAST_ADDRESS = 0xFFFF_FFFF
_ACCESS = {
    unicorn.UC_MEM_READ_UNMAPPED: _READ, unicorn.UC_MEM_READ_PROT: _READ,
    unicorn.UC_MEM_WRITE_UNMAPPED: _WRITE, unicorn.UC_MEM_WRITE_PROT: _WRITE,
    unicorn.UC_MEM_FETCH_UNMAPPED: _FETCH, unicorn.UC_MEM_FETCH_PROT: _FETCH,
}  # fmt: skip
_MMIO_READ = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint, ctypes.c_void_p)
_MMIO_WRITE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint, ctypes.c_uint64, ctypes.c_void_p)
Read = Callable[[int, int], int]
Write = Callable[[int, int, int], None]


class MappedMemories(MemoryMap):
    """Memories and peripherals mapped into Unicorn's address space.

    Args:
        uc: Unicorn engine, before its first run.
        memories: memories of the chip.
        peripherals: (base, size) ranges whose accesses call `read` and `write`.
        read: (address, bytes) -> value. write: (address, bytes, value). Both may raise ModelFault.

    Attributes:
        fault: fault that ended the run; the machine clears it.
    """

    def __init__(
        self, uc: unicorn.Uc, memories: tuple[PhysicalMemory, ...], peripherals: tuple[tuple[int, int], ...],
        read: Read, write: Write,
    ) -> None:  # fmt: skip
        super().__init__(memories)
        self.uc = uc
        self.fault: ModelFault | None = None
        self._read, self._write = read, write
        self._changes: list[Callable[[], None]] = []
        self._refusals: dict[str, str] = {}
        self._sizes_open: dict[str, tuple[int, str]] = {}  # size and reason for memories that are open only in part
        self._watched_loads: dict[int, object] = {}  # hooks by the first address
        self._may_store: Callable[[], bool] | None = None
        self._no_store = ""
        self._guard: Write | None = None
        self._guard_hook: object | None = None
        self._keep: list[object] = []
        self._watched: dict[tuple[int, int], object] = {}  # hooks by their first and last address
        for memory in memories:
            uc.mem_map_ptr(memory.base, memory.size, self._rights(memory), self.bytes[memory.name].ctypes.data)
        for base, size in peripherals:
            self._map_peripherals(base, size)
        self._watch_refusals()

    def guard_writes(self, memory: str, guard: Write | None) -> None:
        """Let the core write a read-only memory while `guard` is not None.

        `guard` is called with (address, bytes, value) before each store. Like all changes of access, this takes effect
        at the next run; the present run ends at the next block or refused access.
        """
        self._when_stopped(lambda: self._apply_guard(self._named(memory), guard))

    def watch_loads(self, words: Collection[int], size: int, seen: Callable[[int], None]) -> None:
        """Call `seen` with the address before each load of the core from one of `words`, of `size` bytes each.

        `seen` may raise ModelFault. This replaces the words that were watched before. Loads are slower while there are
        any.
        """
        self._when_stopped(lambda: self._apply_watched_loads(set(words), size, seen))

    def _apply_watched_loads(self, words: set[int], size: int, seen: Callable[[int], None]) -> None:
        def on_load(_uc: unicorn.Uc, _kind: int, address: int, _size: int, _value: int, _data: object) -> None:
            try:
                seen(address)
            except ModelFault as fault:
                self._stop_with(fault)

        for gone in set(self._watched_loads) - words:
            self.uc.hook_del(self._watched_loads.pop(gone))
        for word in words - set(self._watched_loads):
            self._watched_loads[word] = self.uc.hook_add(
                unicorn.UC_HOOK_MEM_READ, on_load, begin=word, end=word + size - 1
            )

    def open(self, memory: str, accessible: bool, why_not: str = "its clock is off") -> None:
        """Allow or forbid all accesses to a memory; `why_not` is the reason in the message of a forbidden access."""
        one = self._named(memory)
        if accessible:
            self._refusals.pop(memory, None)
        else:
            self._refusals[memory] = why_not
        self._when_stopped(
            lambda: self.uc.mem_protect(one.base, one.size, self._rights(one) if accessible else unicorn.UC_PROT_NONE)
        )

    def resize(self, memory: str, size: int, why_not: str) -> None:
        """Allow accesses to the first `size` bytes of a memory only.

        `why_not` is the reason in the message of an access after them.
        """
        one = self._named(memory)
        self._sizes_open[memory] = size, why_not

        def protect() -> None:
            if size:
                self.uc.mem_protect(one.base, size, self._rights(one))
            if size < one.size:
                self.uc.mem_protect(one.base + size, one.size - size, unicorn.UC_PROT_NONE)

        self._when_stopped(protect)

    def hold_stores(self, may_store: Callable[[], bool], why_not: str) -> None:
        """Forbid the core's stores to all writable memories until a store at which `may_store` returns True.

        `why_not` is the reason in the message of a refused store.
        """
        self._may_store, self._no_store = may_store, why_not
        self._when_stopped(self._protect_writable)

    def _protect_writable(self) -> None:
        for memory in self.memories:
            size = self._open_bytes(memory, held=False)
            if memory.writable and size:
                self.uc.mem_protect(memory.base, size, self._rights(memory))

    def _rights(self, memory: PhysicalMemory) -> int:
        rights = unicorn.UC_PROT_READ
        rights |= unicorn.UC_PROT_WRITE if memory.writable and self._may_store is None else 0
        return rights | (unicorn.UC_PROT_EXEC if memory.executable else 0)

    def _stores_are_held(self, access: str, place: tuple[PhysicalMemory, int] | None) -> bool:
        """Return whether a store is refused because all are; from now on none is, if it may be done."""
        if access != _WRITE or place is None or not place[0].writable or self._may_store is None:
            return False
        if self._may_store():
            self._may_store = None
            self._when_stopped(self._protect_writable)
            return False
        return True

    def is_watched(self, address: int) -> bool:
        """Return whether Unicorn asks before it refuses an access to an address, for which it makes stores slow."""
        return any(first <= address <= last for first, last in self._watched)

    def closed_reason(self, address: int) -> str | None:
        """Return why the memory at an address is closed; None if it is open or there is no memory."""
        place = self.find(address, 1)
        if place is None:
            return None
        size, why_not = self._sizes_open.get(place[0].name, (place[0].size, ""))
        return self._refusals.get(place[0].name) if place[1] < size else why_not

    def break_soon(self) -> None:
        raise NotImplementedError

    def _named(self, name: str) -> PhysicalMemory:
        return next(m for m in self.memories if m.name == name)

    def _when_stopped(self, change: Callable[[], None]) -> None:
        self._changes.append(change)
        self.break_soon()

    def _make_changes(self) -> bool:
        """Apply the pending changes of access; return whether there were any."""
        changes, self._changes = self._changes, []
        for change in changes:
            change()
        if changes:
            self._watch_refusals()
        return bool(changes)

    def _watch_refusals(self) -> None:
        """Hook all addresses but those of open RAM, where no access is refused and a hook would make stores slow."""
        ranges, begin = set(), 0
        for base, size in sorted((memory.base, self._open_bytes(memory)) for memory in self.memories):
            if size:
                ranges.add((begin, base - 1))
                begin = base + size
        ranges.add((begin, _LAST_ADDRESS))
        for gone in set(self._watched) - ranges:
            self.uc.hook_del(self._watched.pop(gone))
        for first, last in ranges - set(self._watched):
            if first <= last:
                self._watched[first, last] = self.uc.hook_add(
                    unicorn.UC_HOOK_MEM_INVALID, self._on_bad_access, begin=first, end=last
                )

    def _open_bytes(self, memory: PhysicalMemory, held: bool = True) -> int:
        """Return how many bytes from its base on the core may access; with `held` none while stores are held."""
        if not memory.writable or memory.name in self._refusals or (held and self._may_store is not None):
            return 0
        return self._sizes_open.get(memory.name, (memory.size, ""))[0]

    def _apply_guard(self, memory: PhysicalMemory, guard: Write | None) -> None:
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
            self.uc._uch, ctypes.c_uint64(base), ctypes.c_size_t(size), callbacks[0], None, callbacks[1], None
        )
        if error != unicorn.UC_ERR_OK:
            raise unicorn.UcError(error)

    def _stop_with(self, fault: ModelFault) -> None:
        self.fault = self.fault or fault
        self.uc.emu_stop()

    def _on_bad_access(self, _uc: unicorn.Uc, kind: int, address: int, size: int, _value: int, _data: object) -> bool:
        place = self.find(address, 1)
        access = _ACCESS.get(kind, "access")
        held = self._stores_are_held(access, place)
        if self._changes and place:
            self._access_again()  # after the pending changes are applied
            return False
        if access == _FETCH and self._is_exception_return(address):
            return False
        why = f"the chip has {'no memory' if access == _FETCH else 'nothing'} there"
        if place is not None:
            why = f"{place[0].name} does not allow it"
            closed = self._no_store if held else self.closed_reason(address)
            why += f" ({closed})" if closed else ""
        self.fault = self.fault or ModelFault(f"{access} of {size} bytes at 0x{address:08X}: {why}", address, access)
        return False

    def _access_again(self) -> None:
        raise NotImplementedError

    def _is_exception_return(self, address: int) -> bool:
        raise NotImplementedError

    def _on_guarded_write(
        self, _uc: unicorn.Uc, _kind: int, address: int, size: int, value: int, _data: object
    ) -> None:
        assert self._guard is not None
        try:
            self._guard(address, size, value & (1 << 8 * size) - 1)
        except ModelFault as fault:
            self._stop_with(fault)
