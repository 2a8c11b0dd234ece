"""The block hook as native code, because Unicorn calls it some million times a second; `count` says what it counts.

The functions are written in LLVM's intermediate representation with llvmlite. They are compiled when this module is
imported, which takes about 50 ms of each start of a virtual board. To import numba would take ten times as long.
"""

from __future__ import annotations

import ctypes
import struct

from llvmlite import ir

from hil.standins.virtual.chip.count import COUNT_MASK, HAS_SEV, MARGIN, NARROW, WIDE, Encoding, Slot, Stop
from hil.standins.virtual.chip.native import I8, I16, I32, I64, UC, State, compiled

_HALFWORDS, _STATE = I16.as_pointer(), I64.as_pointer()
_STOP = ir.FunctionType(I32, [UC])  # uc_emu_stop
_FIRST_WIDE = 0xE800  # from this first halfword on, an instruction has 32 bits


def _define_scan(module: ir.Module) -> ir.Function:
    """Add `int64 scan(uint16 code[], int64 length)`: number of instructions in `length` halfwords, with their flags."""
    scan = ir.Function(module, ir.FunctionType(I64, [_HALFWORDS, I64]), "scan")
    code, length = scan.args
    enter, loop, body, wide, narrow, miscellaneous, after, end = (
        scan.append_basic_block(name)
        for name in ("enter", "loop", "body", "wide", "narrow", "miscellaneous", "after", "end")
    )
    b = ir.IRBuilder(enter)
    b.branch(loop)

    b.position_at_end(loop)
    at, count, flags = (b.phi(I64, name) for name in ("at", "count", "flags"))
    b.cbranch(b.icmp_signed("<", at, length), body, end)

    b.position_at_end(body)
    first = _halfword(b, code, at)
    b.cbranch(b.icmp_signed(">=", first, I64(_FIRST_WIDE)), wide, narrow)

    b.position_at_end(wide)
    second_at = b.add(at, I64(1))
    inside = b.icmp_signed("<", second_at, length)  # the block may end within an instruction: then the second is 0
    second = b.select(inside, _halfword(b, code, b.select(inside, second_at, at)), I64(0))
    wide_flags = _flags(b, b.or_(b.shl(first, I64(16)), second), WIDE)
    b.branch(after)

    b.position_at_end(narrow)
    b.cbranch(_matches(b, first, 0xF000, 0xB000), miscellaneous, after)  # the others have no flags

    b.position_at_end(miscellaneous)
    narrow_flags = _flags(b, first, NARROW)
    b.branch(after)

    b.position_at_end(after)
    halfwords, new_flags = b.phi(I64), b.phi(I64)
    for block, size, found in (
        (wide, 2, wide_flags),
        (narrow, 1, I64(0)),
        (miscellaneous, 1, narrow_flags),
    ):
        halfwords.add_incoming(I64(size), block)
        new_flags.add_incoming(found, block)
    for total, addend in ((at, b.add(at, halfwords)), (count, b.add(count, I64(1))), (flags, b.or_(flags, new_flags))):
        total.add_incoming(I64(0), enter)
        total.add_incoming(addend, after)
    b.branch(loop)

    b.position_at_end(end)
    b.ret(b.or_(count, flags))
    return scan


def _define_cover(module: ir.Module) -> ir.Function:
    """Add `void cover(int64 state[], int64 entry, int64 length)`: keep that the block at an index was reached."""
    cover = ir.Function(module, ir.FunctionType(ir.VoidType(), [_STATE, I64, I64]), "cover")
    pointer, entry, length = cover.args
    b = ir.IRBuilder(cover.append_basic_block("enter"))
    state = State(b, pointer)
    place = b.gep(b.inttoptr(state[Slot.REACHED], _HALFWORDS), [entry])
    before = b.zext(b.load(place), I64)
    with b.if_then(b.icmp_signed("<", before, length)):
        b.store(b.trunc(length, I16), place)
        state[Slot.NEW_ENTRY], state[Slot.NEW_AT], state[Slot.NEW_BEFORE] = entry, state[Slot.COUNT], before
    b.ret_void()
    return cover


def _define_look_up(module: ir.Module, scan: ir.Function, cover: ir.Function) -> ir.Function:
    """Add `int64 look_up(int64 state[], int64 address, int64 length)`: what is known of a block, which is kept.

    The low 16 bits are what `scan` returns, from the cache; the others the block's index plus MARGIN. All are 0 if no
    region contains the block.
    """
    look_up = ir.Function(module, ir.FunctionType(I64, [_STATE, I64, I64]), "look_up")
    pointer, address, length = look_up.args
    enter, loop, body, found, after, nowhere = (
        look_up.append_basic_block(name) for name in ("enter", "loop", "body", "found", "after", "nowhere")
    )
    b = ir.IRBuilder(enter)
    state = State(b, pointer)
    first_region = I64(Slot.REGIONS + 1)
    end_of_regions = b.add(first_region, b.mul(state[Slot.REGIONS], I64(4)))
    b.branch(loop)

    b.position_at_end(loop)
    region = b.phi(I64, "region")
    b.cbranch(b.icmp_signed("<", region, end_of_regions), body, nowhere)

    b.position_at_end(body)
    base, end, code, first_entry = (state[b.add(region, I64(field))] for field in range(4))
    inside = b.and_(b.icmp_signed(">=", address, base), b.icmp_signed("<", address, end))
    b.cbranch(inside, found, after)

    b.position_at_end(found)
    offset = b.ashr(b.sub(address, base), I64(1))
    halfwords = b.gep(b.inttoptr(code, _HALFWORDS), [offset])
    with b.if_then(b.icmp_signed("<", first_entry, I64(0))):  # the core may change this memory
        changing = b.add(b.not_(first_entry), offset)
        b.call(cover, [pointer, changing, length])
        b.ret(b.or_(b.call(scan, [halfwords, length]), b.shl(b.add(changing, I64(MARGIN)), I64(16))))
    entry = b.add(first_entry, offset)
    count_place, size_place = (
        b.gep(b.inttoptr(state[slot], _HALFWORDS), [entry]) for slot in (Slot.COUNTS, Slot.SIZES)
    )
    is_new = b.icmp_signed("==", b.load(count_place), I16(0))
    has_other_size = b.icmp_signed("!=", b.zext(b.load(size_place), I64), length)
    with b.if_then(b.or_(is_new, has_other_size), likely=False):
        b.store(b.trunc(b.call(scan, [halfwords, length]), I16), count_place)
        b.store(b.trunc(length, I16), size_place)
        lowest, highest, following = state[Slot.FIRST_CACHED], state[Slot.END_CACHED], b.add(entry, I64(1))
        state[Slot.FIRST_CACHED] = b.select(b.icmp_signed("<", entry, lowest), entry, lowest)
        state[Slot.END_CACHED] = b.select(b.icmp_signed(">", following, highest), following, highest)
        b.call(cover, [pointer, entry, length])
    b.ret(b.or_(b.zext(b.load(count_place), I64), b.shl(b.add(entry, I64(MARGIN)), I64(16))))

    b.position_at_end(after)
    region.add_incoming(first_region, enter)
    region.add_incoming(b.add(region, I64(4)), after)
    b.branch(loop)

    b.position_at_end(nowhere)
    b.ret(I64(0))
    return look_up


