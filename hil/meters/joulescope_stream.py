"""Collect the streams of a Joulescope from the driver's pieces (pyjoulescope_driver, binding.pyx).

A piece is a dict. `sample_id` is the number of its first sample, counted at `sample_rate` per second; it grows by
`decimate_factor` from one sample of the piece to the next. `data` are float32 samples, or bits, eight per byte, lowest
first. The driver's thread makes the calls, so they only store a piece.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Piece = dict[str, Any]


class JoulescopeSamples:
    """A stream of numbers.

    Args:
        arrived: called with each piece's end in seconds of the instrument, in the driver's thread.
    """

    def __init__(self, arrived: Callable[[float], None] = lambda end_s: None) -> None:
        self._pieces: list[Piece] = []
        self._arrived = arrived

    def __call__(self, _topic: str, piece: Piece) -> None:
        """Store a piece."""
        self._pieces.append(piece)
        self._arrived(self.reached_s())

    def reached_s(self) -> float:
        """Return the time of the last sample, in seconds of the instrument; -1 before the first one."""
        if not self._pieces:
            return -1.0
        last = self._pieces[-1]
        return float(last["sample_id"] + len(last["data"]) * last["decimate_factor"]) / float(last["sample_rate"])

    def drain(self) -> np.ndarray:
        """Remove and return the samples so far, float64[n]."""
        pieces, self._pieces = self._pieces, []
        return np.concatenate([np.asarray(piece["data"], np.float64) for piece in pieces]) if pieces else np.empty(0)

    def take(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Return times float64[n] in seconds, values float64[n], and the number of samples missing between pieces."""
        if not self._pieces:
            return np.empty(0), np.empty(0), 0
        step, rate = int(self._pieces[0]["decimate_factor"]), float(self._pieces[0]["sample_rate"])
        begins = np.array([int(piece["sample_id"]) for piece in self._pieces])
        counts = np.array([len(piece["data"]) for piece in self._pieces])
        missing = int(np.sum((begins[1:] - begins[:-1]) // step - counts[:-1]))
        numbers = np.concatenate([begin + step * np.arange(count) for begin, count in zip(begins, counts, strict=True)])
        return (
            numbers / rate,
            np.concatenate([np.asarray(piece["data"], np.float64) for piece in self._pieces]),
            missing,
        )


class Levels:
    """A digital input, of which only the changes are stored.

    Attributes:
        edges: (seconds of the instrument, half-width, new level). A change while samples were lost may be anywhere in
            that time.
        missing: number of samples that were lost between pieces.
    """

    def __init__(self) -> None:
        self.edges: list[tuple[float, float, bool]] = []
        self.missing = 0
        self._level: int | None = None
        self._held: Piece | None = None
        self._known = 0  # number of the last sample whose level is known, in units of the instrument

    def __call__(self, _topic: str, piece: Piece) -> None:
        """Process the piece before this one: its number of valid bits follows from where this one begins."""
        held, self._held = self._held, piece
        if held is None:
            return
        step, rate, first = int(held["decimate_factor"]), float(held["sample_rate"]), int(held["sample_id"])
        due = (int(piece["sample_id"]) - first) // step
        bits = np.unpackbits(np.asarray(held["data"], np.uint8), bitorder="little")[:due]
        if not len(bits):
            return
        known = first - step if self._level is None else self._known
        before = bits[:1] if self._level is None else np.array([self._level], np.uint8)
        for place in np.flatnonzero(np.diff(np.concatenate([before, bits]))):
            at = first + int(place) * step
            since = known if place == 0 else at - step
            self.edges.append(((since + at) / 2 / rate, (at - since) / 2 / rate, bool(bits[place])))
        self.missing += due - len(bits)
        self._level, self._known = int(bits[-1]), first + (len(bits) - 1) * step
