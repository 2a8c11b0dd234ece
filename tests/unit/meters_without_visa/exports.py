"""A trace of known energy as power analysers and scopes write it: a steady voltage, a current that rises in a straight line, and a marker.

Sources of the headers: see hil/meters/csv_layout.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SHUNT_OHM = 0.5


@dataclass(frozen=True)
class Ramp:
    """A current of `first + slope * t` at a steady voltage, read every `step` seconds, with a marker that is up from reading `up` to before `down`."""

    volt: float
    first: float
    slope: float
    begin: float
    step: float
    count: int
    up: int
    down: int

    @property
    def t(self) -> np.ndarray:
        return self.begin + self.step * np.arange(self.count)

    @property
    def amps(self) -> np.ndarray:
        return self.first + self.slope * (self.t - self.begin)

    @property
    def marker(self) -> np.ndarray:
        at = np.arange(self.count)
        return ((at >= self.up) & (at < self.down)).astype(int)

    def energy(self, marked: bool) -> float:
        """Return the integral of power in joules: between the middles of the readings around the marker's changes, or over all readings."""
        a, b = (
            ((self.up - 0.5) * self.step, (self.down - 0.5) * self.step)
            if marked
            else (0.0, (self.count - 1) * self.step)
        )
        return self.volt * (self.first * (b - a) + self.slope * (b * b - a * a) / 2)


@dataclass(frozen=True)
class Export:
    """A file: its name, its text, what `read_csv` must be told of it, and whether the marker is in it."""

    name: str
    text: str
    told: dict[str, Any] = field(default_factory=dict)
    marked: bool = True


def rows(*columns: Any, delimiter: str = ",", end: str = "") -> str:
    return "".join(delimiter.join(str(cell) for cell in row) + end + "\n" for row in zip(*columns, strict=True))


def digits(values: np.ndarray) -> list[str]:
    return [f"{value:.12e}" for value in values]


def _ppk(ramp: Ramp) -> tuple[list[str], list[str]]:
    return [f"{1e3 * t:.9f}" for t in ramp.t], [f"{1e6 * a:.6f}" for a in ramp.amps]


def ppk2_word(ramp: Ramp) -> Export:
    bits = [f"00{level}00010" for level in ramp.marker]
    return Export(
        "ppk.csv",
        "Timestamp(ms),Current(uA),D0-D7\n" + rows(*_ppk(ramp), bits),
        {"volt": ramp.volt, "columns": {"D2": "marker"}},
    )


def ppk2_columns(ramp: Ramp) -> Export:
    pins = [["1" if pin == 6 else str(level) if pin == 3 else "-" for level in ramp.marker] for pin in range(8)]
    head = "Timestamp(ms),Current(uA)," + ",".join(f"D{pin}" for pin in range(8))
    return Export("ppk.csv", f"{head}\n{rows(*_ppk(ramp), *pins)}", {"volt": ramp.volt, "columns": {"D3": "marker"}})


def ppk2_bits(ramp: Ramp) -> Export:
    bits = [f"{64 + level:08b}" for level in ramp.marker]
    return Export(
        "ppk.csv",
        "Timestamp(ms),Current(uA),Bits\n" + rows(*_ppk(ramp), bits),
        {"volt": ramp.volt, "columns": {"D0": "marker"}},
    )


def joulescope_statistics(ramp: Ramp) -> Export:
    """Each row is the mean from the time before to its own, the first from before the file began."""
    t, middle = ramp.t, ramp.first + ramp.slope * (ramp.t - ramp.begin - ramp.step / 2)
    power = middle * ramp.volt
    text = "#time,current,voltage,power,charge,energy\n" + rows(
        digits(t),
        digits(middle),
        [ramp.volt] * ramp.count,
        digits(power),
        digits(middle * 0),
        digits(np.cumsum(power) * ramp.step),
    )
    return Export("js.csv", text, {}, marked=False)


def joulescope_columns(ramp: Ramp) -> Export:
    told = {"columns": {"1": "time", "2": "current", "3": "voltage"}}
    return Export("js.csv", rows(digits(ramp.t), digits(ramp.amps), [ramp.volt] * ramp.count), told, marked=False)


def otii(ramp: Ramp) -> Export:
    return Export(
        "Main current - Ace.csv",
        '"Timestamp","Value"\n' + rows(digits(ramp.t), digits(ramp.amps)),
        {"volt": ramp.volt},
        marked=False,
    )


def otii_table(ramp: Ramp) -> Export:
    """Several channels in one file, of a computer that writes commas in its decimals."""
    cells = [
        [cell.replace(".", ",") for cell in digits(column)]
        for column in (ramp.t, ramp.amps, np.full(ramp.count, ramp.volt))
    ]
    head = "Timestamp;Main current - Arc (A);Main voltage - Arc (V);GPI1\n"
    return Export("otii.csv", head + rows(*cells, ramp.marker, delimiter=";"), {"columns": {"GPI1": "marker"}})


SCOPE = {"columns": {"CH1": "current", "CH2": "voltage"}, "shunt_ohm": SHUNT_OHM}


