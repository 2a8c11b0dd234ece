"""A firmware that nobody wrote for the rig, on QEMU: no agent, no symbols of ours, no probe but QEMU's GDB stub."""

from __future__ import annotations

import ast
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pexpect
import pytest
import serial

from hil.dut import Dut, Incomplete, Unexpected, opened
from hil.errors import Blocked, DeviceFault, RigError
from hil.rig import Bench, Rig
from tests.foreign import build

BOARD = "mps2-an386"
LOCKED = r"the emulated core is locked up: .* \(Lockup: .*\)"
pytestmark = pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed")


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("foreign"), BOARD)


def ended(dut: Dut) -> Dut:
    """Return the device after the end of its emulator."""
    dut._taken.stand_in.process.wait(10.0)
    return dut


@pytest.fixture
def dut(elf: Path, tmp_path: Path) -> Iterator[Dut]:
    with Rig(Bench()) as rig, opened(rig, BOARD, elf, tmp_path / "log") as one:
        assert one.flash() is False  # QEMU loads it
        yield one


def test_expect_lines_and_reset(dut, tmp_path):
    dut.serial.expect(r"ready (\d+) parameters")
    assert int(dut.serial.match[1]) == 12
    weights = np.zeros((4, 3), np.float32)
    for step in range(3):
        dut.serial.write(b"t")
        line = next(dut.lines(r"step (?P<step>\d+) loss (?P<loss>\S+)", dtypes={"loss": np.float32}, bits=["loss"]))
        weights += np.float32(0.5) * (np.arange(4, dtype=np.float32)[:, None] + np.float32(step + 1))
        assert line == {"step": step + 1, "loss": weights.sum(dtype=np.float32)}
    dut.reset()
    dut.serial.expect("ready")
    dut.serial.write(b"t")
    assert next(dut.lines(r"step (?P<step>\d+)"))["step"] == 1  # its memory began anew
    assert dut.record.serial_log is not None
    entries = [entry.split(" ", 2)[1:] for entry in dut.record.serial_log.read_text().splitlines()]
    came = "".join(ast.literal_eval(data) for direction, data in entries if direction == "<")
    sent = "".join(ast.literal_eval(data) for direction, data in entries if direction == ">")
    assert came.startswith("ready 12 parameters\r\nstep 1 loss 0x") and came.count("ready") == 2 and sent == "tttt"
    record = json.loads(json.dumps(dut.record.to_json()))
    assert (record["flash"], record["resets"], record["reality"], record["own"]) == ("loaded", 2, "qemu", True)
    assert record["baud"] == 921_600 and len(record["image_sha256"]) == 64 and record["faults"] == []
    assert dut.clock == 25_000_000 and dut.symbols["fc1_weights"] >= 0x2000_0000


def test_a_reset_discards_what_was_printed_before(dut):
    dut.serial.expect("ready")
    for _ in range(5):
        dut.serial.write(b"t")
    dut.reset()
    dut.serial.expect(r"\w+ \d+ \w+\r\n")  # whole: the line may come in pieces
    assert dut.serial.before == b"" and dut.serial.after == b"ready 12 parameters\r\n"


@pytest.mark.parametrize(("command", "error", "words"), [
    (b"w", Unexpected, "printed nothing within .* and the line of a stand-in cannot be cut"),
    (b"h", Unexpected, "printed nothing within .*: the firmware hangs: .* called from .* in train_badly"),
    (b"b", Unexpected, "its output is no text, it ends with the bytes .*85 88 8b"), (b"c", Unexpected, "its last words (are|were) '.*step 9 lo'"),
])  # fmt: skip
def test_what_comes_instead_decides_the_verdict(dut, command, error, words):
    dut.serial.expect("ready 12 parameters\r\n")
    dut.serial.write(command)
    with pytest.raises(error, match=words) as seen:
        dut.serial.expect("step 10", timeout=2.0)
    assert isinstance(seen.value, pexpect.TIMEOUT)


def test_a_line_that_is_cut_off_fails(dut):
    dut.serial.expect("ready 12 parameters\r\n")
    dut.serial.write(b"tc")
    with pytest.raises(Incomplete, match="printed 1 of 2 lines .* cut off: 'step 9 lo'"):
        list(dut.lines(r"step (?P<step>\d+) lo", 2, timeout=1))


