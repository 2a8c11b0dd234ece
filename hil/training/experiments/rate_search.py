"""Search a learning rate: the grid grows until its best rate is inside it, moves weights and does no harm.

Then it gets finer: the rates beside the best one are half a decade away from it.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Generic, TypeVar

from hil.errors import RigError
from hil.training.experiments.curve import RUN_FILE, EpochRow, ended, read_curve, read_run
from hil.training.experiments.kinds import RatedRun, Run

SMALLEST_ETA = 1e-6
Rated = TypeVar("Rated", bound=RatedRun)
MOST_RATES = 16  # in a grid: from its initial rates it may grow by about six decades
WIDEST_GAP = 4.0  # between the best rate and the next one: half a decade, as `above` and `below` round it


@dataclass(frozen=True)
class RateResult:
    """The result of one rate of a grid, on the held-out images."""

    eta: float
    accuracies: tuple[float, ...]  # after the last epoch, one per seed
    loss: float  # mean training loss of the last epoch over the seeds, in nats
    moved: float  # smallest share, over the seeds, of the trained numbers that differ from their initial values
    before: float  # mean accuracy before training
    failed: bool = False  # whether a step of a seed failed

    @property
    def harmful(self) -> bool:
        """Whether a step fails or training lowers the accuracy; then a lower rate is better."""
        return self.failed or fmean(self.accuracies) < self.before

    def to_json(self) -> dict[str, Any]:
        """Return the fields, with mean and spread of the accuracies."""
        spread = stdev(self.accuracies) if len(self.accuracies) > 1 else None
        return asdict(self) | {"mean": fmean(self.accuracies), "spread": spread}


@dataclass(frozen=True)
class RateSearch(Generic[Rated]):
    """The search of the rate of one row."""

    base: Rated  # the run of the row on the data for the choice, without a rate
    rates: tuple[float, ...]  # the initial rates, ascending
    seeds: int  # for every rate
    starts: tuple[str, ...] = ()  # names of the runs that they start from, one per seed; empty: as of `base`

    @property
    def stem(self) -> str:
        """Beginning of the names of its runs."""
        return stem_of(self.base)

    def runs(self, rate: float) -> tuple[Rated, ...]:
        """Return the runs of a rate, one per seed."""
        changes: list[dict[str, Any]] = [{"start": start} for start in self.starts] or [{}] * self.seeds
        return tuple(
            replace(self.base, seed=seed, eta=rate, tag=f"eta{rate:g}", **change)
            for seed, change in zip(range(1, self.seeds + 1), changes, strict=True)
        )

    def first_runs(self) -> tuple[Rated, ...]:
        """Return the runs of the initial rates."""
        return tuple(run for rate in self.rates for run in self.runs(rate))

    def more_runs(self, runs: Path) -> tuple[Rated, ...]:
        """Return the unfinished runs of started rates, or else the runs of the next rate of the grid.

        There are none if the best rate is inside the grid, does no harm and has its neighbours, or if the grid cannot
        grow. If all rates diverge, the best one is best by chance. So a grid whose best rate is worse than no training
        grows downwards.
        """
        if begun := self._begun(runs):
            return begun
        found = results(runs, self.stem)
        best = best_of(found)
        least, most = found[0], found[-1]
        if len(found) >= MOST_RATES:
            return ()
        up, down = best.moved == 0 or best is most, best is least or best.harmful
        if up and not best.failed and (rate := above(most.eta)) <= self.base.largest_eta:
            return self.runs(rate)
        if down and (least.moved > 0 or least.failed) and (rate := below(least.eta)) >= SMALLEST_ETA:
            return self.runs(rate)
        if best.moved > 0 and (between := _beside(best.eta, [one.eta for one in found])):
            return self.runs(between)
        return ()

    def _begun(self, runs: Path) -> tuple[Rated, ...]:
        """Return the runs of every rate that an interrupted training left incomplete."""
        left: dict[float, list[bool]] = {}
        for eta, run, rows in _runs(runs, self.stem):
            left.setdefault(eta, []).append(ended(run, rows))
        return tuple(run for eta, its in left.items() if sum(its) < self.seeds for run in self.runs(eta))

    def over(self, runs: Path) -> bool:
        """Return whether all runs of the search are completely trained and the grid is complete."""
        try:
            return len(results(runs, self.stem)) >= len(self.rates) and not self.more_runs(runs)
        except RigError:
            return False


def stem_of(base: RatedRun) -> str:
    """Return the beginning of the names of a search's runs."""
    return f"{base.data}-{base.column}-{base.variant}-eta"


