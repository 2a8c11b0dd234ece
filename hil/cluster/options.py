"""The workers that a command's options ask for (`add_workers` of hil/arguments.py)."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from hil.cluster.workers import Workers
from hil.errors import RigError


def workers_of(options: argparse.Namespace, say: Callable[[str], None]) -> Workers:
    """Return the workers that the options ask for; `say` gets a line about a wait.

    Raises:
        RigError: both options are given, or the address is none.
    """
    if options.jobs is not None and options.scheduler is not None:
        raise RigError("--jobs is for workers of this computer, which --scheduler does not use: leave one of them out.")
    return Workers(options.jobs or os.cpu_count() or 1, options.scheduler, say)
