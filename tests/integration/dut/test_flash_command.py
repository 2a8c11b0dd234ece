"""A flash command of rig.toml: what it gets, how the board is checked after it, and ports that come back."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from intelhex import IntelHex

from hil.dut import Dut, PortGone, opened
from hil.endpoints import Endpoints
from hil.errors import Blocked, RigError
from hil.images import image_of
from hil.rig import Rig, read_bench
from hil.standins import StandIn, start_qemu
from tests.bench_server import BenchServer
from tests.foreign import build

BOARD = "mps2-an386"
PROGRAMMER = """#!{python}
# Stands for a programmer and a board: what it flashes is the file `board`, from address 0 on.
import pathlib, sys
word, *files = sys.argv[1:]
board = pathlib.Path("board")
if word == "flash":
    board.write_bytes(pathlib.Path(files[0]).read_bytes())
elif word == "lie":
    board.write_bytes(b"\\xff" * 1000000)
elif word == "cut":
    board.write_bytes(pathlib.Path(files[0]).read_bytes()[:100])
elif word == "read":
    pathlib.Path(files[0]).write_bytes(board.read_bytes())
print(*sys.argv[1:])
"""
Opens = Callable[..., contextlib.AbstractContextManager[Dut]]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hil.rig.locks.FOLDER", tmp_path / "locks")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))


@pytest.fixture
def opens(tmp_path: Path) -> Opens:
    """Give an attached board whose table has some lines."""
    tool = tmp_path / "tool"
    tool.write_text(PROGRAMMER.format(python=sys.executable))
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)

    @contextlib.contextmanager
    def give(table: str, elf: Path | None = None, board: str = BOARD) -> Iterator[Dut]:
        (tmp_path / "rig.toml").write_text(f'[[board]]\nname = "{board}"\n{table}\n')
        with (
            Rig(read_bench(tmp_path / "rig.toml")) as rig,
            opened(rig, board, elf or image_of(board).path, tmp_path / "log") as dut,
        ):
            yield dut

    return give


READS = 'read_back = ["./tool", "read", "{out}"]'


def test_it_flashes_and_is_read_back(opens: Opens, tmp_path: Path) -> None:
    with opens(
        f'flash = ["./tool", "flash", "{{bin}}", "{{hex}}", "{{elf}}", "{{start}}", "{{size}}"]\n{READS}'
    ) as dut:
        assert dut.flash() is True
        image, record = dut.image, dut.record
    assert (record.flash, record.verified, record.flash_cycles, record.warnings) == ("programmed", "read_back", 1, [])
    (start, data), board = image.segments[0], (tmp_path / "board").read_bytes()
    assert board[: len(data)] == data
    words = (tmp_path / "log/flash.log").read_text().splitlines()[0].split()
    assert words[-3:] == [str(image.path), f"0x{start:08X}", str(len(board))]
    assert "tool read" in (tmp_path / "log/flash.log").read_text()


def test_hex_and_binary_have_what_the_elf_has(opens: Opens, tmp_path: Path) -> None:
    with opens('flash = ["cp", "{hex}", "{bin}", "."]\nverify = "none"') as dut:
        dut.flash()
        image = dut.image
    name = image.path.stem
    records, flat = IntelHex(str(tmp_path / f"{name}.hex")), (tmp_path / f"{name}.bin").read_bytes()
    for address, data in image.segments:
        assert bytes(records.tobinarray(start=address, size=len(data))) == data
        assert flat[address - image.segments[0][0] :][: len(data)] == data


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("lie", r"ended with exit code 0, but `read_back` finds that 0xFF is at 0x0000\w+, where .*.elf has 0x\w+"),
        ("cut", "ended with exit code 0, but `read_back` finds that 100 bytes were read, which do not reach 0x"),
    ],
)
def test_one_that_lies_blocks(opens: Opens, word: str, said: str) -> None:
    with opens(f'flash = ["./tool", "{word}", "{{bin}}"]\n{READS}') as dut:
        with pytest.raises(Blocked, match=f"{said}.*the image is not on the board") as raised:
            dut.flash()
        assert raised.value.stage == "flash" and dut.record.flash == "none"


def test_a_read_back_that_writes_nothing(opens: Opens) -> None:
    table = 'flash = ["./tool", "flash", "{bin}"]\nread_back = ["./tool", "forget", "{out}"]'
    with opens(table) as dut, pytest.raises(Blocked, match="`read_back` of mps2-an386 .* wrote no file {out}"):
        dut.flash()


def test_without_a_check_it_is_said(opens: Opens) -> None:
    with opens('flash = ["./tool", "flash", "{bin}"]\nverify = "none"') as dut:
        assert dut.flash() is True and dut.flash() is True  # nothing says that the board has it
        assert dut.record.verified == "none"
        assert dut.record.warnings == [f"nothing has verified that {dut.image.path.name} is on the board."]
        with pytest.raises(Blocked, match=r"reset: nothing can reset mps2-an386 here: .*reset = \[...\]"):
            dut.reset()


def test_what_a_command_asks_for_and_rig_toml_has_not(opens: Opens, tmp_path: Path) -> None:
    for asked, said in (("port", "mps2-an386 has no serial port here"), ("serial", "asks for {serial}, and its table")):
        with opens(f'flash = ["true", "{{{asked}}}"]\nverify = "none"') as dut, pytest.raises(Blocked, match=said):
            dut.flash()
    stranger = build(tmp_path, BOARD)
    with opens('flash = ["true"]\nverify = "agent"', stranger) as dut, pytest.raises(RigError, match="no agent in it"):
        dut.flash()
    with opens('flash = ["true"]', stranger) as dut:
        dut.flash()
        assert dut.record.verified == "none"  # no probe, no agent
    cargo = image_of(BOARD).carrying(0x3000, b"network")
    with opens('flash = ["true", "{elf}"]\nverify = "none"') as dut:
        dut.image = cargo
        with pytest.raises(RigError, match="which {elf} does not have: write {hex} or {bin}"):
            dut.flash()


@pytest.fixture
def qemu(tmp_path: Path) -> Iterator[Callable[[Path], str]]:
    """Start QEMU with a firmware and return the path of its port: a board behind a wire."""
    if shutil.which("qemu-system-arm") is None:
        pytest.skip("qemu-system-arm is not installed")
    machines: list[StandIn] = []

    def start(elf: Path) -> str:
        from hil import boards
        from hil.images import firmware_of

        machines.append(start_qemu(boards.load(BOARD), firmware_of(BOARD, elf), tmp_path / "qemu.log"))
        return str(machines[-1].endpoints.serial)

    yield start
    for machine in machines:
        machine.stop()


def test_the_agent_knows_what_is_there(opens: Opens, qemu: Callable[[Path], str], tmp_path: Path) -> None:
    """The agent's digest decides before and after the command. Only the flash of a stand-in cannot be written here."""
    there = image_of(BOARD)
    other = tmp_path / "other.elf"
    data = there.path.read_bytes()
    text = there.segments[0][1]
    at = data.index(text) + text.index(b"\0\0\0\0\0\0\0\0") + 3
    other.write_bytes(data[:at] + b"\x01" + data[at + 1 :])
    with opens(f'serial = "{qemu(there.path)}"\nflash = ["./tool", "note"]') as dut:
        assert dut.flash() is False  # its digest is that of the image
        assert (dut.record.flash, dut.record.verified) == ("held", "agent")
        assert not (tmp_path / "log/flash.log").exists()
        assert dut.flash(always=True) is True
        assert (dut.record.flash, dut.record.verified) == ("programmed", "agent")
        assert dut.agent.hello()["image_digest"] == there.digest
        with pytest.raises(
            Blocked, match="exit code 0, but its agent reports the digest .*the image is not on the board"
        ):
            dut.flash(other)


