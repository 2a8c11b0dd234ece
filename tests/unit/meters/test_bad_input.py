"""What can go wrong with every meter by VISA, each fault by its twin over a socket: a window is right, spoiled or blocked, and the next one is right again."""

from __future__ import annotations

import contextlib
import time as wall

import numpy as np
import pytest

from hil.errors import Blocked
from hil.meters.meter import InvalidWindow

pytest.importorskip("numba", reason="the virtual meters need the extra `virtual`")
from tests.unit.meters.faulty import KINDS, LATE_S, SHORT_MS, Bench

every = pytest.mark.parametrize("key", KINDS)


def recovers(bench: Bench) -> bool:
    """Whether the next window is right; what a meter refuses because it has forgotten its settings may take one more attempt."""
    bench.line.fault = lambda _, answer: answer
    with contextlib.suppress(Blocked):
        return bench.is_right(bench.window())
    return bench.is_right(bench.window())


@every
def test_a_window_without_a_fault_is_right(key):
    with Bench(key).open() as bench:
        assert bench.is_right(bench.window()) and bench.is_right(bench.window())


@every
def test_another_instrument_is_refused(key):
    def fault(command, answer):
        return b"ACME,MODEL 1,1,1" if command == "*IDN?" else answer

    if key == "polled-scpi":
        pytest.skip("the generic one takes whoever answers, by rig.toml's word")
    bench = Bench(key)
    bench.line.fault = fault
    with (
        pytest.raises(
            Blocked, match=rf"is 'ACME,MODEL 1,1,1', not a {bench.sheet.name}: correct its address or its model"
        ),
        bench.open(),
    ):
        pass


@every
@pytest.mark.parametrize("seconds", [None, LATE_S], ids=["never", "late"])
def test_an_answer_that_is_late_or_never_comes_blocks_and_is_not_taken_for_the_next(key, seconds):
    with Bench(key).open(SHORT_MS) as bench:
        bench.window()
        bench.once(
            bench.kind.query,
            lambda answer: None if seconds is None else wall.sleep(seconds) or bench.kind.altered(answer, 7.7e-3),
            skip=1,
        )
        with pytest.raises(Blocked, match=f"the {bench.sheet.name} did not take"):
            for _ in range(3):
                bench.window()
        assert recovers(bench)
        assert bench.meter._session.query("*IDN?") == bench.meter.identity


@every
def test_one_that_vanishes_within_a_window_blocks_and_measures_when_it_comes_back(key):
    """It comes back as it is when it is switched on: with none of its settings."""
    with Bench(key).open(SHORT_MS) as bench:
        bench.window()
        with pytest.raises(Blocked, match=f"the {bench.sheet.name} did not take"):
            bench.window(happens=bench.line.stop)
        bench.line.instrument = bench.make()
        bench.line.start()
        assert recovers(bench)


@every
@pytest.mark.parametrize(
    ("value", "beyond"), [(9.91e37, False), (np.nan, False), (9.9e37, True)], ids=["9.91e37", "nan", "overload"]
)
def test_what_is_no_reading_spoils_the_window(key, value, beyond):
    with Bench(key).open() as bench:
        bench.once(bench.kind.query, lambda answer: bench.kind.altered(answer, value), skip=1)
        with pytest.raises(InvalidWindow) as spoiled:
            bench.window()
        assert spoiled.value.beyond_range == (beyond or (key == "keysight-n6705c" and value == 9.91e37)), (
            "which is how that one says overload"
        )
        assert recovers(bench)


@every
def test_a_range_that_somebody_changes_within_a_window_spoils_it(key):
    with Bench(key).open() as bench:
        if not bench.kind.turn:
            pytest.skip("it has one range")
        with pytest.raises(InvalidWindow, match="changed within"):
            bench.window(happens=lambda: bench.line.instrument.execute(bench.kind.turn))
        assert recovers(bench)


@every
def test_a_current_beyond_the_range_spoils_and_asks_for_the_next(key):
    with Bench(key).open() as bench, pytest.raises(InvalidWindow) as spoiled:
        bench.window(scale=60.0 if key == "rigol-dp832a" else 4.0)
    assert spoiled.value.beyond_range


def without_most(bench: Bench) -> None:
    bench.line.instrument.lost_share = 0.05


def stand_still(seconds: float):
    def setup(bench: Bench) -> None:
        bench.once(bench.kind.query, lambda answer: bench.time.sleep(seconds) or answer, skip=3)

    return setup


def swallow(answer: bytes):
    def setup(bench: Bench) -> None:
        bench.once(bench.kind.query, lambda _: answer, skip=1)

    return setup


