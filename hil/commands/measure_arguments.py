"""Parse numbers of the command line of `hil measure` and `hil power`, and find the supply voltage."""

from __future__ import annotations

import argparse
import math

from hil.energy.data_sheet import load_data_sheet
from hil.energy.meter_kind import METERS
from hil.errors import RigError
from hil.number_text import number

MODEL = (
    f"meter, by the name of its data sheet ({', '.join(METERS.house_names())}), of a plugin, or the path of your own "
    "data sheet"
)
VOLT = 3.3  # default supply voltage


def positive(text: str) -> float:
    """Return a positive number, for argparse."""
    value = number(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def not_negative(text: str) -> float:
    """Return a number that is not negative, for argparse."""
    return 0.0 if number(text) == 0 else positive(text)


def share(text: str) -> float:
    """Return a share from 0 to below 1, for argparse."""
    value = not_negative(text)
    if value >= 1:
        raise argparse.ArgumentTypeError(f"{text} is not below 1")
    return value


def celsius(text: str) -> float:
    """Return the temperature of a room in degrees Celsius, for argparse."""
    value = number(text)
    if not -40 <= value <= 85:
        raise argparse.ArgumentTypeError(f"{text} is not from -40 to 85 degrees Celsius")
    return value


def add_meter(parser: argparse.ArgumentParser, default_volt: str) -> None:
    """Add `--meter` and `--volt`, the supply voltage with its default for --help."""
    text = "VISA resource name, serial port, USB serial number or name of the meter"
    parser.add_argument("--meter", default="", metavar="ADDRESS", help=text)
    parser.add_argument("--volt", type=positive, help=f"supply voltage of the board (default: {default_volt})")


def supply(model: str, volt: float | None) -> float:
    """Return the supply voltage for a meter. Raises RigError if the meter feeds the board, and no voltage was given."""
    sheet = load_data_sheet(model)
    if volt is None and sheet.feeds:
        raise RigError(
            f"the {sheet.name} feeds the board: give the supply voltage of the board with --volt, "
            f"such as --volt {VOLT:g}."
        )
    return VOLT if volt is None else volt
