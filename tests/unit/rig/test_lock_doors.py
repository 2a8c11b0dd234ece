"""Locks in a folder that others write to: nobody gets a second session in, and nothing is written through what others put there."""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hil.errors import Blocked
from hil.rig import lock_file
from hil.rig.lock_file import LockFile, LockHeld
from hil.rig.locks import Locks
from tests.other_user import NOBODY, SOMEBODY, as_user, needs_root

DEVICE = "066FFF"


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder as /tmp is, which other users can reach: pytest's own they cannot."""
    with tempfile.TemporaryDirectory() as outer:
        Path(outer).chmod(0o755)
        folder = Path(outer) / "tmp"
        folder.mkdir()
        folder.chmod(0o1777)
        yield folder


def lock_path(folder: Path) -> Path:
    """Return where the lock of the device is, from what a session makes."""
    locks = Locks(folder=folder)
    locks.hold("x", [DEVICE])
    (path,) = folder.iterdir()
    locks.release()
    assert not list(folder.iterdir()), "nothing is left"
    return path


def refusal(folder: Path) -> str:
    """Return why the device cannot be locked, empty where it can."""
    try:
        Locks(folder=folder).hold("x", [DEVICE])
    except Blocked as blocked:
        return str(blocked)
    return ""


def test_a_planted_link_is_not_written_through(shared: Path) -> None:
    path, victim = lock_path(shared), shared / "victim"
    victim.write_text("mine")
    path.symlink_to(victim)
    assert re.search(r"cannot be locked .*: make .* writable for your user.", refusal(shared))
    path.unlink()
    path.symlink_to(shared / "new")
    assert refusal(shared) and not (shared / "new").exists() and victim.read_text() == "mine"


def test_a_second_name_of_a_file_is_not_written_to(shared: Path) -> None:
    path, victim = lock_path(shared), shared / "victim"
    victim.write_text("mine")
    path.hardlink_to(victim)
    assert "is not a regular file with one name: remove it" in refusal(shared)
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("make", [lambda path: os.mkfifo(path), lambda path: path.mkdir()])
def test_a_pipe_or_a_folder_in_its_place_blocks(shared: Path, make) -> None:
    path = lock_path(shared)
    make(path)
    assert "cannot be locked" in refusal(shared)


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        (0o777, "others may move files"),
        (0o775, "others may move files"),
        (0o1777, ""),
        (0o1775, ""),
        (0o700, ""),
        (0o755, ""),
    ],
)
def test_the_folder_keeps_others_from_moving_files(tmp_path: Path, mode: int, said: str) -> None:
    folder = tmp_path / "locks"
    folder.mkdir()
    folder.chmod(mode)
    assert (said in refusal(folder)) if said else refusal(folder) == ""


@needs_root
def test_a_folder_of_another_user_is_refused(shared: Path) -> None:
    os.chown(shared, NOBODY, NOBODY)
    assert re.search(r"the folder .*tmp belongs to the user nobody, who could move it: set TMPDIR", refusal(shared))
    assert as_user(NOBODY, lambda: refusal(shared)) == "", "its owner may"
    assert "belongs to the user nobody" in as_user(SOMEBODY, lambda: refusal(shared))


@needs_root
def test_two_users_exclude_each_other(shared: Path) -> None:
    path = lock_path(shared)
    locks = Locks(folder=shared)
    locks.hold("x", [DEVICE])
    assert "is held by `" in as_user(NOBODY, lambda: refusal(shared)) and path.exists()
    locks.release()
    assert as_user(NOBODY, lambda: refusal(shared)) == ""


@needs_root
def test_a_file_that_another_user_left_is_not_relied_on(shared: Path) -> None:
    """Its owner could move it away while it is locked. Root puts one of its own in its place."""
    path = lock_path(shared)
    as_user(NOBODY, lambda: path.write_text("{}"))
    assert "was left by the user nobody, who could move it: let that user or root remove it" in as_user(
        SOMEBODY, lambda: refusal(shared)
    )
    assert path.stat().st_uid == NOBODY
    locks = Locks(folder=shared)
    locks.hold("x", [DEVICE])
    assert path.stat().st_uid == 0
    with pytest.raises(OSError):
        raise as_user(NOBODY, lambda: path.rename(shared / "away"))
    assert "is held by" in as_user(NOBODY, lambda: refusal(shared))


def test_who_locked_a_file_that_is_there_no_more_does_not_get_in(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between opening and locking, the file is moved and given back; another stands at the path, which somebody holds."""
    path = lock_path(shared)
    first, third, lock = LockFile(path), LockFile(shared / "third"), lock_file._lock
    first.take(0, b"first")
    third.take(0, b"third")

    def too_late(descriptor: int) -> None:
        monkeypatch.setattr(lock_file, "_lock", lock)
        path.rename(shared / "away")
        third.path.rename(path)
        first.release()
        lock(descriptor)

    monkeypatch.setattr(lock_file, "_lock", too_late)
    with pytest.raises(LockHeld) as held:
        LockFile(path).take(0.2, b"second")
    assert held.value.note == b"third"
    third.release()


def test_giving_back_removes_no_other_file(shared: Path) -> None:
    path = lock_path(shared)
    lock = LockFile(path)
    lock.take(0, b"")
    path.rename(shared / "away")
    path.write_text("another's")
    lock.release()
    assert path.read_text() == "another's"


@pytest.mark.parametrize(
    "note",
    [
        b"\x1b[2J{}",
        b'{"command": "\\u001b]0;x\\u0007", "process": [], "since": 1}',
        b"[1]",
        b"",
        b"\xff",
        b'{"command": "' + b"x" * 9000,
    ],
)
def test_what_another_puts_into_the_note_reaches_no_terminal(shared: Path, note: bytes) -> None:
    path = lock_path(shared)
    path.write_bytes(note)
    with path.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        said = refusal(shared)
    assert "is in use" in said and said.isprintable() and len(said) < 700
