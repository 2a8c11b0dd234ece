"""Command-line options that several `hil` commands share."""

from __future__ import annotations

import argparse
from pathlib import Path


def positive_count(text: str) -> int:
    """Return a whole number above 0, for argparse."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def add_rig(parser: argparse.ArgumentParser) -> None:
    """Add `--rig`: the file that describes the bench."""
    text = "description of the bench (default: rig.toml)"
    parser.add_argument("--rig", type=Path, default=Path("rig.toml"), metavar="FILE", help=text)
