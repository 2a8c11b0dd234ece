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
    return {entry.name: entry.wanted_place for entry in bench.board}


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
    (tmp_path / "rig.toml").write_text(
        '[[board]]\nboard = "any:mcu"\nname = "rp2040"\n[[board]]\nname = "nrf52840"\nboard = "any:mcu"\n'
    )
    both = read_bench(tmp_path / "rig.toml").board
    assert [(entry.name, entry.tag, entry.wanted_place) for entry in both] == [
        (name, "mcu", "any:mcu") for name in ("rp2040", "nrf52840")
    ]


def test_any_place_with_a_tag_has_the_board_that_the_tag_names(tmp_path: Path) -> None:
    (tmp_path / "rig.toml").write_text('[[board]]\nboard = "any:stm32f746"\n')
    (entry,) = read_bench(tmp_path / "rig.toml").board
    assert (entry.name, entry.tag, entry.wanted_place) == ("stm32f746", "stm32f746", "any:stm32f746")
    assert entry.devices == {}


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            'name = "stm32f746"\nplace = "any:f7"',
            'line 3, key place: a place has a name: write board = "any:f7" for any place with the tag.',
        ),
        (
            'board = "stm32f746"',
            "line 2, key board: 'stm32f746' asks for no tag: write board = \"any:stm32f746\" for any labgrid place with "
            'that tag, or name = "stm32f746" for one board.',
        ),
        ('board = "any:"', "line 2, key board: 'any:' asks for no tag: write board = \"any:TAG\""),
        (
            'board = "any:left bench"',
            "line 2, key board: the tag 'left bench' is no board of the catalogue: "
            'say with name = "..." which board these places have.',
        ),
        (
            'board = "any:f7"\nname = "stm32f747"',
            "line 3, key name: no board 'stm32f747' in the catalogue: did you mean",
        ),
        (
            'board = "any:rp2040"\nplace = "a"',
            "line 3, key place: the key `board` asks for any place with a tag: remove",
        ),
        ("board = 7", "line 2, key board: input should be a valid string"),
        ('place = "a"', "line 1, key name: field required"),
    ],
)
def test_a_table_that_asks_for_places_in_a_wrong_way_is_one_sentence(tmp_path: Path, table: str, said: str) -> None:
    (tmp_path / "rig.toml").write_text(f"[[board]]\n{table}\n")
    with pytest.raises(RigError) as refused:
        read_bench(tmp_path / "rig.toml")
    assert str(refused.value).startswith(f"rig.toml, {said}")


def test_an_address_without_a_port_gets_that_of_labgrid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LG_COORDINATOR", raising=False)
    assert read_bench(tmp_path / "none.toml").labgrid.address == "127.0.0.1:20408"
    monkeypatch.setenv("LG_COORDINATOR", "lab")
    assert read_bench(tmp_path / "none.toml").labgrid.address == "lab:20408"
