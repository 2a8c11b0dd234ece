"""Which serial port a USB serial number names, over drawn lists of ports.

Facts of the nRF52840 DK v3: tockloader issue 113 (two ports of one number, VCOM0 is wired), and the names that Linux gives
them in public logs (`usb-SEGGER_J-Link_001050611489-if00` and `-if02`).
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import serial.tools.list_ports
from hypothesis import given
from hypothesis import strategies as st

from hil import boards
from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.rig.bench_endpoints import endpoints_of
from hil.rig_toml import BenchBoard
from hil.targets.serial_port import path_of, port_of

NUMBER, SEGGER, DK = "001050611489", 0x1366, "nrf52840"


@dataclass(frozen=True)
class Port:
    """What pyserial says of a port."""

    device: str
    serial_number: str | None
    vid: int | None = None
    location: str | None = None


VCOM0 = Port("/dev/ttyACM0", NUMBER, SEGGER, "1-2:1.0")
VCOM1 = Port("/dev/ttyACM1", NUMBER, SEGGER, "1-2:1.2")


def attach(patch: pytest.MonkeyPatch, *ports: Port) -> None:
    patch.setattr(serial.tools.list_ports, "comports", lambda: list(ports))


@pytest.mark.parametrize("order", [(VCOM0, VCOM1), (VCOM1, VCOM0)])
def test_the_wired_port_of_the_dk_is_opened_whatever_the_order(
    monkeypatch: pytest.MonkeyPatch, order: tuple[Port, ...]
) -> None:
    attach(monkeypatch, *order)
    assert port_of(NUMBER, DK, DK) == VCOM0.device
    named = BenchBoard(name=DK, probe="1050611489", serial=NUMBER)
    assert endpoints_of(named).serial == VCOM0.device
    assert path_of(Endpoints(DK, "hardware", serial_number=NUMBER)) == VCOM0.device  # as after flashing


def test_another_board_is_not_chosen_for_by_the_dks_wiring(monkeypatch: pytest.MonkeyPatch) -> None:
    attach(monkeypatch, VCOM0, VCOM1)
    for name in ("stm32h7b3", "no-board-of-the-catalogue"):
        with pytest.raises(Blocked, match="is found 2 times"):
            port_of(NUMBER, name, name)


def test_doubt_names_both_ports_and_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    attach(monkeypatch, Port("/dev/cu.b", NUMBER, SEGGER, "20-2"), Port("/dev/cu.a", NUMBER, SEGGER, "20-2"))
    with pytest.raises(Blocked) as seen:  # macOS does not say the interface
        port_of(NUMBER, DK, f"{DK} (board left)")
    assert seen.value.reason == (
        f"the serial port {NUMBER} that rig.toml names for nrf52840 (board left) is found 2 times (/dev/cu.a, "
        '/dev/cu.b): name the port that is wired to the board by its path in rig.toml (serial = "/dev/serial/by-id/...").'
    )


def test_a_path_in_rig_toml_names_one_of_the_two(monkeypatch: pytest.MonkeyPatch) -> None:
    attach(monkeypatch, VCOM0, VCOM1)
    path = "/dev/serial/by-id/usb-SEGGER_J-Link_001050611489-if02"
    assert endpoints_of(BenchBoard(name=DK, serial=path)).serial == path


@st.composite
def port_lists(draw: st.DrawFn) -> list[Port]:
    """Ports of some devices; a location is that of Linux (`1-2:1.0`, or `1-2` of a single port), Windows or macOS."""
    ports = []
    for number in range(draw(st.integers(0, 6))):
        location = draw(
            st.sampled_from(["1-2:1.0", "1-2:1.2", "1-2:x.0", "1-2:x.12", "1-2.4:1.10", "1-2", "20-1.2", None])
        )
        ports.append(
            Port(
                f"/dev/tty{number}",
                draw(st.sampled_from([NUMBER, NUMBER, "066DFF30", None])),
                draw(st.sampled_from([SEGGER, 0x0403, None])),
                location,
            )
        )
    return ports


@given(ports=port_lists(), board=st.sampled_from([DK, "stm32h7b3", "mine"]))
def test_one_port_is_found_or_a_sentence_says_why_not(ports: list[Port], board: str) -> None:
    ours = [port for port in ports if port.serial_number == NUMBER]
    wired = [port for port in ours if port.vid == SEGGER and (port.location or "").split(":")[1:] in (["1.0"], ["x.0"])]
    expected = ours if len(ours) == 1 else wired if board == DK and len(wired) == 1 else []
    with pytest.MonkeyPatch.context() as patch:
        attach(patch, *ports)
        if expected:
            assert port_of(NUMBER, board, board) == expected[0].device
            return
        with pytest.raises(Blocked) as seen:
            port_of(NUMBER, board, board)
    assert all(port.device in seen.value.reason for port in ours)
    assert ("is not attached" in seen.value.reason) == (not ours)
    assert not any(port.device in seen.value.reason for port in ports if port.serial_number != NUMBER)


def test_only_the_dk_has_a_wired_port() -> None:
    wired = {name: boards.load(name).wired_port for name in boards.names() if boards.load(name).wired_port is not None}
    assert {name: (port.vendor, port.interface) for name, port in wired.items()} == {DK: (SEGGER, 0)}
