"""Stages that write RAM and registers: supply, RAM, the stub, sleep, the clock out of reset."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from hil.boards.catalogue import Region
from hil.errors import DeviceFault
from hil.first_light.bring_up import BringUp
from hil.first_light.counter import Counter
from hil.first_light.stage import Danger, NotPossible, Seen, Stage
from hil.first_light.stub import SIZE, Command
from hil.steady_clock import steady_s

BLOCK = 1 << 16  # bytes of one write
SEED = 48
# ARM DDI 0403E.e: DHCSR (C1.6.2), ICSR (B3.2.4)
DHCSR, S_SLEEP = 0xE000_EDF0, 1 << 18
ICSR, PENDSVSET = 0xE000_ED04, 1 << 28
SUM_WORDS = 256


class Supply(Stage):
    """The supply of the core, where the chip must be told how it is wired before RAM may be written."""

    name = "supply"
    assumes = "the core's supply is wired as the house image takes it"
    expected = "the supply reports that it is ready"
    danger = Danger.RAM
    gate = True
    needs = ("reset and halt",)

    def run(self, on: BringUp) -> Seen:
        """Choose the supply."""
        if not on.facts.supply:
            raise NotPossible(f"the {on.board.chip} has no choice of supply to be made before its RAM is written.")
        on.registers.do(on.facts.supply)
        return Seen("the supply is ready", "RAM may be written.")


class RamHolds(Stage):
    """All RAM through the probe: random words, then their complements."""

    name = "RAM"
    assumes = "every bit of the RAM of the catalogue can be 0 and 1, and every address is its own"
    expected = "random words, and then their complements, read back as written"
    danger = Danger.RAM
    gate = True
    needs = ("reset and halt",)

    def run(self, on: BringUp) -> Seen:
        """Write and read each memory whole, twice."""
        if on.dut.endpoints.probe is None:
            raise NotPossible(f"{on.dut.reality} keeps RAM in this computer's memory: a test of it says nothing.")
        tested = []
        for memory in on.board.memory:
            if memory.kind == "ram":
                memory = replace(memory, size=on.facts.ram_at_reset.get(memory.name, memory.size))
                for inverted in (False, True):
                    self._test(on, memory, inverted)
                tested.append(f"{memory.name} {memory.size // 1024} KB")
        return Seen(", ".join(tested), "no bit is stuck, and no address answers for another.")

    @staticmethod
    def _test(on: BringUp, memory: Region, inverted: bool) -> None:
        for at, data in _blocks(memory, inverted):
            if not on.probe.write_ram(at, data):
                raise DeviceFault(f"{memory.name} does not answer at 0x{at:08X}: the catalogue says that it has RAM.")
        for at, data in _blocks(memory, inverted):
            read = on.probe.read_ram(at, len(data))
            if read != data:
                raise _difference(memory, at, data, read)


def _blocks(memory: Region, inverted: bool) -> Iterator[tuple[int, bytes]]:
    """Yield address and bytes of each block of a memory; the bytes follow from its name."""
    rng = np.random.default_rng([SEED, memory.start])
    for offset in range(0, memory.size, BLOCK):
        data = rng.integers(0, 256, min(BLOCK, memory.size - offset), np.uint8)
        yield memory.start + offset, (~data if inverted else data).tobytes()


def _difference(memory: Region, at: int, data: bytes, read: bytes | None) -> DeviceFault:
    if read is None:
        return DeviceFault(f"{memory.name} does not answer at 0x{at:08X}, where it was written.")
    wrong = [n for n, (one, other) in enumerate(zip(data, read, strict=True)) if one != other]
    first = wrong[0]
    bits = data[first] ^ read[first]
    return DeviceFault(
        f"{len(wrong)} of {len(data)} bytes from 0x{at:08X} of {memory.name} differ; the first at 0x{at + first:08X}: "
        f"0x{read[first]:02X} instead of 0x{data[first]:02X} (bits 0x{bits:02X}): the RAM, its supply or the debug "
        "port is bad."
    )


class StubRuns(Stage):
    """The core executes from RAM, and sees the RAM that the probe has written."""

    name = "stub from RAM"
    assumes = "the core executes from RAM, and core and probe see the same memory"
    expected = "a counter in RAM grows; the core's sum of random words is that of the host"
    danger = Danger.RAM
    gate = True
    needs = ("reset and halt",)

    def run(self, on: BringUp) -> Seen:
        """Let the stub count, then sum."""
        stub = on.stub()
        on.probe.halt_at_reset()  # no MPU forbids to execute from RAM
        on.registers.do(on.facts.supply)
        stub.start(Command.SPIN)
        first = stub.until(lambda done: done.count > 0).count
        then = stub.until(lambda done: done.count != first).count
        if not stub.look().has_begun:
            raise DeviceFault(f"the core does not execute from RAM at 0x{stub.place:08X}: it is at {_where(on)}.")
        if first == then:
            raise DeviceFault(f"the core has begun the stub, and stands at {_where(on)}: it does not run on.")
        words = np.random.default_rng(SEED).integers(0, 1 << 32, SUM_WORDS, np.uint64)
        on.probe.halt()
        stub.write(SIZE - 4 * SUM_WORDS, words.astype("<u4").tobytes())
        stub.start(Command.SUM, limit=SUM_WORDS, data=stub.place + SIZE - 4 * SUM_WORDS)
        done, wanted = stub.until(lambda done: done.is_finished), int(words.sum()) & 0xFFFF_FFFF
        if not done.is_finished or done.before != wanted:
            raise DeviceFault(
                f"the core sums {SUM_WORDS} words to 0x{done.before:08X} instead of 0x{wanted:08X}: core and probe do "
                "not see the same RAM (a cache between them), or its words are lost."
            )
        return Seen(
            f"the counter grows; the sum is 0x{wanted:08X}", "the core runs from RAM, and agrees with the probe."
        )


def _where(on: BringUp) -> str:
    sample = on.probe.look()
    return f"0x{sample.pc:08X}" + (f" in exception {sample.exception}" if sample.exception else "")


class SleepAndWake(Stage):
    """WFI, memory of a core that sleeps, and an exception that wakes it."""

    name = "sleep and wake"
    assumes = "WFI stops the core, its memory stays readable by the probe, and a pending exception wakes it"
    expected = "no round while it sleeps, one after PendSV was made pending"
    danger = Danger.RAM
    needs = ("stub from RAM",)

    def run(self, on: BringUp) -> Seen:
        """Sleep, look, wake, look."""
        if on.dut.endpoints.probe is None:
            raise NotPossible(f"the GDB stub of {on.dut.reality} does not write registers of the core's peripherals.")
        stub = on.stub()
        on.probe.halt()
        on.registers.do(on.facts.sleep)
        stub.start(Command.SLEEP)
        stub.until(lambda done: done.has_begun)
        time.sleep(0.1)
        rounds, asleep = stub.look().count, bool(on.registers.word(DHCSR) & S_SLEEP)
        said = f"DHCSR.S_SLEEP is {int(asleep)}"
        if not asleep:
            raise DeviceFault(f"{said} after WFI, and the stub has woken {rounds} times: something wakes the core.")
        on.registers.put(ICSR, PENDSVSET)
        woken = stub.until(lambda done: done.count > rounds).count - rounds
        if woken != 1:
            raise DeviceFault(f"{said}; it then woke {woken} times for one PendSV instead of once.")
        return Seen(f"{said}; it woke once for one PendSV", "sleep works, and the probe reads a core that sleeps.")


class ResetClock(Stage):
    """The core's clock out of reset, by its counter and the host's clock."""

    name = "clock by the host"
    assumes = "the core's clock out of reset is that of the manual"
    expected = "the cycle counter goes at the frequency of the manual, by the host's clock"
    danger = Danger.RAM
    needs = ("stub from RAM",)

    def run(self, on: BringUp) -> Seen:
        """Read the counter twice."""
        if on.is_simulated:
            raise NotPossible(f"the time of {on.dut.reality} is its own, and not that of this computer.")
        on.probe.halt_at_reset()
        on.registers.do(on.facts.supply)
        on.stub().start(Command.SPIN)
        hz, error_hz = Counter(on.board, on.registers).frequency(steady_s)
        on.figures["reset_clock_hz"] = {"value": hz, "half_width": error_hz}
        clock = on.facts.reset_clock
        said = f"{hz / 1e6:.3f} MHz +- {error_hz / 1e6:.3f} MHz"
        if clock is None:
            return Seen(said, "the manual does not say which clock to expect here.")
        if abs(hz - clock.hz) > clock.error * clock.hz + error_hz:
            raise DeviceFault(f"{said} instead of {clock.hz / 1e6:g} MHz within {100 * clock.error:g} %.")
        return Seen(said, f"the core's clock is that of the manual, {clock.hz / 1e6:g} MHz.")


STAGES = (Supply, RamHolds, StubRuns, SleepAndWake, ResetClock)
