"""A command as a board: what it prints, how it ends, what it leaves, and that nothing of it stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
import pexpect
import pytest

from hil import boards
from hil.dut import CommandEnded, Dut, Incomplete, Unexpected, opened
from hil.errors import Blocked, DeviceFault, RigError
from hil.images import image_of
from hil.rig import Rig, read_bench

TRAIN = """
import os, sys
print("ready 12 parameters", flush=True)
print("a note", file=sys.stderr, flush=True)
with open("weights.txt", "w") as file:
    file.write(os.environ.get("RATE", ""))
for number, line in enumerate(sys.stdin, 1):
    if line == "crash\\n":
        os.kill(os.getpid(), 11)
    if line == "bad\\n":
        sys.stdout.write("half a li")
        sys.exit("Assertion failed")
    if line == "end\\n":
        break
    print(f"step {number} loss {number / 2!r}", flush=True)
print("bye")
"""
Open = Callable[..., AbstractContextManager[Dut]]


@pytest.fixture
def opens(tmp_path: Path) -> Open:
    """Give a board that is a Python program."""

    @contextmanager
    def give(program: str = TRAIN, more: str = "", run: str = '"{elf}"', folder: str = "log") -> Iterator[Dut]:
        (tmp_path / "train.py").write_text(textwrap.dedent(program))
        (tmp_path / "rig.toml").write_text(
            f'[[board]]\nname = "host"\nreality = "host"\nelf = "train.py"\nrun = ["{sys.executable}", "-u", {run}]\n{more}'
        )
        with (
            Rig(read_bench(tmp_path / "rig.toml")) as rig,
            opened(rig, "host", tmp_path / "train.py", tmp_path / folder) as dut,
        ):
            dut.flash()
            yield dut

    return give


def test_it_prints_and_reads_and_ends_and_leaves_files(opens: Open, tmp_path: Path) -> None:
    with opens(more='env = { RATE = "0.5 {folder}" }\nclock_hz = 100\ncore = "x86-64"\n') as dut:
        assert (dut.reality, dut.clock, dut.board.core, dut.exit_code) == ("host", 100, "x86-64", None)
        dut.serial.expect(r"ready (\d+) parameters")
        assert int(dut.serial.match[1]) == 12
        dut.serial.write(b"t\nt\nend\n")
        lines = list(dut.lines(r"step (?P<step>\d+) loss (?P<loss>\S+)", dtypes={"loss": np.float32}))
        assert lines == [{"step": 1, "loss": 0.5}, {"step": 2, "loss": 1.0}]  # it ends when the command ends well
        assert dut.wait() == 0 and dut.failed() is None
        assert (dut.folder / "weights.txt").read_text() == f"0.5 {dut.folder}"
        assert dut.folder == tmp_path / "log/files"
        record = dut.record
    assert record.command == [sys.executable, "-u", "{elf}"] and record.exit_code == 0
    assert (record.image, record.own, record.flash, record.verified) == ("train.py", True, "loaded", None)
    assert record.bench_log is not None and record.bench_log.read_text() == "a note\n"
    assert record.baud is None and record.clock_hz == 100


def test_a_reset_starts_it_again(opens: Open) -> None:
    with opens() as dut:
        dut.serial.expect("ready")
        dut.serial.write(b"t\n")
        dut.reset()
        dut.serial.write(b"end\n")
        assert dut.serial.read(100) == b"ready 12 parameters\nbye\n"  # nothing of the former start
        with pytest.raises(CommandEnded):
            dut.serial.read(1)


@pytest.mark.parametrize(
    ("word", "how"), [(b"crash\n", r"signal 11 \(SIGSEGV\)"), (b"bad\n", "exit code 1"), (b"end\n", "exit code 0")]
)
def test_an_end_before_what_is_expected_fails_at_once(opens: Open, word: bytes, how: str) -> None:
    with opens() as dut:
        dut.serial.write(b"t\n" + word)
        with pytest.raises(CommandEnded, match=f"ended with {how} and did not print 'step 2'.*'a note'") as ended:
            dut.serial.expect("step 2", timeout=None)
        assert isinstance(ended.value, DeviceFault) and "'step 1 loss 0.5'" in str(ended.value)
        failed = dut.failed()
        assert (failed is None) == (word == b"end\n")
        dut.reset()
        dut.serial.write(word)
        assert dut.serial.expect(["step 2", pexpect.EOF], timeout=None) == 1
        assert dut.wait() == {b"crash\n": -11, b"bad\n": 1, b"end\n": 0}[word]
        assert dut.failed() is None  # the test has read the code, and judges it


def test_too_few_lines_and_half_a_line_are_incomplete(opens: Open) -> None:
    with opens() as dut:
        dut.serial.write(b"t\nend\n")
        with pytest.raises(Incomplete, match="printed 1 of 3 lines with 'step': the command ended with exit code 0"):
            list(dut.lines("step", count=3))
        dut.reset()
        dut.serial.write(b"t\nbad\n")
        with pytest.raises(Incomplete, match="printed 1 lines.*the last line is cut off: 'half a li'"):
            list(dut.lines("step"))


def test_silence_is_a_failure_of_the_command(opens: Open) -> None:
    with opens() as dut:
        dut.serial.expect("ready.*\n")
        with pytest.raises(Unexpected, match="printed nothing within 0.2 s"):
            dut.serial.expect("step", timeout=0.2)
        with pytest.raises(DeviceFault, match="did not end within 0.1 s"):
            dut.wait(timeout=0.1)


def test_it_may_not_run_longer_than_it_may(opens: Open) -> None:
    with opens(more="run_timeout = 0.5\n") as dut:
        dut.serial.expect("ready.*\n")
        with pytest.raises(CommandEnded, match="ran longer than 0.5 s and was killed and did not print 'step'"):
            dut.serial.expect("step", timeout=None)
        assert "ran longer than 0.5 s" in str(dut.failed())


def test_every_byte_passes_and_much_output_waits(opens: Open) -> None:
    program = """
        import os, sys
        os.write(1, bytes(range(256)) * 8000)
        came = b""
        while len(came) < 512_000:
            came += os.read(0, 1 << 16)
        os.write(1, came)
    """
    with opens(program) as dut:
        dut.serial.timeout = None
        assert dut.serial.read(256 * 8000) == bytes(range(256)) * 8000
        dut.serial.write(bytes(range(255, -1, -1)) * 2000)
        assert dut.serial.read(512_000) == bytes(range(255, -1, -1)) * 2000


def test_what_is_no_text_is_no_wrong_rate(opens: Open) -> None:
    with (
        opens("import os, time; os.write(1, bytes(range(128, 228))); time.sleep(60)") as dut,
        pytest.raises(Unexpected, match="its output is no text, it ends with the bytes"),
    ):
        dut.serial.expect("ready", timeout=0.5)


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


CHILD = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("child", child.pid, flush=True)
if sys.stdin.readline() != "leave it\\n":
    time.sleep(600)
"""


