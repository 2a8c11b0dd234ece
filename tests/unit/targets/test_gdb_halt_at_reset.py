"""A reset through a GDB stub halts at the first instruction, and not where the image has got to meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from hil import boards
from hil.errors import Blocked
from hil.targets.core_sample import REGISTERS
from hil.targets.gdb_probe import GdbProbe

ENTRY = 0x1234


class Stub:
    """A stub of a machine that runs on after its reset, unless a breakpoint is there."""

    def __init__(self) -> None:
        self.running, self.breakpoints, self.written = False, [], {}

    def interrupt(self) -> None:
        self.running = False

    def registers(self, count: int) -> tuple[int, ...]:
        return (0,) * (count - 1) + (ENTRY,)

    def set_breakpoint(self, address: int) -> None:
        self.breakpoints.append(address)

    def remove_breakpoint(self, address: int) -> None:
        self.breakpoints.remove(address)

    def stopped_within(self, seconds: float) -> bool:
        self.running = self.running and not self.breakpoints
        return not self.running

    def numbers(self, wanted: set[str]) -> dict[str, int]:
        return {"xpsr": 25}

    def set_register(self, number: int, value: int) -> None:
        self.written[number] = value

    def detach(self) -> None:
        self.running = True

    def close(self) -> None: ...


class Machine:
    """The machine beside it, with or without a monitor."""

    def __init__(self, resets: bool = True) -> None:
        self.resets, self.calls = resets, 0

    def reset(self, while_stopped: Callable[[], None]) -> bool:
        self.calls += 1
        if self.resets:
            while_stopped()
        return self.resets

    def alive(self, within_s: float = 0.0) -> None: ...

    def lost_s(self) -> float:
        return 0.0


@contextlib.contextmanager
def probe_at(stub: Stub, machine: Machine) -> Iterator[GdbProbe]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hil.targets.gdb_probe.GdbRemote", lambda *arguments: stub)
        yield GdbProbe(boards.load("mps2-an500"), "/nowhere", "qemu", machine)


def test_it_halts_at_the_first_instruction() -> None:
    stub, machine = Stub(), Machine()
    with probe_at(stub, machine) as probe:
        probe.halt_at_reset()
        assert probe.is_halted() and machine.calls == 1 and stub.breakpoints == []


def test_a_machine_that_nothing_resets_is_said() -> None:
    with probe_at(Stub(), Machine(resets=False)) as probe, pytest.raises(Blocked, match="no monitor beside it"):
        probe.halt_at_reset()


def test_registers_are_set_by_their_numbers_before_the_core_runs() -> None:
    stub = Stub()
    with probe_at(stub, Machine()) as probe:
        probe.halt()
        probe.begin({"r7": 7, "pc": 0x2000_0080, "xpsr": 1 << 24})
    assert stub.written == {REGISTERS.index("r7"): 7, REGISTERS.index("pc"): 0x2000_0080, 25: 1 << 24}
    assert stub.running
