"""Locks: one session holds a device, the other is told who; a lock dies with its holder."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import threading
import time
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from hil.errors import Blocked
from hil.rig.locks import Locks

RACES = 100
DEVICES = ("066FFF303435554157121019", "/dev/ttyACM0", "TCPIP::10.0.0.7::5025::SOCKET")
spawn = multiprocessing.get_context("spawn")


def race(
    folder: Path, start: Barrier, end: Barrier, results: multiprocessing.Queue[tuple[int, str]], order: int
) -> None:
    """Try for the board once a round; whoever has it keeps it until both have tried."""
    for number in range(RACES):
        locks = Locks(folder=folder)
        start.wait(30)
        try:
            locks.hold("stm32h7b3", DEVICES[::order])
            results.put((number, "won"))
        except Blocked as blocked:
            results.put((number, str(blocked)))
        end.wait(30)
        locks.release()


def hold_for_ever(folder: Path, held: multiprocessing.Queue[int]) -> None:
    locks = Locks(folder=folder)
    locks.hold("stm32h7b3", DEVICES)
    held.put(os.getpid())
    time.sleep(60)


def test_of_two_sessions_one_wins_and_one_is_told(tmp_path: Path) -> None:
    start, end, results = spawn.Barrier(2), spawn.Barrier(2), spawn.Queue()
    racers = [spawn.Process(target=race, args=(tmp_path, start, end, results, order)) for order in (1, -1)]
    for racer in racers:
        racer.start()
    said: dict[int, list[str]] = {}
    for _ in range(2 * RACES):
        number, outcome = results.get(timeout=60)
        said.setdefault(number, []).append(outcome)
    for racer in racers:
        racer.join(10)
        assert racer.exitcode == 0
    assert len(said) == RACES
    for outcomes in said.values():
        assert sorted(outcome == "won" for outcome in outcomes) == [False, True]
        told = next(outcome for outcome in outcomes if outcome != "won")
        assert told.startswith("lock: stm32h7b3 is in use: ")
        assert "wait for it with --wait=SECONDS" in told


def test_a_lock_dies_with_its_holder(tmp_path: Path) -> None:
    held = spawn.Queue()
    holder = spawn.Process(target=hold_for_ever, args=(tmp_path, held))
    holder.start()
    pid = held.get(timeout=30)
    with pytest.raises(Blocked, match=rf"\(process {pid}, since 20"):
        Locks(folder=tmp_path).hold("stm32h7b3", DEVICES[:1])
    os.kill(pid, signal.SIGKILL)
    holder.join(10)
    Locks(folder=tmp_path).hold("stm32h7b3", DEVICES)


def test_waiting_ends_when_the_board_is_given_back(tmp_path: Path) -> None:
    held = spawn.Queue()
    holder = spawn.Process(target=hold_for_ever, args=(tmp_path, held))
    holder.start()
    pid = held.get(timeout=30)
    with pytest.raises(Blocked):
        Locks(wait_s=0.2, folder=tmp_path).hold("stm32h7b3", DEVICES)
    os.kill(pid, signal.SIGTERM)
    Locks(wait_s=30, folder=tmp_path).hold("stm32h7b3", DEVICES)


def test_who_gets_one_device_only_keeps_none(tmp_path: Path) -> None:
    first, second = Locks(folder=tmp_path), Locks(folder=tmp_path)
    first.hold("rp2040", DEVICES[1:2])
    with pytest.raises(Blocked, match="/dev/ttyACM0 is held by"):
        second.hold("stm32h7b3", DEVICES)
    Locks(folder=tmp_path).hold("stm32h7b3", (DEVICES[0], DEVICES[2]))


def test_a_device_that_is_held_already_is_not_asked_for_again(tmp_path: Path) -> None:
    locks = Locks(folder=tmp_path)
    locks.hold("stm32h7b3", DEVICES)
    locks.hold("stm32h7b3", DEVICES)
    locks.release()
    Locks(folder=tmp_path).hold("stm32h7b3", DEVICES)


def test_a_folder_that_is_not_ours_blocks_with_the_path(tmp_path: Path) -> None:
    place = tmp_path / "file"
    place.write_text("")
    with pytest.raises(Blocked, match=r"cannot be locked .*make .*file/trainrig-066FFF.*lock writable"):
        Locks(folder=place).hold("stm32h7b3", DEVICES[:1])


@pytest.mark.parametrize("pair", [("/dev/ttyACM0", "dev-ttyACM0"), ("a" * 70, "a" * 71)])
def test_names_that_look_alike_are_two_devices(tmp_path: Path, pair: tuple[str, str]) -> None:
    first, second = Locks(folder=tmp_path), Locks(folder=tmp_path)
    first.hold("a", pair[:1])
    second.hold("b", pair[1:])


def test_who_holds_a_device_is_told_without_taking_its_lock(tmp_path: Path) -> None:
    """A holder that was killed leaves its file; a session that does not wait is never blocked by who only looks."""
    assert Locks(folder=tmp_path).holder(DEVICES[0]) == ""
    held = spawn.Queue()
    holder = spawn.Process(target=hold_for_ever, args=(tmp_path, held))
    holder.start()
    pid = held.get(timeout=60)
    assert re.fullmatch(
        rf"the user .+, process {pid}, since \d{{4}}-\d\d-\d\d \d\d:\d\d[+-]\d{{4}}",
        Locks(folder=tmp_path).holder(DEVICES[0]),
    )
    os.kill(pid, signal.SIGKILL)
    holder.join(10)
    assert list(tmp_path.iterdir()), "its files are there"
    assert Locks(folder=tmp_path).holder(DEVICES[0]) == ""
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            Locks(folder=tmp_path).holder(DEVICES[0])

    looker = threading.Thread(target=look)
    looker.start()
    try:
        for _ in range(200):
            locks = Locks(folder=tmp_path)
            locks.hold("stm32h7b3", DEVICES[:1])
            locks.release()
    finally:
        stop.set()
        looker.join()
