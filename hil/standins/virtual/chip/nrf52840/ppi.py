"""PPI: events of one peripheral trigger tasks of another, without the core (Product Specification, PPI)."""

from __future__ import annotations

from collections.abc import Callable

from hil.standins.virtual.chip.fault import ModelFault
from hil.standins.virtual.chip.nrf52840.events import EventBlock, Times
from hil.standins.virtual.chip.registers import Block, Register

PROGRAMMABLE, CHANNELS, GROUPS = 20, 32, 6
_BITS = " ".join(f"CH{i}:{i}" for i in range(CHANNELS))


class Ppi(Block):
    """The programmable peripheral interconnect.

    The fixed channels 20 to 31 (radio, RTC) cannot be enabled, because their peripherals are not modelled. Channel
    groups are not modelled.

    Args:
        settle: updates all timers to a virtual time, before tasks are done at that time.
    """

    REGISTERS = (
        *(Register(f"TASKS_CHG{i}_{what}", 8 * i + 4 * j, f"{what}:0/x")
          for i in range(GROUPS) for j, what in enumerate(("EN", "DIS"))),
        *(Register(name, offset, _BITS) for name, offset in (("CHEN", 0x500), ("CHENSET", 0x504), ("CHENCLR", 0x508))),
        *(Register(f"CH{i}_{end}", 0x510 + 8 * i + 4 * j, f"{end}:0-31")
          for i in range(PROGRAMMABLE) for j, end in enumerate(("EEP", "TEP"))),
        *(Register(f"CHG{i}", 0x800 + 4 * i, _BITS.replace(" ", "/x ") + "/x") for i in range(GROUPS)),
        *(Register(f"FORK{i}_TEP", 0x910 + 4 * i, "TEP:0-31") for i in range(CHANNELS)),
    )  # fmt: skip

    def __init__(self, settle: Callable[[int], None]) -> None:
        self.blocks: dict[int, EventBlock] = {}  # by the page of their addresses
        self._settle = settle
        self._routes: dict[int, list[int]] = {}  # event address -> task addresses, lowest channel first
        super().__init__("PPI", 0x4001F000)
        self.on_write(*(register.name for register in self.REGISTERS if register.offset >= 0x510), then=self._route)

    def reset(self) -> None:
        super().reset()
        self._routes = {}

    def routes(self, event: int, task: int) -> bool:
        """Return whether an event triggers a task, both given by the addresses of their registers."""
        return task in self._routes.get(event, ())

    def fire(self, event: int, times: Times) -> None:
        """Trigger the tasks of an event, given by the address of its register."""
        tasks = self._routes.get(event)
        if tasks:
            self._settle(times.first)
            for address in tasks:
                self.blocks[address >> 12].trigger(address & 0xFFF, times)

    def write_chen(self, _old: int, new: int, _acting: int) -> None:
        if new >> PROGRAMMABLE:
            raise ModelFault(
                f"PPI_CHEN enables the fixed channels 0x{new >> PROGRAMMABLE << PROGRAMMABLE:08X}, which this model "
                "does not have"
            )
        self.value["CHEN"] = new
        self._route()

    def write_chenset(self, _old: int, new: int, _acting: int) -> None:
        self.write_chen(0, self.value["CHEN"] | new, 0)

    def write_chenclr(self, _old: int, new: int, _acting: int) -> None:
        self.write_chen(0, self.value["CHEN"] & ~new, 0)

    def read_chenset(self, _value: int) -> int:
        return self.value["CHEN"]

    read_chenclr = read_chenset

    def _route(self) -> None:
        self._routes = {}
        for i in range(PROGRAMMABLE):
            if self.value["CHEN"] >> i & 1:
                ends = [self.value[f"CH{i}_TEP"], self.value[f"FORK{i}_TEP"]]
                event = self.value[f"CH{i}_EEP"]
                self._check(i, event, [end for end in ends if end])
                self._routes.setdefault(event, []).extend(end for end in ends if end)

    def _check(self, channel: int, event: int, tasks: list[int]) -> None:
        for address in (event, *tasks):
            if address >> 12 not in self.blocks:
                raise ModelFault(f"PPI channel {channel} is enabled with 0x{address:08X}, where is no event or task")
