"""Registers with the fields of the manuals; all other bits are reserved.

A field list is a string such as ``"HSION:0 HSIRDY:2/r HSIDIV:3-4"``: name, bit or bit range, and access by software:

- no suffix: read and write;
- ``/r``: read only; a write has no effect;
- ``/c``: readable; writing 1 clears it;
- ``/w``: write only or write-one-to-act; it is passed to the block and never stored;
- ``/x``: the chip has it, this model does not; a change from its reset value is a fault.

Bits without a field are reserved. A write that changes one from its reset value is a fault (RM0455, "Conventions":
reserved bits must be kept at reset value).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hil.standins.virtual.chip.fault import ModelFault

WORD = 0xFFFFFFFF


def never_held() -> str:
    """Return that nothing holds a register."""
    return ""


@dataclass(frozen=True)
class Field:
    """One field of a register: its bits and their access (`rw`, `r`, `c`, `w` or `x`, see the module docstring)."""

    name: str
    low: int
    width: int
    access: str
    mask: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mask", ((1 << self.width) - 1) << self.low)


def parse_fields(text: str) -> tuple[Field, ...]:
    """Parse a field list (module docstring); raise ValueError if it is malformed or fields overlap."""
    fields = []
    used = 0
    for item in text.split():
        name, _, place = item.partition(":")
        place, _, access = place.partition("/")
        low, _, high = place.partition("-")
        one = Field(name, int(low), int(high or low) - int(low) + 1, access or "rw")
        if one.mask & used or one.width < 1 or one.access not in ("rw", "r", "c", "w", "x"):
            raise ValueError(f"field {item} overlaps another, is empty or has an unknown access")
        used |= one.mask
        fields.append(one)
    return tuple(fields)


@dataclass(frozen=True)
class Register:
    """One register.

    Args:
        name: name as in the manual.
        offset: bytes from the base of its block, a multiple of 4.
        fields: field list (module docstring).
        reset: value after reset.
    """

    name: str
    offset: int
    fields: str
    reset: int = 0
    by_name: dict[str, Field] = field(init=False, repr=False)
    stored: int = field(init=False, repr=False)
    clearing: int = field(init=False, repr=False)
    acting: int = field(init=False, repr=False)
    absent: int = field(init=False, repr=False)
    reserved: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        fields = parse_fields(self.fields)
        masks = {kind: sum(f.mask for f in fields if f.access == kind) for kind in ("rw", "r", "c", "w", "x")}
        object.__setattr__(self, "by_name", {f.name: f for f in fields})
        object.__setattr__(self, "stored", masks["rw"])
        object.__setattr__(self, "clearing", masks["c"])
        object.__setattr__(self, "acting", masks["w"])
        object.__setattr__(self, "absent", masks["x"])
        object.__setattr__(self, "reserved", WORD & ~sum(masks.values()))

    def mask(self, name: str) -> int:
        return self.by_name[name].mask


class Block:
    """A peripheral: registers at a base address, which are accessible only while its clock is on (or its reset off).

    A subclass lists `REGISTERS`. For a register whose access has an effect it defines `read_NAME(self, value) -> value`
    or `write_NAME(self, old, new, acting)`, with NAME in lower case. `new` is the value with the stored fields already
    replaced; `acting` has the written bits of write-only fields.
    """

    REGISTERS: tuple[Register, ...] = ()
    SIZES: tuple[int, ...] = (4,)

    def __init__(self, name: str, base: int) -> None:
        self.name = name
        self.base = base
        self.clocked = True
        self.clock_name = ""
        self.off = "its clock is off; set {} first"  # message of an access while not `clocked`; {} is clock_name
        self.value = {r.name: r.reset for r in self.REGISTERS}
        self._at = {r.offset: r for r in self.REGISTERS}
        self._named = {r.name: r for r in self.REGISTERS}
        self._bits = {(r.name, f.name): (f.mask, f.low) for r in self.REGISTERS for f in r.by_name.values()}
        self._readers: dict[str, Callable[..., int] | None] = {
            r.name: getattr(self, f"read_{r.name.lower()}", None) for r in self.REGISTERS
        }
        # Fast path for words that a program polls: names and readers by offset.
        self._reader_at = {
            r.offset: (r.name, reader)
            for r in self.REGISTERS
            if (reader := self._readers[r.name]) is not None and not r.acting
        }
        self._writers: dict[str, Callable[..., None] | None] = {
            r.name: getattr(self, f"write_{r.name.lower()}", None) for r in self.REGISTERS
        }

    def on_write(
        self, *registers: str, then: Callable[[], object] = never_held, held: Callable[[], str] = never_held,
        bits: int = WORD,
    ) -> None:  # fmt: skip
        """Define what a write to some registers does: it stores the new value.

        Args:
            registers: their names.
            then: called after the new value is stored.
            held: returns why `bits` may not change now, as in "the timer runs; stop it first", or an empty text.
            bits: bits of the registers that `held` is about.
        """
        for name in registers:

            def write(old: int, new: int, _acting: int, name: str = name) -> None:
                if (old ^ new) & bits and (why := held()):
                    raise ModelFault(f"{self.name}_{name} changes while {why}")
                self.value[name] = new
                then()

            self._writers[name] = write

    def reset(self) -> None:
        """Set every register to its reset value."""
        for register in self.REGISTERS:
            self.value[register.name] = register.reset

    def field(self, register: str, name: str) -> int:
        """Return the present value of a field."""
        mask, low = self._bits[register, name]
        return (self.value[register] & mask) >> low

    def mask(self, register: str, name: str) -> int:
        return self._named[register].mask(name)

    def force(self, register: str, mask: int, value: int) -> None:
        """Let bits of a register read so from now on, whatever is written."""
        self._readers[register] = lambda word: word & ~mask | value

    def read(self, offset: int, size: int) -> int:
        """Read `size` bytes at `offset`; raise ModelFault if there is no register or its clock is off."""
        quick = self._reader_at.get(offset)
        if quick is not None and size == 4 and self.clocked:
            name, read_word = quick
            return read_word(self.value[name])
        register = self._register(offset, size, "read")
        value = self.value[register.name] & ~register.acting
        reader = self._readers[register.name]
        if reader is not None:
            value = reader(value)
        return value if size == 4 else value >> 8 * (offset & 3) & ((1 << 8 * size) - 1)

    def write(self, offset: int, size: int, value: int) -> None:
        """Write `size` bytes at `offset`; raise ModelFault as `read`, and for reserved and unmodelled bits."""
        register = self._register(offset, size, "write")
        old = self.value[register.name]
        if size != 4:
            shift = 8 * (offset & 3)
            lanes = ((1 << 8 * size) - 1) << shift
            value = value << shift & lanes | old & ~lanes & ~(register.acting | register.clearing)
        wrong = (value ^ register.reset) & register.reserved
        if wrong:
            raise self._fault(register, "write", f"changes reserved bits 0x{wrong:08X} (value 0x{value:08X})")
        if (value ^ register.reset) & register.absent:
            names = [f.name for f in register.by_name.values() if f.access == "x" and (value ^ register.reset) & f.mask]
            raise self._fault(register, "write", f"sets {', '.join(names)}, which this model does not have")
        new = old & ~(register.stored | value & register.clearing) | value & register.stored
        writer = self._writers[register.name]
        if writer is not None:
            writer(old, new, value & register.acting)
        else:
            self.value[register.name] = new

    def _register(self, offset: int, size: int, access: str) -> Register:
        register = self._at.get(offset & ~3)
        address = self.base + offset
        if register is None:
            raise ModelFault(f"{access} of 0x{address:08X}: {self.name} has no register there", address, access)
        if not self.clocked:
            raise self._fault(register, access, self.off.format(self.clock_name))
        if size not in self.SIZES or offset % size:
            raise self._fault(register, access, f"an access of {size} bytes at offset 0x{offset:X} is not allowed")
        return register

    def _fault(self, register: Register, access: str, why: str) -> ModelFault:
        address = self.base + register.offset
        return ModelFault(f"{access} of {self.name}_{register.name} (0x{address:08X}): {why}", address, access)
