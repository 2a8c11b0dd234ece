"""`hil measure`: the energy between two edges of a pin that a user's own firmware toggles; or of a file, or of a number from a display.

Nothing is known of the board: the result is what flowed between the edges, gross, with the uncertainty of the meter and of the edges.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from hil.errors import Blocked, RigError
from hil.measure.between import IntervalSums
from hil.measure.capture import Capture
from hil.measure.conditions import Conditions
from hil.measure.data_sheet import DataSheet
from hil.measure.edge_check import WrongEdges, checked_edges
from hil.measure.ranges import first_range, next_range, peak_current, range_with_headroom
from hil.meters import by_hand
from hil.meters.csv_columns import ENERGY_J, TIME_S, said
from hil.meters.csv_file import read_csv
from hil.meters.edges import pieces
from hil.meters.meter import Host, Meter, Setting, Spoiled
from hil.meters.open import open_meter
from hil.record.trace import TraceWriter
from hil.tools.arguments import MODEL, VOLT, celsius, count, not_negative, positive, share, supply
from hil.tools.figures import Taken, evaluate, shown

MOST_TRIES = 5  # windows that may be spoiled
FEWEST = 4  # readings of a window: a shorter pulse may be bounce, and its energy is that of the edges
USB_VOLT = 5.0  # of a supply under a meter that is read by hand
DEADLINE_S = 120.0  # for a user to start the firmware; the window comes on top of it
IDLE_S, IDLE_READINGS = 0.2, 40  # of sleep, as in a trial


def main(argv: list[str], ask: Callable[[str], str] = input) -> int:
    """Run the command; return its exit code."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.csv is None and (options.column or options.shunt or options.debounce is not None):
        parser.error("--column, --shunt and --debounce are of a file: name it with --csv")
    if not options.model and (options.supply_error is not None or options.ambient is not None):
        parser.error(
            "--supply-error and --ambient are of a meter: say the accuracy of readings by hand with --accuracy"
        )
    folder = options.out or Path(f"measure-{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}")
    if options.model:
        options.volt = supply(options.model, options.volt)
        host = Host()
        with open_meter(options.meter, options.volt, options.model, host) as meter:
            taken, sheet, identity = take(meter, options, folder, host), meter.sheet, meter.identity
    else:
        capture, sheet = _typed(options, ask) if options.typed else _from_file(options)
        identity = sheet.identity
        taken = recorded([capture], folder, {"name": sheet.name, "identity": identity, "data_sheet": sheet.key})
    result = evaluate(taken, sheet, identity, options.steps, Conditions(options.supply_error, options.ambient))
    print(
        json.dumps(result, indent=1) if options.json else shown(result, folder)
    )  # first: the window cannot be had again
    with _written(folder):
        (folder / "measure.json").write_text(json.dumps(result, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hil measure", description="Measure the energy between two edges of a pin.")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--model", help=MODEL)
    source.add_argument(
        "--csv", type=Path, metavar="FILE", help="readings from a file: time and current, power or energy"
    )
    source.add_argument("--typed", action="store_true", help="ask for what a meter without a data port shows")
    parser.add_argument(
        "--meter",
        default="",
        metavar="ADDRESS",
        help="VISA resource name, serial port, USB serial number or name of the meter",
    )
    parser.add_argument(
        "--volt",
        type=positive,
        help=f"supply of the board (default: {VOLT:g} where the meter does not feed it, {USB_VOLT:g} for a display)",
    )
    parser.add_argument(
        "--range",
        type=positive,
        metavar="AMPERES",
        help="largest current (default: found, from the meter's largest range on)",
    )
    parser.add_argument(
        "--interval",
        type=positive,
        default=0.001,
        metavar="SECONDS",
        help="from one reading to the next (default: 0.001)",
    )
    parser.add_argument(
        "--idle",
        type=positive,
        metavar="SECONDS",
        help="that the board sleeps before and after (default: 0.2, or 40 readings if longer)",
    )
    parser.add_argument(
        "--window", type=positive, default=10.0, metavar="SECONDS", help="expected time between the edges (default: 10)"
    )
    parser.add_argument(
        "--deadline",
        type=positive,
        metavar="SECONDS",
        help=f"to wait for both edges (default: {DEADLINE_S:g} and two windows)",
    )
    parser.add_argument(
        "--supply-error",
        type=share,
        metavar="SHARE",
        help="limit of the supply's error under load (default: 0.05 if the meter reads none)",
    )
    parser.add_argument(
        "--ambient",
        type=celsius,
        metavar="DEGREES",
        help="temperature about the meter (default: one that its limits of error hold at)",
    )
    parser.add_argument(
        "--accuracy",
        default="",
        metavar="SHARE[,AMPERES]",
        help="of a file or a display: limits of error, such as 0.01,0.0005",
    )
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="NAME=MEANING",
        help="of a file: what a column is, such as D0=marker (repeatable)",
    )
    parser.add_argument(
        "--shunt",
        type=positive,
        metavar="OHMS",
        help="of a file: the current is a voltage over so many ohms, or volts per ampere",
    )
    parser.add_argument(
        "--debounce",
        type=not_negative,
        metavar="SECONDS",
        help="of a file: changes of the marker within so many seconds are one",
    )
    parser.add_argument("--steps", type=count, default=1, help="what the energy is divided by (default: 1)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where trace and JSON go (default: measure-<time>)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


# where readings come from


def take(meter: Meter, options: argparse.Namespace, folder: Path, host: Host) -> Taken:
    """Return what a good window held, and leave its trace in a folder; for each spoiled one the reason is printed.

    Without a range it begins on the largest one, and measures again on the smallest that has room above the largest reading. A window with readings
    at the end of its range is measured again on the next one. After a spoiled window the work may still go on, and the next one begins as much later
    as a window takes: a pin that falls would be taken for one that rises.

    Args:
        meter: open.
        options: volt, range, interval, idle, window, deadline.
        folder: for `trace.parquet`.
        host: whose clock that time is waited by.

    Raises:
        RigError: the folder cannot be written.
        Blocked: the meter failed, or too many windows were spoiled.
    """
    used = meter.sheet.range_for(options.range) if options.range else first_range(meter.sheet)
    searching = not options.range
    deadline_s = options.deadline or DEADLINE_S + 2 * options.window
    idle_s = options.idle or max(IDLE_S, IDLE_READINGS * max(options.interval, 1 / meter.sheet.fastest_hz))
    about = {"name": meter.sheet.name, "identity": meter.identity, "data_sheet": meter.sheet.key}
    tries = MOST_TRIES + searching
    for _ in range(tries):
        meter.configure(Setting(options.volt, used.amperes, options.interval, idle_s, options.window))
        meter.arm()
        what = f"let the board sleep {idle_s:g} s, raise the pin, work, lower it, and sleep again"
        if meter.sheet.marker == "none":
            what = f"let the board sleep {idle_s:g} s, work, and sleep again, within {options.window + 2 * idle_s:g} s"
        print(
            f"{meter.sheet.name} ({meter.identity}) reads on its range of {used.amperes:g} A: {what}.", file=sys.stderr
        )
        try:
            taken = recorded(pieces(meter, deadline_s, idle_s), folder, about, FEWEST)
        except Spoiled as spoiled:
            print(f"thrown away: {str(spoiled).rstrip('.')}.", file=sys.stderr)
            if spoiled.beyond_range:
                above = next_range(meter.sheet, used.amperes)
                if above is None:
                    raise Blocked(
                        "meter", f"{str(spoiled).rstrip('.')}, which is its largest range: measure with another meter."
                    ) from spoiled
                used, searching = above, False
            host.sleep(options.window)
            continue
        better = range_with_headroom(meter.sheet, taken.peak_a) if searching else used
        if better.amperes >= used.amperes:
            return taken
        print(
            f"at most {taken.peak_a:.3g} A were read: once more on the range of {better.amperes:g} A, which is more accurate.",
            file=sys.stderr,
        )
        used, searching = better, False
    raise Blocked("meter", f"none of {tries} windows can be used: see the reasons above.")


def recorded(window: Iterable[Capture], folder: Path, about: dict[str, Any], fewest: int = 0) -> Taken:
    """Write a window's trace as its pieces come, and return what lies between its edges; a window that fails leaves no trace.

    Args:
        window: its pieces.
        folder: for `trace.parquet`.
        about: what is known of the meter.
        fewest: readings that must lie between the edges.

    Raises:
        RigError: the folder cannot be written.
        Blocked, Spoiled: of the pieces; or there are not two edges in them, or too few readings between these.
    """
    running, peak_a = IntervalSums(), 0.0
    with _written(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with TraceWriter(folder / "trace.parquet", about) as trace:
            for piece in window:
                about.update(range_a=piece.range_a, aperture_s=piece.aperture_s)
                trace.append(piece)
                running.add(piece)
                peak_a = max(
                    peak_a,
                    peak_current(np.where(np.isnan(piece.current_a), piece.power_w / piece.voltage_v, piece.current_a)),
                )
            found = running.result()
            if found.readings < fewest:
                raise Spoiled(
                    f"the pin changed back after {found.duration_s:.3g} s, and {found.readings} readings lie between: look for bounce at it, "
                    "or choose a shorter --interval"
                )
    return Taken(found, peak_a)


@contextlib.contextmanager
def _written(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RigError(f"{folder} cannot be written ({error}): name another folder with --out.") from error


def _from_file(options: argparse.Namespace) -> tuple[Capture, DataSheet]:
    capture = read_csv(options.csv, options.volt, said(options.column), options.shunt, options.debounce)
    accuracy = _accuracy(options)
    if accuracy.offset_a and np.isnan(capture.voltage_v).any():
        raise RigError(
            f"--accuracy {options.accuracy} has amperes, and {options.csv.name} no voltage to make watts of them: say the supply's with --volt."
        )
    return _checked(capture), by_hand.declared_sheet(f"{by_hand.FROM_FILE} {options.csv.name}", accuracy, capture)


def _checked(capture: Capture) -> Capture:
    """Return a file's capture with a note where the power does not agree with its marker: the window cannot be taken again."""
    begin, end = (edge.t_s for edge in capture.edges[:2])
    idle_s = min(begin - float(capture.t_s[0]), float(capture.t_s[-1]) - end)
    if idle_s <= 0:
        return capture
    try:
        checked = checked_edges(replace(capture, edges=capture.edges[:2]), idle_s)
    except WrongEdges as error:
        return capture.noted(f"{error}.")
    return replace(checked, edges=(*checked.edges, *capture.edges[2:]))


def _typed(options: argparse.Namespace, ask: Callable[[str], str]) -> tuple[Capture, DataSheet]:
    accuracy = _accuracy(options)
    energy = _asked(ask, "Energy that the meter counted (such as 1.25 mWh): ", ENERGY_J, "energy")
    duration = _asked(ask, "Time that it counted for (such as 60.0 s): ", TIME_S, "duration")
    capture = by_hand.typed_capture(energy, duration, options.volt or USB_VOLT)
    digit_a = energy.last_digit / duration.value / (options.volt or USB_VOLT)
    return capture, by_hand.declared_sheet(by_hand.TYPED_IN, accuracy, capture, digit_a)


def _asked(ask: Callable[[str], str], prompt: str, units: dict[str, float], what: str) -> by_hand.Typed:
    for _ in range(MOST_TRIES - 1):
        try:
            return by_hand.typed(ask(prompt), units, what)
        except RigError as error:
            print(error, file=sys.stderr)
        except EOFError:
            break
    raise RigError(f"no {what} was typed: run the command in a terminal, and type a number and its unit.")


def _accuracy(options: argparse.Namespace) -> by_hand.Accuracy:
    try:
        of_reading, _, amperes = options.accuracy.partition(",")
        return by_hand.Accuracy(float(of_reading), float(amperes or 0))
    except ValueError:
        raise RigError(
            f"--accuracy {options.accuracy!r} is none: a meter read by hand needs one, such as 0.01 or 0.01,0.0005."
        ) from None
