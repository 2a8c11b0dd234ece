"""The options of `hil bench lab`; this module loads nothing else, for every `hil` command reads it."""

from __future__ import annotations

import argparse

from hil.arguments import positive_count

TRIALS = 100_000
COUNTS = (
    ("boards", 1000, "places of the lab"),
    ("exporters", 100, "computers that they are attached to"),
    ("runs", 1000, "runs of pytest that the trials belong to"),
    ("clients", 4, "workers of each run, each of which holds a place"),
    ("seed", 1, "of everything that is drawn"),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that only `lab` has, under their own heading."""
    group = parser.add_argument_group("lab")
    for name, default, text in COUNTS:
        words = f"{text} (default: {default})"
        group.add_argument(f"--{name}", type=positive_count, default=default, metavar="N", help=words)
    text = "empty database for the trials, postgresql+psycopg://HOST/DATABASE (default: a temporary file of SQLite)"
    group.add_argument("--database", metavar="URL", help=text)
    text = "serial ports are always on the network, so that exporters start no ser2net"
    group.add_argument("--network-ports", action="store_true", help=text)
