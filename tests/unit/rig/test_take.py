"""Taking a board: one that rig.toml names is that board or nothing."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
import serial.tools.list_ports

from hil import boards
from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.images import Image
from hil.rig import Rig, Taken, choose
from hil.rig_toml import Bench, BenchBoard
from tests.device_at import device_at

BOARD = boards.load("stm32h7b3")
IMAGE = Image(Path("no.elf"), "0" * 64)
GONE = "066FFF303435554157121019"


class FakeStandIn:
    """A stand-in that only remembers what was done to it."""

    def __init__(self, reality: str) -> None:
        self.endpoints = Endpoints(BOARD.name, reality, serial="/dev/pts/9")
        self.stopped = False

    def chip_fault(self, image: Image) -> None: ...

    def alive(self) -> None: ...

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture(autouse=True)
def own_locks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("hil.rig.locks.FOLDER", tmp_path / "locks")


@pytest.fixture(autouse=True)
def no_renode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hil.standins.renode.installed", lambda: None)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[FakeStandIn]:
    """The stand-ins that were started; none of them is real."""
    started: list[FakeStandIn] = []

    def start(reality: str) -> FakeStandIn:
        started.append(FakeStandIn(reality))
        return started[-1]

    monkeypatch.setattr("hil.rig.reality.start", lambda reality, *_: start(reality))
    monkeypatch.setattr("hil.rig.rig.start", lambda reality, *_: start(reality))
    return started


def bench(**entry: str) -> Bench:
    return Bench(board=[BenchBoard(name=BOARD.name, **entry)])


def open_port(taken: Taken) -> None:
    with device_at(BOARD, taken.endpoints, image=IMAGE) as dut:
        _ = dut.serial


def attached(monkeypatch: pytest.MonkeyPatch, *devices: str) -> None:
    ports = [SimpleNamespace(device=device, serial_number=GONE) for device in devices]
    ports.append(SimpleNamespace(device="/dev/ttyS0", serial_number=None))
    monkeypatch.setattr(serial.tools.list_ports, "comports", lambda: ports)


@pytest.mark.parametrize("reality", ["auto", "hardware"])
def test_a_named_board_that_is_gone_blocks(
    monkeypatch: pytest.MonkeyPatch, started: list[FakeStandIn], tmp_path: Path, reality: str
) -> None:
    attached(monkeypatch)
    with (
        pytest.raises(Blocked, match=f"{GONE} that rig.toml names for stm32h7b3 is not attached"),
        Rig(bench(serial=GONE), reality=reality).take(BOARD, IMAGE, tmp_path / "log") as taken,
    ):
        open_port(taken)
    assert started == []


def test_a_named_port_that_is_gone_blocks_when_it_is_opened(started: list[FakeStandIn], tmp_path: Path) -> None:
    path = str(tmp_path / "ttyACM0")
    with Rig(bench(serial=path)).take(BOARD, IMAGE, tmp_path / "log") as taken:
        assert (taken.endpoints.reality, taken.endpoints.serial) == ("hardware", path)
        with pytest.raises(Blocked, match="cannot be opened"):
            open_port(taken)
    assert started == []


def test_a_named_board_without_a_port_blocks(started: list[FakeStandIn], tmp_path: Path) -> None:
    with (
        Rig(bench(probe=GONE)).take(BOARD, IMAGE, tmp_path / "log") as taken,
        pytest.raises(Blocked, match=r"no serial port here: name it in rig\.toml"),
    ):
        open_port(taken)
    assert started == []


def test_a_port_is_found_by_its_serial_number(
    monkeypatch: pytest.MonkeyPatch, started: list[FakeStandIn], tmp_path: Path
) -> None:
    attached(monkeypatch, "/dev/ttyACM7")
    with Rig(bench(serial=GONE, probe="P", meter="M")).take(BOARD, IMAGE, tmp_path / "log") as taken:
        assert taken.endpoints == Endpoints(
            BOARD.name, "hardware", probe="P", serial="/dev/ttyACM7", meter="M", serial_number=GONE
        )
        assert taken.chip_fault(IMAGE) is None
        taken.alive()
    assert started == []


def test_two_ports_of_one_serial_number_block(
    monkeypatch: pytest.MonkeyPatch, started: list[FakeStandIn], tmp_path: Path
) -> None:
    attached(monkeypatch, "/dev/ttyACM8", "/dev/ttyACM7")
    with (
        pytest.raises(Blocked, match=r"is found 2 times \(/dev/ttyACM7, /dev/ttyACM8\)"),
        Rig(bench(serial=GONE)).take(BOARD, IMAGE, tmp_path / "log") as taken,
    ):
        open_port(taken)  # nothing is chosen by order
    assert started == []


def test_hardware_without_an_entry_blocks(started: list[FakeStandIn], tmp_path: Path) -> None:
    with (
        pytest.raises(Blocked, match=r"--reality=hardware, but rig\.toml does not name stm32h7b3"),
        Rig(Bench(), reality="hardware").take(BOARD, IMAGE, tmp_path / "log"),
    ):
        pytest.fail("there was nothing to take")
    assert started == []


def test_a_stand_in_for_a_board_that_nobody_claims_to_have(started: list[FakeStandIn], tmp_path: Path) -> None:
    other = Bench(board=[BenchBoard(name="mps2-an500", serial="/dev/ttyACM0")])
    with Rig(other).take(BOARD, IMAGE, tmp_path / "log") as taken:
        assert taken.endpoints.reality == "virtual"
        assert not started[0].stopped
    assert [stand_in.stopped for stand_in in started] == [True]


def test_a_stand_in_is_stopped_when_the_trial_fails(started: list[FakeStandIn], tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Rig(Bench()).take(BOARD, IMAGE, tmp_path / "log"):
        raise ZeroDivisionError
    assert started[0].stopped


def test_a_stand_in_that_the_board_does_not_have_blocks(started: list[FakeStandIn], tmp_path: Path) -> None:
    with (
        pytest.raises(Blocked, match="stm32h7b3 has no qemu stand-in: use --reality=virtual"),
        Rig(Bench(), reality="qemu").take(BOARD, IMAGE, tmp_path / "log"),
    ):
        pytest.fail("there was nothing to take")
    assert started == []


@pytest.fixture
def renode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Renode is installed, and nobody else is here."""
    monkeypatch.setattr("hil.standins.renode.installed", lambda: "1.16.1")
    monkeypatch.setattr("hil.standins.renode.other_users_present", lambda: False)


