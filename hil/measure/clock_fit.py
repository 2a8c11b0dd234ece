"""The clock of a board on the host's time, from round trips: offset by Cristian's method, skew by regression.

Cristian, "Probabilistic clock synchronization", Distributed Computing 3 (1989), cited from memory: what was stamped between sending and receiving
happened then, so each exchange bounds the offset by half its round trip, however the delay is shared between the two ways. A line through
the exchanges is a weighted sum of them, and so is its bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hil.measure.capture import Edge

QUICK = 0.5  # share of the exchanges that counts, the quickest: the others waited in a queue and tell less
FEWEST = 3


@dataclass(frozen=True)
class ClockFit:
    """Offset of the host's clock from the board's, as a line.

    Attributes:
        at_s: float64[n], the board's times of the exchanges that count.
        offset_s: float64[n], host minus board in the middle of each round trip.
        half_s: float64[n], half the round trips.
    """

    at_s: np.ndarray
    offset_s: np.ndarray
    half_s: np.ndarray

    @property
    def skew(self) -> float:
        """How much faster the host's clock runs, a share."""
        centred = self.at_s - self.at_s.mean()
        return float(centred @ self.offset_s / (centred @ centred))

    def to_host(self, board_s: float) -> tuple[float, float]:
        """Return the host's time of a board's time, and the bound of its error; both in seconds."""
        centred = self.at_s - self.at_s.mean()
        weights = 1 / len(self.at_s) + centred * (board_s - self.at_s.mean()) / (centred @ centred)
        return board_s + float(weights @ self.offset_s), float(np.abs(weights) @ self.half_s)

    def edges(self, up_s: float, down_s: float, half_s: float) -> tuple[Edge, Edge]:
        """Return the edges that the board dated by its own clock, each within `half_s`, on the host's."""
        (up, up_half), (down, down_half) = self.to_host(up_s), self.to_host(down_s)
        return Edge(up, up_half + half_s, True), Edge(down, down_half + half_s, False)


def fit_clock(sent_s: np.ndarray, board_s: np.ndarray, received_s: np.ndarray) -> ClockFit:
    """Fit the quickest of the exchanges.

    Args:
        sent_s, received_s: float64[n], host's times of each request and its answer.
        board_s: float64[n], what the board's clock said between the two.

    Raises:
        ValueError: fewer than three exchanges, or all at one time.
    """
    round_trip = received_s - sent_s
    quick = np.sort(np.argsort(round_trip, kind="stable")[: max(FEWEST, int(QUICK * len(board_s)))])
    if len(quick) < FEWEST or np.ptp(board_s[quick]) == 0:
        raise ValueError(
            f"{len(quick)} exchanges over {np.ptp(board_s):g} s do not fix a clock: take {FEWEST} at least, some time apart"
        )
    return ClockFit(board_s[quick], ((sent_s + received_s) / 2 - board_s)[quick], round_trip[quick] / 2)
