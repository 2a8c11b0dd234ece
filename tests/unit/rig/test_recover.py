"""After a power cycle probe and port are found again by their serial numbers, with a deadline; nothing else is switched."""

from __future__ import annotations

import contextlib
import os
import tty
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import serial.tools.list_ports

from hil import boards
from hil.endpoints import Endpoints, HubPort
from hil.errors import Blocked
from hil.images import image_of
from hil.rig import Rig, power_cycle
from hil.rig.bench_endpoints import endpoints_of
from hil.rig_toml import Bench, BenchBoard, PowerEntry
from hil.targets.probe_process import RoundTrips, TimedOut

BOARD = boards.load("rp2040")
PORT, PROBE = "DF6050A04B323838", "E6616408432D7B2F"


class Switch:
    """Something that feeds a board: what it did, in order."""

    name = "port 2 of the USB hub 1-1.4"

    def __init__(self) -> None:
        self.did: list[str] = []

    def check(self) -> str:
        return "on"

    def switch(self, on: bool) -> None:
        self.did.append("on" if on else "off")


class Process:
    """Looks for a probe that comes back at the n-th look; one look hangs."""

    def __init__(self, after: int) -> None:
        self.after, self.asked = after, 0

    def ask(self, deadline_s: float, request: str, unique_id: str) -> bool:
        assert (request, unique_id) == ("attached", PROBE)
        self.asked += 1
        if self.asked == 1:
            raise TimedOut(RoundTrips())
        return self.asked > self.after


@pytest.fixture
def switch(monkeypatch: pytest.MonkeyPatch) -> Switch:
    one = Switch()
    monkeypatch.setattr(power_cycle, "open_power", lambda power: contextlib.nullcontext(one))
    monkeypatch.setattr("hil.targets.power.time.sleep", lambda seconds: None)
    monkeypatch.setattr(power_cycle, "BACK_WITHIN_S", 1.0)
    monkeypatch.setattr(power_cycle, "POLL_S", 0.0)
    return one


@pytest.fixture
def terminals() -> Iterator[list[str]]:
    """Two ports: where the board's was, and where it is afterwards."""
    pairs = [os.openpty() for _ in range(2)]
    for _, theirs in pairs:
        tty.setraw(theirs)
    yield [os.ttyname(theirs) for _, theirs in pairs]
    for pair in pairs:
        for end in pair:
            os.close(end)


def endpoints(path: str) -> Endpoints:
    return Endpoints(BOARD.name, "hardware", PROBE, path, serial_number=PORT, power=HubPort("1-1.4", 2))


def test_a_port_that_comes_back_elsewhere_is_found_by_its_number(
    switch: Switch, terminals: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[list[str]] = [[], [], [terminals[1]]]  # gone, gone, back under another name

    def comports() -> list[SimpleNamespace]:
        assert switch.did == ["off", "on"]
        here = looks.pop(0) if len(looks) > 1 else looks[0]
        other = SimpleNamespace(device=terminals[0], serial_number="somebody else's")
        return [other, *(SimpleNamespace(device=each, serial_number=PORT) for each in here)]

    monkeypatch.setattr(serial.tools.list_ports, "comports", comports)
    process = Process(after=3)
    assert power_cycle.power_cycle(BOARD, endpoints(terminals[0]), process) == switch.name
    assert process.asked == 4, "a look that hung, two without it, and the one that found it"
    assert looks == [[terminals[1]]]


def test_a_port_that_does_not_come_back(switch: Switch, terminals: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serial.tools.list_ports, "comports", list)
    with pytest.raises(
        Blocked,
        match="did not come back within 1 s after its power was switched: the serial port DF60.* is not attached",
    ):
        power_cycle.power_cycle(BOARD, endpoints(terminals[0]), Process(after=1))


def test_a_probe_that_does_not_come_back(switch: Switch, terminals: list[str]) -> None:
    with pytest.raises(Blocked, match=f"the probe {PROBE} did not come back within 1 s after its power was switched"):
        power_cycle.power_cycle(BOARD, endpoints(terminals[0]), Process(after=1_000_000_000))


def test_what_rig_toml_does_not_name_is_not_switched(switch: Switch, terminals: list[str]) -> None:
    with pytest.raises(Blocked, match="rig.toml names no power switch for rp2040: add `power`"):
        power_cycle.power_cycle(BOARD, replace(endpoints(terminals[0]), power=None), Process(after=0))
    assert switch.did == []


def test_a_board_that_is_gone_is_taken_where_its_power_may_bring_it_back(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(serial.tools.list_ports, "comports", list)
    monkeypatch.setattr("hil.rig.locks.FOLDER", tmp_path)
    named = BenchBoard(name=BOARD.name, serial=PORT)
    with pytest.raises(Blocked, match="is not attached"):
        endpoints_of(named)
    named.power = PowerEntry(uhubctl="1-1.4", port=2)
    with Rig(Bench(board=[named])).take(BOARD, image_of(BOARD.name), tmp_path / "log") as taken:
        assert (taken.endpoints.serial, taken.endpoints.serial_number) == (None, PORT)
        assert taken.endpoints.power == HubPort("1-1.4", 2)
