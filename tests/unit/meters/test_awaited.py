"""A window that does not come: said after a few seconds, with until when, and ended within a bound."""

from __future__ import annotations

import threading
import time

import pytest

from hil.errors import Blocked
from hil.meters import awaited
from hil.meters.awaited import Awaited


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(awaited, "TOLD_S", 0.2)
    monkeypatch.setattr(awaited, "SPARE_S", 0.3)


@pytest.mark.parametrize(("deadline_s", "most_s"), [(0.5, 60.0), (60.0, 0.8)])
def test_a_driver_that_never_returns_is_told_of_and_left(deadline_s: float, most_s: float) -> None:
    said, ended = [], threading.Event()
    began = time.monotonic()
    reader = Awaited(lambda: ended.wait(60), "PM1", deadline_s, said.append)
    with pytest.raises(
        Blocked, match=r"the PM1 did not end its window within 1 s: power it down and up, or correct its"
    ):
        reader.result(0.0, most_s)
    ended.set()
    assert 0.7 < time.monotonic() - began < 5
    (sentence,) = said
    assert sentence.startswith("the PM1 has not returned the window that is over: waiting for it until ")
    assert sentence.endswith("at most (1 s).")


def test_one_that_returns_in_time_is_not() -> None:
    said: list[str] = []
    assert Awaited(lambda: 7, "PM1", 1.0, said.append).result() == 7
    late = Awaited(lambda: time.sleep(0.4) or 8, "PM1", 60.0, said.append)
    assert late.result(soon_s=0.5) == 8 and said == []


def test_its_error_is_raised() -> None:
    def read() -> None:
        raise Blocked("meter", "it is gone.")

    with pytest.raises(Blocked, match="it is gone"):
        Awaited(read, "PM1", 1.0, print).result()
