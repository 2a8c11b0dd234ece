"""What can go wrong with every meter by VISA, each fault by its twin over a socket: a window is right, spoiled or blocked, and the next one is right again."""

from __future__ import annotations

import contextlib
import time as wall

import numpy as np
import pytest

from hil.errors import Blocked
from hil.meters.meter import InvalidWindow

pytest.importorskip("llvmlite", reason="the virtual meters need the extra `virtual`")
from tests.unit.meters.faulty import KINDS, LATE_S, SHORT_MS, Scene

every = pytest.mark.parametrize("key", KINDS)


def recovers(scene: Scene) -> bool:
    """Whether the next window is right; what a meter refuses because it has forgotten its settings may take one more attempt."""
    scene.line.fault = lambda _, answer: answer
    with contextlib.suppress(Blocked):
        return scene.is_right(scene.window())
    return scene.is_right(scene.window())


@every
def test_a_window_without_a_fault_is_right(key):
    with Scene(key).open() as scene:
        assert scene.is_right(scene.window()) and scene.is_right(scene.window())


@every
def test_another_instrument_is_refused(key):
    def fault(command, answer):
        return b"ACME,MODEL 1,1,1" if command == "*IDN?" else answer

    if key == "polled-scpi":
        pytest.skip("the generic one takes whoever answers, by rig.toml's word")
    scene = Scene(key)
    scene.line.fault = fault
    with (
        pytest.raises(
            Blocked, match=rf"is 'ACME,MODEL 1,1,1', not a {scene.sheet.name}: correct its address or its model"
        ),
        scene.open(),
    ):
        pass


@every
@pytest.mark.parametrize("seconds", [None, LATE_S], ids=["never", "late"])
def test_an_answer_that_is_late_or_never_comes_blocks_and_is_not_taken_for_the_next(key, seconds):
    with Scene(key).open(SHORT_MS) as scene:
        scene.window()
        scene.once(
            scene.kind.query,
            lambda answer: None if seconds is None else wall.sleep(seconds) or scene.kind.altered(answer, 7.7e-3),
            skip=1,
        )
        with pytest.raises(Blocked, match=f"the {scene.sheet.name} did not take"):
            for _ in range(3):
                scene.window()
        assert recovers(scene)
        assert scene.meter._session.query("*IDN?") == scene.meter.identity


@every
def test_one_that_vanishes_within_a_window_blocks_and_measures_when_it_comes_back(key):
    """It comes back as it is when it is switched on: with none of its settings."""
    with Scene(key).open(SHORT_MS) as scene:
        scene.window()
        with pytest.raises(Blocked, match=f"the {scene.sheet.name} did not take"):
            scene.window(happens=scene.line.stop)
        scene.line.instrument = scene.make()
        scene.line.start()
        assert recovers(scene)


@every
@pytest.mark.parametrize(
    ("value", "beyond"), [(9.91e37, False), (np.nan, False), (9.9e37, True)], ids=["9.91e37", "nan", "overload"]
)
def test_what_is_no_reading_spoils_the_window(key, value, beyond):
    with Scene(key).open() as scene:
        scene.once(scene.kind.query, lambda answer: scene.kind.altered(answer, value), skip=1)
        with pytest.raises(InvalidWindow) as spoiled:
            scene.window()
        assert spoiled.value.beyond_range == (beyond or (key == "keysight-n6705c" and value == 9.91e37)), (
            "which is how that one says overload"
        )
        assert recovers(scene)


@every
def test_a_range_that_somebody_changes_within_a_window_spoils_it(key):
    with Scene(key).open() as scene:
        if not scene.kind.turn:
            pytest.skip("it has one range")
        with pytest.raises(InvalidWindow, match="changed within"):
            scene.window(happens=lambda: scene.line.instrument.execute(scene.kind.turn))
        assert recovers(scene)


@every
def test_a_current_beyond_the_range_spoils_and_asks_for_the_next(key):
    with Scene(key).open() as scene, pytest.raises(InvalidWindow) as spoiled:
        scene.window(scale=60.0 if key == "rigol-dp832a" else 4.0)
    assert spoiled.value.beyond_range


