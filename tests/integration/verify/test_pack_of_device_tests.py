"""A pack has the firmware of device tests too: that of --elf, the program in rig.toml; or says that it has not."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from hil.commands.main import main
from tests.one_process import one_process

PROGRAM = b"print('ready', flush=True)\ninput()\n"
RIG = """
[[board]]
name = "host"
reality = "host"
elf = "{}"
run = ["{}", "-u", "{{elf}}"]
"""
TESTS = """
def test_ready(hil_dut):
    hil_dut.serial.expect("ready")
"""


def run_pytest(folder: Path, rig_elf: str, *options: str) -> None:
    (folder / "build").mkdir()
    (folder / "build/train.py").write_bytes(PROGRAM)
    (folder / "rig.toml").write_text(RIG.format(rig_elf, sys.executable))
    (folder / "test_mine.py").write_text(TESTS)
    subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *one_process("--board=host"), *options, "."],
        cwd=folder, capture_output=True, text=True, timeout=300, env=dict(os.environ), check=True,
    )  # fmt: skip


def packed(folder: Path) -> tuple[dict, dict[str, bytes]]:
    """Return pack.json and the images of the pack of the run in a folder."""
    assert main(["pack", "reports/latest", "--out", "run.zip"]) == 0
    assert main(["verify", "run.zip"]) == 0
    with zipfile.ZipFile("run.zip") as file:
        members = {name.partition("/")[2]: file.read(name) for name in file.namelist()}
    facts = json.loads(members["pack.json"])
    return facts, {name: data for name, data in members.items() if name.startswith("images/")}


@pytest.mark.parametrize("options", [("build/train.py",), ("build/other.py", "--elf=build/train.py")])
def test_the_firmware_of_a_device_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    run_pytest(tmp_path, *options)
    facts, images = packed(tmp_path)
    sha = hashlib.sha256(PROGRAM).hexdigest()
    place = f"images/{sha[:16]}-train.py"
    assert images == {place: PROGRAM}
    assert [(each["board"], each["file"], each["sha256"], each["packed"]) for each in facts["images"]] == [
        ("host", "train.py", sha, place)
    ]
    assert facts["not_included"] == []


def test_firmware_that_is_gone_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run_pytest(tmp_path, "build/train.py")
    (tmp_path / "build/train.py").write_text("another program")
    facts, images = packed(tmp_path)
    said = f"firmware train.py of host (SHA-256 {hashlib.sha256(PROGRAM).hexdigest()}): it was not on the computer"
    assert images == {} and [each["packed"] for each in facts["images"]] == [None]
    assert len(facts["not_included"]) == 1 and facts["not_included"][0].startswith(said)
    assert f"not in it: {said}" in capsys.readouterr().out


def test_another_program_in_its_place_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run_pytest(tmp_path, "build/train.py")
    packed(tmp_path)
    with zipfile.ZipFile("run.zip") as file:
        file.extractall("unpacked")
    (image,) = (tmp_path / "unpacked").glob("*/images/*")
    image.write_bytes(b"another program")
    assert main(["verify", str(image.parent.parent)]) == 1
    assert f"{image.name}: its SHA-256 is" in capsys.readouterr().out
