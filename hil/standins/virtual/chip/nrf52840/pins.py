"""GPIO ports of the nRF52840 (Product Specification, GPIO). Inputs read their pull: nothing else drives them."""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.registers import Block, Register

P0_PINS, P1_PINS = 32, 16
_CNF = "DIR:0 INPUT:1 PULL:2-3 DRIVE:8-10 SENSE:16-17/x"
_DIR, _INPUT_OFF, _PULL_UP = 1, 2, 3


class Port(Block):
    """A GPIO port.

    Args:
        number: number of the port, 0 or 1.
        pins: number of pins.
        on_edge: called with (pin, level) when an output pin changes.
    """

    def __init__(self, number: int, pins: int, on_edge: Callable[[int, int], None]) -> None:
        def bits(suffix: str = "") -> str:
            return " ".join(f"PIN{i}:{i}{suffix}" for i in range(pins))

        self.REGISTERS = (
            *(Register(name, offset, bits())
              for name, offset in (("OUT", 0x504), ("OUTSET", 0x508), ("OUTCLR", 0x50C))),
            Register("IN", 0x510, bits("/r")),
            *(Register(name, offset, bits())
              for name, offset in (("DIR", 0x514), ("DIRSET", 0x518), ("DIRCLR", 0x51C))),
            Register("LATCH", 0x520, bits("/c")), Register("DETECTMODE", 0x524, "DETECTMODE:0/x"),
            *(Register(f"PIN_CNF{i}", 0x700 + 4 * i, _CNF, 2) for i in range(pins)),
        )  # fmt: skip
        self._pins = pins
        self._on_edge = on_edge
        self._driven = 0
        super().__init__(f"P{number}", 0x50000000 + 0x300 * number)
        for i in range(pins):
            self._writers[f"PIN_CNF{i}"] = lambda _old, new, _acting, i=i: self._configure(i, new)
        for name in ("OUTSET", "OUTCLR", "DIRSET", "DIRCLR"):
            self._readers[name] = lambda _value, of=name[:3]: self.value[of]

    def reset(self) -> None:
        super().reset()
        self._drive()

    def drives(self, pin: int) -> bool:
        """Return whether a pin is an output and high."""
        return bool(self.value["DIR"] & self.value["OUT"] & 1 << pin)

    def listens(self, pin: int) -> bool:
        """Return whether a pin is an input with its buffer connected."""
        return not self.value[f"PIN_CNF{pin}"] & (_DIR | _INPUT_OFF)

    def read_in(self, _value: int) -> int:
        pulled = sum(
            1 << i for i in range(self._pins) if self.field(f"PIN_CNF{i}", "PULL") == _PULL_UP and self.listens(i)
        )
        connected = sum(1 << i for i in range(self._pins) if not self.value[f"PIN_CNF{i}"] & _INPUT_OFF)
        return pulled | self._driven & connected

    def write_out(self, _old: int, new: int, _acting: int) -> None:
        self.value["OUT"] = new
        self._drive()

    def write_outset(self, _old: int, new: int, _acting: int) -> None:
        self.write_out(0, self.value["OUT"] | new, 0)

    def write_outclr(self, _old: int, new: int, _acting: int) -> None:
        self.write_out(0, self.value["OUT"] & ~new, 0)

    def write_dir(self, _old: int, new: int, _acting: int) -> None:
        self.value["DIR"] = new
        for i in range(self._pins):
            self.value[f"PIN_CNF{i}"] = self.value[f"PIN_CNF{i}"] & ~_DIR | new >> i & 1
        self._drive()

    def write_dirset(self, _old: int, new: int, _acting: int) -> None:
        self.write_dir(0, self.value["DIR"] | new, 0)

    def write_dirclr(self, _old: int, new: int, _acting: int) -> None:
        self.write_dir(0, self.value["DIR"] & ~new, 0)

    def _configure(self, pin: int, new: int) -> None:
        self.value[f"PIN_CNF{pin}"] = new
        self.value["DIR"] = self.value["DIR"] & ~(1 << pin) | (new & _DIR) << pin
        self._drive()

    def _drive(self) -> None:
        driven = self.value["OUT"] & self.value["DIR"]
        changed, self._driven = driven ^ self._driven, driven
        while changed:
            pin = (changed & -changed).bit_length() - 1
            changed &= changed - 1
            self._on_edge(pin, driven >> pin & 1)


class Pins:
    """The pins of all ports by their number in PSEL registers: bit 5 is the port."""

    def __init__(self, ports: tuple[Port, ...]) -> None:
        self._ports = ports

    def drives(self, pin: int) -> bool:
        return self._ports[pin >> 5 & 1].drives(pin & 0x1F)

    def listens(self, pin: int) -> bool:
        return self._ports[pin >> 5 & 1].listens(pin & 0x1F)
