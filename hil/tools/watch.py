"""`hil power --watch`: the power of a board in the terminal, as it is read: now, mean, lowest, highest, energy, and a line of its past."""

from __future__ import annotations

import argparse
import contextlib
import math
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from hil.errors import RigError
from hil.meters.meter import Host, Meter, Setting
from hil.meters.open import MODELS, open_meter

CELLS = " ▁▂▃▄▅▆▇█"
WIDTH = 60


@runtime_checkable
class Watched(Protocol):
    """A meter that tells what it reads while it reads."""

    def watch(self) -> np.ndarray:
        """Return the power of the readings since the last call, float64[n] in watts."""
        ...


@dataclass
class Past:
    """What was read so far.

    Attributes:
        readings: how many.
        mean_w, lowest_w, highest_w: of all readings, NaN before the first.
        now_w: mean of the latest.
        energy_j: mean power times time, from one look to the next.
        line: (mean, highest) of each look, the latest last.
    """

    readings: int = 0
    mean_w: float = math.nan
    lowest_w: float = math.nan
    highest_w: float = math.nan
    now_w: float = math.nan
    energy_j: float = 0.0
    line: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=WIDTH))

    def add(self, power_w: np.ndarray, seconds: float) -> None:
        """Take the readings of a look that was so many seconds long; a look without readings goes on with the power before it."""
        if len(power_w):
            self.now_w = float(np.mean(power_w))
            before = 0.0 if math.isnan(self.mean_w) else self.mean_w * self.readings
            self.readings += len(power_w)
            self.mean_w = (before + float(np.sum(power_w))) / self.readings
            self.lowest_w = float(np.fmin(self.lowest_w, power_w.min()))
            self.highest_w = float(np.fmax(self.highest_w, power_w.max()))
            self.line.append((self.now_w, float(power_w.max())))
        if not math.isnan(self.now_w):
            self.energy_j += self.now_w * seconds


def spark(values: list[float]) -> str:
    """Return a line of blocks from zero to the largest of the values, one a value."""
    largest = max((value for value in values if math.isfinite(value)), default=0.0)
    if largest <= 0:
        return CELLS[0] * len(values)
    steps = len(CELLS) - 1
    return "".join(CELLS[min(steps, max(0, math.ceil(value / largest * steps)))] if math.isfinite(value) else "?" for value in values)


def watch(meter: Meter, past: Past, host: Host, interval_s: float, seconds: float, console: Console) -> None:
    """Look every interval, for so many seconds or until Ctrl-C, and draw what is known.

    Raises:
        RigError: the meter tells nothing before a window is over.
    """
    if not isinstance(meter, Watched):
        raise RigError(f"the {meter.sheet.name} cannot be watched: it tells its readings when a window is over; use hil measure.")
    meter.arm()
    begin = last = host.now()
    with Live(_picture(meter, past), console=console, auto_refresh=False) as live:
        while last - begin < seconds:
            host.sleep(interval_s)
            power = meter.watch()
            now = host.now()
            past.add(power, now - last)
            last = now
            live.update(_picture(meter, past), refresh=True)


def _picture(meter: Meter, past: Past) -> Group:
    table = Table.grid(padding=(0, 2))
    for title in ("now", "mean", "lowest", "highest", "energy", "readings"):
        table.add_column(title, justify="right")
    table.add_row("now", "mean", "lowest", "highest", "energy", "readings", style="dim")
    figures = [spelled(value, "W") for value in (past.now_w, past.mean_w, past.lowest_w, past.highest_w)]
    table.add_row(*figures, spelled(past.energy_j, "J"), str(past.readings))
    line = Text(spark([highest for _, highest in past.line]).rjust(WIDTH))
    return Group(Text(f"{meter.sheet.name}: {meter.identity}"), table, line, Text("Ctrl-C ends; highest of each look, from zero", style="dim"))


def spelled(value: float, unit: str) -> str:
    """Return four digits and a prefix."""
    if not math.isfinite(value):
        return "-"
    power = min(max(3 * math.floor(math.log10(abs(value)) / 3), -9), 0) if value else 0
    return f"{value / 10.0**power:.4g} { {0: '', -3: 'm', -6: 'u', -9: 'n'}[power]}{unit}"


def main(argv: list[str]) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog="hil power", description="Watch the power of a board.")
    parser.add_argument("--watch", action="store_true", required=True, help="draw it until Ctrl-C")
    parser.add_argument("--model", choices=MODELS, required=True, help="meter to read, by the name of its data sheet")
    parser.add_argument("--meter", default="", metavar="ADDRESS", help="serial port, USB serial number or name of the meter")
    parser.add_argument("--volt", type=float, default=3.3, help="supply of the board (default: 3.3)")
    parser.add_argument("--range", type=float, metavar="AMPERES", help="largest current (default: the meter's largest range)")
    parser.add_argument("--interval", type=float, default=0.5, metavar="SECONDS", help="from one look to the next (default: 0.5)")
    parser.add_argument("--for", type=float, default=math.inf, dest="seconds", metavar="SECONDS", help="how long (default: until Ctrl-C)")
    options = parser.parse_args(argv)
    if not 0.05 <= options.interval <= 60:
        parser.error(f"--interval {options.interval:g}: choose 0.05 to 60 seconds")
    host = Host()
    with open_meter(options.meter, options.volt, options.model, host) as meter, contextlib.suppress(KeyboardInterrupt):
        used = meter.sheet.range_for(options.range) if options.range else meter.sheet.ranges[-1]
        meter.configure(Setting(options.volt, used.amperes, max(0.001, 1 / meter.sheet.fastest_hz), 0.1, options.interval))
        watch(meter, Past(), host, options.interval, options.seconds, Console())
    return 0
