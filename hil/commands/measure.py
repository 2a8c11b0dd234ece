"""`hil measure`: energy between two edges of a pin of any firmware, from a meter, a file, or numbers of a display.

Nothing is known about the board: the result is the gross energy between the edges, with the uncertainty of the meter
and of the edges.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hil.arguments import output_folder, positive_count
from hil.commands.measure_arguments import MODEL, VOLT, add_meter, celsius, not_negative, positive, share, supply
from hil.energy.capture import Capture
from hil.energy.conditions import Conditions
from hil.energy.data_sheet import DataSheet
from hil.energy.edge_check import WrongEdges, checked_edges
from hil.energy.interval_figures import COVERAGE, evaluate
from hil.energy.marker_interval import MarkerInterval
from hil.errors import RigError, message_of
from hil.meters import manual_readings
from hil.meters.csv_columns import column_meanings
from hil.meters.csv_file import read_csv
from hil.meters.csv_units import ENERGY_J, TIME_S
from hil.meters.measured_window import DEADLINE_S, MOST_TRIES, take
from hil.meters.meter import Host
from hil.meters.open import open_meter
from hil.number_text import number
from hil.record.interval_trace import TRACE, record_interval, writing_to

USB_VOLT = 5.0  # default supply voltage of a meter that is read by hand
NUMBERS = {  # options: check of the value, its unit, and help
    "--range": (positive, "AMPERES", "largest current (default: found by starting on the meter's largest range)"),
    "--interval": (positive, "SECONDS", "time between readings (default: 0.001)"),
    "--idle": (positive, "SECONDS", "sleep of the board around the work (default: 0.2, or 40 readings if longer)"),
    "--window": (positive, "SECONDS", "expected time between the edges (default: 10)"),
    "--deadline": (positive, "SECONDS", f"time limit for both edges (default: {DEADLINE_S:g} plus two windows)"),
    "--supply-error": (
        share,
        "SHARE",
        "error limit of the supply under load (default: 0.05 if the meter does not read it)",
    ),
    "--ambient": (celsius, "DEGREES", "ambient temperature of the meter (default: within its specification)"),
    "--shunt": (positive, "OHMS", "for a file: the current is a voltage across this many ohms, or volts per ampere"),
    "--debounce": (not_negative, "SECONDS", "for a file: changes of the marker within this time are one"),
}


@np.errstate(over="ignore", invalid="ignore")  # numbers that are too large are refused in one sentence
def main(argv: list[str], ask: Callable[[str], str] = input) -> int:
    """Run the command and return its exit code."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.csv is None and (options.column or options.shunt or options.debounce is not None):
        parser.error("--column, --shunt and --debounce apply to a file: name it with --csv")
    if not options.model and (options.supply_error is not None or options.ambient is not None):
        parser.error(
            "--supply-error and --ambient apply to a meter: give the accuracy of readings by hand with --accuracy"
        )
    folder = options.out or Path(f"measure-{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}")
    record = partial(record_interval, folder)
    if options.model:
        options.volt = supply(options.model, options.volt)
        host = Host()
        with open_meter(options.meter, options.volt, options.model, host) as meter:
            taken, sheet, identity = take(meter, options, record, host), meter.sheet, meter.identity
    else:
        capture, sheet = _typed(options, ask) if options.typed else _from_file(options)
        identity = sheet.identity
        taken = record([capture], {"name": sheet.name, "identity": identity, "data_sheet": sheet.key})
    try:
        result = _figures(taken, sheet, identity, options)
    except RigError:
        if not options.model:  # the file has the readings still; those of a meter cannot be measured again
            (folder / TRACE).unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # other files are in it
                folder.rmdir()
        raise
    # Print before writing: the window cannot be measured again.
    print(json.dumps(result, indent=1) if options.json else _as_text(result, folder))
    with writing_to(folder):
        (folder / "measure.json").write_text(json.dumps(result, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return 0


def _figures(taken: MarkerInterval, sheet: DataSheet, identity: str, options: argparse.Namespace) -> dict[str, Any]:
    conditions = Conditions(options.supply_error, options.ambient)
    try:
        result = evaluate(taken, sheet, identity, options.steps, conditions)
        json.dumps(result, allow_nan=False)
    except (ArithmeticError, ValueError) as error:
        volt = "" if options.volt is None else f" --volt {options.volt:g},"
        raise RigError(
            f"the energy or its uncertainty is outside the range of numbers ({message_of(error)}): "
            f"check{volt} --steps, --accuracy and the units of the readings."
        ) from error
    return result


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hil measure", description="Measure the energy between two edges of a pin.")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--model", help=MODEL)
    text = "file with readings: time, and current, power or energy"
    source.add_argument("--csv", type=Path, metavar="FILE", help=text)
    text = "ask for the numbers on the display of a meter without a data port"
    source.add_argument("--typed", action="store_true", help=text)
    add_meter(parser, f"{VOLT:g} if the meter does not feed it, {USB_VOLT:g} for a display")
    for option, (kind, unit, text) in NUMBERS.items():
        parser.add_argument(option, type=kind, metavar=unit, help=text)
    text = "for a file or a display: limits of error, such as 0.01,0.0005"
    parser.add_argument("--accuracy", default="", metavar="SHARE[,AMPERES]", help=text)
    text = "for a file: meaning of a column, such as D0=marker (repeatable)"
    parser.add_argument("--column", action="append", default=[], metavar="NAME=MEANING", help=text)
    text = "the energy is divided by this number (default: 1)"
    parser.add_argument("--steps", type=positive_count, default=1, help=text)
    text = "folder for trace and JSON (default: measure-<time>)"
    parser.add_argument("--out", type=output_folder, metavar="FOLDER", help=text)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(interval=0.001, window=10.0)
    return parser


def _as_text(result: dict[str, Any], folder: Path) -> str:
    """Return the result as lines for a terminal."""
    rows = [("energy", "energy"), ("mean power", "mean_power"), ("duration", "duration")]
    if result["steps"] > 1:
        rows.insert(1, (f"of {result['steps']} steps each", "energy_per_step"))
    word = result["energy"]["provenance"]
    lines = [f"{label:18} {_with_uncertainty(result[name])}, {word}" for label, name in rows]
    meter = result["meter"]
    lines += [
        f"{'meter':18} {meter['name']}: {meter['identity']}",
        *(f"note: {flag}" for flag in result["flags"]),
        f"{'in':18} {folder}",
    ]
    return "\n".join(lines)


def _with_uncertainty(quantity: dict[str, Any]) -> str:
    """Return a figure with its expanded uncertainty, both to two digits of the latter and with the same prefix."""
    value, unit, u = quantity["value"], quantity["unit"], COVERAGE * quantity["uncertainty"]
    power = min(max(3 * math.floor(math.log10(abs(value)) / 3), -9), 0) if value else 0
    prefix = {0: "", -3: "m", -6: "u", -9: "n"}[power]
    value, u = value / 10.0**power, u / 10.0**power
    if not u:
        return f"{value:.6g} {prefix}{unit}"
    digits = max(0, 1 - math.floor(math.log10(u)))
    return f"{value:.{digits}f} +- {u:.{digits}f} {prefix}{unit} (k = {COVERAGE:g})"


# Sources of readings.


def _from_file(options: argparse.Namespace) -> tuple[Capture, DataSheet]:
    capture = read_csv(options.csv, options.volt, column_meanings(options.column), options.shunt, options.debounce)
    accuracy = _accuracy(options)
    if accuracy.offset_a and np.isnan(capture.voltage_v).any():
        raise RigError(
            f"--accuracy {options.accuracy} has amperes, and {options.csv.name} no voltage to convert them to watts: "
            "give the supply voltage with --volt."
        )
    return _checked(capture), manual_readings.declared_sheet(
        f"{manual_readings.FROM_FILE} {options.csv.name}", accuracy, capture
    )


def _checked(capture: Capture) -> Capture:
    """Return a file's capture, with a note if the power contradicts the marker: the window cannot be measured again."""
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
    energy = _typed_number(ask, "Energy on the display (such as 1.25 mWh): ", ENERGY_J, "energy")
    duration = _typed_number(ask, "Time on the display (such as 60.0 s): ", TIME_S, "duration")
    capture = manual_readings.typed_capture(energy, duration, options.volt or USB_VOLT)
    digit_a = energy.last_digit / duration.value / (options.volt or USB_VOLT)
    return capture, manual_readings.declared_sheet(manual_readings.TYPED_IN, accuracy, capture, digit_a)


def _typed_number(ask: Callable[[str], str], prompt: str, units: dict[str, float], what: str) -> manual_readings.Typed:
    for _ in range(MOST_TRIES - 1):
        try:
            return manual_readings.typed(ask(prompt), units, what)
        except RigError as error:
            print(error, file=sys.stderr)
        except EOFError:
            break
    raise RigError(f"no {what} was typed: run the command in a terminal, and type a number and a unit.")


def _accuracy(options: argparse.Namespace) -> manual_readings.ReadingAccuracy:
    try:
        of_reading, _, amperes = options.accuracy.partition(",")
        return manual_readings.ReadingAccuracy(number(of_reading), number(amperes or "0"))
    except ValueError:
        raise RigError(
            f"--accuracy {options.accuracy!r} is not an accuracy: readings by hand need one, such as 0.01 or "
            "0.01,0.0005."
        ) from None
