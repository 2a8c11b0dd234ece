"""`hil doctor` and `hil boards` say whether Renode is there and for which boards it can stand in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hil.commands.main import main
from hil.rig.doctor import NOTE, OK, WRONG, Check, examine
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
def test_the_doctor_of_a_renode_that_would_block_every_trial(
    install: Install, script: dict[str, str], said: str
) -> None:
    install(**script)
    check = look()
    assert check.state == WRONG
    assert said in check.said


def test_boards(install: Install, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(version="1.16.7")
    assert main(["boards"]) == 0
    *rows, empty, renode = capsys.readouterr().out.splitlines()
    assert (empty, renode) == ("", f"renode: version 1.16.7 at {tmp_path}/bin/renode.")
    assert {row.split()[0] for row in rows if row.endswith(", renode")} == set(modelled())


def test_boards_without_a_renode(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["boards"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("renode: not installed: unpack")
