"""Make the runs of a table: what the user requested, the searches of rates, and the runs of every cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hil.training.experiments.kinds import RatedRun, Run
from hil.training.experiments.paper import Experiment
from hil.training.experiments.rate_search import RateSearch, stem_of
from hil.training.experiments.table import MEASURES, NONE, Cell, PaperTable


@dataclass(frozen=True)
class ExperimentRequest:
    """What the user requested; 0 or empty: the experiment's own value.

    Attributes:
        data: data sets. network: pre-trained. corruptions: of the images.
        columns: of ElasticZO's tables; of FQT's figures the readings of its equation (8).
        seeds, epochs, batch: of every run of the table.
        images: for training; a part of them is held out while something is chosen.
        queries: for each layer. tasks: few-shot tasks for each seed.
        rates: initial ones of every grid; a single one is not searched for.
        search_epochs: of the runs that search a rate; 0: `epochs`.
    """

    data: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    network: str = ""
    corruptions: tuple[str, ...] = ()
    seeds: int = 0
    epochs: int = 0
    batch: int = 0
    images: int = 0
    queries: int = 0
    tasks: int = 0
    rates: tuple[float, ...] = ()
    search_epochs: int = 0

    def of(self, experiment: Experiment) -> ExperimentRequest:
        """Return the request with the experiment's own values."""
        own: dict[str, Any] = {
            name: tuple(one) if isinstance(one, list) else one for name, one in experiment.defaults.items()
        }
        return replace(self, **{name: one for name, one in own.items() if not getattr(self, name)})


class Builder:
    """Collects the runs of a table, stage by stage.

    Attributes:
        before: runs from which others start, which no board repeats.
        searches: of learning rates, by the beginning of their runs' names.
        tests: runs from which others choose what is trained.
        cells: the runs of the table.
    """

    def __init__(self, experiment: Experiment, request: ExperimentRequest, search_seeds: int = 0) -> None:
        self.experiment, self.request = experiment, request
        self.seeds = range(1, request.seeds + 1)
        self.before: dict[Run, None] = {}
        self.searches: dict[str, RateSearch[Any]] = {}
        self.tests: dict[Run, None] = {}
        self.cells: dict[Cell, tuple[Run, ...]] = {}
        self._search_seeds = search_seeds or request.seeds

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs of the cells, each once."""
        return tuple(dict.fromkeys(run for runs in self.cells.values() for run in runs))

    @property
    def stages(self) -> tuple[tuple[Run, ...], ...]:
        """The stages that have runs: what others start from, initial rates, what others choose from, the table."""
        return tuple(stage for stage in (tuple(self.before), self._first, tuple(self.tests), self.runs) if stage)

    @property
    def choices(self) -> frozenset[str]:
        """Names of the runs that no board repeats."""
        return frozenset(run.name for run in (*self.before, *self._first, *self.tests))

    @property
    def _first(self) -> tuple[Run, ...]:
        return tuple(run for search in self.searches.values() for run in search.first_runs())

    def rate(self, tried: RatedRun, rates: Sequence[float], starts: Sequence[str] = ()) -> dict[str, Any]:
        """Return the fields of a run that define its rate: a single one, or the best of a search.

        Args:
            tried: the run of the row on the data for the choice, without a rate.
            rates: the initial ones.
            starts: names of the runs that those of the search start from, one per seed.
        """
        if len(rates) == 1:
            return {"eta": rates[0]}
        stem = stem_of(tried)
        search = RateSearch(tried, tuple(rates), self._search_seeds, tuple(starts[: self._search_seeds]))
        self.searches.setdefault(stem, search)
        return {"rate_from": stem if isinstance(tried.rate_from, str) else (stem,)}

    def add(self, cell: Cell, run: Run, datas: Sequence[str] = ()) -> None:
        """Add a cell: a run with every seed on each of some data sets, or on its own."""
        self.cells[cell] = tuple(
            replace(run, data=data, seed=seed) for data in datas or (run.data,) for seed in self.seeds
        )

    def add_none(self, data: str, column: str) -> None:
        """Add the cell of the weights before training."""
        self.cells[data, column, NONE] = self.cells[data, column, self.experiment.none]

    def table(self, facts: Mapping[str, Any], **others: Any) -> PaperTable:
        """Return the table; `facts` are those of its sentences (`Experiment.said`), `others` fields of `PaperTable`."""
        it = self.experiment
        fields = {"stages": self.stages, "cells": self.cells, "rows": it.rows} | others
        columns = dict.fromkeys((data, column) for data, column, _ in fields["cells"])
        paper = {(*column, row): it.of_paper(*column, row) for column in columns for row in fields["rows"]}
        fields["paper"] = {cell: value for cell, value in paper.items() if value is not None}
        whole: dict[str, Any] = {
            "choices": self.choices, "searches": tuple(self.searches.values()), "claims": it.claims,
            "within": it.within, "measure": MEASURES[it.measure], "loss_charts": it.loss_charts,
            "memory_parts": it.memory_parts, "all_channels": it.all_channels, "order": it.order, "titles": it.titles,
        } | fields  # fmt: skip
        return PaperTable(it.name, it.title.format(**facts), differences=tuple(it.said(facts)), **whole)
