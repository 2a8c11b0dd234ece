"""The clock of the rig's deadlines: no test can stop it."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import pytest

import hil
from hil.process_time import AbleTime
from hil.steady_clock import SteadyClock, steady_s

ROOMS = ("dut", "lab", "link", "meters", "record", "rig", "session", "targets")  # where a device or a meter is awaited


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop the time as freezegun does: under every name that a module has for the functions of `time`."""
    real, builtin = {time.time, time.monotonic, time.perf_counter}, type(time.time)
    for module in list(sys.modules.values()):
        for name, value in list(vars(module).items()):
            if type(value) is builtin and value in real:
                monkeypatch.setattr(module, name, lambda: 1000.0)


def test_it_goes_on_while_the_time_of_a_test_is_stopped(stopped):
    assert time.monotonic() == time.time() == 1000.0
    clock, able, began = SteadyClock.set(), AbleTime(lambda: 0.0), steady_s()
    time.sleep(0.02)
    assert steady_s() - began >= 0.02 and able.seconds >= 0.02
    assert clock.now().year > 2000 and clock.now() > SteadyClock(clock.unix_s, began + 1.0).now()


def test_rooms_that_wait_for_devices_read_no_other_clock():
    root = Path(hil.__file__).parent
    files = [*(each for room in ROOMS for each in (root / room).rglob("*.py")), root / "process_time.py"]
    assert len(files) > 150
    clock = re.compile(r"\btime\.(monotonic|perf_counter)\b|from time import .*(monotonic|perf_counter)")
    assert [str(each) for each in files if clock.search(each.read_text(encoding="utf-8"))] == []
