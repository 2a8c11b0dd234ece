"""Stand-ins that are kept between trials: several of one board at a time, each with a log of its own, none left behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil import boards
from hil.errors import Blocked
from hil.images import Image
from hil.rig.kept_stand_ins import KeptStandIns

BOARD = boards.load("stm32h7b3")
IMAGE = Image(Path("no.elf"), "0" * 64)


class Running:
    """A stand-in without a process: it serves again until it is stopped, and writes what it is told into its log."""

    def __init__(self, log: Path) -> None:
        self.log, self.stopped = log, False

    def say(self, text: str) -> None:
        with self.log.open("a", encoding="utf-8") as out:
            out.write(text)

    def serves(self, board: object, image: object) -> bool:
        return not self.stopped

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Running]:
    found: list[Running] = []

    def start(reality: str, board: object, image: object, log: Path) -> Running:
        found.append(Running(log))
        return found[-1]

    monkeypatch.setattr("hil.rig.kept_stand_ins.start", start)
    return found


def test_two_at_a_time_are_both_kept_and_both_stopped(started: list[Running], tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    kept, first, second = KeptStandIns(tmp_path / "kept"), tmp_path / "first", tmp_path / "second"
    for turn in ("one", "two"):
        with kept.provide("virtual", BOARD, IMAGE, first) as (one, _):
            one.say(f"{turn} a")
            with kept.provide("virtual", BOARD, IMAGE, second) as (other, _):
                other.say(f"{turn} b")
                assert one is not other and one.log != other.log
        assert (first.read_text(), second.read_text()) == (f"{turn} a", f"{turn} b")
    assert len(started) == 2 and not any(each.stopped for each in started), "both serve again"
    kept.close()
    assert all(each.stopped for each in started)


def test_one_that_failed_is_stopped_and_its_log_used_again(started: list[Running], tmp_path: Path) -> None:
    kept, log = KeptStandIns(tmp_path), tmp_path / "of a trial"
    with pytest.raises(RuntimeError), kept.provide("virtual", BOARD, IMAGE, log) as (broken, _):
        broken.say("broken")
        raise RuntimeError
    with kept.provide("virtual", BOARD, IMAGE, log) as (whole, _):
        whole.say("whole")
    assert broken.stopped and not whole.stopped and whole.log == broken.log
    assert log.read_text() == "whole"
    kept.close()


def test_a_log_that_the_disk_does_not_take_is_the_disk(started: list[Running], tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()

    def use() -> None:
        with KeptStandIns(tmp_path / "kept").provide("virtual", BOARD, IMAGE, tmp_path / "gone" / "log") as (one, _):
            one.say("word")

    with pytest.raises(Blocked, match="log cannot be written .*: check the space"):
        use()