def _define_block_hook(module: ir.Module, look_up: ir.Function) -> None:
    """Add `void block_hook(uc_engine *uc, uint64 address, uint32 size, int64 state[])`, for UC_HOOK_BLOCK."""
    hook = ir.Function(module, ir.FunctionType(ir.VoidType(), [UC, I64, I32, _STATE]), "block_hook")
    uc, address, size32, pointer = hook.args
    b = ir.IRBuilder(hook.append_basic_block("enter"))
    state = State(b, pointer)

    def stop_if(condition: ir.Value, why: Stop) -> None:
        with b.if_then(condition, likely=False):
            state[Slot.STOPPED] = why
            b.call(b.inttoptr(state[Slot.STOP_CALL], _STOP.as_pointer()), [uc])
            b.ret_void()

    jumped = b.icmp_signed("!=", address, b.add(state[Slot.BLOCK], state[Slot.BLOCK_SIZE]))
    b.store(I8(1), b.inttoptr(b.add(state[Slot.AFTER_LAST], b.zext(jumped, I64)), I8.as_pointer()))

    watched = _is_set(b, state[Slot.FLAGS], state[Slot.WATCH])
    reached = b.icmp_signed(">=", state[Slot.COUNT], state[Slot.LIMIT])
    stop_if(b.or_(reached, watched), Stop.LIMIT)

    size = b.zext(size32, I64)
    length = b.lshr(size, I64(1))
    known = b.call(look_up, [pointer, address, length])
    entry = b.and_(known, I64(0xFFFF))
    stop_if(_is_set(b, entry, state[Slot.REFUSED]), Stop.REFUSED)
    with b.if_then(_is_set(b, entry, I64(HAS_SEV)), likely=False):
        state[Slot.EVENT] = 1
    count = b.and_(entry, I64(COUNT_MASK))
    state[Slot.BLOCK] = address
    state[Slot.BLOCK_SIZE] = size
    state[Slot.BLOCK_COUNT] = count
    state[Slot.FLAGS] = entry
    state[Slot.COUNT] = b.add(state[Slot.COUNT], count)
    state[Slot.AFTER_LAST] = b.add(state[Slot.FOLLOWED], b.shl(b.add(b.lshr(known, I64(16)), length), I64(1)))
    b.ret_void()


def _halfword(b: ir.IRBuilder, code: ir.Value, index: ir.Value) -> ir.Value:
    return b.zext(b.load(b.gep(code, [index])), I64)


def _matches(b: ir.IRBuilder, word: ir.Value, mask: int, value: int) -> ir.Value:
    return b.icmp_signed("==", b.and_(word, I64(mask)), I64(value))


def _is_set(b: ir.IRBuilder, word: ir.Value, mask: ir.Value) -> ir.Value:
    """Return whether `word` has a bit of `mask`."""
    return b.icmp_signed("!=", b.and_(word, mask), I64(0))


def _flags(b: ir.IRBuilder, word: ir.Value, encodings: tuple[Encoding, ...]) -> ir.Value:
    """Return the flags of the encodings that an instruction matches."""
    flags = I64(0)
    for flag, mask, value in encodings:
        flags = b.or_(flags, b.select(_matches(b, word, mask, value), I64(flag), I64(0)))
    return flags


_MODULE = ir.Module("block_hook")
_SCAN = _define_scan(_MODULE)
_define_block_hook(_MODULE, _define_look_up(_MODULE, _SCAN, _define_cover(_MODULE)))
_ENGINE = compiled(_MODULE)
address = _ENGINE.get_function_address("block_hook")
_scan = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_char_p, ctypes.c_int64)(_ENGINE.get_function_address("scan"))


def flags_of(first: int, second: int) -> int:
    """Return the flags of the instruction that begins with halfword `first`; `second` follows it."""
    length = 2 if first >= _FIRST_WIDE else 1
    return int(_scan(struct.pack("<2H", first, second), length)) & ~COUNT_MASK


def instructions_in(code: bytes) -> int:
    """Return the number of Thumb instructions in `code`."""
    return int(_scan(code, len(code) // 2)) & COUNT_MASK
