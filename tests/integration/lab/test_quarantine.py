"""Quarantine and `hil lab` at labgrid places, against labgrid's own coordinator and exporter."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

pytest.importorskip("labgrid", reason="labgrid is not installed: pip install 'trainrig[labgrid]'")

from hil.commands.main import main
from hil.errors import Blocked
from hil.history.address import address_of
from hil.history.health import BoardKey
from hil.history.keeper import Keeper
from hil.history.quarantine import put
from hil.history.store import Store
from hil.rig.bench_endpoints import found_in
from hil.rig.held_place import HeldPlace
from hil.rig.holders import seats_of
from hil.rig.places import Places, seats
from hil.rig_toml import Bench, BenchBoard, LabgridEntry

from .processes import Lab

NOW = datetime(2026, 11, 27, 22, tzinfo=timezone.utc)
BOARD, TAG = "rp2040", "pico-q"
ANY = BenchBoard(name=BOARD, board=f"any:{TAG}")


@pytest.fixture(scope="module")
def shelf(lab: Lab) -> Lab:
    """Two places with one tag, and a third whose exporter has nothing for it."""
    ports = {
        group: {"NetworkSerialPort": {"host": "127.0.0.2", "port": 5000 + n, "protocol": "raw", "speed": 115200}}
        for n, group in enumerate(("a", "b"))
    }
    lab.export("shelf", ports)
    for group in ("a", "b"):
        lab.place(f"pico {group}", f"shelf/{group}/*", board=TAG)
    lab.place("pico c", "shelf/gone/*", board="pico-c")
    lab.await_exported("shelf")
    return lab


@pytest.fixture
def keeper(tmp_path: Path) -> Iterator[Keeper]:
    keeper = Keeper(None, tmp_path, "north", 3)
    yield keeper
    keeper.close()


def quarantine(folder: Path, *places: str) -> None:
    with Store(address_of(None, folder)) as store, store.transaction() as writer:
        for place in places:
            put(writer, BoardKey("", BOARD, place), "broken", NOW)


def bench(lab: Lab, *named: BenchBoard) -> Bench:
    return Bench(board=list(named), labgrid=LabgridEntry(coordinator=lab.address))


def hold(places: Places, named: BenchBoard) -> HeldPlace:
    return places.hold(BOARD, named.wanted_place or "", found_in(named))


@pytest.mark.parametrize(("broken", "taken"), [("pico a", "pico b"), ("pico b", "pico a")])
def test_another_place_is_taken_than_one_in_quarantine(
    shelf: Lab, tmp_path: Path, keeper: Keeper, broken: str, taken: str
) -> None:
    quarantine(tmp_path, broken)
    places = Places(shelf.address, kept_off=keeper)
    try:
        assert hold(places, ANY).name == taken
        shelf.await_holder(taken, f".*:trainrig-{os.getpid()}")
        assert shelf.holder(broken) == ""
        assert shelf.admin.wait_for(lambda: not shelf.admin.snapshot.places[broken].reservation, 20.0), "it is free"
        assert seats(bench(shelf, ANY), BOARD, keeper) == 1
        other = Places(shelf.address, kept_off=keeper)
        try:
            with pytest.raises(Blocked, match=f"{broken} is in quarantine") as raised:
                hold(other, ANY)
            assert raised.value.stage == "lock", "the other one is held"
        finally:
            other.release()
        quarantine(tmp_path, taken)
        with pytest.raises(Blocked, match=r"pico a\) is in quarantine.* pico b\) is in quarantine") as raised:
            hold(places, ANY)
        assert raised.value.stage == "quarantine"
        shelf.await_holder(taken, "")
    finally:
        places.release()


def test_a_named_place_in_quarantine_is_not_acquired(shelf: Lab, tmp_path: Path, keeper: Keeper) -> None:
    quarantine(tmp_path, "pico a")
    places = Places(shelf.address, kept_off=keeper)
    try:
        with pytest.raises(Blocked, match='`hil lab release "pico a"`') as raised:
            hold(places, BenchBoard(name=BOARD, place="pico a"))
        assert raised.value.stage == "quarantine" and shelf.holder("pico a") == ""
        with pytest.raises(Blocked, match="has no place 'pico x'") as raised:
            hold(places, BenchBoard(name=BOARD, place="pico x"))
        assert (raised.value.stage, raised.value.place) == ("lab", ""), "a fault of no board"
        with pytest.raises(Blocked, match="lacks") as raised:
            hold(places, BenchBoard(name=BOARD, place="pico c"))
        assert (raised.value.stage, raised.value.place) == ("bench", "pico c"), "it counts for this place"
    finally:
        places.release()


def test_the_holder_and_who_waits_are_those_of_labgrid(
    shelf: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    named = bench(shelf, ANY, BenchBoard(name="stm32h7b3", serial="/dev/none"))
    shelf.admin.acquire("pico a")
    shelf.admin.acquire("pico b")
    token = shelf.admin.reserve({"board": TAG})
    named_one = shelf.admin.reserve({"name": "pico b"})
    try:
        shelf.await_holder("pico b", "desk/admin")
        found, notes = seats_of(named, tmp_path / "locks")
        assert notes == []
        by_place = {seat.place: seat for seat in found}
        assert by_place[""].board == "stm32h7b3" and by_place[""].holder == ""
        assert by_place["pico a"].holder == by_place["pico b"].holder == "desk/admin"
        assert by_place["pico a"].waiting == ("desk/admin",)
        assert by_place["pico b"].waiting == ("desk/admin", "desk/admin"), "one asks for it by its name"
        monkeypatch.chdir(tmp_path)
        Path("rig.toml").write_text(
            f'[[board]]\nname = "{BOARD}"\nboard = "any:{TAG}"\n[labgrid]\ncoordinator = "{shelf.address}"\n'
        )
        assert main(["lab", "quarantine", "pico a", "--why", "its cable"]) == 0
        assert main(["lab"]) == 0
        said = capsys.readouterr().out
        assert "QUARANTINE" in said and said.count("desk/admin") == 5 and "pico b" in said
        assert main(["lab", "release", BOARD]) == 2
        assert "name one of them by its board ID (pico a, pico b)" in capsys.readouterr().err
        assert main(["lab", "release", "pico a"]) == 0
    finally:
        for each in (token, named_one):
            shelf.admin.cancel(each)
        for place in ("pico a", "pico b"):
            shelf.admin.release(place, "desk/admin")


def test_a_coordinator_that_is_away_costs_only_what_it_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hil.rig.holders.ANSWER_S", 0.5)
    away = Bench(
        board=[ANY, BenchBoard(name="stm32h7b3", serial="/dev/none")], labgrid=LabgridEntry(coordinator="127.0.0.1:1")
    )
    found, (note,) = seats_of(away, tmp_path)
    assert [(seat.board, seat.place, seat.holder) for seat in found] == [
        ("stm32h7b3", "", ""), (BOARD, f"any:{TAG}", None),
    ]  # fmt: skip
    assert "the labgrid coordinator at 127.0.0.1:1 cannot be used" in note
