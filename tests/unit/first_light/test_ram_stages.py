"""RAM that is bad in one bit, or answers at another address, is found; the clock is the counter over the time."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hil import boards
from hil.errors import DeviceFault
from hil.first_light.counter import COUNTS, SYST_CSR, SYST_CVR, SYST_RVR, Counter
from hil.first_light.ram_stages import RamHolds, Supply
from hil.first_light.registers import Registers
from hil.first_light.stage import NotPossible

from .fake_board import FakeProbe, brought_up

FEW = settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
SIZE = 0x4_2000  # of the RP2040's SRAM


def test_good_ram_passes(tmp_path: Path) -> None:
    assert RamHolds().run(brought_up("rp2040", tmp_path)).seen == "sram 264 KB"


@FEW
@given(st.integers(0, SIZE - 1), st.integers(0, 7), st.booleans())
def test_a_stuck_bit_is_found_where_it_is(tmp_path: Path, offset: int, bit: int, high: bool) -> None:
    on = brought_up("rp2040", tmp_path)
    probe = on.dut.probe
    assert isinstance(probe, FakeProbe)
    bad = 0x2000_0000 + offset

    def kept(address: int, data: bytes) -> bytes:
        if not address <= bad < address + len(data):
            return data
        changed = bytearray(data)
        changed[bad - address] = changed[bad - address] & ~(1 << bit) | high << bit
        return bytes(changed)

    probe.change = kept
    with pytest.raises(DeviceFault, match=rf"1 of \d+ bytes .* the first at 0x{bad:08X}: .*\(bits 0x{1 << bit:02X}\)"):
        RamHolds().run(on)


@FEW
@given(st.integers(2, 17))
def test_an_address_line_that_is_stuck_is_found(tmp_path: Path, line: int) -> None:
    on = brought_up("rp2040", tmp_path)
    probe = on.dut.probe
    assert isinstance(probe, FakeProbe)
    real = probe._place
    probe._place = lambda address, size: real(address & ~(1 << line), size) if size > 4 else real(address, size)  # type: ignore[method-assign]
    memory = probe.ram["sram"]

    def store(address: int, data: bytes) -> bool:
        for at in range(address, address + len(data), 4):
            offset = (at & ~(1 << line)) - 0x2000_0000
            memory[offset : offset + 4] = data[at - address : at - address + 4]
        return True

    def load(address: int, size: int) -> bytes:
        offsets = [(at & ~(1 << line)) - 0x2000_0000 for at in range(address, address + size, 4)]
        return b"".join(bytes(memory[offset : offset + 4]) for offset in offsets)

    probe.write_ram, probe.read_ram = store, load  # type: ignore[method-assign]
    with pytest.raises(DeviceFault, match="of sram differ"):
        RamHolds().run(on)


def test_ram_that_does_not_answer(tmp_path: Path) -> None:
    on = brought_up("rp2040", tmp_path)
    on.dut.probe.write_ram = lambda address, data: False  # type: ignore[method-assign]
    with pytest.raises(DeviceFault, match="sram does not answer at 0x20000000"):
        RamHolds().run(on)


def test_memory_of_the_program_is_tested_as_the_reset_leaves_it(tmp_path: Path) -> None:
    assert "ocram 768 KB" in RamHolds().run(brought_up("imxrt1062", tmp_path)).seen


def test_a_supply_that_does_not_come_up_is_a_fault_of_the_board(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hil.first_light.registers.WITHIN_S", 0.02)
    words = {0x5802_480C: 0x6, 0x5802_4804: 0x0}  # RM0455: PWR_CR3 as after power-on; ACTVOSRDY stays 0
    with pytest.raises(DeviceFault, match="0x2000 at 0x58024804 stay 0x0 instead of 0x2000"):
        Supply().run(brought_up("stm32h7b3", tmp_path, words))
    on = brought_up("stm32h7b3", tmp_path, words | {0x5802_4804: 0x2000})
    assert Supply().run(on).passed
    assert on.registers.word(0x5802_480C) == 0x4  # SMPSEN alone
    with pytest.raises(NotPossible):
        Supply().run(brought_up("rp2040", tmp_path))


def test_a_choice_that_was_taken_is_not_written_again(tmp_path: Path) -> None:
    on = brought_up("stm32h7b3", tmp_path, {0x5802_480C: 0x4, 0x5802_4804: 0x2000})
    Supply().run(on)
    assert not on.dut.probe.written  # type: ignore[attr-defined]


class Ticking(FakeProbe):
    """A core whose counter follows a clock of the test: each reading takes `latency` seconds, half before it."""

    now, hz, latency, down = 0.0, 1.0, 0.0, False

    def read_ram(self, address: int, size: int) -> bytes | None:
        self.now += self.latency / 2
        cycles = int(self.now * self.hz)
        word = (-cycles if self.down else cycles) & (0xFF_FFFF if self.down else 0xFFFF_FFFF)
        self.now += self.latency / 2
        if address in (0xE000_1004, SYST_CVR):
            return word.to_bytes(4, "little")
        return super().read_ram(address, size)


@settings(deadline=None)
@given(st.floats(1e6, 600e6), st.floats(1e-5, 5e-3), st.booleans(), st.floats(0, 7))
def test_the_frequency_lies_within_its_uncertainty(hz: float, latency: float, dwt: bool, begin: float) -> None:
    assume(dwt or hz < 130e6)
    board = boards.load("stm32f746" if dwt else "rp2040")
    words = dict.fromkeys((0xE000_EDFC, 0xE000_1000, 0xE000_1FB0, SYST_CSR, SYST_RVR), 0)
    probe = Ticking(board, words)
    probe.now, probe.hz, probe.latency, probe.down = begin, hz, latency, not dwt

    def sleep(seconds: float) -> None:
        probe.now += seconds

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hil.first_light.counter.time.sleep", sleep)
        found, half = Counter(board, Registers(probe)).frequency(lambda: probe.now)  # type: ignore[arg-type]
    assert abs(found - hz) <= half + 40 / 0.05  # and a count of each reading
    assert half < found * 0.2
    assert dwt or probe.words[SYST_CSR] == COUNTS
