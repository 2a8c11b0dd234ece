"""rig.toml: every mistake is named with file, line and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.errors import RigError
from hil.rig import read_bench

GOOD = """\
# the bench in room 12
[[board]]
name = "stm32h7b3"
probe = "066FFF"
serial = "066FFF"

[[board]]
name = "mps2-an500"
serial = "/dev/ttyACM3"
"""


@pytest.fixture
def rig(tmp_path: Path) -> Path:
    return tmp_path / "rig.toml"


def complaint(rig: Path, text: str) -> str:
    rig.write_text(text, encoding="utf-8")
    with pytest.raises(RigError) as refused:
        read_bench(rig)
    return str(refused.value)


def test_a_good_file(rig: Path) -> None:
    rig.write_text(GOOD, encoding="utf-8")
    bench = read_bench(rig)
    entry = bench.find("stm32h7b3")
    assert (entry.probe, entry.serial, entry.meter) == ("066FFF", "066FFF", None)
    assert bench.find("mps2-an500").serial == "/dev/ttyACM3"
    assert bench.find("stm32h7b") is None


def test_no_file_is_the_empty_bench(rig: Path) -> None:
    assert read_bench(rig).board == []


def test_an_empty_file_is_the_empty_bench(rig: Path) -> None:
    rig.write_text("", encoding="utf-8")
    assert read_bench(rig).board == []


def test_wrong_type(rig: Path) -> None:
    said = complaint(rig, GOOD.replace('serial = "/dev/ttyACM3"', "serial = 3"))
    assert said.startswith("rig.toml, line 9, key serial: ")
    assert "string" in said
    assert "3 was found" in said


def test_wrong_type_in_the_first_table(rig: Path) -> None:
    assert complaint(rig, GOOD.replace('probe = "066FFF"', "probe = true")).startswith("rig.toml, line 4, key probe: ")


def test_unknown_key_of_a_board(rig: Path) -> None:
    said = complaint(rig, GOOD.replace('serial = "/dev', 'serail = "/dev'))
    assert said.startswith("rig.toml, line 9, key serail: unknown key: did you mean serial")


def test_unknown_table(rig: Path) -> None:
    said = complaint(rig, GOOD + "\n[[bord]]\nname = 'stm32h7b3'\n")
    assert said.startswith("rig.toml, line 11, key bord: unknown key: did you mean board")


def test_single_brackets(rig: Path) -> None:
    assert complaint(rig, "[board]\nname = 'stm32h7b3'\n").startswith("rig.toml, line 1, key board: ")


def test_unknown_board(rig: Path) -> None:
    said = complaint(rig, GOOD.replace("mps2-an500", "stm32h7b4"))
    assert said.startswith("rig.toml, line 8, key name: no board 'stm32h7b4'")
    assert "did you mean stm32h7b3" in said


def test_unknown_board_whose_name_begins_another(rig: Path) -> None:
    assert complaint(rig, GOOD.replace("mps2-an500", "stm32h7b")).startswith("rig.toml, line 8, key name: ")


def test_the_same_board_twice(rig: Path) -> None:
    said = complaint(rig, GOOD.replace("mps2-an500", "stm32h7b3"))
    assert said.startswith("rig.toml, line 8, key name: ")
    assert "'stm32h7b3' is named twice" in said


def test_a_missing_name_is_looked_for_in_its_own_table(rig: Path) -> None:
    said = complaint(rig, GOOD.replace('name = "stm32h7b3"\n', ""))
    assert "key name: " in said
    assert "line 2," in said  # where the table begins


def test_broken_syntax(rig: Path) -> None:
    said = complaint(rig, GOOD.replace('name = "mps2-an500"', 'name = "mps2-an500'))
    assert said.startswith("rig.toml")
    assert "line 8" in said


def test_bytes_that_are_no_text(rig: Path) -> None:
    rig.write_bytes(b'[[board]]\nname = "\xff\xfe"\n')
    with pytest.raises(RigError, match=r"rig\.toml"):
        read_bench(rig)


@pytest.mark.parametrize("text", ["board = 3\n", "\x00", "[[board]]\nname = 4\n", "[[board]]\n", "a = 1\n"])
def test_a_complaint_is_one_line(rig: Path, text: str) -> None:
    said = complaint(rig, text)
    assert said.startswith("rig.toml")
    assert "\n" not in said


def test_a_device_serves_one_board(rig: Path) -> None:
    twice = GOOD.replace('serial = "/dev/ttyACM3"', 'serial = "/dev/ttyACM3"\nmeter = "M"').replace(
        'probe = "066FFF"', 'probe = "066FFF"\nmeter = "M"'
    )
    said = complaint(rig, twice)
    assert said == "rig.toml, line 11, key meter: M is named for stm32h7b3 already: a device serves one board."
