"""A pack of a signed run: everything outside record/ follows from the record, so that the signature covers it too."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hil_output import Hil

Call = Callable[..., Hil]


@pytest.fixture
def unpacked(run: Path, hil: Call, keys: tuple[Path, Path], tmp_path: Path) -> Path:
    """The folder of a pack whose record is signed."""
    assert hil("sign", run, "--key", keys[0]).code == 0
    assert hil("pack", run, "--out", tmp_path / "one.zip").code == 0
    with zipfile.ZipFile(tmp_path / "one.zip") as file:
        file.extractall(tmp_path / "pack")
    (folder,) = (tmp_path / "pack").iterdir()
    return folder


def seal(folder: Path) -> None:
    """Write SHA256SUMS of the pack again, as anybody can."""
    head = (folder / "SHA256SUMS").read_text().partition("\n")[0]
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    lines = [
        f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}" for name in files if name != "SHA256SUMS"
    ]
    (folder / "SHA256SUMS").write_text("\n".join([head, *lines, ""]))


FACTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "images": lambda facts: facts["images"][0].update(compiler="GCC 99"),
    "data": lambda facts: facts["data"][0].update(licence="public domain"),
    "not_included": lambda facts: facts["not_included"].clear(),
    "host": lambda facts: facts["host"].update(cpus=64),
    "time": lambda facts: facts.update(time="2020-01-01T00:00:00+00:00"),
    "networks": lambda facts: facts["networks"][0].update(seed=9),
    "repeat": lambda facts: facts.update(repeat="rm -rf ."),
    "command": lambda facts: facts.update(command="true"),
}


@pytest.mark.parametrize("name", FACTS)
def test_an_edit_of_pack_json_is_named(unpacked: Path, hil: Call, keys: tuple[Path, Path], name: str) -> None:
    assert hil("verify", unpacked, "--signer", keys[1]).code == 0
    path = unpacked / "pack.json"
    facts = json.loads(path.read_text())
    FACTS[name](facts)
    path.write_text(json.dumps(facts, indent=1) + "\n")
    seal(unpacked)
    done = hil("verify", unpacked, "--signer", keys[1])
    assert done.code == 1 and f"pack.json: {name}" in done.out.replace("the length of ", ""), done.out + done.err


def test_other_files_of_a_pack(unpacked: Path, hil: Call, keys: tuple[Path, Path]) -> None:
    readme = unpacked / "README.txt"
    whole = readme.read_text()
    readme.write_text(whole.replace("hil verify", "rm"))
    (unpacked / "images" / "other.elf").write_bytes(b"\x7fELF")
    (unpacked / "run-me.sh").write_text("rm -rf .")
    shutil.copy(next((unpacked / "networks").iterdir()), unpacked / "networks" / "again.hnet")
    seal(unpacked)
    done = hil("verify", unpacked, "--signer", keys[1])
    assert done.code == 1
    for said in (
        "README.txt: its SHA-256 is",
        "images/other.elf: the file is",
        "run-me.sh: the file is",
        "networks/again.hnet: the file is",
    ):
        assert said in done.out, done.out


def test_lines_that_are_missing_from_the_sums_of_a_pack(unpacked: Path, hil: Call, keys: tuple[Path, Path]) -> None:
    path = unpacked / "SHA256SUMS"
    lines = [line for line in path.read_text().splitlines(keepends=True) if not line.endswith("pack.json\n")]
    path.write_text("".join(lines))
    done = hil("verify", unpacked, "--signer", keys[1])
    assert done.code == 1 and "pack.json: its SHA-256 is" in done.out, done.out


def test_a_pack_without_its_images_says_so_and_one_that_hides_it_is_named(
    unpacked: Path, hil: Call, keys: tuple[Path, Path]
) -> None:
    shutil.rmtree(unpacked / "images")
    seal(unpacked)
    done = hil("verify", unpacked, "--signer", keys[1])
    assert done.code == 1 and "pack.json: images[0].packed is 'images/" in done.out and "not_included" in done.out, (
        done.out
    )
