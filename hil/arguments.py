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


def add_workers(parser: argparse.ArgumentParser, of: str = "") -> None:
    """Add `--jobs` and `--scheduler`; `of` begins their help, where not all of a command spreads work."""
    jobs = f"{of}worker processes of this computer (default: one per core)"
    parser.add_argument("--jobs", type=positive_count, metavar="N", help=jobs)
    scheduler = f"{of}work on the workers of this Dask scheduler, tls://HOST:PORT (default: on this computer)"
    parser.add_argument("--scheduler", metavar="ADDRESS", help=scheduler)
