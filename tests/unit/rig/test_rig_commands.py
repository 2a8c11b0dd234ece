"""Commands in rig.toml: every mistake is named with file, line and key before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.errors import RigError
from hil.rig_toml import BenchBoard, read_bench

FLASHED = '[[board]]\nname = "stm32f746"\nserial = "/dev/ttyACM0"\n'
RUN = '[[board]]\nname = "host"\nreality = "host"\nrun = ["./train", "{elf}"]\n'


def read(folder: Path, text: str) -> BenchBoard:
    (folder / "rig.toml").write_text(text, encoding="utf-8")
    return read_bench(folder / "rig.toml").board[0]


def test_commands_of_an_attached_board(tmp_path: Path) -> None:
    board = read(
        tmp_path,
        f'{FLASHED}flash = ["openocd", "-c", "program {{elf}} verify", "a{{{{elf}}}}"]\nreset = ["./reset", "{{port}}"]\n'
        'flash_timeout = 5\nread_back = ["st-flash", "read", "{out}", "{start}", "{size}"]\n',
    )
    commands = board.commands
    assert commands is not None and commands.flash is not None and commands.reset is not None
    assert (commands.timeout_s, commands.verify) == (5, "read_back")
    assert commands.flash.placeholders == {"elf"}
    assert commands.flash.filled({"elf": "/a/b.elf"}) == ["openocd", "-c", "program /a/b.elf verify", "a{elf}"]
    assert commands.reset.here == tmp_path


def test_a_board_without_commands_has_none(tmp_path: Path) -> None:
    assert read(tmp_path, FLASHED).commands is None


def test_a_board_that_is_a_command(tmp_path: Path) -> None:
    board = read(tmp_path, RUN + 'env = { SEED = "1" }\nrun_timeout = 60\n')
    assert (board.run, board.reality, board.env, board.run_timeout) == (
        ["./train", "{elf}"], "host", {"SEED": "1"}, 60,
    )  # fmt: skip
    assert read_bench(tmp_path / "rig.toml").is_command("host")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (FLASHED + 'flash = "openocd {elf}"\n', "line 4, key flash: input should be a valid list"),
        (FLASHED + "flash = []\n", "line 4, key flash: list should have at least 1 item"),
        (
            FLASHED + 'flash = ["openocd", "{eelf}"]\n',
            r"line 4, key flash: \{eelf\} is no placeholder.*did you mean elf",
        ),
        (FLASHED + 'flash = ["{elf}"]\n', "line 4, key flash: the program is '{elf}': only {here}"),
        (FLASHED + 'reset = ["reset", "{elf}"]\n', r"line 4, key reset: \{elf\} is no placeholder.*here, port, serial"),
        (FLASHED + 'flash = ["a"]\nflash_timeout = 0\n', "line 5, key flash_timeout: input should be greater than 0"),
        (FLASHED + "flash_timeout = 3\n", "line 4, key flash_timeout: it is the time of a command"),
        (FLASHED + 'verify = "agent"\n', "line 4, key verify: it belongs to a flash command"),
        (
            FLASHED + 'flash = ["a"]\nverify = "hope"\n',
            "line 5, key verify: input should be 'probe', 'agent' or 'none'",
        ),
        (FLASHED + 'flash = ["a"]\nverify = "probe"\n', "line 5, key verify: the board has no `probe`"),
        (FLASHED + 'flash = ["a"]\nread_back = ["b"]\n', "line 5, key read_back: the command must write .*{out}"),
        (
            FLASHED + 'flash = ["a"]\nread_back = ["b", "{out}"]\nverify = "none"\n',
            "line 6, key verify: `read_back` checks the board: remove one",
        ),
        (FLASHED + 'reality = "host"\n', "line 4, key reality: it belongs to a board that is a command"),
        (RUN + 'probe = "066F"\n', "line 5, key probe: a board that is a command .* has none"),
        (RUN + 'flash = ["a"]\n', "line 5, key flash: a board that is a command .* has none"),
        (RUN.replace('reality = "host"\n', ""), "line 3, key run: say what the command is: add reality"),
        (RUN.replace('"host"\nrun', '"hardware"\nrun'), "line 3, key reality: a command is no hardware"),
        (RUN.replace('"host"\nrun', '"virtual"\nrun'), "line 3, key reality: that is the virtual board"),
        (RUN.replace('"host"\nrun', '"A Host"\nrun'), "line 3, key reality: 'A Host' is no word"),
        (RUN.replace('name = "host"', 'name = "../x"'), "line 2, key name: '../x' cannot name a folder"),
        (RUN.replace('name = "host"', 'name = "all"'), "line 2, key name: 'all' means every board of the catalogue"),
        (RUN.replace("{elf}", "{port}"), r"line 4, key run: \{port\} is no placeholder"),
        (RUN + 'env = { A = "{port}" }\n', r"line 5, key env: \{port\} is no placeholder"),
        (RUN + "env = { A = 1 }\n", "line 5, key A: input should be a valid string"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(RigError, match=complaint):
        read(tmp_path, text)