@pytest.mark.parametrize("word", [b"leave it\n", b"stay\n"])
def test_no_process_of_its_group_stays(opens: Open, word: bytes) -> None:
    with opens(CHILD) as dut:
        dut.serial.expect(r"child (\d+)\n")
        child = int(dut.serial.match[1])
        dut.serial.write(word)
        if word == b"leave it\n":
            assert dut.wait() == 0
    until = time.monotonic() + 30
    while not gone(child) and time.monotonic() < until:
        time.sleep(0.02)
    assert gone(child)


def test_no_process_stays_if_the_rig_is_killed(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CHILD)
    (tmp_path / "rig.toml").write_text(
        f'[[board]]\nname = "host"\nreality = "host"\nrun = ["{sys.executable}", "-u", "{{here}}/train.py"]\n'
    )
    session = f"""
from pathlib import Path
from hil.dut import opened
from hil.rig import Rig, read_bench
folder = Path({str(tmp_path)!r})
with Rig(read_bench(folder / "rig.toml")) as rig, opened(rig, "host", None, folder / "log") as dut:
    dut.flash()
    dut.serial.expect(r"child (\\d+)\\n")
    print(int(dut.serial.match[1]), flush=True)
    dut.wait(600)
"""
    with subprocess.Popen([sys.executable, "-c", session], stdout=subprocess.PIPE, text=True) as rig:
        assert rig.stdout is not None
        child = int(rig.stdout.readline())
        rig.send_signal(signal.SIGKILL)
    until = time.monotonic() + 30
    while not gone(child) and time.monotonic() < until:
        time.sleep(0.02)
    assert gone(child)


