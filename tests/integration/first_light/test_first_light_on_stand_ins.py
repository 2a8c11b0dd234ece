"""A first light passes on every stand-in; what a reality does not have is said, and not passed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from host_agent import tool

from hil.commands.main import main
from hil.first_light.record import JSON, PAGE
from hil.first_light.stage_list import HOUSE
from hil.training.session.first_light import CheckpointSlot

TIME = {"clock by the host", "cycle counter"}  # virtual time is not the host's
NO_SUPPLY = {"supply"}
VIRTUAL = {
    "stm32h7b3": TIME, "stm32f746": TIME | NO_SUPPLY, "nrf52840": TIME | NO_SUPPLY, "rp2040": TIME | NO_SUPPLY,
    "rp2350": TIME | NO_SUPPLY,
    "imxrt1062": TIME | NO_SUPPLY | {CheckpointSlot.name},
}  # fmt: skip
FURTHER_M7 = {"imxrt1062", "stm32f746"}  # at night: the gate has one board of each core
ON_QEMU = TIME | NO_SUPPLY | {
    "RAM", "sleep and wake", "UART", "marker pin", "energy window", "clock by a pin", "flash sector",
    CheckpointSlot.name,
}  # fmt: skip


def brought_up(board: str, reality: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    code = main(["first-light", "--board", board, "--reality", reality, "--out", str(folder), "--json"])
    out, told = capsys.readouterr()
    printed = json.loads(out)
    assert code == 0, told
    assert json.loads((folder / JSON).read_text(encoding="utf-8")) == printed
    page = (folder / PAGE).read_text(encoding="utf-8")
    assert all(stage["name"] in page for stage in printed["stages"])
    return printed  # type: ignore[no-any-return]


def outcomes(light: dict[str, object], without: set[str]) -> None:
    stages = {stage["name"]: stage for stage in light["stages"]}  # type: ignore[attr-defined]
    assert {kind.name for kind in HOUSE} <= stages.keys()
    wrong = {
        name: stage
        for name, stage in stages.items()
        if stage["outcome"] != ("not possible here" if name in without else "pass")
    }
    assert not wrong
    assert "nothing is said about silicon" in str(light["judgement"])


@pytest.mark.parametrize(
    "board",
    [
        pytest.param(board, marks=pytest.mark.tier("nightly") if board in FURTHER_M7 else ())
        for board in sorted(VIRTUAL)
    ],
)
def test_on_the_virtual_board(board: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    light = brought_up(board, "virtual", tmp_path, capsys)
    outcomes(light, VIRTUAL[board])
    assert (tmp_path / "sector.bin").read_bytes().count(0xFF) == (tmp_path / "sector.bin").stat().st_size  # erased
    figures = light["figures"]
    assert isinstance(figures, dict) and figures["window_energy"]["provenance"] == "modelled"


@pytest.mark.parametrize("board", ["mps2-an385", "mps2-an505"])
def test_on_qemu(board: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tool("qemu-system-arm")
    outcomes(brought_up(board, "qemu", tmp_path, capsys), ON_QEMU)


def test_a_board_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["first-light", "--board", "stm32h7"]) == 2
    assert "did you mean stm32h7b3?" in capsys.readouterr().err


def test_a_board_that_rig_toml_does_not_name_is_refused_as_hardware(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rig.toml").write_text("")
    assert main(["first-light", "--board", "rp2040", "--reality", "hardware"]) == 2
    assert "rig.toml does not name rp2040: add a [[board]] table for it" in capsys.readouterr().err
