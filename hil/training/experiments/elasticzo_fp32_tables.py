"""The FP32 columns of ElasticZO's tables as runs: searches of learning rates, pre-training, the runs of the cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hil.training.experiments.elasticzo_published import ROWS, UNTUNED
from hil.training.experiments.float_runs import ADAM, FloatRun
from hil.training.experiments.kinds import Run
from hil.training.experiments.rate_search import RateSearch, stem_of
from hil.training.experiments.table import Cell

FP32 = "fp32"  # the column
CLOUDS = "furniture-clouds"  # stands in for ModelNet40
PAPER_EPOCHS, PAPER_TUNING, PAPER_BATCH = 100, 50, 32  # ElasticZO, section 5.1.1
CLOUD_EPOCHS = 2  # PointNet has 200 epochs where LeNet-5 has 100
LENET, POINTNET = "lenet5-float32", "pointnet-float32"
SEARCH_SEEDS = 2  # as in the search of r_max
SEARCH_SHARE = 5  # a search on images is the first fifth of a run, at its full rates; one on clouds is a whole run
BY_ZO_RATES, BP_RATES = (0.0003, 0.001, 0.003), (0.01, 0.03)  # initial grids, which grow; the paper's: 1e-4..5e-2
HELD_OUT: Mapping[str, str] = {CLOUDS: "@200-50"}  # for the choice of a rate; of images those that no run trains on
IMAGES_HELD_OUT, ROTATED_HELD_OUT = "@50000-10000", "@824-200"

DIFFERENCES = (
    "FP32: the learning rate is searched on held-out training samples, two seeds for each rate; the grid grows until "
    "its best rate is inside it, beyond the paper's 1e-4..5e-2 if need be.",
    "FP32: the paper prints neither the perturbation scale nor g_clip; 0.001 and 5 here.",
    "FP32: back-propagation uses the activations of the second pass, weights start by Xavier uniform with biases 0, "
    "and pixels are divided by 255 (docs/arithmetic-float32.md).",
)
OF_CLOUDS = (
    f"{CLOUDS} (10 classes, 256 points) stands in for ModelNet40 (40 classes, 2,048 points), and a PointNet of 15,082 "
    "parameters for the paper's 816,744. The accuracies in brackets are those of ModelNet40 and no comparison.",
    "On ModelNet40 the paper itself has Cls1 above Full BP (73.50 and 71.60).",
)
OF_PRE_TRAINING = (
    "FP32: pre-training has batches of 32, and Adam's epsilon is 1e-8; the paper prints neither.",
    "FP32: the learning rate of fine-tuning falls every 10 epochs, as in training from initial weights; "
    "the paper does not say.",
)


@dataclass
class FloatColumns:
    """Collects the runs of the FP32 columns of a table.

    Attributes:
        seeds, epochs, batch: of the runs; `epochs` are those of LeNet-5 from initial weights.
        rates: initial rates of every grid; a single one is used without a search; empty for those of the row.
        before: pre-training. searches: of learning rates. cells: the runs of the table.
    """

    seeds: int
    epochs: int
    batch: int
    rates: tuple[float, ...] = ()
    before: dict[FloatRun, None] = field(default_factory=dict)
    searches: list[RateSearch[FloatRun]] = field(default_factory=list)
    cells: dict[Cell, tuple[FloatRun, ...]] = field(default_factory=dict)

    @property
    def searched(self) -> tuple[Run, ...]:
        """The runs of the initial rates."""
        return tuple(run for search in self.searches for run in search.first_runs())

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs of the cells, each once."""
        return tuple(dict.fromkeys(run for runs in self.cells.values() for run in runs))

    @property
    def choices(self) -> frozenset[str]:
        """Names of the runs that no board repeats: the searches and the pre-training."""
        return frozenset(run.name for run in (*self.searched, *self.before))

    def from_initial_weights(self, data: str) -> None:
        """Add a column of table 1."""
        cloud = data == CLOUDS
        scale = CLOUD_EPOCHS if cloud else 1
        epochs, paper_epochs = scale * self.epochs, scale * PAPER_EPOCHS
        first = FloatRun(
            data if cloud else f"{data}-50k", FP32, "", 1, epochs, self.batch, POINTNET if cloud else LENET,
            paper_epochs,
        )  # fmt: skip
        share = 1 if cloud else SEARCH_SHARE
        for row in ROWS:
            run = replace(first, variant=row)
            held_out = replace(
                run, data=data + HELD_OUT.get(data, IMAGES_HELD_OUT), epochs=max(epochs // share, 1),
                paper_epochs=paper_epochs // share,
            )  # fmt: skip
            self.cells[data, FP32, row] = self._seeds(run, held_out)

    def from_pre_training(self, data: str, turned: str) -> None:
        """Add a column of table 2: `turned` is the rotated set of `data`."""
        before = [
            FloatRun(f"{data}-50k", ADAM, "full-bp", seed, 1, self.batch, LENET, 1)
            for seed in range(1, max(self.seeds, SEARCH_SEEDS) + 1)
        ]
        self.before |= dict.fromkeys(before)
        starts = tuple(run.name for run in before)
        first = FloatRun(
            turned, FP32, "", 1, max(self.epochs // 2, 1), self.batch, LENET, PAPER_TUNING, start=starts[0]
        )
        for row in ROWS:
            run = replace(first, variant=row)
            self.cells[turned, FP32, row] = self._seeds(run, replace(run, data=turned + ROTATED_HELD_OUT), starts)
        self.cells[turned, FP32, UNTUNED] = self.cells[turned, FP32, "full-bp"]

    def _seeds(self, run: FloatRun, held_out: FloatRun, starts: Sequence[str] = ()) -> tuple[FloatRun, ...]:
        """Return a run with every seed; its rate is given, or searched on held-out samples."""
        rates = self.rates or (BP_RATES if run.variant == "full-bp" else BY_ZO_RATES)
        if len(rates) == 1:
            run = replace(run, eta=rates[0])
        else:
            base = replace(held_out, column="rate")
            self.searches.append(RateSearch(base, rates, SEARCH_SEEDS, tuple(starts[:SEARCH_SEEDS])))
            run = replace(run, rate_from=(stem_of(base),))
        seeds = (replace(run, seed=seed) for seed in range(1, self.seeds + 1))
        return tuple(replace(one, start=starts[one.seed - 1]) if starts else one for one in seeds)