def test_a_reset_command_starts_the_program(opens: Opens, qemu: Callable[[Path], str], tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    port = qemu(build(tmp_path, BOARD))
    with opens(
        f'serial = "{port}"\nflash = ["true"]\nreset = ["sh", "-c", "echo $0", "{{port}}"]', tmp_path / "foreign.elf"
    ) as dut:
        dut.flash()
        assert dut.record.resets == 1 and dut.record.verified == "none"
        assert port in (tmp_path / "log/flash.log").read_text()
        dut.serial.write(b"t")
        dut.serial.expect("step 1 ")
    with (
        opens(f'serial = "{port}"\nreset = ["false"]', tmp_path / "foreign.elf") as dut,
        pytest.raises(Blocked, match="reset: `reset` of mps2-an386 .*exit code 1"),
    ):
        dut.reset()


USB = """#!{python}
# Stands for firmware with a USB port: it goes away, and comes back under the same name as another device.
import os, pathlib, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", '''
import os, time, tty
here, old = {here!r}, {old!r}
time.sleep(0.3)
if old:
    os.kill(int(open(old).read()), 9)
    os.remove(here)
time.sleep(0.7)
master, slave = os.openpty()
tty.setraw(slave)
open(here + ".pid", "w").write(str(os.getpid()))
os.symlink(os.ttyname(slave), here)
for _ in range(600):  # what is sent before anybody has opened a USB port is lost
    os.write(master, b"ready %d!" % os.getpid())
    time.sleep(0.2)
'''], start_new_session=True)
"""


def test_a_port_that_goes_and_comes_back_is_found(opens: Opens, tmp_path: Path) -> None:
    link = tmp_path / "ttyUSB"

    def again(old: str) -> None:
        (tmp_path / "again").write_text(USB.format(python=sys.executable, here=str(link), old=old))
        (tmp_path / "again").chmod(0o755)

    again("")
    pids = []
    try:
        with opens(f'serial = "{link}"\nflash = ["true"]\nverify = "none"\nreset = ["./again"]') as dut:
            dut.flash()  # before it there is no port
            dut.serial.expect(r"ready (\d+)!")
            pids.append(int(dut.serial.match[1]))
            again(f"{link}.pid")
            dut.reset()
            dut.serial.expect(rf"ready (?!{pids[0]})(\d+)!")  # the device goes while it is waited for
            pids.append(int(dut.serial.match[1]))
            dut._started_at -= 60
            os.kill(pids[1], 9)
            with pytest.raises(PortGone):  # long after the reset it must not go
                dut.serial.expect("ready")
    finally:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)


