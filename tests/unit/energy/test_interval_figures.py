"""The figures of `hil measure` against currents of known energy: what the meter takes, and a supply that nobody measured."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from hil.energy.capture import Capture, Edge
from hil.energy.conditions import Conditions
from hil.energy.data_sheet import load_data_sheet
from hil.energy.interval_figures import evaluate
from hil.energy.marker_interval import IntervalSums
from hil.errors import Blocked

IDENTITY, VOLT, BUSY_A, BUSY_S = "Keysight Technologies,34465A,MY1,A.03", 3.3, 0.05, 0.5


EXACT = Conditions(0.0)


def result(key: str, range_a: float, conditions: Conditions = EXACT, sign: int = 1) -> dict[str, object]:
    """Return the figures of a board that draws 50 mA for half a second, as an ideal meter reads its current and multiplies it by 3.3 V."""
    t = np.arange(0, 1.0, 1e-3)
    amps = sign * np.where((t >= 0.25) & (t < 0.25 + BUSY_S), BUSY_A, 0.0)
    edges = (Edge(0.25, 0.0, True), Edge(0.25 + BUSY_S, 0.0, False))
    running = IntervalSums()
    running.add(Capture(t, amps * VOLT, amps, np.full(len(t), VOLT), 1e-3, 1e-3, edges, range_a, 0))
    return evaluate(running.result(), load_data_sheet(key), IDENTITY, 1, conditions)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_what_the_meter_takes_is_within_the_interval(share: float) -> None:
    """Its shunt is anything up to what its data sheet allows."""
    used = load_data_sheet("keysight-34465a").range_for(0.1)
    truth = (VOLT - share * used.burden_v / used.amperes * BUSY_A) * BUSY_A * BUSY_S
    found = result("keysight-34465a", 0.1)
    assert abs(found["energy"]["value"] - truth) <= 2 * found["energy"]["uncertainty"] < 0.1 * truth
    assert found["burden"]["value"] > 0 and found["burden"]["provenance"] == "measured"
    assert found["energy"]["value"] + found["burden"]["value"] == pytest.approx(VOLT * BUSY_A * BUSY_S)


@pytest.mark.parametrize("off", [-0.05, 0.05])
def test_a_supply_that_nobody_measured_is_within_the_interval(off: float) -> None:
    found = result("keysight-34465a", 0.1, Conditions())
    truth = found["energy"]["value"] * (1 + off)
    assert abs(found["energy"]["value"] - truth) <= 2 * found["energy"]["uncertainty"]
    assert any("--supply-error" in flag and "assumed" in flag for flag in found["flags"])
    assert any("supply voltage, assumed" in row["source"] for row in found["budget"])


@pytest.mark.parametrize(("conditions", "grows"), [
    (Conditions(0.02), lambda found, base: found > base), (Conditions(0.0, 25.0), lambda found, base: found == base),
    (Conditions(0.0, 60.0), lambda found, base: found > base),
])  # fmt: skip
def test_what_is_declared_of_supply_and_room_is_a_row(
    conditions: Conditions, grows: Callable[[float, float], bool]
) -> None:
    base = result("keysight-34465a", 0.1)["energy"]["uncertainty"]
    assert grows(result("keysight-34465a", 0.1, conditions)["energy"]["uncertainty"], base)


def test_a_meter_that_reads_its_voltage_needs_no_word_on_it() -> None:
    found = result("keithley-2450", 0.1, Conditions())
    assert not any("--supply-error" in flag for flag in found["flags"])
    assert found["energy"]["uncertainty"] < 1e-3 * found["energy"]["value"]


def test_an_energy_below_0_is_no_figure() -> None:
    with pytest.raises(
        Blocked, match=r"34465A has read an energy below 0 \(-0.0844 J\): the current flows the other way"
    ):
        result("keysight-34465a", 0.1, sign=-1)