@pytest.mark.usefixtures("renode")
@pytest.mark.parametrize("asked", ["auto", "renode"])
def test_renode_stands_in_where_it_is_installed(started: list[FakeStandIn], tmp_path: Path, asked: str) -> None:
    with Rig(Bench(), reality=asked).take(BOARD, IMAGE, tmp_path / "log") as taken:
        assert taken.endpoints.reality == "renode"
        assert taken.chip_fault(IMAGE) is None
    assert [stand_in.stopped for stand_in in started] == [True]


@pytest.mark.usefixtures("renode")
@pytest.mark.parametrize(
    ("name", "named", "asked", "reality"),
    [
        ("stm32h7b3", None, "virtual", "virtual"),
        ("stm32h7b3", BenchBoard(name="stm32h7b3"), "auto", "hardware"),
        ("stm32h7b3", BenchBoard(name="stm32h7b3"), "hardware", "hardware"),
        ("stm32h7b3", BenchBoard(name="stm32h7b3"), "renode", "renode"),
        ("rp2040", None, "auto", "renode"),
        ("mps2-an500", None, "auto", "qemu"),
    ],
)
def test_the_choice_beside_renode(name: str, named: BenchBoard | None, asked: str, reality: str) -> None:
    assert choose(boards.load(name), named, asked) == reality


@pytest.mark.usefixtures("renode")
def test_a_board_that_renode_does_not_model_says_so() -> None:
    with pytest.raises(
        Blocked,
        match=r"mps2-an500 has no renode stand-in \(it has no platform file\): use --reality=qemu or --reality=auto",
    ):
        choose(boards.load("mps2-an500"), None, "renode")


@pytest.mark.usefixtures("renode")
def test_hardware_never_takes_renode() -> None:
    with pytest.raises(Blocked, match="rig.toml does not name stm32h7b3"):
        choose(BOARD, None, "hardware")


@pytest.mark.usefixtures("renode")
def test_faults_are_injected_where_they_can_be(started: list[FakeStandIn], tmp_path: Path) -> None:
    with Rig(Bench()).take(BOARD, IMAGE, tmp_path / "log", inject=("freeze:1",)) as taken:
        assert taken.endpoints.reality == "virtual"


@pytest.mark.usefixtures("renode")
def test_among_others_renode_has_to_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hil.standins.renode.other_users_present", lambda: True)
    with pytest.raises(Blocked, match="accept this with --reality=renode, or use --reality=virtual"):
        choose(BOARD, None, "auto")
    assert choose(BOARD, None, "renode") == "renode"
    assert choose(boards.load("mps2-an500"), None, "auto") == "qemu"


def test_a_renode_that_is_asked_for_and_missing() -> None:
    with pytest.raises(
        Blocked, match=r"renode is not installed: unpack the portable archive of Renode 1\.16\.0 or later"
    ):
        choose(BOARD, None, "renode")