def test_a_port_with_a_number_may_be_away_before_the_board_is_flashed(opens: Opens) -> None:
    with opens('serial = "066DFF"\nflash = ["true"]\nverify = "none"') as dut:
        assert dut.has_port
        with pytest.raises(Blocked, match="066DFF that rig.toml names for mps2-an386 is not attached"):
            _ = dut.serial


def test_the_probe_checks_what_pyocds_own_command_flashes(opens: Opens, tmp_path: Path) -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    found: dict[str, str] = {}

    def announced(line: str) -> Endpoints:
        found.update(json.loads(line))
        return Endpoints("stm32f746", "virtual", found["probe"], found["serial"])

    command = [sys.executable, "-m", "hil.standins.virtual", "--board", "stm32f746", "--leashed"]
    bench = BenchServer(command, announced, tmp_path / "bench.log", "bench")
    pyocd = (
        f'"{sys.executable}", "-m", "pyocd", "flash", "-u", "{found["probe"]}", "-t", "{found["target"]}", "{{elf}}"'
    )
    try:
        elf, ends = build(tmp_path, "stm32f746"), f'probe = "{found["probe"]}"\nserial = "{found["serial"]}"'
        with opens(f"{ends}\nflash = [{pyocd}]", elf, "stm32f746") as dut:
            assert dut.flash() is True and dut.record.verified == "probe"
            dut.serial.expect("ready")
            assert dut.read("steps") == 0
            assert dut.flash() is False and dut.record.flash == "held"
            dut.serial.expect("ready")  # and it was reset
        with (
            opens(f'{ends}\nflash = ["true"]', None, "stm32f746") as dut,
            pytest.raises(Blocked, match="exit code 0, but the probe finds that 0x.. is at 0x08.*is not on the board"),
        ):
            dut.flash()
    finally:
        bench.stop()
    assert dut.record.flash == "none"
