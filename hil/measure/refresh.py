"""How often an instrument that is polled makes a new reading, where it answers with the last one until then."""

from __future__ import annotations

import numpy as np

FEWEST = 6  # changes: fewer may be the board's own
REPEATED = 1.5  # polls: answers that change no sooner are repeated


def refresh_s(t_s: np.ndarray, values: np.ndarray) -> float:
    """Return the time between two new readings, in seconds: 0 where every poll may have got one.

    Whoever answers with what it measured last can change its answer no sooner than it measures again, whatever the board does. So the shortest time
    between two changes bounds it from below, but for a poll.

    Args:
        t_s: float64[n], when each answer was made.
        values: float64[n, k], the answers.
    """
    changed = np.flatnonzero(np.any(values[1:] != values[:-1], axis=1)) + 1
    if len(changed) < FEWEST:
        return 0.0
    poll = float(np.median(np.diff(t_s)))
    shortest = float(np.min(np.diff(t_s[changed])))
    return shortest + poll if shortest > REPEATED * poll and np.min(np.diff(changed)) > 1 else 0.0
