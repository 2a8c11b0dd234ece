"""The options of every command that spreads work."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from hil.arguments import positive_count
from hil.cluster.workers import Workers
from hil.errors import RigError


def add_workers(parser: argparse.ArgumentParser, of: str = "") -> None:
    """Add `--jobs` and `--scheduler`; `of` begins their help, where not all of a command spreads work."""
    jobs = f"{of}worker processes of this computer (default: one per core)"
    parser.add_argument("--jobs", type=positive_count, metavar="N", help=jobs)
    scheduler = f"{of}work on the workers of this Dask scheduler, tls://HOST:PORT (default: on this computer)"
    parser.add_argument("--scheduler", metavar="ADDRESS", help=scheduler)


def workers_of(options: argparse.Namespace, say: Callable[[str], None]) -> Workers:
    """Return the workers that the options ask for; `say` gets a line about a wait.

    Raises:
        RigError: both options are given, or the address is none.
    """
    if options.jobs is not None and options.scheduler is not None:
        raise RigError("--jobs is for workers of this computer, which --scheduler does not use: leave one of them out.")
    return Workers(options.jobs or os.cpu_count() or 1, options.scheduler, say)
