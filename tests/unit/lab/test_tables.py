"""rig.toml from the places of a lab: what is written can be read, and asks for these places."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.errors import RigError
from hil.lab.state import Place, Resource, Snapshot
from hil.rig.initial_config import write_initial
from hil.rig.labgrid_config import coordinator_table, place_tables
from hil.rig_toml import read_bench

NASTY = 'bench "3"\n[[board]]\\ \x7fé'


def lab(*places: Place) -> Snapshot:
    port = Resource(("exporter", "h7", "NetworkSerialPort", "st-link\n"), {"port": 1}, {})
    return Snapshot({place.name: place for place in places}, (port,))


def place(name: str, board: str = "", alias: str = "") -> Place:
    tags = {"board": board} if board else {}
    return Place(name, frozenset({alias} - {""}), tags, "", "", lambda path: path[3], lambda paths: None)


def written(path: Path, *places: Place) -> dict[str, str | None]:
    write_initial(path, f"{place_tables(lab(*places))}\n{coordinator_table('lab:20408')}")
    bench = read_bench(path)
    assert bench.labgrid.address == "lab:20408"
    return {entry.name: entry.place for entry in bench.board}


def test_a_place_says_its_board_by_tag_or_by_name(tmp_path: Path) -> None:
    given = (
        place(NASTY, "stm32h7b3"),
        place("RP2040 left"),
        place("x", alias="desk-nrf52840"),
        place("other", "esp32"),
    )
    wanted = {"stm32h7b3": NASTY, "rp2040": "RP2040 left", "nrf52840": "x"}
    assert written(tmp_path / "rig.toml", *given) == wanted
    text = (tmp_path / "rig.toml").read_text()
    assert '# place = "other"' in text and '"st-link\\n (NetworkSerialPort)"' in text


def test_several_places_of_a_board_are_any_if_all_have_the_tag(tmp_path: Path) -> None:
    tagged = (place("a", "stm32f746"), place("b", "stm32f746"))
    assert written(tmp_path / "rig.toml", *tagged) == {"stm32f746": "any:stm32f746"}
    untagged = (place("a", "stm32f746"), place("stm32f746-b"))
    assert written(tmp_path / "other.toml", *untagged) == {"stm32f746": "a"}
    assert '# place = "stm32f746-b"' in (tmp_path / "other.toml").read_text()


def test_two_boards_may_not_be_at_one_place_but_at_any(tmp_path: Path) -> None:
    (tmp_path / "rig.toml").write_text(
        '[[board]]\nname = "rp2040"\nplace = "a"\n[[board]]\nname = "nrf52840"\nplace = "a"\n'
    )
    with pytest.raises(RigError, match="line 6, key place: labgrid place a is named for rp2040 already"):
        read_bench(tmp_path / "rig.toml")


def test_an_address_without_a_port_gets_that_of_labgrid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LG_COORDINATOR", raising=False)
    assert read_bench(tmp_path / "none.toml").labgrid.address == "127.0.0.1:20408"
    monkeypatch.setenv("LG_COORDINATOR", "lab")
    assert read_bench(tmp_path / "none.toml").labgrid.address == "lab:20408"
