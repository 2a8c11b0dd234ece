"""What a command of hil printed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Hil:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str