def half(bench: Bench) -> None:
    """An answer that has only a part of the readings that are gone from the instrument."""

    def change(answer: bytes) -> bytes:
        text = b",".join(answer[2 + int(answer[1:2]) :].split(b",")[:5])
        return b"#%d%d%s" % (len(str(len(text))), len(text), text)

    bench.once(bench.kind.query, change, skip=10)


def timing(bench: Bench) -> None:
    bench.once("STAT:QUES?", lambda _: b"4")


LOSSES = {
    "keithley-2450": (without_most, r"lost \d+ of"), "keithley-dmm6500": (without_most, r"lost \d+ of"), "keithley-dmm7510": (without_most, r"lost \d+ of"),
    "keysight-34465a": (timing, "could not keep an interval"), "keysight-n6705c": (without_most, "some are lost"),
    "rs-ngu401": (swallow(b"#10"), "a block is missing"), "siglent-sdm3065x": (half, "did not read at a steady rate"),
    "yokogawa-wt310": (stand_still(0.33), "missed an update"),
}  # fmt: skip


@pytest.mark.parametrize("key", LOSSES)
def test_readings_that_are_dropped_spoil_the_window(key):
    setup, reason = LOSSES[key]
    with Bench(key).open() as bench:
        bench.window()
        setup(bench)
        with pytest.raises(InvalidWindow, match=reason):
            bench.window()
        if hasattr(bench.line.instrument, "lost_share"):
            bench.line.instrument.lost_share = 0.0
        assert recovers(bench)


@pytest.mark.parametrize("key", ["polled-scpi", "rigol-dp832a"])
def test_polls_that_the_host_missed_are_counted(key):
    """They have no memory that could lose anything: what was not asked for is known, and in the budget."""
    with Bench(key).open() as bench:
        stand_still(0.1)(bench)
        assert bench.window().lost == pytest.approx(0.1 / 0.008, abs=2)


def long_window(bench: Bench) -> InvalidWindow:
    with pytest.raises(InvalidWindow) as spoiled:
        bench.window(setting=bench.setting(seconds=0.01))
    return spoiled.value


def small_memory(bench: Bench) -> InvalidWindow:
    bench.line.instrument.memory = 700
    with pytest.raises(InvalidWindow) as spoiled:
        bench.window()
    bench.line.instrument.memory = 50_000
    return spoiled.value


def host_away(seconds: float):
    def run(bench: Bench) -> InvalidWindow:
        with pytest.raises(InvalidWindow) as spoiled:
            bench.window(happens=lambda: bench.time.sleep(seconds))
        return spoiled.value

    return run


def reported(bench: Bench) -> InvalidWindow:
    bench.once("STAT:QUES:COND?", lambda _: b"16384")
    with pytest.raises(InvalidWindow) as spoiled:
        bench.window()
    return spoiled.value


OVERFLOWS = {
    "keithley-2450": (long_window, "'steps' of the Keithley 2450 is full"), "keithley-dmm6500": (long_window, "'steps' of the Keithley DMM6500 is full"),
    "keithley-dmm7510": (long_window, "'steps' of the Keithley DMM7510 is full"), "keysight-34465a": (small_memory, "overflowed"),
    "keysight-n6705c": (host_away(15.0), "was not fetched for 15 s"), "rs-ngu401": (host_away(0.5), "dropped a block"),
    "siglent-sdm3065x": (reported, "overflowed"),
}  # fmt: skip


@pytest.mark.parametrize("key", OVERFLOWS)
def test_a_buffer_that_overflows_spoils_the_window(key):
    run, reason = OVERFLOWS[key]
    with Bench(key).open() as bench:
        if run is long_window:
            bench.steps = round(
                {"keithley-2450": 4.0, "keithley-dmm6500": 2.0, "keithley-dmm7510": 0.8}[key] / bench.load.step_s
            )
        spoiled = run(bench)
        assert reason in str(spoiled)
        bench.steps = round(bench.kind.seconds / bench.load.step_s)
        assert recovers(bench)


def test_every_driver_is_under_these_faults():
    from hil.meters.open import VISA_DRIVERS

    assert set(KINDS) == set(VISA_DRIVERS)
    assert set(LOSSES) | {"polled-scpi", "rigol-dp832a"} == set(VISA_DRIVERS)
    assert set(OVERFLOWS) | {"polled-scpi", "rigol-dp832a", "yokogawa-wt310"} == set(VISA_DRIVERS), (
        "these have no buffer"
    )