def without_most(scene: Scene) -> None:
    scene.line.instrument.lost_share = 0.05


def stand_still(seconds: float):
    def setup(scene: Scene) -> None:
        scene.once(scene.kind.query, lambda answer: scene.time.sleep(seconds) or answer, skip=3)

    return setup


def swallow(answer: bytes):
    def setup(scene: Scene) -> None:
        scene.once(scene.kind.query, lambda _: answer, skip=1)

    return setup


def half(scene: Scene) -> None:
    """An answer that has only a part of the readings that are gone from the instrument."""

    def change(answer: bytes) -> bytes:
        text = b",".join(answer[2 + int(answer[1:2]) :].split(b",")[:5])
        return b"#%d%d%s" % (len(str(len(text))), len(text), text)

    scene.once(scene.kind.query, change, skip=10)


def timing(scene: Scene) -> None:
    scene.once("STAT:QUES?", lambda _: b"4")


LOSSES = {
    "keithley-2450": (without_most, r"lost \d+ of"), "keithley-dmm6500": (without_most, r"lost \d+ of"), "keithley-dmm7510": (without_most, r"lost \d+ of"),
    "keysight-34465a": (timing, "could not keep an interval"), "keysight-n6705c": (without_most, "some are lost"),
    "rs-ngu401": (swallow(b"#10"), "a block is missing"), "siglent-sdm3065x": (half, "did not read at a steady rate"),
    "yokogawa-wt310": (stand_still(0.33), "missed an update"),
}  # fmt: skip


@pytest.mark.parametrize("key", LOSSES)
def test_readings_that_are_dropped_spoil_the_window(key):
    setup, reason = LOSSES[key]
    with Scene(key).open() as scene:
        scene.window()
        setup(scene)
        with pytest.raises(InvalidWindow, match=reason):
            scene.window()
        if hasattr(scene.line.instrument, "lost_share"):
            scene.line.instrument.lost_share = 0.0
        assert recovers(scene)


@pytest.mark.parametrize("key", ["polled-scpi", "rigol-dp832a"])
def test_polls_that_the_host_missed_are_counted(key):
    """They have no memory that could lose anything: what was not asked for is known, and in the budget."""
    with Scene(key).open() as scene:
        stand_still(0.1)(scene)
        assert scene.window().lost == pytest.approx(0.1 / 0.008, abs=2)


def long_window(scene: Scene) -> InvalidWindow:
    with pytest.raises(InvalidWindow) as spoiled:
        scene.window(setting=scene.setting(seconds=0.01))
    return spoiled.value


def small_memory(scene: Scene) -> InvalidWindow:
    scene.line.instrument.memory = 700
    with pytest.raises(InvalidWindow) as spoiled:
        scene.window()
    scene.line.instrument.memory = 50_000
    return spoiled.value


def host_away(seconds: float):
    def run(scene: Scene) -> InvalidWindow:
        with pytest.raises(InvalidWindow) as spoiled:
            scene.window(happens=lambda: scene.time.sleep(seconds))
        return spoiled.value

    return run


def reported(scene: Scene) -> InvalidWindow:
    scene.once("STAT:QUES:COND?", lambda _: b"16384")
    with pytest.raises(InvalidWindow) as spoiled:
        scene.window()
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
    with Scene(key).open() as scene:
        if run is long_window:
            scene.steps = round(
                {"keithley-2450": 4.0, "keithley-dmm6500": 2.0, "keithley-dmm7510": 0.8}[key] / scene.load.step_s
            )
        spoiled = run(scene)
        assert reason in str(spoiled)
        scene.steps = round(scene.kind.seconds / scene.load.step_s)
        assert recovers(scene)


def test_every_driver_is_under_these_faults():
    from hil.energy.meter_kind import METERS

    by_visa = {name for name in METERS.house_names() if METERS.find(name).visa}

    assert set(KINDS) == by_visa
    assert set(LOSSES) | {"polled-scpi", "rigol-dp832a"} == by_visa
    assert set(OVERFLOWS) | {"polled-scpi", "rigol-dp832a", "yokogawa-wt310"} == by_visa, "these have no buffer"
