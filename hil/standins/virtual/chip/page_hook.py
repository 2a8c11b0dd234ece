"""The page hook as native code: it tells Unicorn how a page may be accessed, so that stores to RAM are fast.

Unicorn keeps translated code until a store changes it. Every store to a page from which code may be executed therefore
leaves the translated code and looks up the memory, which takes longer than ten instructions. Unicorn allows execution
from all of a Cortex-M's RAM. This hook (UC_HOOK_TLB_FILL) allows it from a page of RAM only after the core has fetched
an instruction there. At the first fetch it ends the run before that instruction, because Unicorn may still have the old
rights of the page in the tables of other privilege modes.
"""

from __future__ import annotations

import enum

from llvmlite import ir
from unicorn import arm_const, unicorn_const

from hil.standins.virtual.chip.native import I8, I32, I64, UC, State, compiled

PAGE_BITS = 10  # Unicorn's pages of a Cortex-M have 1 KB
MAX_RAMS = 12
_THUMB = 1 << 24  # EPSR with no IT block
_ENTRY = ir.LiteralStructType([I64, I32])  # uc_tlb_entry: physical address, rights
_REGISTER_WRITE = ir.FunctionType(I32, [UC, I32, I64.as_pointer()])  # uc_reg_write


class PageSlot(enum.IntEnum):
    """Index into the int64 state that Python and the hook share."""

    NEW_CODE = 0  # set to 1 at the first fetch from a page of RAM
    LIMIT = 1  # address of Slot.LIMIT, which is then set to 0
    HAS_CODE = 2  # address of uint8[]: 1 for a page of RAM from which the core has fetched
    REGISTER_WRITE = 3  # address of uc_reg_write
    EPSR = 4  # _THUMB
    RAMS = 5  # number of memories that the core may change; then 3 slots each: base, end, index in HAS_CODE


PAGE_STATE_LENGTH = int(PageSlot.RAMS) + 1 + 3 * MAX_RAMS


def initial_state(limit: int, has_code: int, register_write: int, rams: list[tuple[int, int, int]]) -> list[int]:
    """Return the state of the hook; the arguments are those of `PageSlot`."""
    if len(rams) > MAX_RAMS:
        raise ValueError(f"{len(rams)} memories that the core may change, at most {MAX_RAMS} are supported")
    words = [0, limit, has_code, register_write, _THUMB, len(rams), *(word for ram in rams for word in ram)]
    return words + [0] * (PAGE_STATE_LENGTH - len(words))


def _define_page_hook(module: ir.Module) -> None:
    """Add `int32 page_hook(uc_engine *uc, uint64 address, int32 access, uc_tlb_entry *entry, int64 state[])`."""
    kind = ir.FunctionType(I32, [UC, I64, I32, _ENTRY.as_pointer(), I64.as_pointer()])
    hook = ir.Function(module, kind, "page_hook")
    uc, address, access, entry, pointer = hook.args
    enter, data, look_up, loop, body, found, fetched, stored, after, end = (
        hook.append_basic_block(name)
        for name in ("enter", "data", "look_up", "loop", "body", "found", "fetched", "stored", "after", "end")
    )
    b = ir.IRBuilder(enter)
    state = State(b, pointer)
    rights = b.gep(entry, [I32(0), I32(1)])
    b.store(address, b.gep(entry, [I32(0), I32(0)]))
    b.store(I32(unicorn_const.UC_PROT_ALL), rights)
    is_fetch = b.icmp_signed("==", access, I32(unicorn_const.UC_MEM_FETCH))
    b.cbranch(is_fetch, look_up, data)

    # Before this hook, Unicorn sets pc and the IT bits to those of the instruction that accesses the page. It does so
    # inside a block, where the IT bits are 0, and would begin a later block with them.
    b.position_at_end(data)
    write = b.inttoptr(state[PageSlot.REGISTER_WRITE], _REGISTER_WRITE.as_pointer())
    b.call(write, [uc, I32(arm_const.UC_ARM_REG_EPSR), b.gep(pointer, [I64(PageSlot.EPSR)])])
    b.branch(look_up)

    b.position_at_end(look_up)
    first = I64(PageSlot.RAMS + 1)
    end_of_rams = b.add(first, b.mul(state[PageSlot.RAMS], I64(3)))
    b.branch(loop)

    b.position_at_end(loop)
    ram = b.phi(I64, "ram")
    b.cbranch(b.icmp_signed("<", ram, end_of_rams), body, end)

    b.position_at_end(body)
    base, end_of_ram, index = (state[b.add(ram, I64(field))] for field in range(3))
    inside = b.and_(b.icmp_signed(">=", address, base), b.icmp_signed("<", address, end_of_ram))
    b.cbranch(inside, found, after)

    b.position_at_end(found)
    page = b.add(index, b.ashr(b.sub(address, base), I64(PAGE_BITS)))
    has_code = b.gep(b.inttoptr(state[PageSlot.HAS_CODE], I8.as_pointer()), [page])
    with b.if_then(b.icmp_signed("!=", b.load(has_code), I8(0))):
        b.branch(end)
    b.cbranch(is_fetch, fetched, stored)

    b.position_at_end(fetched)
    b.store(I8(1), has_code)
    state[PageSlot.NEW_CODE] = 1
    b.store(I64(0), b.inttoptr(state[PageSlot.LIMIT], I64.as_pointer()))
    b.branch(end)

    b.position_at_end(stored)
    b.store(I32(unicorn_const.UC_PROT_READ | unicorn_const.UC_PROT_WRITE), rights)
    b.branch(end)

    b.position_at_end(after)
    ram.add_incoming(first, look_up)
    ram.add_incoming(b.add(ram, I64(3)), after)
    b.branch(loop)

    b.position_at_end(end)
    b.ret(I32(1))


_MODULE = ir.Module("page_hook")
_define_page_hook(_MODULE)
_ENGINE = compiled(_MODULE)
address = _ENGINE.get_function_address("page_hook")
