"""DBG_SLEEP of an STM32 whose core sleeps most of the time, and where each family has it."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator

import pytest
from pyocd.core import exceptions
from pyocd.target.builtin import target_STM32F767xx, target_STM32H7B0xx, target_STM32H743xx

from hil import boards
from hil.boards import Board
from hil.errors import Blocked, RigError
from hil.targets import stm32_sleep
from hil.targets.probe import Probe
from hil.targets.pyocd_targets import register
from hil.targets.pyocd_targets.stm32f746xg import STM32F746xG
from hil.targets.pyocd_targets.stm32h7b3xx import STM32H7B3xx
from hil.targets.stm32_sleep import DebugInSleep

STM32 = [board for board in boards.working()[0] if (board.pyocd_target or "").startswith("stm32")]
TAR, DRW, IDR = 0x04, 0x0C, 0xFC


class SleepyPort:
    """A debug port before a memory access port that answers only in the moments in which the core is awake."""

    def __init__(self, awake: Iterator[bool], control: int) -> None:
        self._awake, self._control, self._address = awake, control, 0
        self.value = self.faults = 0

    def _reaches(self) -> bool:
        if self._address == self._control and self.value & 1:
            return True
        if not next(self._awake):
            self.faults += 1
            raise exceptions.TransferFaultError("the core sleeps")
        return self._address == self._control

    def read_ap(self, register: int) -> int:
        if register == IDR:
            return 0x8477_0001
        return self.value if self._reaches() else 0

    def write_ap(self, register: int, value: int) -> None:
        if register == TAR:
            self._address = value
        elif register == DRW and self._reaches():
            self.value = value


def target_at(port: SleepyPort, control: int) -> DebugInSleep:
    target = DebugInSleep()
    target.CONTROL, target.dp = control, port
    return target


def naps(seed: int) -> Iterator[bool]:
    generator = random.Random(seed)
    while True:
        yield generator.random() < 0.05


@pytest.mark.parametrize("seed", range(20))
def test_a_core_that_wakes_now_and_then_is_caught(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stm32_sleep, "POLL_S", 0.0)
    port = SleepyPort(naps(seed), 0x5C00_1004)
    target_at(port, 0x5C00_1004).catch_awake()
    assert port.value == 0x7


def test_a_core_that_never_wakes_ends_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stm32_sleep, "AWAKE_WITHIN_S", 0.02)
    port = SleepyPort(iter(lambda: False, None), 0x5C00_1004)
    with pytest.raises(Blocked, match=r"the core sleeps, .* \(DBG_SLEEP is off\): let the firmware work, or reset"):
        target_at(port, 0x5C00_1004).catch_awake()
    assert port.faults > 1


def test_the_address_of_another_access_port_is_not_taken_for_success(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stm32_sleep, "AWAKE_WITHIN_S", 0.02)
    port = SleepyPort(iter(lambda: True, None), 0x5C00_1004)
    with pytest.raises(Blocked, match="DBG_SLEEP is off"):
        target_at(port, 0xE00E_1004).catch_awake()


def test_every_stm32_of_the_catalogue_sets_and_clears_it() -> None:
    assert [board.name for board in STM32] == ["stm32f746", "stm32h7b3"]
    for board in STM32:
        register(board.pyocd_target or "")
    for target, address in ((STM32F746xG, 0xE004_2004), (STM32H7B3xx, 0x5C00_1004)):
        assert issubclass(target, DebugInSleep) and address == target.CONTROL
        one, written = object.__new__(target), []
        one.write32 = lambda address, value, written=written: written.append((address, value))
        one.post_connect_hook()
        one.rest_hook()
        assert written == [(address, 0x7), (address, 0)]


def test_the_addresses_are_those_that_others_use_through_access_port_0() -> None:
    assert STM32F746xG.CONTROL == target_STM32F767xx.DBGMCU.CR
    assert STM32H7B3xx.CONTROL == target_STM32H743xx.DBGMCU.CR  # the same family and access ports
    # when pyOCD mends its target of the H7B0, ours need not differ from it any more
    assert target_STM32H7B0xx.DBGMCU.CR == 0xE00E_1004


class SlowProcess:
    """A process of the probe that connects once the core was woken some times."""

    pid = None

    def __init__(self, wakes: int) -> None:
        self.left, self.done = wakes, threading.Event()

    def ask(self, deadline_s: float, request: str, *arguments: object, stand_in: int | None = None) -> str:
        if request == "connect" and arguments[-1] and not self.done.wait(2.0):
            raise Blocked("connect", "the core sleeps.")
        return "STMicroelectronics"

    def stop(self) -> None:
        pass

    def wake(self) -> None:
        self.left -= 1
        if not self.left:
            self.done.set()


def probe_at(process: SlowProcess, board: Board) -> Probe:
    probe = object.__new__(Probe)
    probe.unique_id, probe._board, probe._pack, probe._stand_in = "x", board, None, None
    probe._process, probe._own = process, False
    return probe


def test_the_board_is_kept_awake_while_the_probe_connects() -> None:
    process = SlowProcess(100)
    probe_at(process, STM32[0]).attach(process.wake)
    assert process.left <= 0


def test_a_board_that_cannot_be_woken_is_no_reason_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def fails() -> None:
        calls.append(1)
        raise RigError("the line is silent")

    process = SlowProcess(1)
    process.done.set()
    probe_at(process, STM32[0]).attach(fails)
    assert len(calls) <= 1
    process.done.clear()
    with pytest.raises(Blocked, match="the core sleeps"):
        probe_at(process, STM32[0]).attach(fails)
    assert len(calls) <= 2
