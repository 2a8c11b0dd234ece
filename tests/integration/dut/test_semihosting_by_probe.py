"""A firmware that asks this computer for files, output and an end through a debug probe, on a virtual board.

Expected values are those of Arm's "Semihosting for AArch32 and AArch64": SYS_READ and SYS_WRITE return the bytes that
they left, SYS_OPEN -1 for a file that it cannot open; SYS_EXIT with ADP_Stopped_ApplicationExit is success and with
another reason is none; SYS_EXIT_EXTENDED has a code; the bits of `:semihosting-features`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from hil.dut import CommandEnded, Dut, opened
from hil.endpoints import Endpoints
from hil.errors import Blocked, DeviceFault, RigError
from hil.rig import Bench, Rig
from hil.rig_toml import BenchBoard
from tests.bench_server import BenchServer
from tests.foreign import AT_PROBE, build

BOARD, NO_LINE = "stm32f746", "nrf52840"
FAILED = -1
CALLS = 300  # of train_step
LONGEST_S = 300  # on a computer that is busy with other things


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dut]:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    folder = tmp_path_factory.mktemp("semihosting")
    elf = build(folder, BOARD, source=AT_PROBE)
    with Rig(Bench()) as rig, opened(rig, BOARD, elf, folder / "log", semihosting=True) as one:
        one.flash()
        yield one


@pytest.fixture
def dut(running: Dut) -> Dut:
    """The device after a reset, waiting for a command."""
    running.reset()
    running.serial.expect("ready\n")
    return running


def ask(dut: Dut, command: str) -> np.ndarray:
    """Command the firmware, wait until it is done, and return its results."""
    before = dut.read("done")
    dut.write("command", ord(command))
    until = time.monotonic() + LONGEST_S
    while dut.read("done") == before:
        assert time.monotonic() < until
    return dut.read("results")


def test_files(dut: Dut) -> None:
    given = bytes(range(200))
    (dut.folder / "input.bin").write_bytes(given)
    found = ask(dut, "f")
    #                      length, 2000 - 200, seek, read, write, closed, closed file, terminal, renamed, removed, gone
    assert list(found[:11]) == [200, 1800, 0, 0, 0, 0, 5, 1, 0, 0, FAILED] and found[11] == 2  # ENOENT
    assert [each.name for each in dut.folder.iterdir()] == ["renamed.bin"]
    assert (dut.folder / "renamed.bin").read_bytes() == given[:1] + given[1:3] + given[3:]
    assert dut.folder.parent.name == "log" and dut.exit_code is None


def test_nothing_outside_the_folder(dut: Dut) -> None:
    above = dut.folder.parent
    (above / "victim").write_text("mine")
    for name, target in (("link", "/etc/passwd"), ("linked", above)):
        (dut.folder / name).symlink_to(target)
    before = sorted(above.iterdir())
    assert list(ask(dut, "o")[:12]) == 12 * [FAILED]
    assert sorted(above.iterdir()) == before and (above / "victim").read_text() == "mine"
    assert {each.name for each in dut.folder.iterdir()} & {"by-shell", "~", "mine", "x", "a"} == set()
    for name in ("link", "linked"):
        (dut.folder / name).unlink()


def test_the_requests_that_pyocd_leaves_open(dut: Dut) -> None:
    found = ask(dut, "t")
    assert list(found[:9]) == [0, 1, 0, 10**9, 0, 0, 0, 0, FAILED]
    assert dut.read("bytes")[:5].tobytes() == b"SHFB\x03"  # SYS_EXIT_EXTENDED, both output and errors
    memory = dut.read("text").tobytes()
    assert 0 < int.from_bytes(memory[:8], "little") < 10**12 and memory[8:15] == b"tmp-09\0"


@pytest.mark.parametrize(("command", "code"), [("q", 0), ("e", 1), ("3", 3), ("b", 255)])
def test_ends(dut: Dut, command: str, code: int) -> None:
    dut.write("command", ord(command))
    if command == "b":
        dut.serial.expect("bye\n")  # what it prints before its end is there
    assert dut.wait() == dut.exit_code == dut.record.exit_code == code and dut.failed() is None
    said = r".*of its standard error: .*'wrong'" if command == "3" else ""
    with pytest.raises(CommandEnded, match=f"the firmware ended with exit code {code} and did not print 'step'{said}"):
        dut.serial.expect("step")
    assert dut.read("done") == 0  # the core stands behind the request
    dut.resume()
    assert dut.read("done") == 0 and dut.backtrace()[0].function.startswith("ask+")


def test_two_resets_after_an_end_that_nobody_asked_for(dut: Dut) -> None:
    for _ in range(2):
        dut.write("command", ord("e"))
        with pytest.raises(CommandEnded, match="ended with exit code 1"):
            dut.serial.expect("step")
        assert isinstance(dut.failed(), DeviceFault)
        dut.reset()
        assert dut.exit_code is None and dut.failed() is None
        dut.serial.expect("ready\n")
        assert dut.read("served") == 1 and dut.fault() is None and 0 < dut.stack_peak < 1024


def test_much_output_that_nobody_reads_meanwhile(dut: Dut) -> None:
    ask(dut, "m")
    line = "".join("\n" if i % 50 == 49 else chr(ord("a") + i % 26) for i in range(2000)).encode()
    text = bytes(ord("A") + i % 26 for i in range(5000))
    dut.serial.timeout = 30
    assert dut.serial.read_until(b"end\n") == 50 * line + text + b"end\n"
    dut.serial.timeout = 10


def test_a_return_of_a_function_that_makes_a_request(dut: Dut) -> None:
    dut.write("command", ord("n"))
    calls = []
    for call in islice(dut.at_return("train_step", times=5), 5):
        calls.append(call.result)
        at = dut.read("served")
        time.sleep(0.05)  # the core is halted by the breakpoint: nobody serves it
        assert dut.read("served") == at
    assert np.all(np.diff(calls) == 2) and dut.serial.read(1) == b"s"


def test_a_halt_by_the_test_stays_one(dut: Dut) -> None:
    dut.write("command", ord("n"))
    dut.serial.expect("s")
    dut.halt()
    at = dut.read("served")
    time.sleep(0.1)
    assert dut.read("served") == at and dut.probe.is_halted()
    with pytest.raises(RigError, match="the core is halted by the probe"):
        dut.serial.expect("never", timeout=0.5)
    dut.resume()
    until = time.monotonic() + LONGEST_S
    while dut.read("done") == 0:
        assert time.monotonic() < until
    assert dut.read("served") == 1 + CALLS


def test_a_request_for_input_waits_and_is_no_halt(dut: Dut) -> None:
    dut.write("command", ord("i"))
    time.sleep(0.2)
    assert dut.read("done") == 0 and not dut.probe.is_halted() and dut.fault() is None
    assert dut.backtrace()[0].function.startswith("ask+")
    assert [each.function.partition("+")[0] for each in dut.backtrace()][:2] == ["ask", "main"]


def test_port_and_console_in_one(dut: Dut) -> None:
    ask(dut, "u")
    both = dut.serial.read(len("of the port\r\n" + "of the console\n"))
    assert sorted(both.splitlines()) == [b"of the console", b"of the port"]


def test_a_fault_is_found_as_without_it(dut: Dut) -> None:
    dut.write("command", ord("x"))
    with pytest.raises(DeviceFault, match=r"the processor faulted: .*UNDEFINSTR.* in main\+"):
        dut.serial.expect("never", timeout=2)


def test_a_released_probe_keeps_the_request_waiting(dut: Dut) -> None:
    dut.write("command", ord("n"))
    dut.release()
    time.sleep(0.2)
    dut.serial.timeout = LONGEST_S
    assert dut.read("served") < 1 + CALLS and len(dut.serial.read(CALLS)) == CALLS
    assert dut.fault() is None
    dut.serial.timeout = 10


@pytest.fixture
def attached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A virtual board that stays, as one on a desk does; gives its probe."""
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    monkeypatch.setattr("hil.rig.locks.FOLDER", tmp_path / "locks")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    command = [sys.executable, "-m", "hil.standins.virtual", "--board", NO_LINE, "--leashed"]
    bench = BenchServer(
        command, lambda line: Endpoints(NO_LINE, "virtual", json.loads(line)["probe"]), tmp_path / "bench.log", "bench"
    )
    yield str(bench.endpoints.probe)
    bench.stop()


