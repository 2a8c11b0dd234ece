"""A board whose agent makes a port on the chip's own USB: what names it, and how it gets into its boot loader without a button."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import serial
import serial.tools.list_ports
from hypothesis import given
from hypothesis import strategies as st

from hil import boards
from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.images import image_of
from hil.rig import discover
from hil.targets import boot_loader
from hil.targets.boot_loader import ByBootLoader
from hil.targets.flash_route import Flashing, by_boot_loader
from hil.targets.own_usb import ask_for_boot_loader, is_agent, is_own_port, names
from hil.targets.serial_port import port_of

PICO, TEENSY, H7 = boards.load("rp2040"), boards.load("imxrt1062"), boards.load("stm32h7b3")
IMAGE = image_of("rp2040")
NUMBER = "E6614103E7452A2F"


@dataclass(frozen=True)
class Port:
    """What pyserial says of a port."""

    device: str = "/dev/ttyACM0"
    serial_number: str | None = NUMBER
    vid: int | None = 0x2E8A
    pid: int | None = 0x000A
    product: str | None = "trainrig agent"
    location: str | None = "1-2:1.0"
    manufacturer: str | None = "trainrig"
    description: str = "trainrig agent"

    def __lt__(self, other: Port) -> bool:
        return self.device < other.device


PROBE = Port("/dev/ttyACM1", "E6614103E7000000", pid=0x000C, product="Debug Probe (CMSIS-DAP)")
OTHER = Port("/dev/ttyACM2", "E6614103E7999999", product="Pico")
ON_TEENSY = Port("/dev/ttyACM3", "0012AB34", 0x16C0, 0x0483)


def attach(patch: pytest.MonkeyPatch, *ports: Port) -> None:
    patch.setattr(serial.tools.list_ports, "comports", lambda: list(ports))


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFFFF), st.integers(0, 0xFFFF), st.integers(0, 0xFFFF), st.booleans())
def test_usb_ids_name_the_ports_that_have_them(vid: int, pid: int, vendor: int, product: int, capital: bool) -> None:
    wanted = f"{vendor:04X}:{product:04X}" if capital else f"{vendor:04x}:{product:04x}"
    port = Port(vid=vid, pid=pid)
    assert names(wanted, port) == ((vid, pid) == (vendor, product))  # type: ignore[arg-type]
    assert names(f"{vid:04x}:{pid:04x}", port)  # type: ignore[arg-type]
    assert names(f"{vid:04x}:{pid:04x}:{NUMBER}", port)  # type: ignore[arg-type]
    assert not names(f"{vid:04x}:{pid:04x}:{NUMBER[:-1]}", port)  # type: ignore[arg-type]
    assert names(NUMBER, port)  # type: ignore[arg-type]


def test_usb_ids_are_enough_where_there_is_one_port(monkeypatch: pytest.MonkeyPatch) -> None:
    attach(monkeypatch, PROBE, Port())
    assert port_of("2e8a:000a", "rp2040", "rp2040") == port_of(NUMBER, "rp2040", "rp2040") == "/dev/ttyACM0"
    attach(monkeypatch, PROBE, Port(), OTHER)
    with pytest.raises(Blocked, match=r"2e8a:000a .*is found 2 times \(/dev/ttyACM0, /dev/ttyACM2\)"):
        port_of("2e8a:000a", "rp2040", "rp2040")
    assert port_of("2e8a:000a:E6614103E7999999", "rp2040", "rp2040") == "/dev/ttyACM2"
    attach(monkeypatch, PROBE)
    with pytest.raises(Blocked, match="2e8a:000a that rig.toml names for rp2040 is not attached"):
        port_of("2e8a:000a", "rp2040", "rp2040")


def test_the_agent_s_port_is_told_from_that_of_other_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_agent(PICO, Port()) and not is_agent(PICO, OTHER) and not is_agent(PICO, PROBE)  # type: ignore[arg-type]
    assert not is_agent(H7, Port())  # type: ignore[arg-type]
    assert is_agent(TEENSY, ON_TEENSY) and not is_agent(TEENSY, Port()) and not is_agent(PICO, ON_TEENSY)  # type: ignore[arg-type]
    attach(monkeypatch, PROBE, Port(), OTHER, ON_TEENSY)
    assert [(each.identity, each.board) for each in discover.ports()] == [
        (NUMBER, "rp2040"), ("E6614103E7000000", ""), ("E6614103E7999999", ""), ("0012AB34", "imxrt1062"),
    ]  # fmt: skip


class OpenPort:
    """An open port that notes what is set, and may be gone after that."""

    def __init__(self, path: str, goes: bool = True) -> None:
        self.port, self._goes, self._rate, self.gone = path, goes, 921_600, False
        self.set: list[tuple[str, Any]] = []

    def _note(self, what: str, value: Any) -> None:
        if self.gone:
            raise serial.SerialException("device disconnected")
        self.set.append((what, value))

    @property
    def baudrate(self) -> int:
        return self._rate

    @baudrate.setter
    def baudrate(self, rate: int) -> None:
        self._rate = rate
        self._note("rate", rate)

    @property
    def dtr(self) -> bool:
        return True

    @dtr.setter
    def dtr(self, level: bool) -> None:
        self._note("dtr", level)
        self.gone = self._goes


@pytest.mark.parametrize("goes", [True, False])
@pytest.mark.parametrize(("board", "rate"), [(PICO, 1200), (TEENSY, 134)], ids=["rp2040", "imxrt1062"])
def test_the_boot_loader_is_asked_for_at_the_board_s_rate_and_that_of_the_link_is_kept(
    board: boards.Board, rate: int, goes: bool
) -> None:
    port = OpenPort("/dev/ttyACM0", goes)
    ask_for_boot_loader(board, port)  # type: ignore[arg-type]
    assert port.set[:2] == [("rate", rate), ("dtr", False)]
    assert port.baudrate == 921_600, "at which it is opened again"


def test_a_board_without_a_port_of_its_own_is_asked_nothing() -> None:
    port = OpenPort("/dev/ttyACM0")
    ask_for_boot_loader(H7, port)  # type: ignore[arg-type]
    assert not port.set


def test_a_link_to_the_port_is_the_port(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    device, link = tmp_path / "ttyACM0", tmp_path / "by-id"
    device.touch()
    link.symlink_to(device)
    attach(monkeypatch, Port(str(device)))
    assert is_own_port(PICO, OpenPort(str(link))) and not is_own_port(H7, OpenPort(str(link)))  # type: ignore[arg-type]
    assert not is_own_port(PICO, OpenPort("/dev/ttyUSB0")) and not is_own_port(PICO, None)  # type: ignore[arg-type]


@dataclass
class Loader:
    """A boot loader in which the board is once its port is gone."""

    port: OpenPort | None = None
    there: bool = False
    programmed: int = 0
    told: list[str] = field(default_factory=list)
    name: str = "uf2"
    button: str = "press the button"

    def waits(self) -> bool:
        return self.there or (self.port is not None and self.port.gone)

    def program(self, image: object) -> None:
        assert self.waits()
        self.programmed += 1

    def tell(self, sentence: str) -> None:
        self.told.append(sentence)
        self.there = True


@pytest.mark.parametrize(("ports", "goes", "told"), [((OTHER,), True, 0), ((OTHER,), False, 1), ((), True, 1)])
@pytest.mark.parametrize(
    ("board", "ids"), [(PICO, {}), (TEENSY, {"vid": 0x16C0, "pid": 0x0483})], ids=["rp2040", "imxrt1062"]
)
def test_a_silent_program_on_the_chip_s_own_usb_needs_no_button(
    monkeypatch: pytest.MonkeyPatch,
    board: boards.Board,
    ids: dict[str, int],
    ports: tuple[Port, ...],
    goes: bool,
    told: int,
) -> None:
    """Unless it does not know the rate, or the port is an adapter's."""
    monkeypatch.setattr(boot_loader, "ask_agent", lambda port: None)
    monkeypatch.setattr(boot_loader, "APPEAR_S", 0.05)
    monkeypatch.setattr(boot_loader, "POLL_S", 0.0)
    attach(monkeypatch, *(replace(one, **ids) for one in ports))
    port = OpenPort("/dev/ttyACM2", goes)
    loader = Loader(port)
    assert ByBootLoader(board, port, loader, loader.tell).program(IMAGE)  # type: ignore[arg-type]
    assert (loader.programmed, len(loader.told), bool(port.set)) == (1, told, bool(ports))


def no_port() -> serial.Serial:
    raise Blocked("bench", "the serial port is not attached")


def test_a_board_that_waits_is_programmed_though_its_port_is_not_there_yet() -> None:
    flashing = Flashing(PICO, Endpoints("rp2040", "hardware", serial_number="2e8a:000a"), no_port, None, print)
    loader = Loader(there=True)
    route = by_boot_loader(lambda board, number: loader, flashing)
    assert route is not None and route.program(IMAGE)
    assert (route.name, route.verified, loader.programmed) == ("uf2", "none", 1)
    with pytest.raises(Blocked, match="is not attached"):
        by_boot_loader(lambda board, number: Loader(), flashing)
    ends = Endpoints("stm32h7b3", "hardware", serial_number=NUMBER)
    with pytest.raises(Blocked, match="is not attached"):
        by_boot_loader(lambda board, number: loader, Flashing(H7, ends, no_port, None, print))
