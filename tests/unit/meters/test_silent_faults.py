"""Faults that give readings which look right: a bounce, a range that changes and comes back, a source at its limit, a log that begins late or loses records."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from hil.energy.aliasing import pace_flags
from hil.errors import Blocked
from hil.meters.meter import InvalidWindow

pytest.importorskip("llvmlite", reason="the virtual meters need the extra `virtual`")
from tests.unit.meters import faulty
from tests.unit.meters.faulty import KINDS, LOAD, PS, Scene

MARKED = ["keithley-2450", "keithley-dmm6500", "keithley-dmm7510", "keysight-n6705c"]
BACK = {"keithley-2450": ":SENS:CURR:RANG 0.1", "keysight-34465a": "CURR:RANG 0.1", "keysight-n6705c": "SENS:ELOG:CURR:RANG 0.1,(@1)",
        "keithley-dmm6500": ":DIG:CURR:RANG 0.1", "keithley-dmm7510": ":DIG:CURR:RANG 0.1", "polled-scpi": "CURR:RANG 0.1", "rs-ngu401": "SENS:CURR:RANG 0.1",
        "siglent-sdm3065x": "CURR:DC:RANG 0.2", "yokogawa-wt310": ":INP:CURR:RANG 0.1A"}  # fmt: skip


def bounce(scene: Scene, low_s: float) -> Callable[[], None]:
    """The marker's wire opens for a moment, now."""

    def happens() -> None:
        up, down = scene.stage._edges[0], scene.stage._edges[-1]
        scene.stage._edges = [up, (scene.time.ps, 0), (scene.time.ps + round(low_s * PS), 1), down]

    return happens


@pytest.mark.parametrize("low_s", [20e-6, 0.05])
@pytest.mark.parametrize("key", MARKED)
def test_a_bounce_in_the_middle_of_a_window_is_no_edge_of_it(key, low_s):
    """One that a polled marker does not see does no harm either."""
    with Scene(key).open() as scene:
        try:
            assert scene.is_right(scene.window(bounce(scene, low_s)))
        except InvalidWindow as spoiled:
            assert "bounce" in str(spoiled) or "the power changes at" in str(spoiled)
        else:
            assert key == "keysight-n6705c" and low_s < 1e-3, "it parts its readings by the first two changes"


@pytest.mark.parametrize("key", BACK)
def test_a_range_that_changes_and_comes_back_spoils(key):
    with Scene(key).open() as scene:
        lasts_s = (
            0.6 if key in ("yokogawa-wt310", "rs-ngu401") else 0.12
        )  # what is asked once a reading of a tenth of a second sees no less

        def back() -> None:
            scene.line.instrument.execute(BACK[key])

        def away() -> None:
            scene.line.instrument.execute(KINDS[key].turn.replace("RANG 1A", "RANG 0.5A"))
            scene._happens, scene._middle_ps = back, scene.time.ps + round(lasts_s * PS)

        with pytest.raises(InvalidWindow, match="range"):
            scene.window(away)


@pytest.mark.parametrize("key", ["keithley-2450", "keysight-n6705c", "rs-ngu401", "rigol-dp832a"])
def test_a_source_at_its_limit_of_current_spoils(key):
    """On the largest range, with currents that go beyond 1 A for a part of each step."""
    with Scene(key).open() as scene:
        largest = scene.sheet.ranges[-1].amperes
        setting = scene.setting()
        scale = 1.0 + (1.02 - max(LOAD.levels_a)) / (max(LOAD.levels_a) - LOAD.idle_a)
        with pytest.raises(InvalidWindow, match="limit|constant voltage|end of the range") as spoiled:
            scene.window(
                setting=type(setting)(setting.volt, largest, setting.interval_s, setting.idle_s, setting.window_s),
                scale=scale,
            )
        assert spoiled.value.beyond_range


