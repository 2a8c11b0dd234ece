"""`hil power`: live power of a board, in the terminal and on a page, and exports of recorded traces.

The live view has mean, extremes, energy, and a line of the past; its page has more (hil/report/power_page.py).
"""

from __future__ import annotations

import argparse
import contextlib
import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from hil.arguments import output_file
from hil.commands.measure_arguments import MODEL, VOLT, add_meter, positive, supply
from hil.commands.power_server import PageServer
from hil.energy.current_ranges import FULL
from hil.energy.live_trace import LiveTrace
from hil.energy.provenance import provenance_of
from hil.meters.meter import Host, InvalidWindow, Meter, Setting
from hil.meters.open import open_meter
from hil.number_text import whole_number

CELLS = " ▁▂▃▄▅▆▇█"
WIDTH = 60


@dataclass
class PowerHistory:
    """The readings so far.

    Attributes:
        readings: number of readings.
        mean_w, lowest_w, highest_w: of all readings, NaN before the first one.
        now_w: mean of the latest interval.
        energy_j: sum over the intervals of mean power times duration.
        missed_s: total time of the intervals without valid readings, such as those beyond the meter's range.
        trouble: why the latest interval is not valid; empty if it is.
        line: (mean, highest) of each interval, the latest last.
        trace: of all intervals.
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
    trace: LiveTrace = field(default_factory=LiveTrace)

    def add(self, power_w: np.ndarray, seconds: float) -> None:
        """Add the readings of an interval. One without readings continues with the power of the one before."""
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
            self.trace.add(power_w, seconds)
        else:
            self.trace.miss(seconds)

    def miss(self, seconds: float, why: str) -> None:
        """Add an interval without valid readings."""
        self.missed_s, self.trouble, self.now_w = self.missed_s + seconds, why, math.nan
        self.trace.miss(seconds)

    def figures(self) -> dict[str, float]:
        """Return the powers and the energy by name, NaN where unknown."""
        powers = {"now": self.now_w, "mean": self.mean_w, "lowest": self.lowest_w, "highest": self.highest_w}
        return powers | {"energy": self.energy_j}


def spark(values: list[float]) -> str:
    """Return a line of blocks from zero to the largest value, one block per value."""
    largest = max((value for value in values if math.isfinite(value)), default=0.0)
    if largest <= 0:
        return CELLS[0] * len(values)
    steps = len(CELLS) - 1
    return "".join(
        CELLS[min(steps, max(0, math.ceil(value / largest * steps)))] if math.isfinite(value) else "?"
        for value in values
    )


@dataclass(frozen=True)
class WatchOptions:
    """How a meter is watched.

    Attributes:
        interval_s: between two reads, in seconds.
        seconds: in all.
        limit_w: power at the end of the meter's range, in watts.
    """

    interval_s: float
    seconds: float
    limit_w: float


def watch(
    meter: Meter, history: PowerHistory, host: Host, how: WatchOptions, console: Console,
    seen: Callable[[], None] = lambda: None,
) -> None:  # fmt: skip
    """Read a configured meter at every interval, for this time or until Ctrl-C, and draw the history.

    `seen` is called after every interval.

    Invalid intervals do not count, and none with a reading near the end of the range: it may be clipped. Raises
    `Blocked` if the meter is gone.
    """
    _begin(meter)
    begin = last = host.now()
    with Live(_picture(meter, history), console=console, auto_refresh=False) as live:
        while last - begin < how.seconds:
            host.sleep(how.interval_s)
            try:
                power = meter.watch()
                if np.any(np.abs(power) >= FULL * how.limit_w):
                    raise InvalidWindow(
                        "readings are at the end of the range and may be clipped: use a larger range with --range"
                    )
            except InvalidWindow as spoiled:
                history.miss(host.now() - last, str(spoiled))
                _begin(meter)
            else:
                history.add(power, host.now() - last)
            last = host.now()
            seen()
            live.update(_picture(meter, history), refresh=True)


def _begin(meter: Meter) -> None:
    """Arm a meter, and read once, because some start with the first read."""
    meter.arm()
    with contextlib.suppress(InvalidWindow):
        meter.watch()


def _picture(meter: Meter, history: PowerHistory) -> Group:
    units = {"energy": "J"}
    figures = {name: with_prefix(value, units.get(name, "W")) for name, value in history.figures().items()}
    figures |= {"readings": str(history.readings)}
    table = Table.grid(padding=(0, 2))
    for title in figures:
        table.add_column(title, justify="right")
    table.add_row(*figures, style="dim")
    table.add_row(*figures.values())
    word = provenance_of("hardware", meter.identity).value
    lines: list[Text | Table] = [Text(f"{meter.sheet.name}: {meter.identity} ({word})"), table]
    lines.append(Text(spark([highest for _, highest in history.line]).rjust(WIDTH)))
    if history.missed_s:
        trouble = f": {history.trouble}" if history.trouble else ""
        lines.append(Text(f"{history.missed_s:.1f} s did not count{trouble}", style="bold"))
    return Group(*lines, Text("Ctrl-C ends; highest of each interval, from zero", style="dim"))


def with_prefix(value: float, unit: str) -> str:
    """Return a number with four digits, a prefix and the unit."""
    if not math.isfinite(value):
        return "-"
    power = min(max(3 * math.floor(math.log10(abs(value)) / 3), -9), 0) if value else 0
    return f"{value / 10.0**power:.4g} { {0: '', -3: 'm', -6: 'u', -9: 'n'}[power] }{unit}"


@contextlib.contextmanager
def _page(
    path: Path | None, meter: Meter, volt: float, history: PowerHistory, every_s: float
) -> Iterator[Callable[[], None]]:
    """Serve the page of a history, and save it at the end, also after Ctrl-C; yield what publishes the present state.

    Without a path nothing is served.
    """
    if path is None:
        yield lambda: None
        return
    from hil.record import write_atomic  # late: only this view needs them
    from hil.report.power_page import WatchedMeter, power_page, watched_data

    word = provenance_of("hardware", meter.identity).value
    watched = WatchedMeter(meter.sheet.name, meter.identity, volt, word, datetime.now(timezone.utc))

    def data() -> str:
        figures = history.figures() | {"readings": history.readings}
        return watched_data(history.trace, figures, history.missed_s, history.trouble, volt)

    server = PageServer(power_page(watched, data(), every_s), data())
    print(f"the page is at {server.url}, on this computer only; at the end it is saved as {path}", flush=True)
    try:
        yield lambda: server.publish(data())
    finally:
        server.close()
        write_atomic(path, power_page(watched, data(), None))
        print(f"saved as {path}")


def _export(trace: Path, files: list[Path], window: int) -> int:
    from hil.record.power_export import export, read_window  # late: pyarrow loads slowly

    found = read_window(trace, window)
    for path in files:
        export(found, path)
        print(path)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hil power", description="Watch the power of a board, or export its trace.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--watch", action="store_true", help="draw the power until Ctrl-C")
    text = "read a recorded trace (power.parquet, trace.parquet or their folder) and write it in other formats"
    what.add_argument("--export", type=Path, metavar="TRACE", help=text)
    parser.add_argument("--model", help=f"for --watch: {MODEL}")
    add_meter(parser, f"{VOLT:g}; required for a meter that feeds it")
    text = "largest current (default: the meter's largest range)"
    parser.add_argument("--range", type=positive, metavar="AMPERES", help=text)
    text = "time between updates (default: 0.5)"
    parser.add_argument("--interval", type=positive, default=0.5, metavar="SECONDS", help=text)
    text = "duration (default: until Ctrl-C)"
    parser.add_argument("--for", type=positive, default=math.inf, dest="seconds", metavar="SECONDS", help=text)
    text = (
        "also draw on a page in the browser, on this computer only, and save it at the end (default: power-<time>.html)"
    )
    parser.add_argument("--page", type=output_file, nargs="?", const=Path(), metavar="FILE", help=text)
    text = "for --export: file to write; it ends with .csv, .parquet, .jls or .ppk2 (repeatable)"
    parser.add_argument("--to", type=output_file, action="append", default=[], metavar="FILE", help=text)
    parser.add_argument(
        "--window", type=whole_number, default=0, metavar="N", help="for --export: number of the window (default: 0)"
    )
    return parser


def main(argv: list[str]) -> int:
    """Run the command and return its exit code."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.export is not None:
        if not options.to:
            parser.error("--export needs a file to write: name it with --to, such as --to power.csv")
        if len({path.resolve() for path in options.to}) < len(options.to):
            parser.error("--to names one file twice: give each a name of its own")
        return _export(options.export, options.to, options.window)
    if not options.model:
        parser.error("--watch needs a meter: name it with --model")
    if options.to:
        parser.error("--to is for --export")
    if not 0.05 <= options.interval <= 60:
        parser.error(f"--interval {options.interval:g}: choose 0.05 to 60 seconds")
    if options.page == Path():
        options.page = Path(f"power-{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}.html")
    host, volt, history = Host(), supply(options.model, options.volt), PowerHistory()
    with open_meter(options.meter, volt, options.model, host) as meter, contextlib.suppress(KeyboardInterrupt):
        used = meter.sheet.range_for(options.range) if options.range else meter.sheet.ranges[-1]
        interval_s = max(0.001, 1 / meter.sheet.fastest_hz)
        meter.configure(Setting(volt, used.amperes, interval_s, max(0.1, options.interval), options.interval))
        with _page(options.page, meter, volt, history, options.interval) as seen:
            how = WatchOptions(options.interval, options.seconds, used.amperes * volt)
            watch(meter, history, host, how, Console(), seen)
    return 0