def test_what_a_command_lacks_is_said(opens: Open, tmp_path: Path) -> None:
    with opens() as dut:
        for request in (lambda: dut.read("weights"), dut.registers, lambda: dut.cycles, dut.halt):
            with pytest.raises(Blocked, match="host has no debug probe here: a command has none: print.*dut.folder"):
                request()
        with pytest.raises(RigError, match="nothing says which clock host has: add `clock_hz`"):
            _ = dut.clock
        with pytest.raises(Blocked, match="power"):
            dut.power.cycle()
        with pytest.raises(Blocked, match="meter"), dut.energy():
            pass
        with pytest.raises(RigError, match="no symbol table"):
            _ = dut.symbols
        (tmp_path / "other.py").write_text("")
        with pytest.raises(RigError, match="loads an image when it starts, and has train.py"):
            dut.flash(tmp_path / "other.py")


def test_nothing_runs_before_it_is_flashed_or_reset(opens: Open, tmp_path: Path) -> None:
    with opens():
        pass
    with (
        Rig(read_bench(tmp_path / "rig.toml")) as rig,
        opened(rig, "host", tmp_path / "train.py", tmp_path / "late") as dut,
    ):
        with pytest.raises(RigError, match="was not started yet: call dut.flash"):
            dut.serial.expect("ready")
        with pytest.raises(RigError, match="was not started yet"):
            _ = dut.exit_code
        dut.reset()
        dut.serial.expect("ready")


def test_programs_and_files_that_are_not_there(tmp_path: Path) -> None:
    def said(text: str, elf: Path | None = None) -> RigError:
        (tmp_path / "rig.toml").write_text(f'[[board]]\nname = "sim"\nreality = "simulator"\n{text}\n')
        with (
            Rig(read_bench(tmp_path / "rig.toml")) as rig,
            pytest.raises(RigError) as raised,
            opened(rig, "sim", elf, tmp_path / "log") as dut,
        ):
            dut.flash()
        return raised.value

    missing = said('run = ["./train_host"]')
    assert isinstance(missing, Blocked) and "'./train_host' of `run` in rig.toml is not in" in str(missing)
    assert "is not on the PATH" in str(said('run = ["no-such-program"]'))
    assert "asks for {elf}, and none is named" in str(said('run = ["true", "{elf}"]'))
    assert "no.elf" in str(said('run = ["true", "{elf}"]', tmp_path / "no.elf"))
    (tmp_path / "text").write_text("no program")
    (tmp_path / "text").chmod(0o755)
    cannot = said('run = ["./text"]')
    assert isinstance(cannot, Blocked) and "cannot be started (Exec format error)" in str(cannot)
    plain = said('run = ["true", "{elf}"]\ncore = "cortex-m4"', tmp_path / "text")
    assert "is not an ELF file" in str(plain) and not isinstance(plain, Blocked)
    wrong = said('run = ["true", "{elf}"]\ncore = "cortex-m4"', Path(os.path.realpath(sys.executable)))
    assert "is for another processor" in str(wrong) and not isinstance(wrong, Blocked)
    newer = said('run = ["true", "{elf}"]\ncore = "cortex-m0"', image_of("mps2-an386").path)
    assert "is compiled for Armv7E-M, which the cortex-m0 of sim cannot execute" in str(newer)
    assert "is no ELF file" in str(said('run = ["true", "{hex}"]', tmp_path / "text"))


def test_a_board_of_the_catalogue_may_be_a_command(tmp_path: Path) -> None:
    (tmp_path / "rig.toml").write_text(
        '[[board]]\nname = "mps2-an386"\nreality = "simulator"\nrun = ["cat", "{bin}", "{elf}"]\n'
    )
    known = boards.load("mps2-an386")
    with Rig(read_bench(tmp_path / "rig.toml")) as rig, opened(rig, "mps2-an386", None, tmp_path / "log") as dut:
        assert (dut.board.core, dut.clock, dut.image) == (known.core, known.clock_hz, image_of("mps2-an386"))
        dut.flash()
        assert dut.serial.read(4) == dut.image.segments[0][1][:4]
        dut.serial.expect(re_bytes := b"\x7fELF")
        assert dut.serial.after == re_bytes and dut.wait() == 0
    for reality in ("hardware", "qemu"):
        with (
            Rig(read_bench(tmp_path / "rig.toml"), reality=reality) as rig,
            pytest.raises(Blocked, match=rf"--reality={reality}, but rig.toml says that mps2-an386 is a command"),
            opened(rig, "mps2-an386", None, tmp_path / "log"),
        ):
            pass
