"""Unwind the call stack of a halted Cortex-M with the call frame information of an ELF file (DWARF 5, section 6.4).

It goes on through exceptions, into what they interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile

SP, LR = 13, 14  # DWARF register numbers, the same as those of the core (AADWARF32, section 4.1)
DEEPEST = 16
EXCEPTION_RETURN = 0xF0000000  # a value of LR at or above this is EXC_RETURN (ARM DDI 0403E.e, B1.5.8)
FUNCTION_RETURN = 0xFE  # highest byte of FNC_RETURN, with which Secure code calls Non-secure code (ARM DDI 0553B.l)
# Bits of EXC_RETURN. Of Armv8-M are: ES, whether the exception is handled in Secure state; S, whether its frame is on a
# Secure stack; DCRS: if 0 there, r4 to r11 and an integrity signature are below the frame. Armv7-M has ones there.
SECURE, ON_PROCESS_STACK, NO_FP_STATE, DEFAULT_STACKING, ON_SECURE_STACK = 1 << 0, 1 << 2, 1 << 4, 1 << 5, 1 << 6
MORE_REGISTERS_BYTES = 40
# The frame of an exception (ARM DDI 0403E.e, B1.5.6): its registers in order, then pc and xPSR; bytes without and with
# those of the FPU, and the bit of xPSR that says that 4 more were left out to align it.
FRAME, STACKED_PC, STACKED_XPSR, FRAME_BYTES, FP_FRAME_BYTES, ALIGNED = (0, 1, 2, 3, 12, LR), 24, 28, 32, 104, 1 << 9

Read = Callable[[int], "int | None"]


class Caller(NamedTuple):
    """A function on the stack: the address at which it goes on, without the Thumb bit.

    `called` is False for what an exception interrupted: then it is the instruction that was not executed yet.
    """

    address: int
    called: bool


def call_chain(
    path: Path, pc: int, registers: Mapping[int, int], read: Read, process_stack: int | None = None
) -> list[Caller]:
    """Return the functions on the stack, innermost first, without that of `pc`.

    A function without frame information (assembly or a library) is assumed to have saved nothing. This is only done for
    the innermost function, and of one that an exception interrupted.

    Args:
        path: ELF file.
        pc: address of the current instruction.
        registers: known values of the core registers 0 to 14, by number.
        read: returns the 32-bit word at an address of the stack, None if it is unknown.
        process_stack: stack pointer of the threads of an operating system; None if it is not known.
    """
    stat = path.stat()
    return _walk(_frames(path, stat.st_mtime_ns, stat.st_size), pc, dict(registers), read, process_stack)


@lru_cache(maxsize=4)  # several samples of one hang ask for the same file
def _frames(path: Path, _changed_ns: int, _size: int) -> list[Any]:
    """Return the frame information of the file as it is now."""
    with path.open("rb") as file:
        elf = ELFFile(file)
        if not elf.has_dwarf_info() or not (dwarf := elf.get_dwarf_info()).has_CFI():
            return []
        # Functions that the linker has dropped keep their frames at address 0, where no image has code.
        return [entry for entry in dwarf.CFI_entries() if isinstance(entry, FDE) and entry["initial_location"]]


def _walk(frames: list[Any], pc: int, registers: dict[int, int], read: Read, process_stack: int | None) -> list[Caller]:
    found: list[Caller] = []
    lookup, innermost = pc, True
    while len(found) < DEEPEST:
        caller = _caller(_row(frames, lookup), registers, read)
        if caller is None and innermost and LR in registers:
            caller = dict(registers)
        back = None if caller is None else caller.get(LR)
        if caller is None or back is None:
            break
        innermost = back >= EXCEPTION_RETURN
        if innermost:
            interrupted = _interrupted(back, caller, read, process_stack)
            if interrupted is None:
                break
            lookup, registers = interrupted
            found.append(Caller(lookup, False))
            continue
        if not back & 1:
            break
        found.append(Caller(back & ~1, True))
        lookup = (back & ~1) - 1  # inside the call instruction: another function may begin after it
        registers = caller
        del registers[LR]  # the call overwrote the caller's LR
    return found


def _interrupted(
    back: int, registers: dict[int, int], read: Read, process_stack: int | None
) -> tuple[int, dict[int, int]] | None:
    """Return pc and registers of what an exception interrupted, None if its frame cannot be read.

    It cannot if it is on a stack of the other security state, whose stack pointers are not known here.
    """
    start = process_stack if back & ON_PROCESS_STACK else registers.get(SP)
    if start is None or back >> 24 == FUNCTION_RETURN or bool(back & SECURE) != bool(back & ON_SECURE_STACK):
        return None
    if back & ON_SECURE_STACK and not back & DEFAULT_STACKING:
        start += MORE_REGISTERS_BYTES
    pc, xpsr = read(start + STACKED_PC), read(start + STACKED_XPSR)
    stacked = {number: read(start + 4 * place) for place, number in enumerate(FRAME)}
    if pc is None or xpsr is None or None in stacked.values():
        return None
    size = (FRAME_BYTES if back & NO_FP_STATE else FP_FRAME_BYTES) + (4 if xpsr & ALIGNED else 0)
    known = {number: value for number, value in stacked.items() if value is not None}
    return pc & ~1, registers | known | {SP: start + size}


def _row(frames: list[Any], address: int) -> dict[Any, Any] | None:
    """Return the unwind rules for an address, None if there are none."""
    for frame in frames:
        start = frame["initial_location"]
        if start <= address < start + frame["address_range"]:
            rows = [row for row in frame.get_decoded().table if row["pc"] <= address]
            return rows[-1] if rows else None
    return None


def _caller(row: dict[Any, Any] | None, registers: dict[int, int], read: Read) -> dict[int, int] | None:
    """Return the caller's registers, None if they cannot be determined."""
    if row is None or row["cfa"].reg not in registers:
        return None
    cfa = registers[row["cfa"].reg] + row["cfa"].offset
    caller = dict(registers)
    for number, rule in row.items():
        if isinstance(number, int) and rule.type == "OFFSET":
            value = read(cfa + rule.arg)
            caller.pop(number, None)
            if value is not None:
                caller[number] = value
    caller[SP] = cfa
    return caller
