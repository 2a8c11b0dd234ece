"""`hil power --watch`: the power of a board in the terminal, as it is read: now, mean, lowest, highest, energy, and a line of its past."""

from __future__ import annotations

import argparse
import contextlib
import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from hil.commands.measure_arguments import MODEL, VOLT, positive, supply
from hil.energy.current_ranges import FULL
from hil.energy.provenance import provenance_of
from hil.meters.meter import Host, Meter, Setting, Spoiled
from hil.meters.open import open_meter

CELLS = " ▁▂▃▄▅▆▇█"
WIDTH = 60


@dataclass
class Past:
    """What was read so far.

    Attributes:
        readings: how many.
        mean_w, lowest_w, highest_w: of all readings, NaN before the first.
        now_w: mean of the latest.
        energy_j: mean power times time, from one look to the next.
        missed_s: time of the looks that did not count, such as those beyond the meter's range.
        trouble: why, of the latest look; empty where it counted.
        line: (mean, highest) of each look, the latest last.
    """

    readings: int = 0
    mean_w: float = math.nan
    lowest_w: float = math.nan
    highest_w: float = math.nan
    now_w: float = math.nan
    energy_j: float = 0.0
    missed_s: float = 0.0
    trouble: str = ""
    line: deque[tuple[float, float]] = field(default_factory=lambda: deque(maxlen=WIDTH))

    def add(self, power_w: np.ndarray, seconds: float) -> None:
        """Take the readings of a look that was so many seconds long; a look without readings goes on with the power before it."""
        self.trouble = ""
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

    def miss(self, seconds: float, why: str) -> None:
        """Take that a look of so many seconds told nothing."""
        self.missed_s, self.trouble, self.now_w = self.missed_s + seconds, why, math.nan


def spark(values: list[float]) -> str:
    """Return a line of blocks from zero to the largest of the values, one a value."""
    largest = max((value for value in values if math.isfinite(value)), default=0.0)
    if largest <= 0:
        return CELLS[0] * len(values)
    steps = len(CELLS) - 1
    return "".join(
        CELLS[min(steps, max(0, math.ceil(value / largest * steps)))] if math.isfinite(value) else "?"
        for value in values
    )


def watch(
    meter: Meter, past: Past, host: Host, interval_s: float, seconds: float, console: Console, limit_w: float = math.inf
) -> None:
    """Look every interval, for so many seconds or until Ctrl-C, and draw what is known; a look that the meter calls spoiled does not count.

    Args:
        meter: configured.
        past: takes the readings.
        host: its clock.
        interval_s, seconds: of a look, and of all.
        console: to draw on.
        limit_w: power at the end of the range: a look with a reading near it may be cut off, and does not count.

    Raises:
        Blocked: the meter has gone.
    """
    _begin(meter)
    begin = last = host.now()
    with Live(_picture(meter, past), console=console, auto_refresh=False) as live:
        while last - begin < seconds:
            host.sleep(interval_s)
            try:
                power = meter.watch()
                if np.any(np.abs(power) >= FULL * limit_w):
                    raise Spoiled(
                        "readings lie at the end of the range, and may be cut off: take a larger one with --range"
                    )
            except Spoiled as spoiled:
                past.miss(host.now() - last, str(spoiled))
                _begin(meter)
            else:
                past.add(power, host.now() - last)
            last = host.now()
            live.update(_picture(meter, past), refresh=True)


def _begin(meter: Meter) -> None:
    """Arm a meter, and look once for those that begin with the first look."""
    meter.arm()
    with contextlib.suppress(Spoiled):
        meter.watch()


def _picture(meter: Meter, past: Past) -> Group:
    table = Table.grid(padding=(0, 2))
    for title in ("now", "mean", "lowest", "highest", "energy", "readings"):
        table.add_column(title, justify="right")
    table.add_row("now", "mean", "lowest", "highest", "energy", "readings", style="dim")
    figures = [spelled(value, "W") for value in (past.now_w, past.mean_w, past.lowest_w, past.highest_w)]
    table.add_row(*figures, spelled(past.energy_j, "J"), str(past.readings))
    line = Text(spark([highest for _, highest in past.line]).rjust(WIDTH))
    missed = (
        [Text(f"{past.missed_s:.1f} s did not count{': ' + past.trouble if past.trouble else ''}", style="bold")]
        if past.missed_s
        else []
    )
    word = provenance_of("hardware", meter.identity).value
    whose, legend = (
        Text(f"{meter.sheet.name}: {meter.identity} ({word})"),
        Text("Ctrl-C ends; highest of each look, from zero", style="dim"),
    )
    return Group(whose, table, line, *missed, legend)


def spelled(value: float, unit: str) -> str:
    """Return four digits and a prefix."""
    if not math.isfinite(value):
        return "-"
    power = min(max(3 * math.floor(math.log10(abs(value)) / 3), -9), 0) if value else 0
    return f"{value / 10.0**power:.4g} { {0: '', -3: 'm', -6: 'u', -9: 'n'}[power] }{unit}"


def main(argv: list[str]) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(prog="hil power", description="Watch the power of a board.")
    parser.add_argument("--watch", action="store_true", required=True, help="draw it until Ctrl-C")
    parser.add_argument("--model", required=True, help=MODEL)
    parser.add_argument(
        "--meter",
        default="",
        metavar="ADDRESS",
        help="VISA resource name, serial port, USB serial number or name of the meter",
    )
    parser.add_argument(
        "--volt", type=positive, help=f"supply of the board (default: {VOLT:g}, and none for a meter that feeds it)"
    )
    parser.add_argument(
        "--range", type=positive, metavar="AMPERES", help="largest current (default: the meter's largest range)"
    )
    parser.add_argument(
        "--interval", type=positive, default=0.5, metavar="SECONDS", help="from one look to the next (default: 0.5)"
    )
    parser.add_argument(
        "--for",
        type=positive,
        default=math.inf,
        dest="seconds",
        metavar="SECONDS",
        help="how long (default: until Ctrl-C)",
    )
    options = parser.parse_args(argv)
    if not 0.05 <= options.interval <= 60:
        parser.error(f"--interval {options.interval:g}: choose 0.05 to 60 seconds")
    host, volt = Host(), supply(options.model, options.volt)
    with open_meter(options.meter, volt, options.model, host) as meter, contextlib.suppress(KeyboardInterrupt):
        used = meter.sheet.range_for(options.range) if options.range else meter.sheet.ranges[-1]
        meter.configure(
            Setting(
                volt, used.amperes, max(0.001, 1 / meter.sheet.fastest_hz), max(0.1, options.interval), options.interval
            )
        )
        watch(meter, Past(), host, options.interval, options.seconds, Console(), used.amperes * volt)
    return 0
