"""What may be claimed: rows within some points of others, searches that ended inside, seeds that agree, failed steps."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from hil.training.data import load
from hil.training.experiments.choice import resolved
from hil.training.experiments.curve import EpochRow, complete, read_checkpoint, read_curve, write_curve, write_run
from hil.training.experiments.graphs import GraphRun
from hil.training.experiments.rate_search import RateSearch, results, search_facts, stem_of
from hil.training.experiments.render import as_markdown, as_page
from hil.training.experiments.summary import ExperimentSummary, summarise
from hil.training.experiments.table import PaperTable, Within
from hil.training.experiments.train import Training
from hil.training.reference.methods import MethodReference, StepFailed, StepOutcome

from .folders import counted

DATA = "fashion-mnist-1k@40-10"
RUN = GraphRun(
    DATA, "c", "good", 1, 3, 20, "lenet5-tflite", "poor-mans-training", (("blocks", 8), ("queries", 1)), eta=0.01
)


def table(seeds: int = 2, **changed: object) -> PaperTable:
    rows = ("good", "bad")
    cells = {
        ("d", "c", row): tuple(replace(RUN, variant=row, seed=seed) for seed in range(1, seeds + 1)) for row in rows
    }
    runs = tuple(run for its in cells.values() for run in its)
    return replace(PaperTable("t", "T", (runs,), cells, rows, {}, (), order="as said"), **changed)  # type: ignore[arg-type]


def filled(
    folder: Path, of: PaperTable, accuracy: dict[str, float], failed: str = "", moved: float = 1.0
) -> ExperimentSummary:
    for run in of.runs:
        (folder / run.name).mkdir(parents=True)
        write_run(folder / run.name, run, "")
        last = EpochRow(1, 2, 1.0, None, 0.5, accuracy[run.variant], 1, 1, moved=moved, failed=failed)
        rows = [EpochRow(0, 0, None, None, 0.1, 0.1, 0, 0), last]
        if not failed:
            rows += [replace(last, epoch=epoch, step=2 * epoch) for epoch in (2, 3)]
        write_curve(folder / run.name, counted(rows))
    return summarise(of, folder, {"time": "then", "commit": None})


def doubts(summary: ExperimentSummary) -> list[str]:
    """Why nothing is claimed, besides that no rate was searched."""
    (order,) = summary.orders
    return [doubt for doubt in order.doubts if "was not searched" not in doubt]


@pytest.mark.parametrize("bad, holds", [(0.79, False), (0.80, True), (0.90, True)])
def test_a_row_is_within_some_points_of_another(tmp_path: Path, bad: float, holds: bool) -> None:
    summary = filled(tmp_path, table(within=(Within("bad", "good", 2.5),)), {"good": 0.82, "bad": bad})
    (order,) = summary.orders
    assert order.holds is holds and not doubts(summary)
    assert order.doubts == ("the rate of bad was not searched", "the rate of good was not searched")
    assert order.broken == (() if holds else ("bad 79.00 is not within 2.5 of good 82.00",))
    assert ("does not hold" in as_markdown(summary)) is not holds


@pytest.mark.parametrize("low, doubted", [(0.80, False), (0.70, True)])
def test_nothing_is_within_some_points_of_a_row_that_collapsed_for_a_seed(
    tmp_path: Path, low: float, doubted: bool
) -> None:
    of = table(within=(Within("bad", "good", 2.5),))
    seeds = iter((0.82, low))
    accuracy = {"bad": 0.81}
    for run in of.runs:
        value = accuracy.get(run.variant) or next(seeds)
        (tmp_path / run.name).mkdir(parents=True)
        write_run(tmp_path / run.name, run, "")
        rows = [EpochRow(n, 2 * n, 1.0, None, 0.5, value if n else 0.1, 1, 1, moved=float(n > 0)) for n in range(4)]
        write_curve(tmp_path / run.name, counted(rows))
    (order,) = summarise(of, tmp_path, {"time": "then", "commit": None}).orders
    wide = "the difference of bad and good has a standard error of 6.00, too much for a margin of 2.5"
    assert order.holds and (wide in order.doubts) is doubted


def test_nothing_is_claimed_of_one_seed_or_of_weights_that_stayed(tmp_path: Path) -> None:
    one = filled(tmp_path / "a", table(1, claims=(("good", "bad"),)), {"good": 0.9, "bad": 0.8})
    assert one.orders[0].holds and doubts(one) == ["good has one seed", "bad has one seed"]
    still = filled(tmp_path / "b", table(claims=(("good", "bad"),)), {"good": 0.9, "bad": 0.8}, moved=0.0)
    assert doubts(still) == ["good moved no weight", "bad moved no weight"]
    assert "; no claim, good moved no weight" in as_markdown(still)
    assert '<p class="quiet">d c: holds; no claim, ' in as_page(still)


def test_nothing_is_claimed_of_a_rate_that_harms(tmp_path: Path) -> None:
    """The grid grew as far down as it can, and each rate is worse than no training."""
    search = RateSearch(replace(RUN, column="rate", eta=None), (3e-6, 1e-5), 1)
    more = search.first_runs()
    while more:
        for run in more:
            (tmp_path / run.name).mkdir()
            write_run(tmp_path / run.name, run, "")
            rows = [EpochRow(n, n, 1.0, None, 0.1, 0.2 if n else 0.3, 0, 0, moved=1.0) for n in range(4)]
            write_curve(tmp_path / run.name, counted(rows))
        more = search.more_runs(tmp_path)
    of = table(claims=(("good", "bad"),), searches=(search,))
    cells = {
        cell: tuple(replace(run, eta=None, rate_from=(search.stem,)) if run.variant == "good" else run for run in runs)
        for cell, runs in of.cells.items()
    }
    of = replace(of, cells=cells, stages=(tuple(run for runs in cells.values() for run in runs),))
    assert doubts(filled(tmp_path, of, {"good": 0.9, "bad": 0.8})) == ["no rate of good is better than no training"]


class Failing(MethodReference):
    """A reference whose step 3 fails."""

    def __init__(self, inner: MethodReference) -> None:
        self._inner, self.arithmetic = inner, inner.arithmetic

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    @property
    def weights(self):  # type: ignore[no-untyped-def]
        return self._inner.weights

    def configure(self, settings, first_step):  # type: ignore[no-untyped-def]
        self._inner.configure(settings, first_step)

    def step(self, images, labels) -> StepOutcome:  # type: ignore[no-untyped-def]
        outcome = self._inner.step(images, labels)
        if outcome.step == 3:
            raise StepFailed(3, "conv1", 0, 2)
        return outcome

    def logits(self, images):  # type: ignore[no-untyped-def]
        return self._inner.logits(images)

    def passes(self, weights, step):  # type: ignore[no-untyped-def]
        return self._inner.passes(weights, step)

    def trace(self, weights, images, labels, slot):  # type: ignore[no-untyped-def]
        return self._inner.trace(weights, images, labels, slot)


def test_a_run_ends_with_the_step_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / RUN.name
    folder.mkdir()
    write_run(folder, RUN, load(DATA).sha256)
    learner = GraphRun.learner
    monkeypatch.setattr(GraphRun, "learner", lambda *arguments: Failing(learner(*arguments)))
    rows = list(islice(Training(folder).epochs(), 9))
    assert [row.epoch for row in rows] == [0, 1, 2] and rows[1].failed == "" and rows[2].step == 3
    assert rows[2].failed == "step 3 fails: a weight or bias of conv1 leaves -2^20..2^20: " + (
        "choose a smaller eta, or begin with other weights."
    )
    assert complete(folder) and not list(Training(folder).epochs()), "nothing is left to be trained"
    assert len(read_checkpoint(folder / "epoch-002.npz").digests) == 1 and read_curve(folder) == rows


def test_a_rate_whose_steps_fail_is_not_chosen(tmp_path: Path) -> None:
    """It has the best accuracy, and at the largest rate no step is trained at all: the grid does not grow upwards."""
    search = RateSearch(replace(RUN, column="rate", eta=None), (0.01, 0.1, 1.0), 2)
    said = {0.01: (0.5, "", 1.0), 0.1: (0.9, "step 3 fails.", 1.0), 1.0: (0.9, "step 0 fails.", 0.0)}
    more = search.first_runs()
    while more:
        for run in more:
            accuracy, failed, moved = said.get(run.eta or 0, (0.4, "", 1.0))
            (tmp_path / run.name).mkdir()
            write_run(tmp_path / run.name, run, "")
            last = EpochRow(1, 2, 1.0, None, 0.5, accuracy, 1, 1, moved=moved, failed=failed)
            rows = [EpochRow(0, 0, None, None, 0.1, 0.1, 0, 0), last]
            rows += [] if failed else [replace(last, epoch=2), replace(last, epoch=3)]
            write_curve(tmp_path / run.name, counted(rows))
        more = search.more_runs(tmp_path)
    found = results(tmp_path, search.stem)
    assert [one.eta for one in found] == [0.003, 0.01, 0.03, 0.1, 1.0]
    assert [one.failed for one in found] == [False, False, False, True, True] and found[3].harmful
    assert search_facts(tmp_path, search)["chosen"] == 0.01 and search_facts(tmp_path, search)["inside"]
    assert resolved(replace(RUN, eta=None, rate_from=(stem_of(search.base),)), tmp_path).eta == 0.01


def test_a_cell_says_how_many_of_its_runs_failed(tmp_path: Path) -> None:
    summary = filled(tmp_path, table(claims=(("good", "bad"),)), {"good": 0.9, "bad": 0.8}, failed="step 3 fails.")
    assert "| good | 90.00 ± 0.00, 2 of 2 failed |" in as_markdown(summary)
    assert "no claim, a step of good failed" in as_markdown(summary)
