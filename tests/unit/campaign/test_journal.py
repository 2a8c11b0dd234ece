"""The journal alone: what a cut leaves is dropped, what no cut leaves is refused in a sentence."""

from __future__ import annotations

import resource
import signal
from pathlib import Path

import pytest

from hil.errors import RigError
from hil.training.campaign.journal import Journal, read_journal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "journal.jsonl"
    with Journal(made, read_journal(made, 10)) as journal:
        journal.append("from", step=10, again=0, cut=False)
        for step in range(10, 14):
            journal.append("step", step=step, digest=f"{step * 0x1111:08x}", loss=[1.0, 2.0], sign=-1)
    return made


def test_it_tells_what_was_written(path: Path) -> None:
    state = read_journal(path, 10)
    assert (state.next_step, state.lines, state.dropped, state.ended) == (14, 5, 0, None)
    assert [state.digest(step) for step in (9, 10, 13, 14)] == [None, 0xAAAA, 13 * 0x1111, None]


def test_cut_at_every_byte_it_tells_the_whole_lines(path: Path) -> None:
    data = path.read_bytes()
    for end in range(len(data) + 1):
        path.write_bytes(data[:end])
        state = read_journal(path, 10)
        assert state.lines == data[:end].count(b"\n") and state.good_bytes + state.dropped == end


@pytest.mark.parametrize("rest", [b"\0" * 4096, b"\xff", b"\n", b"{}\n", b"}\t00000000\n" * 3])
def test_what_a_file_system_leaves_at_the_end_is_dropped_and_written_over(path: Path, rest: bytes) -> None:
    good = path.read_bytes()
    path.write_bytes(good + rest)
    state = read_journal(path, 10)
    assert (state.lines, state.dropped) == (5, len(rest))
    with Journal(path, state) as journal:
        journal.append("end", verdict="stopped", reason="", step=14)
    assert path.read_bytes().startswith(good) and read_journal(path, 10).ended["verdict"] == "stopped"
    assert read_journal(path, 10).dropped == 0


def test_damage_before_good_lines_is_refused(path: Path) -> None:
    data = path.read_bytes()
    last = data.rstrip(b"\n").rindex(b"\n")
    for at in range(last):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(RigError, match=r"line \d: it is damaged and good lines follow: restore the file"):
            read_journal(path, 10)


def test_a_line_that_is_missing_or_doubled_is_refused(path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    for wrong in (lines[:2] + lines[3:], [*lines[:3], lines[2], *lines[3:]]):
        path.write_bytes(b"".join(wrong))
        with pytest.raises(RigError, match="good lines follow"):
            read_journal(path, 10)


def test_a_disk_that_is_full_leaves_whole_lines(tmp_path: Path) -> None:
    """The line that did not fit is taken back, and the next one is good."""

    path = tmp_path / "journal.jsonl"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Journal(path, read_journal(path, 0)) as journal:
        journal.append("from", step=0, again=0, cut=False)
        size = path.stat().st_size

        heard = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, before[1]))
        try:
            with pytest.raises(OSError):
                journal.append("step", step=0, digest="00000001", loss=[0, 0], sign=0)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, heard)
        assert path.stat().st_size == size
        journal.append("step", step=0, digest="00000001", loss=[0, 0], sign=0)
    state = read_journal(path, 0)
    assert (state.lines, state.dropped, state.digest(0)) == (2, 0, 1)
