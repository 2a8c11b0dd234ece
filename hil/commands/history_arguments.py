"""Options that the commands of the history share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from hil.arguments import add_rig
from hil.history.address import Address, address_of
from hil.history.filters import Filter, moment
from hil.rig_toml import read_bench

NAMES = ("board", "network", "method", "variant", "reality", "bench")


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add `--reports` and `--rig`, which tell where the history is."""
    text = "folder of the runs (default: reports)"
    parser.add_argument("--reports", type=Path, default=Path("reports"), metavar="DIR", help=text)
    add_rig(parser)


def place(options: argparse.Namespace) -> Address:
    """Return the address of the history. Raises RigError if rig.toml is wrong."""
    return address_of(read_bench(options.rig).history.url, options.reports)


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose trials."""
    for name in NAMES:
        parser.add_argument(
            f"--{name}", action="append", default=[], metavar="NAME", help=f"only this {name} (repeatable)"
        )
    text = "only runs from this date on, such as 2026-11-01 (UTC)"
    parser.add_argument("--since", metavar="DATE", help=text)


def choice(options: argparse.Namespace, verdict: tuple[str, ...] = ()) -> Filter:
    """Return the filter. Raises RigError if a date is none."""
    since = moment(options.since, "--since") if options.since is not None else None
    names: dict[str, Any] = {name: tuple(getattr(options, name)) for name in NAMES}
    return Filter(**names, verdict=verdict, since=since)
