"""How an inner pytest runs its trials itself, without workers: these take processor time and have an output of their own."""

from __future__ import annotations

from collections.abc import Sequence


def one_process(*options: str) -> Sequence[str]:
    """Return options for one process, before those given; `-n` or `-p no:xdist` among these counts instead."""
    return options if {"-n", "no:xdist"} & set(options) else ("-n", "0", *options)