def results(runs: Path, stem: str) -> list[RateResult]:
    """Return the result of every rate of a search, by ascending rate.

    Raises:
        RigError: a run is not trained to its end, or there is none.
    """
    by_rate: dict[float, list[tuple[float, float, float, float, bool]]] = {}
    for eta, run, rows in _runs(runs, stem):
        if not ended(run, rows):
            raise RigError(f"the run {run.name} is not trained to its end, and others depend on it: add --resume.")
        last = rows[-1]
        facts = last.test_accuracy, last.loss or 0.0, last.moved, rows[0].test_accuracy, bool(last.failed)
        by_rate.setdefault(eta, []).append(facts)
    if not by_rate:
        raise RigError(f"{runs} contains no run of the search {stem}: add --resume.")
    found = []
    for eta, seeds in sorted(by_rate.items()):
        accuracies, losses, moved, before, failed = zip(*seeds, strict=True)
        found.append(RateResult(eta, accuracies, fmean(losses), min(moved), fmean(before), any(failed)))
    return found


def _runs(runs: Path, stem: str) -> Iterator[tuple[float, Run, list[EpochRow]]]:
    """Yield the runs of a search by name, each with its rate and its curve."""
    for folder in sorted(runs.glob(f"{glob.escape(stem)}*")):
        if re.fullmatch(r"[0-9.e+-]+-seed\d+", folder.name[len(stem) :]) and (folder / RUN_FILE).is_file():
            run = read_run(folder)[0]
            assert run.eta is not None
            yield run.eta, run, read_curve(folder)


def best_of(found: Sequence[RateResult]) -> RateResult:
    """Return the rate with the best mean accuracy on the held-out images among those that move weights and do not fail.

    Equals are decided by the loss, then by the size of the rate.
    """
    return min(found, key=lambda one: (one.moved == 0, one.failed, -fmean(one.accuracies), one.loss, one.eta))


def best_rate(runs: Path, stem: str) -> float:
    """Return the rate that a search chooses (`best_of`)."""
    return best_of(results(runs, stem)).eta


def search_facts(runs: Path, search: RateSearch[Any]) -> Mapping[str, Any]:
    """Return a search for the record: all rates, the chosen one, and whether it is inside the grid and does harm."""
    found = results(runs, search.stem)
    best = best_of(found)
    return {
        "row": search.base.variant,
        "data": search.base.data,
        "seeds": search.seeds,
        "rates": [one.to_json() for one in found],
        "chosen": best.eta,
        "inside": found[0].eta < best.eta < found[-1].eta and best.moved > 0 and not best.failed,
        "harmful": best.harmful,
    }


def above(rate: float) -> float:
    """Return the next higher rate of a grid with two rates per decade."""
    return float(f"{rate * (3 if _mantissa(rate) < 2 else 10 / 3):.2g}")


def below(rate: float) -> float:
    """Return the next lower rate of a grid with two rates per decade."""
    return float(f"{rate * (0.3 if _mantissa(rate) < 2 else 1 / 3):.2g}")


def _beside(rate: float, rates: Sequence[float]) -> float | None:
    """Return the missing rate half a decade from one of ascending rates, if the next one is further away."""
    place = rates.index(rate)
    if place > 0 and rate > WIDEST_GAP * rates[place - 1]:
        return below(rate)
    if place + 1 < len(rates) and rates[place + 1] > WIDEST_GAP * rate:
        return above(rate)
    return None


def _mantissa(rate: float) -> float:
    return float(f"{rate:e}".split("e")[0])
