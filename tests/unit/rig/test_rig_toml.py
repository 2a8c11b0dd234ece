"""rig.toml: every mistake is named with file, line and key."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hil.bounded_read import read_file
from hil.endpoints import HubPort, SupplyOutput
from hil.errors import RigError
from hil.rig_toml import read_bench

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


@pytest.mark.parametrize(
    ("model", "found"), [("keysight-34465a", "keysight-34465a"), ("my-meter.toml", "{folder}/my-meter.toml")]
)
def test_a_data_sheet_of_ones_own_lies_beside_the_file(rig: Path, model: str, found: str) -> None:
    rig.write_text(
        f'[[board]]\nname = "stm32h7b3"\nmeter = "TCPIP0::192.168.1.7::5025::SOCKET"\nmeter_model = "{model}"\n'
    )
    entry = read_bench(rig).find("stm32h7b3")
    assert entry is not None and entry.meter_model == found.format(folder=rig.parent)


def test_no_file_is_the_empty_bench(rig: Path) -> None:
    assert read_bench(rig).board == []


def test_what_is_there_and_cannot_be_read_is_no_empty_bench(rig: Path) -> None:
    rig.mkdir()
    with pytest.raises(RigError, match="rig.toml cannot be read"):
        read_bench(rig)
    rig.rmdir()
    rig.symlink_to(rig.parent / "unmounted" / "rig.toml")
    with pytest.raises(RigError, match="rig.toml cannot be read"):
        read_bench(rig)


def test_an_empty_file_is_the_empty_bench(rig: Path) -> None:
    rig.write_text("", encoding="utf-8")
    assert read_bench(rig).board == []


def test_wrong_type(rig: Path) -> None:
    said = complaint(rig, GOOD.replace('serial = "/dev/ttyACM3"', "serial = 3"))
    assert said.startswith("rig.toml, line 9, key serial: ")
    assert "string" in said
    assert "3 was found" in said


def test_the_temperature_of_the_room(rig: Path) -> None:
    rig.write_text(GOOD.replace('serial = "066FFF"', 'serial = "066FFF"\nambient_c = 23'), encoding="utf-8")
    entry = read_bench(rig).find("stm32h7b3")
    assert entry is not None and entry.ambient_c == 23.0
    said = complaint(rig, GOOD.replace('serial = "066FFF"', 'serial = "066FFF"\nambient_c = 300'))
    assert said.startswith("rig.toml, line 6, key ambient_c: ")


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


HUB = 'power = { uhubctl = "1-1.4", port = 2 }\n'
SUPPLY = 'power = { supply = "TCPIP0::192.168.1.9::INSTR", channel = 1, volts = 3.3, amps = 0.5 }\n'


def test_power(rig: Path) -> None:
    rig.write_text(GOOD + SUPPLY + '[[board]]\nname = "rp2040"\n' + HUB, encoding="utf-8")
    bench = read_bench(rig)
    assert bench.find("mps2-an500").switch == SupplyOutput("TCPIP0::192.168.1.9::INSTR", 3.3, 0.5, 1)
    assert bench.find("rp2040").switch == HubPort("1-1.4", 2)
    assert bench.find("rp2040").devices == {"power": "port 2 of hub 1-1.4"}
    assert bench.find("stm32h7b3").switch is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            'power = { uhubctl = "1-1.4" }',
            "key power: these keys do not go together: write { uhubctl, port } or { supply, channel, volts, amps }",
        ),
        ('power = { supply = "USB0::1::2::3::INSTR", volts = 3.3 }', "key power: these keys do not go together"),
        ('power = { uhubctl = "1-1.4", port = 2, volts = 5.0 }', "key power: these keys do not go together"),
        ('power = { uhubctl = "1-1.4; reboot", port = 2 }', "key uhubctl: string should match pattern"),
        ('power = { uhubctl = "1-1.4", port = 0 }', "key port: input should be greater than or equal to 1"),
        ('power = { supply = "X", volts = -5.0, amps = 1.0 }', "key volts: input should be greater than 0"),
        ('power = { uhubctl = "1-1.4", prot = 2 }', "key prot: unknown key: did you mean port"),
        ('power = "always"', "key power: input should be a valid dictionary or instance of PowerEntry"),
    ],
)
def test_power_that_makes_no_sense(rig: Path, line: str, words: str) -> None:
    said = complaint(rig, GOOD + line + "\n")
    assert said.startswith(f"rig.toml, line 10, {words}"), said
    assert "\n" not in said


def test_two_boards_are_not_fed_by_one_output(rig: Path) -> None:
    said = complaint(rig, GOOD + SUPPLY + '[[board]]\nname = "rp2040"\n' + SUPPLY)
    assert (
        said
        == "rig.toml, line 13, key power: output 1 of TCPIP0::192.168.1.9::INSTR is named for mps2-an500 already: a device serves one board."
    )


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, "[" + ".".join("a" * 20_000) + "]\n", "a = " + "{a=" * 50_000]
)
def test_deep_nesting_is_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rig.toml"
    path.write_text(text)
    with pytest.raises(RigError, match=r"^rig\.toml"):
        read_bench(path)


def test_a_file_that_goes_on_ends_at_the_cap(tmp_path: Path) -> None:
    path = tmp_path / "rig.toml"
    path.write_text("# \n" * (1 << 19))
    with pytest.raises(
        RigError,
        match=r"rig\.toml has more than 1 MB, the largest size that is read: correct it, or name another file\.",
    ):
        read_bench(path)


def test_a_pipe_is_no_rig_toml_and_nothing_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rig.toml")
    with pytest.raises(RigError, match=r"rig.toml cannot be read \(it is not a regular file\)"):
        read_bench(tmp_path / "rig.toml")
    with pytest.raises(RigError, match="not a regular file"):
        read_file(tmp_path / "rig.toml", 1, "give another")


def test_budgets_of_a_board_come_before_those_of_all(rig: Path) -> None:
    rig.write_text(
        '[budgets]\nsram = "256 KiB"\nstep_time = ["310 ms", "+2 %"]\n'
        '[[board]]\nname = "rp2040"\nserial = "E66"\nbudgets = { sram = "200 KiB" }\n'
    )
    bench = read_bench(rig)
    found = bench.budgets_of("rp2040")
    assert [(gate.limit, gate.source) for gate in found["sram"]] == [(204_800, "of rp2040 in rig.toml")]
    assert [(gate.limit, gate.relative) for gate in found["step_time"]] == [(0.31, None), (None, 0.02)]
    assert bench.budgets_of("stm32h7b3")["sram"][0].limit == 262_144


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('\n[budgets]\naccuracy = "65 %"\nsram = "256 ms"\n', 4),
        ('[[board]]\nname = "rp2040"\nbudgets = { sram = "256 ms" }\n', 3),
        ('[[board]]\nname = "rp2040"\n[board.budgets]\nsram = 256\n', 4),
        ('[[board]]\nname = "rp2040"\nbudgets = 3\n', 3),
        ('budgets = "256 KiB"\n', 1),
    ],
)
def test_a_wrong_budget_is_named_with_its_line(rig: Path, text: str, line: int) -> None:
    assert complaint(rig, text).startswith(f"rig.toml, line {line}, key ")
