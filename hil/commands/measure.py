"""`hil measure`: the energy between two edges of a pin that a user's own firmware toggles; or of a file, or of a number from a display.

Nothing is known of the board: the result is what flowed between the edges, gross, with the uncertainty of the meter and of the edges.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from hil.commands.measure_arguments import MODEL, VOLT, celsius, count, not_negative, positive, share, supply
from hil.energy.capture import Capture
from hil.energy.conditions import Conditions
from hil.energy.data_sheet import DataSheet
from hil.energy.edge_check import WrongEdges, checked_edges
from hil.errors import RigError
from hil.measure.figures import evaluate, shown
from hil.measure.windows import DEADLINE_S, MOST_TRIES, recorded, take, writing_to
from hil.meters import manual_readings
from hil.meters.csv_columns import ENERGY_J, TIME_S, said
from hil.meters.csv_file import read_csv
from hil.meters.meter import Host
from hil.meters.open import open_meter

USB_VOLT = 5.0  # of a supply under a meter that is read by hand


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
    with writing_to(folder):
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


def _from_file(options: argparse.Namespace) -> tuple[Capture, DataSheet]:
    capture = read_csv(options.csv, options.volt, said(options.column), options.shunt, options.debounce)
    accuracy = _accuracy(options)
    if accuracy.offset_a and np.isnan(capture.voltage_v).any():
        raise RigError(
            f"--accuracy {options.accuracy} has amperes, and {options.csv.name} no voltage to make watts of them: say the supply's with --volt."
        )
    return _checked(capture), manual_readings.declared_sheet(
        f"{manual_readings.FROM_FILE} {options.csv.name}", accuracy, capture
    )


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
    capture = manual_readings.typed_capture(energy, duration, options.volt or USB_VOLT)
    digit_a = energy.last_digit / duration.value / (options.volt or USB_VOLT)
    return capture, manual_readings.declared_sheet(manual_readings.TYPED_IN, accuracy, capture, digit_a)


def _asked(ask: Callable[[str], str], prompt: str, units: dict[str, float], what: str) -> manual_readings.Typed:
    for _ in range(MOST_TRIES - 1):
        try:
            return manual_readings.typed(ask(prompt), units, what)
        except RigError as error:
            print(error, file=sys.stderr)
        except EOFError:
            break
    raise RigError(f"no {what} was typed: run the command in a terminal, and type a number and its unit.")


def _accuracy(options: argparse.Namespace) -> manual_readings.Accuracy:
    try:
        of_reading, _, amperes = options.accuracy.partition(",")
        return manual_readings.Accuracy(float(of_reading), float(amperes or 0))
    except ValueError:
        raise RigError(
            f"--accuracy {options.accuracy!r} is none: a meter read by hand needs one, such as 0.01 or 0.01,0.0005."
        ) from None
