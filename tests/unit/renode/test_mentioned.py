"""`hil doctor` and `hil boards` say whether Renode is there and for which boards it can stand in."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hil import boards
from hil.commands.doctor import NOTE, OK, Check, examine
from hil.commands.main import main
from hil.errors import Blocked
from hil.rig import automatic, choose
from hil.rig_toml import Bench
from hil.standins.renode import modelled

pytest.importorskip("unicorn")  # of the scripted one
Install = Callable[..., Path]
MODELLED = "imxrt1062, nrf52840, rp2040, stm32f746, stm32h7b3"


def look() -> Check:
    (check,) = (check for check in examine(Bench(), []) if check.subject == "renode")
    return check


def test_the_doctor_of_a_renode_that_is_there(install: Install, tmp_path: Path) -> None:
    install()
    assert look() == Check("", "renode", OK, f"Renode 1.16.1 at {tmp_path}/bin/renode can stand in for {MODELLED}.")


def test_the_doctor_without_a_renode(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    check = look()
    assert (
        check.state,
        check.said.startswith(f"Renode is not installed; it could stand in for {MODELLED}: unpack"),
    ) == (NOTE, True)


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ({"version": "1.15.3"}, "is Renode 1.15.3, which is too old: unpack"),
        ({"prints": "Segmentation fault"}, "does not report its version"),
    ],
)
def test_the_doctor_of_a_renode_that_cannot_be_used(install: Install, script: dict[str, str], said: str) -> None:
    install(**script)
    check = look()
    assert check.state == NOTE, "auto takes another stand-in"
    assert said in check.said
    assert "--reality=auto takes the other stand-in" in check.said


def test_boards(install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(version="1.16.7")
    assert main(["boards"]) == 0
    *rows, empty, renode = capsys.readouterr().out.splitlines()
    assert (empty, renode) == ("", f"renode: version 1.16.7 at {tmp_path}/bin/renode.")
    assert {row.split()[0] for row in rows if row.endswith(", renode")} == set(modelled())


@pytest.mark.parametrize("script", [{"version": "1.15.3"}, {"prints": "usage: renode FILE"}])
def test_auto_takes_no_renode_that_cannot_be_used(install: Install, script: dict[str, str]) -> None:
    install(**script)
    board = boards.load("stm32h7b3")
    assert choose(board, None, "auto") == "virtual"
    warning = automatic(board, None).warning
    assert warning is not None and len(warning.splitlines()) == 1
    assert "virtual stands in for stm32h7b3" in warning and "bin/renode" in warning
    with pytest.raises(Blocked, match=r"bin/renode (is Renode 1\.15\.3, which is too old|does not report its version)"):
        choose(board, None, "renode")


def auto_of(listed: str, name: str) -> str:
    (row,) = (row for row in listed.splitlines() if row.startswith(name))
    return row


def test_boards_say_what_auto_takes_and_why(
    install: Install, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install()
    monkeypatch.setattr("hil.rig.reality.renode.other_users_present", lambda: False)
    bench = tmp_path / "rig.toml"
    bench.write_text('[[board]]\nname = "rp2040"\nserial = "x"\n')
    assert main(["boards", f"--rig={bench}"]) == 0
    listed = capsys.readouterr().out
    assert "auto: renode (Renode 1.16.1 is installed)" in auto_of(listed, "stm32h7b3")
    assert "auto: hardware (rig.toml names it)" in auto_of(listed, "rp2040")
    assert "auto: qemu (Renode does not model it)" in auto_of(listed, "mps2-an500")
    assert main(["boards", "--json", f"--rig={bench}"]) == 0
    entries = {entry["name"]: entry["auto"] for entry in json.loads(capsys.readouterr().out)}
    assert entries["stm32h7b3"] == {"reality": "renode", "why": "Renode 1.16.1 is installed"}
    assert entries["rp2040"]["reality"] == "hardware"


def test_boards_say_why_auto_is_blocked(
    install: Install, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install()
    monkeypatch.setattr("hil.rig.reality.renode.other_users_present", lambda: True)
    assert main(["boards"]) == 0
    assert "auto: blocked (other users work on this computer" in auto_of(capsys.readouterr().out, "stm32h7b3")


def test_boards_say_why_an_installed_renode_is_not_taken(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install(version="1.15.3")
    assert main(["boards"]) == 0
    assert "auto: virtual (the installed renode cannot be used)" in auto_of(capsys.readouterr().out, "stm32h7b3")
    assert main(["boards", "--json"]) == 0
    entries = {entry["name"]: entry["auto"] for entry in json.loads(capsys.readouterr().out)}
    assert "is Renode 1.15.3, which is too old" in entries["stm32h7b3"]["why"]


def test_boards_without_a_renode(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["boards"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("renode: not installed: unpack")