def test_what_is_missing_is_said(dut):
    with pytest.raises(RigError, match="mps2-an386 has no cycle counter here: qemu models no DWT"):
        _ = dut.cycles
    with pytest.raises(RigError, match="foreign.elf has no agent in it: add it with `hil agent --copy`"):
        _ = dut.agent
    with (
        pytest.raises(Blocked, match="mps2-an386 has no power meter here: qemu has none; measure on an attached board"),
        dut.energy(),
    ):
        pass
    with pytest.raises(Blocked, match="rig.toml names no power switch for mps2-an386"):
        dut.power.cycle()


def test_another_image_cannot_be_flashed(dut, tmp_path):
    with pytest.raises(
        RigError, match=r"qemu loads an image when it starts, and has foreign\.elf: open the device with"
    ):
        dut.flash(build(tmp_path, BOARD, "-O2", name="other.elf"))


def test_the_end_of_the_emulator_is_not_the_devices_fault(dut):
    dut.serial.expect("ready")
    dut._taken.stand_in.process.kill()
    dut._taken.stand_in.process.wait()
    with pytest.raises(Blocked, match="the stand-in qemu-system-arm ended with status"):
        dut.serial.expect("never", timeout=5)


@pytest.mark.parametrize("look", [
    lambda dut: dut.serial.expect("never"), lambda dut: list(dut.lines("never", 1)),
    lambda dut: ended(dut).read("steps"), lambda dut: ended(dut).halt(), lambda dut: ended(dut).backtrace(),
    lambda dut: next(ended(dut).at_return("train_step")), lambda dut: ended(dut).reset(), lambda dut: dut.alive(9.0),
], ids=["expect", "lines", "read", "halt", "backtrace", "at_return", "reset", "alive"])  # fmt: skip
def test_a_lockup_fails_however_it_is_met(dut, look):
    """It ends QEMU, which is not the rig's fault."""
    dut.serial.expect("ready")
    dut.serial.write(b"k")
    with pytest.raises(
        DeviceFault, match=LOCKED + r" at pc 0x\w+ in Fault_Handler\+0x\w+ \(.*foreign\.c:\d+\)"
    ) as seen:
        look(dut)
    assert "overflowed" not in str(seen.value) and str(seen.value) in dut.record.faults


@pytest.mark.parametrize("look", [
    lambda dut: dut.wait(), lambda dut: dut.serial.expect("never"), lambda dut: dut.read("steps")
], ids=["wait", "expect", "read"])  # fmt: skip
def test_a_lockup_with_semihosting_fails_and_is_forgotten_by_a_reset(elf, tmp_path, look):
    with Rig(Bench()) as rig, opened(rig, BOARD, elf, tmp_path / "log", semihosting=True) as dut:
        dut.flash()
        dut.serial.expect("ready")
        dut.serial.write(b"k")
        while dut._taken.endable.ended() is None:
            pass
        with pytest.raises(DeviceFault, match=LOCKED):
            look(dut)
        dut.reset()
        dut.serial.expect("ready")
        assert dut.fault() is None


@pytest.mark.parametrize("look", [
    lambda dut: dut.read("steps"), lambda dut: dut.halt(), lambda dut: dut.backtrace(), lambda dut: dut.reset(),
    lambda dut: next(dut.at_return("train_step")),
], ids=["read", "halt", "backtrace", "reset", "at_return"])  # fmt: skip
def test_a_look_at_an_emulator_that_was_killed(dut, look):
    dut._taken.stand_in.process.kill()
    dut._taken.stand_in.process.wait()
    with pytest.raises(Blocked, match="the stand-in qemu-system-arm ended with status"):
        look(dut)


def test_an_emulator_that_ends_while_its_core_is_halted(dut):
    dut.halt()
    dut._taken.stand_in.process.kill()
    dut._taken.stand_in.process.wait()
    with pytest.raises(Blocked, match="the stand-in qemu-system-arm ended with status"):
        dut.resume()


def test_a_socket_without_a_stub_is_blocked(dut):
    path = Path(dut._taken.endpoints.gdb)
    path.unlink()
    with pytest.raises(Blocked, match="the GDB stub of qemu of mps2-an386 failed to read .*: it cannot be reached"):
        dut.read("steps")
    dut.serial.expect("ready")  # which needs no stub


