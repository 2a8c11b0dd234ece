"""Summarise learning curves as a table: means, spreads, and whether the paper's order holds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hil.training.experiments.certify import Certificate
from hil.training.experiments.choice import resolved
from hil.training.experiments.curve import EpochRow, ended, read_curve
from hil.training.experiments.rate_search import FEWEST_IMAGES, search_facts
from hil.training.experiments.table import COSINE, LOSS, NONE, Cell, PaperTable

Curves = Mapping[str, Sequence[EpochRow]]  # by name of the run


@dataclass(frozen=True)
class CellResult:
    """One cell of the table."""

    data: str
    column: str
    row: str
    values: tuple[float, ...]  # one per seed, the mean over its runs; for `none`, that of the curve's first row
    mean: float | None  # of the values; None without any
    spread: float | None  # their sample standard deviation (n - 1); None with fewer than two
    paper: float | None  # published value
    right_signs: float | None  # as in the curve, mean over epochs and seeds
    chosen: str  # settings that were searched; empty if there were none
    train_s: float | None  # wall time of the training steps for one seed
    steps_per_s: float | None  # training steps per second of wall time, mean over seeds
    failed: int = 0  # runs that a failed step ended; their value is that of the weights before it
    backward_macs: float | None = None  # as in the curve, mean over epochs and seeds
    seeds_moved: bool = False  # whether training moved weights with every seed


@dataclass(frozen=True)
class Order:
    """Whether the means of a column have the order that the paper claims.

    `holds` is None while a mean is missing; `broken` names the pairs in the wrong order; `doubts` say why nothing may
    be claimed yet.
    """

    data: str
    column: str
    holds: bool | None
    broken: tuple[str, ...]
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExperimentSummary:
    """Everything in the files of an experiment."""

    table: PaperTable
    facts: Mapping[str, Any]  # time, versions and host
    cells: tuple[CellResult, ...]  # in the order of the table
    orders: tuple[Order, ...]  # one per column, if anything is claimed
    curves: Curves
    certificates: tuple[Certificate, ...]  # empty if nothing was certified
    searches: tuple[Mapping[str, Any], ...] = ()  # finished searches of learning rates, from `search_facts`

    def cell(self, data: str, column: str, row: str) -> CellResult | None:
        """Return a cell, or None if the table does not have it."""
        return next((one for one in self.cells if (one.data, one.column, one.row) == (data, column, row)), None)

    def to_json(self) -> dict[str, Any]:
        """Return all but the curves for JSON; training results are counted in the reference, times are measured."""
        return {
            "experiment": self.table.name,
            "title": self.table.title,
            "facts": dict(self.facts),
            "provenance": {
                self.table.measure.name: "counted",
                "right_signs": "counted",
                "wall_time": "measured",
                "paper": "published",
            },
            "differences": list(self.table.differences),
            "not_run": dict(self.table.not_run),
            "cells": [asdict(cell) for cell in self.cells],
            "orders": [asdict(order) for order in self.orders],
            "runs": [asdict(run) | {"name": run.name} for run in self.table.runs],
            "searches": list(self.searches),
            "memory": [asdict(row) for row in self.table.memory],
            "certificates": [asdict(certificate) for certificate in self.certificates],
        }


def summarise(
    table: PaperTable, runs: Path, facts: Mapping[str, Any], certificates: Sequence[Certificate] = ()
) -> ExperimentSummary:
    """Summarise the curves below `runs`; incomplete runs are left out of the cells."""
    curves = {run.name: read_curve(runs / run.name) for run in table.runs}
    cells = tuple(_cell(table, cell, runs, curves) for cell in table.cells)
    found = {search.stem: search_facts(runs, search) for search in table.searches if search.over(runs)}
    claimed = table.columns if table.claims or table.within else ()
    orders = tuple(_order(table, cells, found, *column) for column in claimed)
    searches = tuple(found.values())
    return ExperimentSummary(table, facts, cells, orders, curves, tuple(certificates), searches)


def _cell(table: PaperTable, cell: Cell, runs: Path, curves: Curves) -> CellResult:
    data, column, row = cell
    done = [run for run in table.cells[cell] if ended(run, curves[run.name])]
    by_seed: dict[int, list[float]] = {}
    for run in done:
        by_seed.setdefault(run.seed, []).append(_value(table, row, column, curves[run.name]))
    values = tuple(statistics.fmean(each) for each in by_seed.values())
    steps_count = row != NONE and table.measure is not COSINE  # a run of cosines has one step and is in all columns
    trained = [one for run in done for one in curves[run.name][1:]] if steps_count else []
    signs = [one.right_signs for one in trained if one.right_signs is not None]
    macs = [one.backward_macs for one in trained if one.backward_macs is not None]
    seconds = sum(one.train_s for one in trained)
    steps = sum(curves[run.name][-1].step * max(run.tasks, 1) for run in done) if trained else 0
    return CellResult(
        data,
        column,
        row,
        values,
        mean=statistics.fmean(values) if values else None,
        spread=statistics.stdev(values) if len(values) > 1 else None,
        paper=table.paper.get(cell),
        right_signs=statistics.fmean(signs) if signs else None,
        chosen="; ".join(dict.fromkeys(resolved(run, runs).chosen() for run in done)) if trained else "",
        train_s=seconds / len(by_seed) if trained else None,
        steps_per_s=steps / seconds if seconds else None,
        failed=sum(bool(curves[run.name][-1].failed) for run in done),
        backward_macs=statistics.fmean(macs) if macs else None,
        seeds_moved=bool(done) and all(curves[run.name][-1].moved > 0 for run in done),
    )


def _value(table: PaperTable, row: str, column: str, curve: Sequence[EpochRow]) -> float:
    """Return the value of a run's curve for a cell."""
    one = curve[0 if row == NONE else -1]
    if table.measure is LOSS:
        assert one.loss is not None
        return one.loss
    if table.measure is COSINE:
        assert one.cosines is not None
        layers = list(dict.fromkeys(name for _, name in table.columns))
        return one.cosines[layers.index(column)]
    return 100 * one.test_accuracy


