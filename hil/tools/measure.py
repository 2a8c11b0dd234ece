"""`hil measure`: the energy between two edges of a pin that a user's own firmware toggles; or of a file, or of a number from a display.

Nothing is known of the board: what is told is what flowed between the edges, gross, with the uncertainty of the meter and of the edges.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from hil.errors import Blocked, RigError
from hil.measure.between import Between, Running, budget
from hil.measure.capture import MARKER, Capture
from hil.measure.data_sheet import DataSheet
from hil.measure.synchronise import HOST, POWER, SERIAL
from hil.measure.uncertainty import combined, rectangular
from hil.meters import by_hand
from hil.meters.edges import pieces
from hil.meters.meter import Meter, Setting, Spoiled
from hil.meters.open import open_meter
from hil.quantity import Provenance, Quantity
from hil.record.trace import TraceWriter
from hil.tools.arguments import MODEL, VOLT, count, positive, supply

COVERAGE = 2.0  # about 95 %: the data sheet's contributions have no degrees of freedom to lose
MOST_TRIES = 5  # windows that may be spoiled, those that find the range among them
USB_VOLT = 5.0  # of a supply under a meter that is read by hand
DEADLINE_S = 120.0  # for a user to start the firmware; the window comes on top of it
IDLE_S, IDLE_READINGS = 0.2, 40  # of sleep, as in a trial
FEW = 10  # readings, below which point samples or edges say little
TIME_BASE = "time base"
HAD = {POWER: "change of power", SERIAL: "board's own time", HOST: "host's clock"}


def main(argv: list[str], ask: Callable[[str], str] = input) -> int:
    """Run the command; return its exit code."""
    options = _parser().parse_args(argv)
    folder = options.out or Path(f"measure-{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}")
    if options.model:
        options.volt = supply(options.model, options.volt)
        with open_meter(options.meter, options.volt, options.model) as meter:
            found, sheet, identity = take(meter, options, folder), meter.sheet, meter.identity
    else:
        capture, sheet = _typed(options, ask) if options.typed else _from_file(options)
        found, identity = recorded([capture], folder, {"name": sheet.name, "identity": sheet.identity, "data_sheet": sheet.key}), sheet.identity
    result = evaluate(found, sheet, identity, options.steps)
    with _written(folder):
        (folder / "measure.json").write_text(json.dumps(result, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1) if options.json else _told(result, folder))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hil measure", description="Measure the energy between two edges of a pin.")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--model", help=MODEL)
    source.add_argument("--csv", type=Path, metavar="FILE", help="readings from a file: time and current, power or energy")
    source.add_argument("--typed", action="store_true", help="ask for what a meter without a data port shows")
    parser.add_argument("--meter", default="", metavar="ADDRESS", help="VISA resource name, serial port, USB serial number or name of the meter")
    parser.add_argument("--volt", type=positive, help=f"supply of the board (default: {VOLT:g} where the meter does not feed it, {USB_VOLT:g} for a display)")
    parser.add_argument("--range", type=positive, metavar="AMPERES", help="largest current (default: the meter's smallest range, and up from there)")
    parser.add_argument("--interval", type=positive, default=0.001, metavar="SECONDS", help="from one reading to the next (default: 0.001)")
    parser.add_argument("--idle", type=positive, metavar="SECONDS", help="that the board sleeps before and behind (default: 0.2, or 40 readings if longer)")
    parser.add_argument("--window", type=positive, default=10.0, metavar="SECONDS", help="expected time between the edges (default: 10)")
    parser.add_argument("--deadline", type=positive, metavar="SECONDS", help=f"to wait for both edges (default: {DEADLINE_S:g} and two windows)")
    parser.add_argument("--accuracy", default="", metavar="SHARE[,AMPERES]", help="of a file or a display: limits of error, such as 0.01,0.0005")
    parser.add_argument("--steps", type=count, default=1, help="what the energy is divided by (default: 1)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where trace and JSON go (default: measure-<time>)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


# where readings come from


def take(meter: Meter, options: argparse.Namespace, folder: Path) -> Between:
    """Return what a good window held, and leave its trace in a folder; each spoiled one is told of, and one beyond the range is measured on the next.

    Args:
        meter: open.
        options: volt, range, interval, idle, window, deadline.
        folder: for `trace.parquet`.

    Raises:
        RigError: the folder cannot be written.
        Blocked: the meter failed, or too many windows were spoiled.
    """
    used = meter.sheet.range_for(options.range) if options.range else meter.sheet.ranges[0]
    deadline_s = options.deadline or DEADLINE_S + 2 * options.window
    idle_s = options.idle or max(IDLE_S, IDLE_READINGS * max(options.interval, 1 / meter.sheet.fastest_hz))
    about = {"name": meter.sheet.name, "identity": meter.identity, "data_sheet": meter.sheet.key}
    for _ in range(MOST_TRIES):
        meter.configure(Setting(options.volt, used.amperes, options.interval, idle_s, options.window))
        meter.arm()
        what = "let the firmware raise and lower the pin"
        if meter.sheet.marker == "none":
            what = f"let the board sleep {idle_s:g} s, work, and sleep again, within {options.window + 2 * idle_s:g} s"
        print(f"{meter.sheet.name} ({meter.identity}) reads on its range of {used.amperes:g} A: {what}.", file=sys.stderr)
        try:
            return recorded(pieces(meter, deadline_s, idle_s), folder, about)
        except Spoiled as spoiled:
            print(f"thrown away: {str(spoiled).rstrip('.')}.", file=sys.stderr)
            if spoiled.beyond_range:
                above = [one for one in meter.sheet.ranges if one.amperes > used.amperes]
                if not above:
                    raise Blocked("meter", f"{str(spoiled).rstrip('.')}, which is its largest range: measure with another meter.") from spoiled
                used = above[0]
    raise Blocked("meter", f"{MOST_TRIES} windows were spoiled: see the reasons above.")


def recorded(window: Iterable[Capture], folder: Path, about: dict[str, Any]) -> Between:
    """Write a window's trace as its pieces come, and return what lies between its edges; a window that fails leaves no trace.

    Raises:
        RigError: the folder cannot be written.
        Blocked, Spoiled: of the pieces; or there are not two edges in them.
    """
    running = Running()
    with _written(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with TraceWriter(folder / "trace.parquet", about) as trace:
            for piece in window:
                about.update(range_a=piece.range_a, aperture_s=piece.aperture_s)
                trace.append(piece)
                running.add(piece)
            return running.result()


@contextlib.contextmanager
def _written(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RigError(f"{folder} cannot be written ({error}): name another folder with --out.") from error


def _from_file(options: argparse.Namespace) -> tuple[Capture, DataSheet]:
    accuracy = _accuracy(options)
    capture = by_hand.read_csv(options.csv, options.volt)
    return capture, by_hand.declared_sheet(f"{by_hand.FROM_FILE} {options.csv.name}", accuracy, capture)


def _typed(options: argparse.Namespace, ask: Callable[[str], str]) -> tuple[Capture, DataSheet]:
    accuracy = _accuracy(options)
    energy = _asked(ask, "Energy that the meter counted (such as 1.25 mWh): ", by_hand.ENERGY_J, "energy")
    duration = _asked(ask, "Time that it counted for (such as 60.0 s): ", by_hand.TIME_S, "duration")
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
        share, _, amperes = options.accuracy.partition(",")
        return by_hand.Accuracy(float(share), float(amperes or 0))
    except ValueError:
        raise RigError(f"--accuracy {options.accuracy!r} is none: a meter read by hand needs one, such as 0.01 or 0.01,0.0005.") from None


# what is made of them


def evaluate(found: Between, sheet: DataSheet, identity: str, steps: int) -> dict[str, Any]:
    """Return duration, energy, mean power and charge between the first two edges, with their uncertainties, and what there is to doubt."""
    parts = budget(found, sheet)
    unverified = [f"of the {sheet.name}'s data sheet is unverified: {'; '.join(sheet.unverified)}."] if sheet.unverified else []
    flags = _doubts(found, sheet) + unverified
    u = combined(parts)
    u_time = math.hypot(rectangular(found.begin.half_s), rectangular(found.end.half_s), rectangular(sheet.timebase) * found.duration_s)
    u_power = combined([one for one in parts if one.source != TIME_BASE]) / found.duration_s
    figures = {
        "energy": _quantity(found.energy_j, "J", u), "energy_per_step": _quantity(found.energy_j / steps, "J", u / steps),
        "mean_power": _quantity(found.mean_w, "W", u_power), "duration": _quantity(found.duration_s, "s", u_time),
        "lowest_power": _quantity(found.lowest_w, "W", None), "highest_power": _quantity(found.highest_w, "W", None),
    }  # fmt: skip
    if math.isfinite(found.charge_c):
        figures["charge"] = _quantity(found.charge_c, "C", None)
    if math.isfinite(found.voltage_v):
        figures["voltage"] = _quantity(found.voltage_v, "V", None)
    about = {"name": sheet.name, "identity": identity, "data_sheet": sheet.key, "range_a": found.range_a, "aperture_s": found.aperture_s}
    rows = [{"source": one.source, "kind": one.kind, "standard_uncertainty": one.standard} for one in parts]
    return figures | {
        "steps": steps, "readings": found.readings, "synchronisation": found.synchronisation, "coverage_factor": COVERAGE, "budget": rows,
        "meter": about, "flags": flags,
    }  # fmt: skip


def _doubts(found: Between, sheet: DataSheet) -> list[str]:
    doubts = []
    if found.changes > 2:
        doubts.append(f"the pin changed {found.changes} times: the first two changes count.")
    if found.synchronisation != MARKER:
        doubts.append(f"the meter did not see both changes of the pin: what it missed is told by the {HAD[found.synchronisation]}.")
    if found.readings < FEW:
        doubts.append(f"only {found.readings} readings between the edges: shorter pulses are not seen.")
    if not found.aperture_s:
        doubts.append("the readings are instants: what happens between two of them is not seen.")
    if found.lost is None and found.readings > 1:
        doubts.append("the meter cannot tell whether readings were lost.")
    if found.lost:
        doubts.append(f"{found.lost} readings are missing; their time was shared by their neighbours.")
    if not sheet.voltage_gain and not sheet.voltage_offset_v and sheet.key != by_hand.KEY:
        doubts.append(f"the {sheet.name} reads no voltage: the supply was taken to be {found.voltage_v:g} V (--volt), and its error is in no interval.")
    return doubts


def _quantity(value: float, unit: str, uncertainty: float | None) -> dict[str, Any]:
    return Quantity(value, unit, Provenance.MEASURED, uncertainty).to_json()


def _told(result: dict[str, Any], folder: Path) -> str:
    rows = [("energy", "energy"), ("mean power", "mean_power"), ("duration", "duration")]
    if result["steps"] > 1:
        rows.insert(1, (f"of {result['steps']} steps each", "energy_per_step"))
    lines = [f"{label:18} {_with_uncertainty(result[name])}" for label, name in rows]
    meter = result["meter"]
    lines += [f"{'meter':18} {meter['name']}: {meter['identity']}", *(f"note: {flag}" for flag in result["flags"]), f"{'in':18} {folder}"]
    return "\n".join(lines)


def _with_uncertainty(quantity: dict[str, Any]) -> str:
    """Return a figure with its expanded uncertainty, both to two digits of the latter and with one prefix."""
    value, unit, u = quantity["value"], quantity["unit"], COVERAGE * quantity["uncertainty"]
    power = min(max(3 * math.floor(math.log10(abs(value)) / 3), -9), 0) if value else 0
    prefix = {0: "", -3: "m", -6: "u", -9: "n"}[power]
    value, u = value / 10.0**power, u / 10.0**power
    digits = max(0, 1 - math.floor(math.log10(u))) if u > 0 else 6
    return f"{value:.{digits}f} +- {u:.{digits}f} {prefix}{unit} (k = {COVERAGE:g})"