def _scope(ramp: Ramp) -> tuple[list[str], list[str], list[str]]:
    return digits(ramp.t), digits(ramp.amps * SHUNT_OHM), digits(np.full(ramp.count, ramp.volt))


def rigol(ramp: Ramp) -> Export:
    _, first, second = _scope(ramp)
    head = f"X,CH1,CH2,Start,Increment,\nSequence,Volt,Volt,{ramp.begin:.12e},{ramp.step:.12e}\n"
    return Export("NewFile0.csv", head + rows(range(ramp.count), first, second, end=","), SCOPE, marked=False)


def rigol_times(ramp: Ramp) -> Export:
    third = [f"{3.3 * level:.2e}" for level in ramp.marker]
    head = "Time,X(CH1),X(CH2),X(CH3)\nSecond,Volt,Volt,Volt,\n"
    told = SCOPE | {"columns": SCOPE["columns"] | {"CH3": "marker"}}
    return Export("NewFile1.csv", head + rows(*_scope(ramp), third, end=","), told)


def keysight(ramp: Ramp) -> Export:
    head = "x-axis,1,2,3\nsecond,Volt,Volt,Volt\n"
    told = SCOPE | {"columns": {"1": "current", "2": "voltage", "3": "marker"}}
    return Export("scope_0.csv", head + rows(*_scope(ramp), ramp.marker * 1.8), told)


def siglent(ramp: Ramp) -> Export:
    head = (
        f"Record Length,Analog:{ramp.count}\nSample Interval,{ramp.step}\nVertical Units,CH1:V,CH2:V\nVertical Scale,CH1:0.05,CH2:1.00\n"
        "Horizontal Units,s\nModel Number,SDS1204X-E\nSource,CH1,CH2\nSecond,Volt,Volt\n"
    )
    return Export("SDS00001.csv", head + rows(*_scope(ramp)), SCOPE, marked=False)


def tektronix(ramp: Ramp) -> Export:
    head = (
        f"Model,MSO46\nFirmware Version,1.2\n\nWaveform Type,ANALOG,ANALOG\nHorizontal Units,s\nSample Interval,{ramp.step}\n"
        f"Record Length,{ramp.count}\nVertical Units,A,V\nLabel,,\n,,\nTIME,CH1,CH2,\n"
    )
    told = {"columns": {"CH1": "current", "CH2": "voltage"}}
    return Export(
        "Tek000.csv",
        head + rows(digits(ramp.t), digits(ramp.amps), [ramp.volt] * ramp.count, end=","),
        told,
        marked=False,
    )


def tektronix_comments(ramp: Ramp) -> Export:
    head = "#Model,MDO3014\n#\n#Horizontal Units,s,,\n#Vertical Units,V,V,V\n#,,,\n#Label,,,\n#TIME,CH1,CH2,D3\n"
    told = SCOPE | {"columns": SCOPE["columns"] | {"D3": "marker"}}
    return Export("tek.csv", head + rows(*_scope(ramp), ramp.marker), told)


def tektronix_tds(ramp: Ramp) -> Export:
    settings = {
        "Record Length": f"{ramp.count:e}",
        "Sample Interval": ramp.step,
        "Source": "CH1",
        "Vertical Units": "V",
        "Horizontal Units": "s",
    }
    left = [*settings.items(), *([("", "")] * ramp.count)][: ramp.count]
    text = rows([name for name, _ in left], [value for _, value in left], [""] * ramp.count, *_scope(ramp)[:2], end=",")
    return Export(
        "F0000CH1.CSV", text, {"columns": {"CH1": "current"}, "shunt_ohm": SHUNT_OHM, "volt": ramp.volt}, marked=False
    )


def lecroy(ramp: Ramp) -> Export:
    head = f"LECROYWR204M,51184,Waveform\nSegments,1,SegmentSize,{ramp.count}\nSegment,TrigTime,TimeSinceSegment1\n#1,22-Jan-2015 11:35:11,0\nTime,Ampl\n"
    told = {"columns": {"Ampl": "current"}, "shunt_ohm": SHUNT_OHM, "volt": ramp.volt}
    return Export("C1.csv", head + rows(*_scope(ramp)[:2]), told, marked=False)


def plain(ramp: Ramp) -> Export:
    text = "time_us,current (mA),voltage [mV],marker\n" + rows(
        digits(1e6 * ramp.t), digits(1e3 * ramp.amps), digits(np.full(ramp.count, 1e3 * ramp.volt)), ramp.marker
    )
    return Export("own.csv", text)


def units_below(ramp: Ramp) -> Export:
    text = "time\tpower\nms\tmW\n" + rows(digits(1e3 * ramp.t), digits(1e3 * ramp.amps * ramp.volt), delimiter="\t")
    return Export("own.tsv", text, marked=False)


EXPORTS: list[Callable[[Ramp], Export]] = [
    ppk2_word, ppk2_columns, ppk2_bits, joulescope_statistics, joulescope_columns, otii, otii_table, rigol, rigol_times, keysight, siglent,
    tektronix, tektronix_comments, tektronix_tds, lecroy, plain, units_below,
]  # fmt: skip
