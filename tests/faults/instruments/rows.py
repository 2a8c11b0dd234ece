"""The rows of the table: what held when the project was tried from outside, and what did not."""

from __future__ import annotations

from .board import Work, bursts, plain
from .scenario import Scenario

STEP_S = 0.0373  # of a step: no whole number of readings
READING_S = 2.355e-3  # from one reading to the next, of a 2450 that is asked for its fastest
SMU, DMM, TRUEVOLT, ANALYZER, SUPPLY = (
    "keithley-2450",
    "keithley-dmm6500",
    "keysight-34465a",
    "keysight-n6705c",
    "rigol-dp832a",
)
USUAL = Work(plain(STEP_S, 0.06))
STRONG = Work(plain(STEP_S, 0.6))
PEAKS = Work(bursts(STEP_S, 0.04, 0.3, 50e-6, 1e-3))
LIMITED = Work([(0.75 * STEP_S, 0.6), (0.25 * STEP_S, 1.2)])
BOUNCE_S = 20e-6
EDGE = r"bounc|marker|edge|pin"
BURST = r"burst|peak|short|aperture|swing"
SOURCE = r"(suppl|source).*(ohm|resist|drop|impedance|within|under load)"
CURRENT = r"limit|constant current|compliance"

CLEAN = [
    Scenario("2450 within its data sheet", SMU, USUAL, held=True),
    Scenario("DMM6500 within its data sheet", DMM, USUAL, held=True),
    Scenario("34465A within its data sheet", TRUEVOLT, USUAL, held=True),
    Scenario("N6705C within its data sheet", ANALYZER, USUAL, held=True),
    Scenario("DP832A within its data sheet", SUPPLY, STRONG, window_s=3, held=True),
    Scenario(
        "hil measure, 2450 within its data sheet",
        SMU,
        USUAL,
        tool="measure",
        latency_s=0.05,
        options=("--range", "0.1"),
        held=True,
    ),
]

HELD = [
    Scenario("2450, offset at its limit", SMU, USUAL, errors={"offset": 1.0}, held=True),
    Scenario("2450, drift x 20", SMU, USUAL, errors={"drift": 20.0}, held=True),
    Scenario("2450, clock +100 ppm", SMU, USUAL, errors={"clock": 100e-6}, held=True),
    Scenario("2450, supply of 0.3 ohm", SMU, USUAL, errors={"source_ohm": 0.3}, held=True),
    Scenario("2450, idle before and after differ", SMU, Work(plain(STEP_S, 0.06), idle_a=(0.02, 0.024)), flag="idle"),
    Scenario("2450, a step as long as a reading", SMU, Work(plain(READING_S, 0.06)), flag="readings a step|alias"),
    Scenario(
        "2450, a step as long as two readings", SMU, Work(plain(2 * READING_S, 0.06)), flag="readings a step|alias"
    ),
    Scenario("2450, one reading overflows", SMU, USUAL, faults={"overflow": 1}, flag="overflow|no number|beyond"),
    Scenario("2450, one time stamp twice", SMU, USUAL, faults={"duplicate": 1}, flag="time stamp|order|lost"),
    Scenario("2450, one time stamp backward", SMU, USUAL, faults={"backward": 1}, flag="time stamp|order|lost"),
]


def _bouncing(**more: float | bool) -> Work:
    return Work(plain(STEP_S, 0.06), bounce_s=BOUNCE_S, **more)  # type: ignore[arg-type]


def _late(seconds: float) -> Scenario:
    name = f"N6705C, log begins {1000 * seconds:g} ms late"
    return Scenario(name, ANALYZER, USUAL, faults={"log_late_s": seconds}, window_s=1.6, flag="late|log|begin")


def _supply(ohm: float) -> Scenario:
    name = f"34465A, supply of {ohm:g} ohm"
    return Scenario(name, TRUEVOLT, USUAL, errors={"source_ohm": ohm}, flag=SOURCE, always=True)


def _declared(ohm: float) -> Scenario:
    """Of which rig.toml says how far the voltage drops under load."""
    name, share = f"34465A, supply of {ohm:g} ohm, declared", ohm * 0.066 / 3.3
    return Scenario(name, TRUEVOLT, USUAL, errors={"source_ohm": ohm}, declared={"supply_error": share}, held=True)