def _order(
    table: PaperTable, cells: Sequence[CellResult], searches: Mapping[str, Mapping[str, Any]], data: str, column: str
) -> Order:
    its = {cell.row: cell for cell in cells if (cell.data, cell.column) == (data, column)}
    side = "above" if table.measure.sign > 0 else "below"
    pairs = [(better, worse, None) for better, worse in table.claims]
    pairs += [(one.row, one.other, one.points) for one in table.within]  # type: ignore[misc]
    broken, missing, claimed = [], False, dict[str, None]()
    for better, worse, points in pairs:
        if not {better, worse} <= set(its):
            continue
        claimed |= {better: None, worse: None}
        good, bad = its[better].mean, its[worse].mean
        if good is None or bad is None:
            missing = True
            continue
        ahead = table.measure.sign * (good - bad)
        if points is None and not ahead > 0:
            broken.append(f"{better} {good:.2f} is not {side} {worse} {bad:.2f}")
        elif points is not None and ahead < -points:
            broken.append(f"{better} {good:.2f} is not within {points:g} of {worse} {bad:.2f}")
    holds = False if broken else None if missing else True
    doubts = (*_doubts(table, its, list(claimed), searches), *_wide(table, its)) if holds is not None else ()
    return Order(data, column, holds, tuple(broken), doubts)


def _wide(table: PaperTable, cells: Mapping[str, CellResult]) -> Iterator[str]:
    """Yield the claims "within some points" that the spread of the seeds cannot decide.

    The standard error of the difference of two means is compared with the points. A row whose training collapsed for
    some seeds has a low mean, and any other row would be within some points of it.
    """
    for claim in table.within:
        values = [cells[row].values for row in (claim.row, claim.other) if row in cells]
        if len(values) < 2 or min(map(len, values)) < 2:
            continue  # the row is not there, or _doubts says that it has one seed
        error = math.hypot(*(statistics.stdev(each) / math.sqrt(len(each)) for each in values))
        if error >= claim.points:
            yield (
                f"the difference of {claim.row} and {claim.other} has a standard error of {error:.2f}, "
                f"too much for a margin of {claim.points:g}"
            )


def _doubts(
    table: PaperTable, cells: Mapping[str, CellResult], rows: Sequence[str], searches: Mapping[str, Mapping[str, Any]]
) -> Iterator[str]:
    """Yield why nothing may be claimed of rows of a column: one seed, a rate at an end of its grid, no training."""
    for row in rows:
        cell = cells[row]
        if len(cell.values) < 2:
            yield f"{row} has one seed"
        runs = table.cells[cell.data, cell.column, row]
        for stem in dict.fromkeys(stem for run in runs for stem in run.searches()):
            found = searches.get(stem)
            if found is not None:
                yield from _unsearched(row, found)
        if row != NONE and any(run.eta is not None and run.epochs for run in runs):
            yield f"the rate of {row} was not searched"
        if row != NONE and cell.train_s and not cell.seeds_moved:
            yield f"{row} moved no weight"
        if cell.failed:
            yield f"a step of {row} failed"


def _unsearched(row: str, found: Mapping[str, Any]) -> Iterator[str]:
    """Yield why the search of a row's rate decides nothing: where its best rate lies, or too few images."""
    if found["harmful"]:
        yield f"no rate of {row} is better than no training"
    elif not found["inside"]:
        yield f"the best rate of {row} is not inside its grid"
    if found["images"] < FEWEST_IMAGES:
        yield f"the rate of {row} was searched on {found['images']} images, fewer than {FEWEST_IMAGES}"
