"""Packs that anybody may have made: one sentence, and nothing outside the folder is written."""

from __future__ import annotations

import stat
import warnings
import zipfile
from pathlib import Path

import pytest

from hil.commands.main import main
from hil.errors import RigError
from hil.verify.unpack import unpack


def zipped(path: Path, *members: tuple[str, bytes], mode: int = stat.S_IFREG | 0o644) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            member = zipfile.ZipInfo(name)
            member.external_attr, member.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            file.writestr(member, content)
    return path


def refused(path: Path, target: Path) -> str:
    target.mkdir()
    with pytest.raises(RigError) as error:
        unpack(path, target)
    said = str(error.value)
    assert said.endswith(".") and said.isprintable() and len(said) < 500
    return said


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "run/../../outside",
        "/outside",
        "run//outside",
        "run/./a",
        "outside",
        "run\\..\\a",
        "run/a\nb",
        "run/",
    ],
)
def test_names_that_lead_out(tmp_path: Path, name: str) -> None:
    said = refused(zipped(tmp_path / "a.zip", (name, b"x")), tmp_path / "to")
    assert "leads out of the pack" in said
    assert {path.name for path in tmp_path.rglob("*")} == {"a.zip", "to"}


def test_a_link_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", ("run/link", b"/etc/passwd"), mode=stat.S_IFLNK | 0o777)
    assert "is a link" in refused(path, tmp_path / "to")


@pytest.mark.parametrize("where", ["a comment", "before its first member", "after its end"])
def test_foreign_bytes_in_a_pack(tmp_path: Path, where: str) -> None:
    path = zipped(tmp_path / "a.zip", ("run/a", b"x"))
    if where == "a comment":
        with zipfile.ZipFile(path, "a") as file:
            file.comment = b"measured on silicon"
    elif where == "after its end":
        path.write_bytes(path.read_bytes() + b"measured on silicon")
    else:
        path.write_bytes(b"#!/bin/sh\nexit\n" + path.read_bytes())
    (tmp_path / "to").mkdir()
    with pytest.raises(RigError, match=f"has foreign bytes \\({where}\\), which no signature covers"):
        unpack(path, tmp_path / "to")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", ("run/zeros", bytes(80 << 20)))
    assert path.stat().st_size < 1 << 20
    assert "would unpack to 1 files of 83,886,080 bytes" in refused(path, tmp_path / "to")
    assert not list((tmp_path / "to").iterdir())


def test_a_member_that_is_larger_than_it_says(tmp_path: Path) -> None:
    """The size in the directory is edited: no more than that is unpacked."""
    path = zipped(tmp_path / "a.zip", ("run/zeros", bytes(1 << 20)))
    data = path.read_bytes()
    assert data.count((1 << 20).to_bytes(4, "little")) == 2  # in the header of the member and in the directory
    path.write_bytes(data.replace((1 << 20).to_bytes(4, "little"), (64).to_bytes(4, "little")))
    refused(path, tmp_path / "to")
    assert sum(each.stat().st_size for each in (tmp_path / "to").rglob("*") if each.is_file()) <= 64


def test_names_twice_two_tops_and_what_is_no_pack(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = zipped(tmp_path / "a.zip", ("run/a", b"1"), ("run/a", b"2"))
    assert "twice" in refused(twice, tmp_path / "to1")
    assert "2 folders at its top" in refused(zipped(tmp_path / "b.zip", ("x/a", b""), ("y/a", b"")), tmp_path / "to2")
    assert "is no pack of a run" in refused(zipped(tmp_path / "c.zip", ("x/a", b"1")), tmp_path / "to3")
    assert "a file and a folder" in refused(
        zipped(tmp_path / "d.zip", ("x/a", b"1"), ("x/a/b", b"1")), tmp_path / "to4"
    )
    (tmp_path / "e.zip").write_bytes(b"PK" + bytes(2000))
    assert "is no pack, or is cut or damaged" in refused(tmp_path / "e.zip", tmp_path / "to5")


def test_a_pack_without_a_record_names_what_is_missing_however_small_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    members = {
        "no folder run/record": ("run/pack.json", "run/other/pack.json"), "no file run/pack.json": ("run/record/results.json",),
        "the member 'run/pack.json' twice": ("run/pack.json", "run/pack.json"),
    }  # fmt: skip
    for said, names in members.items():
        path = tmp_path / "a.zip"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            zipped(path, *((name, b"{}") for name in names))
        assert path.stat().st_size < 1000
        assert main(["verify", str(path)]) == 2
        told = capsys.readouterr().err
        assert said in told and told.count("\n") == 1 and ("no file" in told) == ("no file" in said), told


def test_a_member_with_a_password(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", ("run/a", b"1"))
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(bytes(data))
    assert "encrypted" in refused(path, tmp_path / "to")