def _display(refresh_s: float) -> Scenario:
    name, topic = (
        f"DP832A, display renewed every {1000 * refresh_s:g} ms",
        "display|renew|refresh|repeat|same|hold|stale",
    )
    return Scenario(name, SUPPLY, STRONG, faults={"refresh_s": refresh_s}, window_s=3, flag=topic)


def _peaks(name: str, meter: str, over: float, window_s: float = 10) -> Scenario:
    return Scenario(name, meter, PEAKS, errors={"over": over}, window_s=window_s, flag=BURST + "|burden")


FAILED = [
    Scenario("2450, marker bounces in mid-window, no counter", SMU, _bouncing(counts=False), flag=EDGE),
    Scenario(
        "2450, 0.5 % of the readings x 8", SMU, USUAL, faults={"spikes": 0.005}, flag="spike|outlier|beyond|peak|jump"
    ),
    Scenario("2450, another range for 30 readings", SMU, USUAL, faults={"other_range": 30}, flag="range"),
    Scenario(
        "2450, 0.4 A x 100 us on the 100 mA range",
        SMU,
        Work(bursts(0.04, 0.04, 0.4, 100e-6, 5e-3)),
        flag=BURST + "|range",
    ),
    Scenario("2450, current limit reached", SMU, LIMITED, flag=CURRENT),
    Scenario("N6705C, current limit reached", ANALYZER, LIMITED, flag=CURRENT),
    Scenario(
        "2450, bursts at the reading rate",
        SMU,
        Work(bursts(16 * READING_S, 0.01, 0.06, 105e-6, READING_S), idle_a=(0.002, 0.002), locked=True),
        flag=BURST + "|alias|cover",
    ),
    *(_supply(ohm) for ohm in (1.0, 2.0, 3.0)),
    _peaks("34465A, bursts of 0.3 A x 50 us a ms", TRUEVOLT, 20.0),
    _peaks("DMM6500, bursts of 0.3 A x 50 us a ms", DMM, 20.0),
    *(_late(seconds) for seconds in (0.005, 0.02, 0.05, 0.1)),
    Scenario(
        "N6705C, 2 records lost a fetch", ANALYZER, USUAL, faults={"lost_a_fetch": 2}, flag="lost|missing|records"
    ),
    *(_display(seconds) for seconds in (0.1, 0.5)),
    Scenario(
        "hil measure, 2450, default range",
        SMU,
        Work(plain(STEP_S, 0.033), idle_a=(0.002, 0.002)),
        tool="measure",
        latency_s=0.05,
        flag=CURRENT + "|range",
    ),
    Scenario(
        "hil measure, 2450, marker bounces",
        SMU,
        Work(plain(STEP_S, 0.058), bounce_s=BOUNCE_S, bounce_at=0.4),
        tool="measure",
        latency_s=0.05,
        options=("--range", "0.1"),
        flag=EDGE,
    ),
]


def _without_dig(instrument: object) -> None:
    instrument.options = "MEM"  # type: ignore[attr-defined]


KIN = [  # not in the table of the tests from outside, and of the same kinds
    Scenario("2450, marker bounces in mid-window", SMU, _bouncing(), flag=EDGE),
    Scenario("2450, marker bounces as it rises", SMU, _bouncing(bounce_at=0.00005), flag=EDGE),
    Scenario("DMM6500, marker bounces in mid-window", DMM, _bouncing(counts=False), flag=EDGE),
    Scenario("34465A without the option DIG", TRUEVOLT, USUAL, twist=_without_dig),
    Scenario("34465A, readings lost", TRUEVOLT, USUAL, faults={"lost": 3}, flag="lost|missing"),
    _peaks("34465A, the same bursts, cut off at 120 % of the range", TRUEVOLT, 1.2),
    _peaks("34465A, the same bursts, cut off, windows of 1 s", TRUEVOLT, 1.2, 1),
    _peaks("DMM6500, the same bursts, cut off at 120 % of the range", DMM, 1.2),
    _peaks("DMM6500, the same bursts, cut off, windows of 1 s", DMM, 1.2, 1),
    *(_declared(ohm) for ohm in (1.0, 3.0)),
    Scenario("2450, readings lost", SMU, USUAL, faults={"lost": 3}, flag="lost|missing"),
    Scenario(
        "N6705C, marker bounces in mid-window",
        ANALYZER,
        Work(plain(STEP_S, 0.06), bounce_s=0.004, counts=False),
        flag=EDGE,
    ),
]

ROWS = [*CLEAN, *HELD, *FAILED, *KIN]