def test_an_attached_board_without_a_port_has_the_console(attached: str, tmp_path: Path) -> None:
    elf = build(tmp_path, NO_LINE, source=AT_PROBE)
    bench = Bench(board=[BenchBoard(name=NO_LINE, probe=attached)])
    with Rig(bench) as rig, opened(rig, NO_LINE, elf, tmp_path / "log", semihosting=True) as dut:
        assert dut.endpoints.reality == "hardware" and dut.has_port
        dut.flash()
        dut.serial.expect("ready\n")
        dut.write("command", ord("3"))
        assert dut.wait() == 3 and dut.record.baud is None
        other = Rig(bench)
        with other, pytest.raises(Blocked, match="held by"), other.take(dut.board, dut.image, tmp_path / "other.log"):
            pass


def test_errors_are_in_the_log_beside_what_a_stand_in_that_is_kept_prints(tmp_path: Path) -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    elf = build(tmp_path, NO_LINE, source=AT_PROBE)
    (tmp_path / "benches").mkdir()
    with Rig(Bench(), tmp_path / "benches") as rig:
        for name in ("first", "second"):
            with opened(rig, NO_LINE, elf, tmp_path / name, semihosting=True) as dut:
                dut.flash()
                dut.write("command", ord("3"))
                assert dut.wait() == 3
            assert (tmp_path / name / "bench.log").read_bytes().endswith(b"wrong\n")
            assert (tmp_path / name / "bench.log").read_bytes().count(b"wrong") == 1


def test_a_command_and_a_board_without_a_probe_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hil.rig.locks.FOLDER", tmp_path / "locks")
    bench = Bench(
        board=[
            BenchBoard(name=BOARD, serial="/dev/null"),
            BenchBoard(name="host", run=[sys.executable], reality="host"),
        ]
    )
    for board, why in ((BOARD, f"on QEMU or at a debug probe, and {BOARD} has neither here"), ("host", "is a command")):
        with (
            Rig(bench) as rig,
            pytest.raises(RigError, match=why),
            opened(rig, board, None, tmp_path / "log", semihosting=True),
        ):
            pass