@pytest.mark.parametrize("late_s", [0.005, 0.02, 0.05, 0.1, 0.2])
def test_a_log_that_begins_late_does_not_move_the_energy(late_s):
    with Scene("keysight-n6705c").open() as scene:
        scene.line.instrument.late_s = late_s
        window = scene.window()
        assert window.net == pytest.approx(scene.steps * LOAD.net(0.0), rel=2e-3)
        assert window.duration == pytest.approx(scene.steps * LOAD.step_s, abs=3 * window.duration_u + 1e-3)


@pytest.mark.parametrize("lost", [1, 2, 5])
def test_a_few_records_lost_with_every_fetch_spoil(lost):
    """One fetch of so many records less, silently."""
    with Scene("keysight-n6705c").open() as scene:
        size = 2 * 4 * lost

        def fault(command: str, answer: bytes | None) -> bytes | None:
            if "FETC:ELOG?" not in command or answer is None:
                return answer
            data = answer[2 + int(answer[1:2]) :]
            data = data[: max(len(data) - size, 0)]
            return b"#%d%d%s" % (len(str(len(data))), len(data), data)

        scene.line.fault = fault
        with pytest.raises(InvalidWindow, match="some are lost"):
            scene.window()


@pytest.mark.parametrize("key", ["keithley-2450", "keysight-34465a"])
def test_a_meter_with_pauses_reads_each_window_at_another_pace(key):
    with Scene(key).open() as scene:
        setting = scene.setting()
        scene.meter.configure(setting)
        captures = []
        for _ in range(4):
            scene.meter.configure = lambda _: None  # as a trial does: set up once, armed for each window
            captures.append(captured(scene))
        paces = [float(np.median(np.diff(one.t_s))) for one in captures]
        assert (
            len({round(pace, 7) for pace in paces}) == 4 and max(paces) < 1.15 * min(paces) and paces[0] == min(paces)
        )
        assert pace_flags(captures) == [] and pace_flags(captures[:1] * 2)


def captured(scene: Scene, *, right: bool = True):
    """Return a window as the meter saw it, and leave when it truly was in the scene."""
    found = []
    window_of = faulty.window_of
    try:
        faulty.window_of = lambda capture, idle_s: found.append(capture) or window_of(capture, idle_s)
        window = scene.window()
    finally:
        faulty.window_of = window_of
    assert not right or scene.is_right(window)
    scene.begin_s, scene.end_s = (at / PS for at, _ in scene.stage._edges)
    return found[0]


@pytest.mark.parametrize("options", ["", "MEM", "SEC,MEM"])
def test_a_34465a_without_the_option_dig_reads_without_a_trigger_and_says_so(options):
    scene = Scene("keysight-34465a")
    scene.line.instrument.options = options
    with scene.open():
        capture = captured(scene)
    assert capture.synchronisation == "power" and any("no option DIG" in note for note in capture.notes)


@pytest.mark.parametrize(("key", "every_s"), [("polled-scpi", 0.1), ("rigol-dp832a", 0.1), ("polled-scpi", 0.18)])
def test_a_display_that_repeats_itself_is_noted_and_its_age_is_in_the_edges(key, every_s):
    with Scene(key).open() as scene:
        scene.line.instrument.refresh_s = every_s
        capture = captured(scene, right=False)
        assert any("repeats its last reading" in note for note in capture.notes)
        assert capture.renewed_s == pytest.approx(every_s, rel=0.15)
        up, down = capture.edges
        assert abs(up.t_s - scene.begin_s) <= up.half_s and abs(down.t_s - scene.end_s) <= down.half_s
        assert up.half_s >= every_s / 2, "a reading may be as old as the display"


def test_a_display_slower_than_the_sleep_blocks():
    with Scene("polled-scpi").open() as scene:
        scene.line.instrument.refresh_s = 0.3
        scene.line.instrument.latency_s = (1e-4, 2e-4)
        with pytest.raises((Blocked, InvalidWindow)):
            scene.window()
