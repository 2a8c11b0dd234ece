"""How an inner pytest runs its trials itself, without workers: these take processor time and have an output of their own."""

from __future__ import annotations

from collections.abc import Sequence


def one_process(*options: str) -> Sequence[str]:
    """Return options for one process, before those given, unless these say something of workers themselves."""
    says = any(option in ("-n", "no:xdist") or option.startswith("--tx") for option in options)
    return options if says else ("-n", "0", *options)