def test_a_reset_of_a_halted_core_lets_it_run(dut):
    dut.serial.expect("ready")
    dut.serial.write(b"l")
    for _ in dut.at_return("train_step", times=2):
        dut.halt()  # nothing: it is
    dut.halt()
    steps = dut.read("steps")
    assert dut.read("steps") == steps > 0  # and nothing runs
    dut.reset()
    dut.serial.expect("ready 12 parameters")
    assert dut.read("steps") == 0 and not dut.probe.is_halted()


def test_a_reset_within_a_loop_over_returns(dut):
    dut.serial.expect("ready")
    dut.serial.write(b"t")
    calls = dut.at_return("train_step")
    assert next(calls).result == 1
    dut.reset()
    dut.serial.expect("ready")
    calls.close()
    dut.serial.write(b"t")
    dut.serial.expect("step 1")  # without a breakpoint


def test_the_agent_is_reached_over_the_same_port(tmp_path):
    with Rig(Bench()) as rig, opened(rig, BOARD, None, tmp_path / "log") as dut:
        dut.flash()
        assert dut.agent.request("echo", data=b"hello")["data"] == b"hello"
        assert dut.record.own is False and dut.agent is dut.agent
        assert dut.record.serial_log is not None and "hello" in dut.record.serial_log.read_text()


def test_a_port_that_is_released_is_free_for_another_program_and_opened_again(dut):
    dut.serial.expect(r"ready.*\n")  # all of the line: the other program would get its end
    path = dut.serial.port
    dut.release()
    with serial.Serial(path, exclusive=True, timeout=5.0) as other:
        other.write(b"t")
        assert other.read_until(b"\n").startswith(b"step 1 loss")
    dut.flash()
    dut.serial.expect("ready")
    assert dut.read("steps") == 0
    dut.release()
    dut.serial.write(b"t")
    dut.serial.expect("step 1")


def test_the_rate_is_that_of_the_test_or_of_rig_toml(elf, tmp_path):
    with Rig(Bench()) as rig, opened(rig, BOARD, elf, tmp_path / "log", baud=115_200, clock_hz=20_000_000) as dut:
        assert dut.serial.baudrate == 115_200 and dut.record.baud == 115_200 and dut.clock == 20_000_000
    named = Bench.model_validate({"board": [{"name": BOARD, "serial": "/dev/ttyACM0", "baud": 9600}]})
    with Rig(named, reality="qemu") as rig, opened(rig, BOARD, elf, tmp_path / "log") as dut:
        assert dut.serial.baudrate == 9600


def test_firmware_for_another_core_is_refused_before_anything_starts(tmp_path):
    elf = build(tmp_path, "stm32f746")
    with Rig(Bench()) as rig, pytest.raises(RigError, match="compiled for Armv7E-M|outside the flash of mps2-an385"):
        opened(rig, "mps2-an385", elf, tmp_path / "log").__enter__()
    assert not (tmp_path / "log").exists()


def test_a_loop_until_the_device_fails_ends_when_its_stand_in_is_gone(dut):
    dut.serial.expect("ready")
    assert dut.failed() is None
    dut._taken.stand_in.process.kill()
    dut._taken.stand_in.process.wait(10.0)
    with pytest.raises(Blocked, match="qemu") as raised:
        dut.failed()
    assert dut.raised == [raised.value]  # a test that catches it gets a warning
    assert dut.look_at_end("the test ended") is None  # what is gone is judged elsewhere


def test_a_device_that_resets_itself_is_a_warning(dut):
    dut.serial.expect("ready")
    dut.reset()  # the rig has made this one
    dut.serial.expect("ready")
    dut.look_at_end("the test ended")
    assert not [each for each in dut.record.warnings if "reset itself" in each]
    dut.serial.write(b"r")  # AIRCR.SYSRESETREQ
    dut.serial.expect("ready")
    dut.reset()
    dut.serial.expect("ready")
    dut.look_at_end("the test ended")
    (warning,) = (each for each in dut.record.warnings if "reset itself" in each)
    assert warning.startswith("the device has reset itself once, by its program or a watchdog (qemu says so)")
