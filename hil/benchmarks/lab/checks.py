"""Checks of a simulated night that can fail: conservation, Little's law, and the theory of M/M/c."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hil.benchmarks.lab.model import Lab, SimulatedRun, kinds_of_board
from hil.benchmarks.lab.night import SAMPLE_S, LabNight, Wait, simulate

SURE = 3.3  # standard errors: one comparison in a thousand is outside by chance
BATCHES, WARM_UP = 20, 0.1


def conservation(night: LabNight) -> list[str]:
    """Return what was lost or doubled: trials, places, reservations."""
    asked = {(run.number, index) for run in night.runs for index in range(len(run.durations))}
    taken = Counter((trial.run, trial.index) for trial in night.trials)
    served = sum(wait.served for wait in night.waits)
    said = {
        "trials were not taken": len(asked - taken.keys()),
        "trials were taken that nobody asked for": len(taken.keys() - asked),
        "trials were taken more than once": sum(count > 1 for count in taken.values()),
        "times a place was held by two workers": _held_by_two(night.holds),
        "places were got and not held, or held and not got": abs(served - len(night.holds)),
        "reservations were forgotten": night.reservations_left,
        "places were not given back": night.places_left,
    }
    return [f"{count} {words}" for words, count in said.items() if count]


def _held_by_two(holds: Sequence[tuple[str, float, float]]) -> int:
    """Return how often a hold begins before that before it, of the same place, has ended."""
    return sum(one[0] == other[0] and other[1] < one[2] for one, other in itertools.pairwise(sorted(holds)))


@dataclass(frozen=True)
class Little:
    """Mean length of the queue: sampled at the coordinator, and arrival rate times mean wait; `error` of sampling."""

    sampled: float
    predicted: float
    error: float

    @property
    def holds(self) -> bool:
        """Whether the two agree within the error of sampling."""
        return abs(self.sampled - self.predicted) <= SURE * self.error


def littles_law(night: LabNight) -> Little:
    """Compare the two sides of Little's law over a whole night; they come from different observers.

    Source: J. D. C. Little, A Proof for the Queuing Formula L = λW, Operations Research 9 (1961).
    """
    span = len(night.times) * SAMPLE_S
    sampled = sum(sum(each.values()) for each in night.sampled) / len(night.times)
    lengths = [wait.left - wait.created for wait in night.waits]
    # A wait is seen at one sample too few or too many: a variance of at most a quarter of a sample for each.
    return Little(sampled, sum(lengths) / span, SAMPLE_S * math.sqrt(len(lengths)) / 2 / span)


def erlang_c_wait(servers: int, rate: float, service_s: float) -> float:
    """Return the mean wait of M/M/c in seconds, those that do not wait included.

    Args:
        servers: c.
        rate: arrivals a second.
        service_s: mean time of service, in seconds.

    Source: A. K. Erlang 1917, as in L. Kleinrock, Queueing Systems 1, section 3.5.
    """
    load = rate * service_s
    blocked = 1.0  # by the recursion of Erlang B
    for number in range(1, servers + 1):
        blocked = load * blocked / (number + load * blocked)
    delayed = blocked / (1 - load / servers * (1 - blocked))
    return delayed * service_s / (servers - load)


@dataclass(frozen=True)
class Theory:
    """Mean wait of a simulated M/M/c, its standard error (batch means), and that of Erlang C, in seconds."""

    simulated: float
    error: float
    analytic: float

    @property
    def holds(self) -> bool:
        """Whether they agree within the interval of `SURE` standard errors."""
        return abs(self.simulated - self.analytic) <= SURE * self.error


def theory(arrivals: int, servers: int = 5, load: float = 0.7, service_s: float = 60.0, seed: int = 1) -> Theory:
    """Simulate one kind of board with Poisson arrivals and exponential trials, a trial a run; compare its mean wait.

    Args:
        arrivals: number of runs.
        servers: boards.
        load: of each, below 1.
        service_s: mean time of a trial.
        seed: of arrivals and trials.
    """
    random, rate = np.random.default_rng(seed), load * servers / service_s
    begins = np.cumsum(random.exponential(1 / rate, arrivals)).tolist()
    lasts, kind = random.exponential(service_s, arrivals).tolist(), kinds_of_board()[0]
    runs = [SimulatedRun(number, begins[number], kind, (lasts[number],), 1) for number in range(arrivals)]
    lab = Lab(servers, 1, arrivals, arrivals, 1, start_s=0.0, seed=seed, of=(kind,))
    waits = mean_waits(simulate(lab, runs=runs).waits)
    return Theory(
        float(waits.mean()), float(waits.std(ddof=1) / math.sqrt(BATCHES)), erlang_c_wait(servers, rate, service_s)
    )


def mean_waits(waits: Sequence[Wait]) -> np.ndarray:
    """Return the mean wait of each batch, float64[BATCHES] seconds, without the beginning."""
    ordered = [wait.left - wait.created for wait in sorted(waits, key=lambda wait: wait.created)]
    steady = np.array(ordered[int(WARM_UP * len(ordered)) :])
    return np.array([part.mean() for part in np.array_split(steady, BATCHES)])
