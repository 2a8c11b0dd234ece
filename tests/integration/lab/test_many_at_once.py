"""Forty workers that ask a real coordinator at the same moment for places whose serial ports its exporter must start."""

from __future__ import annotations

import os
import tty
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("labgrid", reason="labgrid is not installed: pip install 'trainrig[labgrid]'")

from hil.errors import Blocked
from hil.lab import Coordinator
from hil.rig.bench_endpoints import found_in
from hil.rig.places import Places
from hil.rig_toml import BenchBoard

from .processes import READY_S, Lab

WORKERS = 40
BOARD = "stm32h7b3"


@pytest.fixture
def ports() -> Iterator[list[str]]:
    ends = [os.openpty() for _ in range(WORKERS)]
    for end in ends:
        tty.setraw(end[1])
    yield [os.ttyname(end[1]) for end in ends]
    for pair in ends:
        for end in pair:
            os.close(end)


@pytest.mark.tier("nightly")
def test_each_gets_its_place_although_the_last_one_waits_for_all_others(lab: Lab, ports: list[str]) -> None:
    """labgrid's exporter waits half a second for each ser2net, and its coordinator serves one call after the other."""
    lab.export("many", {f"group {number}": {"RawSerialPort": {"port": port}} for number, port in enumerate(ports)})
    for number in range(WORKERS):
        lab.place(f"many-{number}", f"many/group {number}/*")
    lab.await_exported("many")
    sessions = [Coordinator(lab.address, f"worker/{number}") for number in range(WORKERS)]
    try:
        for session in sessions:
            assert session.wait_for(lambda session=session: session.connected, READY_S)
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(lambda number: sessions[number].acquire(f"many-{number}"), range(WORKERS)))
        for number in range(WORKERS):
            lab.await_holder(f"many-{number}", f"worker/{number}")
    finally:
        for session in sessions:
            session.close()


@pytest.mark.tier("nightly")
def test_a_place_that_came_too_late_is_given_back(lab: Lab, ports: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """labgrid leaves a place acquired, and tells nobody, if the call that acquires it is given up halfway."""
    monkeypatch.setattr("hil.lab.coordinator.CALL_S", 2.0)
    some = [f"late-{number}" for number in range(12)]
    lab.export(
        "late", {f"group {name}": {"RawSerialPort": {"port": port}} for name, port in zip(some, ports, strict=False)}
    )
    for name in some:
        lab.place(name, f"late/group {name}/*")
    lab.await_exported("late")
    opened = {name: Places(lab.address) for name in some}

    def hold(name: str) -> str:
        try:
            opened[name].hold(BOARD, name, found_in(BenchBoard(name=BOARD, place=name)))
        except Blocked:
            return ""
        return name

    try:
        for places in opened.values():
            places.snapshot()
        with ThreadPoolExecutor(len(some)) as pool:
            held = set(pool.map(hold, some)) - {""}
        assert 0 < len(held) < len(some), "none was late"
        places = lab.admin._ask("GetPlaces", lab.admin._labgrid.messages.GetPlacesRequest()).places
        assert {place.name for place in places if place.acquired and place.name in some} == held
    finally:
        for each in opened.values():
            each.release()
