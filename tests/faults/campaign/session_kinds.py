"""Kinds of faults that meet a whole session of pytest: its processes, its disk, its clock, what its computer gives it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .fault import Fault, Kind, Measured

STARTED = 0.15  # share of a session's time after which the fault may come: before, there is little but Python
DAY_S = 86400


def _kind(name: str, act: str, options: Any, **more: Any) -> Kind:
    def draw(rng: np.random.Generator, measured: Measured) -> Fault:
        after_s = round(float(rng.uniform(STARTED, 1.0)) * measured.session_s, 2)
        chosen = options(rng)
        for_s = f", for {chosen['back_s']:.2f} s" if chosen.get("back_s") else ""
        return Fault(
            name, f"{after_s:.2f} s after the start{for_s}", "session", act, after_s=after_s, options=chosen, **more
        )

    return Kind(name, "session", draw)


def _own_bench() -> Iterator[Kind]:
    """What happens to a bench that the session has started itself."""
    for name in ("SIGKILL", "SIGTERM"):
        yield _kind(
            f"session: {name} to its bench", "signal", lambda rng, name=name: {"to": "bench", "name": name, "own": True}
        )
    yield _kind(
        "session: its bench stopped for good", "signal", lambda rng: {"to": "bench", "name": "SIGSTOP", "own": True}
    )


def _pytest() -> Iterator[Kind]:
    for name in ("SIGKILL", "SIGTERM", "SIGINT"):
        yield _kind(f"session: {name} to pytest", "signal", lambda rng, name=name: {"to": "pytest", "name": name})
    yield _kind(
        "session: pytest stopped for a while",
        "signal",
        lambda rng: {"to": "pytest", "name": "SIGSTOP", "back_s": float(rng.uniform(0.1, 3.0))},
    )
    for name in ("SIGKILL", "SIGTERM"):
        yield _kind(f"session: {name} to its worker", "signal", lambda rng, name=name: {"to": "worker", "name": name})
    yield _kind(
        "session: its worker stopped for a while",
        "signal",
        lambda rng: {"to": "worker", "name": "SIGSTOP", "back_s": float(rng.uniform(0.1, 3.0))},
    )


def _computer() -> Iterator[Kind]:
    yield _kind("session: no descriptor left", "descriptors", lambda rng: {})
    yield _kind("session: no memory left", "memory", lambda rng: {})
    yield _kind("computer: disk full", "disk", lambda rng: {})
    yield _kind("computer: disk read-only", "read-only", lambda rng: {})
    yield _kind("computer: folder read-only", "read-only folder", lambda rng: {})
    yield _kind("computer: clock set back", "clock", lambda rng: {"seconds": -int(rng.integers(60, 400 * DAY_S))})
    yield _kind("computer: clock set forward", "clock", lambda rng: {"seconds": int(rng.integers(60, 400 * DAY_S))})


SESSION_KINDS: tuple[Kind, ...] = (*_own_bench(), *_pytest(), *_computer())
