"""Search a learning rate: the grid grows until its best rate is inside it, moves weights and helps.

Then it gets finer: the rates beside the best one are half a decade away from it.

Rates are compared by counts of right held-out images, summed over the seeds: integers, which no rounding orders. Counts
within a standard error of the most are equal, and the mean loss on the held-out images chooses among them.
"""

from __future__ import annotations

import glob
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Generic, TypeVar

from hil.errors import RigError
from hil.training.experiments.curve import RUN_FILE, EpochRow, ended, held_out, read_curve, read_run
from hil.training.experiments.kinds import RatedRun, Run

SMALLEST_ETA = 1e-6
Rated = TypeVar("Rated", bound=RatedRun)
MOST_RATES = 16  # in a grid: from its initial rates it may grow by about six decades
FEWEST_IMAGES = 500  # held out, times seeds: of fewer, a standard error may be above 2.2 points
WIDEST_GAP = 4.0  # between the best rate and the next one: half a decade, as `above` and `below` round it


@dataclass(frozen=True)
class RateResult:
    """The result of one rate of a grid, on the held-out images."""

    eta: float
    right: tuple[int, ...]  # images that are classified correctly after the last epoch, one count per seed
    of: int  # images of a seed
    held_out_loss: float  # mean over images and seeds after the last epoch, in nats
    moved: float  # smallest share, over the seeds, of the trained numbers that differ from their initial values
    start: int  # images that are classified correctly before training, sum over the seeds
    failed: bool = False  # whether a step of a seed failed

    @property
    def count(self) -> int:
        """Images that are classified correctly, sum over the seeds."""
        return sum(self.right)

    @property
    def images(self) -> int:
        """Images that are classified, sum over the seeds."""
        return self.of * len(self.right)

    @property
    def standard_error(self) -> float:
        """Standard error of the count, in images: that of a binomial."""
        return math.sqrt(self.count * (self.images - self.count) / self.images)

    @property
    def harmful(self) -> bool:
        """Whether a step fails or training gains no image; then a lower rate is better."""
        return self.failed or self.count <= self.start

    def to_json(self) -> dict[str, Any]:
        """Return the fields, with mean and spread of the accuracies."""
        shares = [count / self.of for count in self.right]
        spread = stdev(shares) if len(shares) > 1 else None
        return asdict(self) | {"mean": fmean(shares), "spread": spread}


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

        There are none if the best rate is inside the grid, helps and has its neighbours, or if the grid cannot
        grow. If all rates diverge, the best one is best by chance. So a grid whose best rate is no better than no
        training grows downwards.
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
        RigError: a run is not trained to its end or has no counts, or there is none.
    """
    by_rate: dict[float, list[tuple[int, int, float, float, int, bool]]] = {}
    for eta, run, rows in _runs(runs, stem):
        if not ended(run, rows):
            raise RigError(f"the run {run.name} is not trained to its end, and others depend on it: add --resume.")
        last = rows[-1]
        start, (right, of, loss) = held_out(rows[0], run.name)[0], held_out(last, run.name)
        by_rate.setdefault(eta, []).append((right, of, loss, last.moved, start, bool(last.failed)))
    if not by_rate:
        raise RigError(f"{runs} contains no run of the search {stem}: add --resume.")
    found = []
    for eta, seeds in sorted(by_rate.items()):
        counts, images, losses, moved, starts, failed = zip(*seeds, strict=True)
        mean = math.inf if any(map(math.isnan, losses)) else fmean(losses)
        found.append(RateResult(eta, counts, images[0], mean, min(moved), sum(starts), any(failed)))
    return found


def _runs(runs: Path, stem: str) -> Iterator[tuple[float, Run, list[EpochRow]]]:
    """Yield the runs of a search by name, each with its rate and its curve."""
    for folder in sorted(runs.glob(f"{glob.escape(stem)}*")):
        if re.fullmatch(r"[0-9.e+-]+-seed\d+", folder.name[len(stem) :]) and (folder / RUN_FILE).is_file():
            run = read_run(folder)[0]
            assert run.eta is not None
            yield run.eta, run, read_curve(folder)


def best_of(found: Sequence[RateResult]) -> RateResult:
    """Return the rate with the least held-out loss among `equal_rates`; of equal losses, the smallest rate."""
    return min(equal_rates(found), key=lambda one: (one.held_out_loss, one.eta))


def equal_rates(found: Sequence[RateResult]) -> list[RateResult]:
    """Return the rates whose counts are no standard error below the most, in their order: their counts do not decide.

    A rate that moves weights counts before one that does not, then one whose steps do not fail before others, and then
    one that gains images over the start before one that does not.
    """
    first = min((one.moved == 0, one.failed, one.harmful) for one in found)
    left = [one for one in found if (one.moved == 0, one.failed, one.harmful) == first]
    best = max(left, key=lambda one: one.count)
    return [one for one in left if best.count - one.count < max(best.standard_error, 1)]


def best_rate(runs: Path, stem: str) -> float:
    """Return the rate that a search chooses (`best_of`)."""
    return best_of(results(runs, stem)).eta


def search_facts(runs: Path, search: RateSearch[Any]) -> Mapping[str, Any]:
    """Return a search for the record: all rates, the chosen one, and whether it is inside the grid and does harm.

    `images` is the number of held-out images times seeds; `equal` are the rates whose counts do not decide, and if
    there are several, the loss did (`by`).
    """
    found = results(runs, search.stem)
    best, equal = best_of(found), equal_rates(found)
    return {
        "row": search.base.variant,
        "data": search.base.data,
        "seeds": search.seeds,
        "images": best.images,
        "rates": [one.to_json() for one in found],
        "chosen": best.eta,
        "by": "count" if len(equal) == 1 else "loss",
        "equal": [one.eta for one in equal],
        "inside": found[0].eta < best.eta < found[-1].eta and best.moved > 0 and not best.failed,
        "harmful": best.harmful,
    }


def search_remarks(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a reader must know of a search (`search_facts`), each in a sentence's part."""
    if facts["by"] == "loss":
        equal = ", ".join(f"{rate:g}" for rate in facts["equal"])
        yield f"chosen by loss, the counts of {equal} are within a standard error"
    if facts["images"] < FEWEST_IMAGES:
        yield f"fewer than {FEWEST_IMAGES} images decide nothing"
    if not facts["inside"]:
        yield "the best rate does not lie inside the grid"
    if facts["harmful"]:
        yield "no rate is better than no training"


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
