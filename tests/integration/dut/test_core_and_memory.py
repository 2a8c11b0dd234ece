"""A firmware that nobody wrote for the rig, through a probe: memory, core, faults, calls.

On a virtual board through real pyOCD, and on QEMU through its GDB stub.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hil.dut import Dut, Unexpected, opened
from hil.dut.hang_diagnosis import _reads as reads
from hil.errors import Blocked, DeviceFault, RigError
from hil.rig import Bench, Rig
from hil.targets.probe import Probe
from tests.foreign import STACK, build

VIRTUAL, QEMU, QEMU_M33 = "stm32f746", "mps2-an386", "mps2-an505"
PART_NUMBERS = {VIRTUAL: 0xC27, QEMU: 0xC24, QEMU_M33: 0xD21}  # in CPUID of a Cortex-M7, a Cortex-M4 and a Cortex-M33
PROBES = {VIRTUAL: "remote:", QEMU: "GDB stub of qemu", QEMU_M33: "GDB stub of qemu"}
only_virtual = pytest.mark.parametrize("running", [VIRTUAL], indirect=True)
only_m33 = pytest.mark.parametrize("running", [QEMU_M33], indirect=True)


@pytest.fixture(scope="module", params=[VIRTUAL, pytest.param(QEMU, marks=pytest.mark.tier("nightly")), QEMU_M33])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dut]:
    board: str = request.param
    if board == VIRTUAL:
        pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    elif shutil.which("qemu-system-arm") is None:
        pytest.skip("qemu-system-arm is not installed")
    folder = tmp_path_factory.mktemp("foreign")
    elf = build(folder, board)
    with Rig(Bench()) as rig, opened(rig, board, elf, folder / "log") as one:
        assert one.flash() is (board == VIRTUAL)  # QEMU loads it itself
        assert one.flash() is False  # it is there already
        assert one.record.flash == ("held" if board == VIRTUAL else "loaded")
        yield one


@pytest.fixture
def elf_of(running: Dut) -> tuple[str, Path]:
    return running.board.name, running.image.path


@pytest.fixture
def dut(running: Dut) -> Dut:
    """The device after a reset, waiting for a command."""
    running.reset()
    running.serial.expect("ready 12 parameters\r\n")
    return running


def test_a_pointer_that_the_program_breaks_is_its_fault_until_the_next_reset(dut):
    where = "*network->weights->data"
    assert not dut.read(where, np.float32, 12).any()
    dut.probe.write_ram(int(dut.read("&network->weights->data")), bytes(4))  # dut.write would be the test's own change
    with pytest.raises(DeviceFault, match="is NULL, although the same expression was read before, at 0x"):
        dut.read(where, np.float32, 12)
    dut.reset()
    dut.serial.expect("ready 12 parameters\r\n")
    dut.write("network->weights->data", np.uint32(0))
    with pytest.raises(RigError, match="is NULL: read it when it is set") as seen:
        dut.read(where, np.float32, 12)
    assert not isinstance(seen.value, DeviceFault)


def trained(dut: Dut) -> None:
    dut.serial.write(b"t")
    dut.serial.expect("step .*\n")


def test_memory_is_read_and_written_while_the_program_runs(dut):
    dut.write("linear.u.rate", 0.25)
    trained(dut)
    weights = np.float32(0.25) * (np.arange(4, dtype=np.float32)[:, None] + 1) * np.ones((1, 3), np.float32)
    np.testing.assert_array_equal(dut.read("fc1_weights", np.float32, (4, 3)), weights)
    np.testing.assert_array_equal(dut.read("*network->weights->data", np.float32, 12), weights.ravel())
    assert dut.read("network->weights->data[3]") == weights[1, 0] and dut.read("steps") == 1 and dut.read("trained")
    assert dut.read(dut.symbols["steps"], np.uint32) == 1
    dut.write("fc1_weights", np.zeros((4, 3), np.float32))
    dut.write("quantised[2]", -100)
    dut.write(dut.symbols["arena"] + 1, np.array([7, 8, 9], np.uint8))  # on no boundary
    assert not dut.read("fc1_weights").any() and dut.read("quantised").tolist() == [-3, -2, -100, 0, 1, 127]
    assert dut.read("arena")[:5].tolist()[2:] == [8, 9, 0]
    assert dut.read(0xE000_ED00, np.uint32) >> 4 & 0xFFF == PART_NUMBERS[dut.board.name]
    with pytest.raises(RigError, match="the chip does not answer at 0x70000000"):
        dut.read(0x7000_0000, np.uint32)
    assert dut.read("steps") == 1  # the probe is usable after that
    assert dut.record.probe.startswith(PROBES[dut.board.name])
    trained(dut)


def test_a_halted_core_prints_nothing_and_keeps_its_registers(dut):
    dut.halt()
    first, second = dut.registers(), dut.registers()
    assert first == second and any(first["pc"] in memory for memory in dut.board.memory) and set(first) == {
        *(f"r{n}" for n in range(13)), "sp", "lr", "pc", "xpsr",
    }  # fmt: skip
    frames = dut.backtrace()
    assert [frame.function.partition("+")[0] for frame in frames][-2:] == ["main", "Reset_Handler"]
    assert frames[-2].line is not None and "foreign.c:" in frames[-2].line and "foreign.c:" in str(frames[-2])
    dut.serial.write(b"t")
    with pytest.raises(RigError, match="the core is halted by the probe, and prints nothing: call dut.resume"):
        dut.serial.expect("step", timeout=0.3)
    dut.resume()
    dut.serial.expect("step 1")


def test_returns_of_a_function_are_marks_of_steps(dut):
    dut.serial.write(b"l")
    seen = []
    for call in dut.at_return("train_step", times=3):
        seen.append((call.index, int(dut.read("steps")), call.arguments[0], call.cycles))
        assert call.result == int(dut.read("train_step::calls"))
    assert [index for index, *_ in seen] == [0, 1, 2] and {argument for _, _, argument, _ in seen} == {1}
    steps = [step for _, step, _, _ in seen]
    assert steps == list(range(steps[0], steps[0] + 3))  # every one, and none twice
    cycles = {each for *_, each in seen}
    if dut.board.name == VIRTUAL:
        assert len(cycles) == 1 and min(cycles) > 100  # the same work takes the same cycles
        assert dut.cycles != dut.cycles
    else:
        assert cycles == {None}
        with pytest.raises(RigError, match=f"{dut.board.name} has no cycle counter here: qemu models no DWT"):
            _ = dut.cycles
    before = dut.read("steps")
    for call in dut.at_return("train_step"):  # left early: the core runs on
        assert call.index == 0
        break
    dut.halt()
    assert dut.read("steps") > before
    dut.resume()


def test_a_command_to_a_halted_core_starts_what_the_loop_sees(dut):
    """As docs/dut.md says: the first call too."""
    dut.halt()
    dut.serial.write(b"t")
    for call in dut.at_return("train_step", times=1):
        assert (call.result, int(dut.read("steps"))) == (1, 1)


def test_a_function_that_is_not_there_or_not_called(dut):
    with pytest.raises(RigError, match="has no function 'train_stp': did you mean train_step"):
        next(dut.at_return("train_stp"))
    with pytest.raises(RigError, match="has no function 'zzz_step': it may be inlined"):
        next(dut.at_return("zzz_step"))
    with pytest.raises(DeviceFault, match="train_step returned 0.* times, and not again within 0.3 s"):
        next(dut.at_return("train_step", timeout=0.3))
    trained(dut)


def test_a_fault_is_named_with_its_place_and_call_chain(dut):
    dut.serial.write(b"u")
    with pytest.raises(Unexpected, match=(
        r"the processor faulted: HardFault \(CFSR 0x00010000: UNDEFINSTR\) at pc 0x\w+ in train_undefined\+0x\w+ "
        r"\(.*foreign\.c:\d+\), called from 0x\w+ in main"
    )):  # fmt: skip
        dut.serial.expect("step", timeout=1)
    fault = dut.fault()
    assert fault is not None and fault in dut.record.faults
    names = [frame.function.partition("+")[0] for frame in dut.backtrace()]
    assert names == ["stop", "Fault_Handler", "train_undefined", "main", "Reset_Handler"]


def test_a_fault_that_nobody_has_seen_is_found_at_the_end_without_a_halt(dut, monkeypatch):
    assert dut.fault_at_end() is None  # it waits for a command
    dut.serial.write(b"u")
    ends = time.monotonic() + 30
    while dut.probe.look().exception != 3 and time.monotonic() < ends:
        time.sleep(0.05)
    assert "UNDEFINSTR" in str(dut.fault_at_end())
    assert dut.fault_at_end() is None  # the test has been told of it
    dut.reset()
    dut.serial.expect("ready")
    monkeypatch.setattr(type(dut.probe), "look", lambda probe: pytest.fail("the core was halted"))
    assert dut.fault_at_end() is None


def test_a_loop_over_returns_that_is_left_before_its_number_is_a_warning(dut):
    dut.record.warnings.clear()
    dut.serial.write(b"l")  # without end
    next(dut.at_return("train_step", times=1))
    assert not dut.record.warnings
    for call in dut.at_return("train_step", times=2):
        assert call.index == 0
        break
    (said,) = dut.record.warnings
    assert said.startswith("the test has taken 1 of 2 returns of train_step and left its loop over dut.at_return")
    assert not dut.probe.is_halted()


def test_a_fault_that_ends_is_none_at_the_end(dut, monkeypatch):
    """Firmware may handle one, and go on."""
    seen = iter([3, 0])
    monkeypatch.setattr("hil.dut.core.CoreView._word", lambda core, register: next(seen))
    assert dut.fault_at_end() is None and next(seen, None) is None


@pytest.mark.parametrize("running", [VIRTUAL, QEMU, QEMU_M33], indirect=True)
def test_a_stack_that_has_overflowed_is_called_that(elf_of, tmp_path):
    """It ends the stand-in: so of a device of its own."""
    board, elf = elf_of
    with Rig(Bench()) as rig, opened(rig, board, elf, tmp_path / "log") as dut:
        dut.flash()
        dut.serial.expect("ready")
        dut.serial.write(b"o")
        with pytest.raises(DeviceFault, match="the stack pointer .* so the stack has overflowed") as seen:
            dut.serial.expect("step", timeout=5)
        assert str(seen.value) in dut.record.faults or dut.record.faults[-1].rstrip(".") in str(seen.value)


def test_a_bus_fault_ends_with_a_reset(dut):
    dut.serial.write(b"f")
    said = {
        VIRTUAL: "in divide.*write of 0x50000000: the model has no peripheral there",
        QEMU: "HardFault .CFSR 0x00008200: PRECISERR, BFARVALID; address 0x50000000. at pc .* in divide",
        QEMU_M33: "HardFault .CFSR 0x00008200: PRECISERR, BFARVALID; address 0x60000000. at pc .* in divide",
    }
    with pytest.raises(Unexpected, match=said[dut.board.name]):
        dut.serial.expect("step", timeout=1)
    dut.reset()
    dut.serial.expect("ready")
    assert dut.fault() is None
    trained(dut)


@only_m33
def test_a_breach_of_the_security_state_is_named(dut):
    """SFSR.INVTRAN, and HardFault because SecureFault is not enabled (ARM DDI 0553B.l, SFSR)."""
    dut.serial.write(b"s")
    said = r"HardFault \(SFSR 0x00000010: INVTRAN\) at pc 0x00000000.*, called from 0x\w+ in train_insecurely"
    with pytest.raises(Unexpected, match=said):
        dut.serial.expect("step", timeout=1)
    dut.reset()
    dut.serial.expect("ready")


def test_a_hang_is_named_with_its_place_and_call_chain(dut):
    dut.serial.write(b"h")
    with pytest.raises(
        Unexpected, match="the firmware hangs: .* called from .* in train_badly.* called from .* in main"
    ):
        dut.serial.expect("step", timeout=1)


@pytest.mark.parametrize("command", [b"", b"r"], ids=["waits", "resets itself"])
def test_a_core_that_waits_for_input_does_not_hang(dut, command):
    if command:
        dut.serial.write(command)
        dut.serial.expect("ready 12 parameters\r\n")
    with pytest.raises(Unexpected, match=r"the core waits for input at pc .* uart_getc\+") as seen:
        dut.serial.expect("step", timeout=1)
    assert "hangs" not in str(seen.value) and seen.value.found is None and dut.hang() is None
    again = (
        "the last line that it printed, 'ready 12 parameters', is the first one since its reset: it has started again"
    )
    assert (again in str(seen.value)) == bool(command), str(seen.value)


@only_virtual
def test_a_look_at_what_a_reading_function_calls_is_no_hang(dut):
    """`uart_getc` calls `get`; the last look has the stack, the others have lr alone."""
    looks = {}
    for _ in dut.at_return("get"):
        looks["uart_getc"] = dut.probe.look()
        break
    while "get" not in looks:
        sample = dut.probe.look()
        looks[dut.image.function_at(sample.pc).partition("+")[0]] = sample
    assert set(looks) == {"get", "uart_getc"}
    for last in looks.values():
        assert all(reads([each, last], dut.image) for each in looks.values())
    registers = list(looks["get"].registers)
    registers[15] = dut.symbols["main"] + 4  # that goes on after a call: lr is stale
    assert not reads([replace(looks["get"], registers=tuple(registers)), looks["uart_getc"]], dut.image)


def test_a_core_that_sleeps_does_not_hang(dut):
    dut.serial.write(b"w")
    with pytest.raises(Unexpected, match="printed nothing within .* the line of a stand-in cannot be cut"):
        dut.serial.expect("step", timeout=1)
    assert dut.hang() is None and dut.fault() is None


def test_the_peak_of_the_stack_is_counted_from_its_paint(dut):
    idle = dut.stack_peak
    trained(dut)
    assert 0 < idle < 100 and 200 < dut.stack_peak < STACK  # train_step has an array of 200 bytes


@only_virtual
def test_without_symbols_of_a_stack_there_is_no_peak(dut, tmp_path):
    original = dut.image.path
    dut.flash(build(tmp_path, VIRTUAL, "-O2", name="other.elf", stack_symbols=False))
    dut.serial.expect("ready")
    assert dut.record.image == "other.elf" and dut.record.flash == "programmed"
    with pytest.raises(
        RigError, match="other.elf does not say where its stack is: define __stack_bottom and __stack_top"
    ):
        _ = dut.stack_peak
    dut.flash(original)


@only_virtual
def test_energy_between_the_edges_of_the_marker(dut):
    with dut.energy(steps=2000, window_s=0.5) as work:
        with pytest.raises(RigError, match="known after the `with` block"):
            _ = work.energy
        assert dut.measures
        for use in (lambda: dut.read("steps"), dut.reset, lambda: dut.cycles):
            with pytest.raises(RigError, match="is detached while dut.energy measures") as seen:
                use()
            assert not isinstance(seen.value, Blocked)
        dut.serial.write(b"e")
        dut.serial.expect("measured", timeout=60)
    energy, step = work.energy, work.per_step
    assert energy.provenance.value == "modelled" and energy.unit == "J" and 0 < energy.uncertainty < 0.05 * energy.value
    assert step.value == pytest.approx(energy.value / 2000) and 0.1 < work.duration.value < 2  # seconds of virtual time
    assert work.trace.is_file() and any("the meter is virtual" in warning for warning in dut.record.warnings)
    assert dut.read("steps") == 2000 and not dut.measures and not dut.left_window  # the probe is attached again
    with pytest.raises(RigError, match="0 steps have no energy"), dut.energy(steps=0):
        pass


@only_virtual
def test_a_window_stays_good_if_the_probe_does_not_come_back_and_the_next_use_of_it_connects(dut, monkeypatch):
    def asleep(probe, wake=None):
        assert wake is None  # this firmware has no agent that could be woken
        raise Blocked("connect", "the core sleeps.")

    monkeypatch.setattr(Probe, "attach", asleep)
    assert dut.probe
    with dut.energy(steps=2000, window_s=0.5) as work:
        dut.serial.write(b"e")
        dut.serial.expect("measured", timeout=60)
    assert work.energy.value > 0
    assert [each for each in dut.record.warnings if "could not connect" in each] == [
        "the probe could not connect to the board again after its energy was measured: the core sleeps."
    ]
    assert dut.read("steps") == 2000


@only_virtual
def test_a_window_within_another_is_refused_and_the_outer_one_is_right(dut):
    with dut.open_meter():
        with pytest.raises(RigError, match=r"open already: leave out this dut.open_meter"), dut.open_meter():
            pass
        with dut.energy(steps=2000, window_s=0.5) as work:
            with pytest.raises(RigError, match="within another dut.energy of .* one after the other"), dut.energy():
                pass
            dut.serial.write(b"e")
            dut.serial.expect("measured", timeout=60)
    assert work.energy.value > 0 and work.trace.parent.name.startswith("energy-")
    with dut.energy(steps=2000, window_s=0.5) as work:  # after it, another one may begin
        dut.serial.write(b"e")
        dut.serial.expect("measured", timeout=60)


@only_virtual
def test_work_without_a_marker_has_no_energy(dut, monkeypatch):
    monkeypatch.setattr("hil.dut.energy.DEADLINE_S", 2.0)
    with pytest.raises(Blocked, match="Keithley 2450.* edges"), dut.energy(window_s=0.1):
        trained(dut)


def test_opening_a_board_a_second_time_keeps_its_program(running, dut):
    """A probe that attaches halts and resets nothing."""
    trained(dut)
    running._close_probe()
    assert running.read("steps") == 1
