"""Runs of QZO-FF's tables: the request, how rows train, and the search of their learning rates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hil.errors import RigError
from hil.training.experiments.qzo_runs import BP, OWN_HEAD, QzoRun
from hil.training.experiments.rate_search import RateSearch, stem_of
from hil.training.experiments.run import Given
from hil.training.experiments.table import Cell
from hil.training.networks import NETWORKS

DIRECTIONS = 3  # m of the rows that do not say otherwise; the paper's value was lost
PAPER_EPSILON = 1e-3
EPSILON = 1e-2  # of all rows that do not say otherwise: docs/qzo-ff.md, the choice of epsilon
ADAMW: Given = (("optimizer", "adamw"), ("eta_min", 1e-5))  # appendices C and D; its betas are the defaults
MOST_OF_1 = 1000  # images; the package's subset of Fashion-MNIST has as many to train with


@dataclass(frozen=True)
class QzoRequest:
    """What the user requested; None: the experiment's own value."""

    network: str = "lenet5-tflite"  # the pre-trained backbone
    data: str = "mnist"  # of the few-shot tasks and of the change of domain
    corruptions: tuple[str, ...] | None = None
    seeds: int = 3
    epochs: int | None = None
    batch: int | None = None
    images: int = 1000  # for training; for the choice of a rate a fifth of them is held out
    tasks: int = 20  # few-shot tasks for each seed
    rates: tuple[float, ...] | None = None  # initial rates of the searched grids; a single one is not searched for

    def __post_init__(self) -> None:
        if not NETWORKS[self.network].committed or NETWORKS[self.network].converted:
            raise RigError(f"{self.network} has no pre-trained weights: choose lenet5-tflite or resnet-tiny.")
        if self.images < 10:
            raise RigError(f"--images is {self.images}: give at least 10, of which two are held out.")

    @property
    def kept(self) -> int:
        """Training images that remain while a rate is chosen."""
        return self.images - self.images // 5

    def batch_of(self, own: int) -> int:
        """Return the samples of a step, `own` if the user gave none.

        Raises:
            RigError: more than the images that remain while a rate is chosen.
        """
        batch = own if self.batch is None else self.batch
        if batch > self.kept:
            raise RigError(
                f"a batch of {batch} is larger than the {self.kept} training images that remain while a rate is "
                "chosen: choose a smaller --batch, or more --images."
            )
        return batch

    def first_rates(self, own: Sequence[float]) -> tuple[float, ...]:
        """Return the initial rates of a search, `own` if the user gave none."""
        return self.rates or tuple(own)


@dataclass(frozen=True)
class Row:
    """How a row trains: system and settings as of `QzoRun`, and the initial rates of its search."""

    system: str
    given: Given
    rates: tuple[float, ...]

    @classmethod
    def of(cls, system: str, rates: Sequence[float], *given: tuple[str, int | float | str]) -> Row:
        """Return a row; forward gradients have the default m and epsilon where `given` says nothing."""
        first: Given = () if system == BP else (("directions", DIRECTIONS), ("epsilon", EPSILON))
        return cls(system, tuple(dict((*first, *given)).items()), tuple(rates))


class Builder:
    """Collects the runs of a table: the searches of rates, then the runs of the table."""

    def __init__(self, request: QzoRequest) -> None:
        self.request = request
        self.searches: dict[str, RateSearch[QzoRun]] = {}
        self.table_runs: dict[QzoRun, None] = {}
        self.cells: dict[Cell, tuple[QzoRun, ...]] = {}

    @property
    def choices(self) -> frozenset[str]:
        """Names of the runs from which rates are chosen."""
        return frozenset(run.name for run in self._first())

    @property
    def stages(self) -> tuple[tuple[QzoRun, ...], ...]:
        """The stages that have runs."""
        return tuple(stage for stage in (self._first(), tuple(self.table_runs)) if stage)

    def _first(self) -> tuple[QzoRun, ...]:
        return tuple(run for search in self.searches.values() for run in search.first_runs())

    def add(self, cell: Cell, base: QzoRun, row: Row, tuned_on: QzoRun, datas: Iterable[str]) -> None:
        """Add a cell: the mean over data sets and seeds, with the rate that is best where `tuned_on` says.

        Args:
            cell: of the table.
            base: of the runs: data, seed and rate are filled in; column and variant are the cell's.
            row: how it trains.
            tuned_on: the same for the runs of the search.
            datas: the data sets whose mean the cell is.
        """
        rates = self.request.first_rates(row.rates)
        chosen: dict[str, float | str] = {"eta": rates[0]}
        base = replace(base, system=row.system, given=(*row.given, *base.given))
        if len(rates) > 1:
            tried = replace(tuned_on, system=row.system, given=(*row.given, *tuned_on.given))
            chosen = {"rate_from": stem_of(tried)}
            self.searches.setdefault(stem_of(tried), RateSearch(tried, rates, self.request.seeds))
        runs = tuple(
            replace(base, data=data, seed=seed, **chosen)  # type: ignore[arg-type]
            for data in datas
            for seed in range(1, self.request.seeds + 1)
        )
        self.table_runs.update(dict.fromkeys(runs))
        self.cells[cell] = runs


def adamw(images: int, batch: int, epochs: int, warmup: int = 0) -> Given:
    """Return AdamW with a cosine over all steps, and a warm-up of so many hundredths of the epochs."""
    steps = images // batch * epochs
    return (*ADAMW, ("steps", steps), ("warmup", steps * warmup // 100))


def layers(count: int) -> tuple[str, int]:
    """Return the setting that trains the last layers."""
    return "last_layers", count


def base_run(request: QzoRequest, column: str, variant: str, epochs: int, batch: int, head: str = OWN_HEAD) -> QzoRun:
    """Return a run whose data, seed, system and rate are still to be filled in."""
    return QzoRun("", column, variant, 1, epochs, batch, request.network, BP, head)
