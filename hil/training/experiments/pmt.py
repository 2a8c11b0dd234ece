"""Tables and figures of Poor Man's Training as runs (`papers/pmt.toml`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from hil.errors import RigError
from hil.training.data.corruption.by_name import FAMILIES
from hil.training.data.names import public_name
from hil.training.experiments.adaptation import (
    NEW_CLASSES,
    PMT,
    Adaptation,
    TrainingSetup,
    corrupted,
    default_pair,
    new_task,
)
from hil.training.experiments.builder import Builder, ExperimentRequest
from hil.training.experiments.graphs import GraphRun
from hil.training.experiments.paper import Experiment, TrainingRow
from hil.training.experiments.qzo_runs import BP, QzoRun
from hil.training.experiments.run import Given
from hil.training.experiments.table import COSINE, NONE, Axis, MemoryRow, PaperTable
from hil.training.methods import graph_method
from hil.training.methods.graph_settings import LIMITS
from hil.training.networks import build, find_network

BLOCKS = {f"block{block}": 1 << (block - 1) for block in (1, 2, 3, 4)}
FP32 = "bp-fp32"  # the row of back-propagation in floats
CORRUPTION = "gaussian-noise"  # of the figures and of tables 5 and 6
FAMILY_TASKS = ("gaussian-noise", "motion-blur", "fog", "contrast")  # one corruption of each family
SHARES = (0.01, 0.03, 0.1, 0.3, 1.0)  # of --queries: the compared numbers of queries
TASKS = ("pmt-table10", "pmt-table11")  # a new task of a network
BOTH = ("pmt-figure10", "pmt-figure11")  # corruptions, or a new task of a network whose head is drawn
BUDGETED = ("pmt-figure9", "pmt-table5", "pmt-table6")  # with equal forward passes
RATES_OF_TASKS = "0.1 (table 10) and 0.01 (table 11)"  # of the paper, in words
RATES_OF_CORRUPTIONS = "0.01, and for its figures that the best was chosen"
PASSES = "forward passes, millions"  # title of an axis
Columns = Iterator[tuple[str, Sequence[str], Sequence[str]]]  # title, tasks whose mean it is, rows


def adaptation_of(experiment: Experiment, request: ExperimentRequest) -> Adaptation:
    """Return what the network is adapted to.

    Raises:
        RigError: a wrong request.
    """
    name = experiment.name
    drawn = bool(request.network) and find_network(request.network).any_classes
    if name not in TASKS and (name not in BOTH or not (drawn or request.data)):
        return corrupted(request)
    if request.corruptions:
        raise RigError(f"--corruptions is given for {name} on a new task, which has none: leave it out.")
    data = request.data or (default_pair() if name == "pmt-table11" else NEW_CLASSES,)
    return new_task(replace(request, data=data))


class TablePlan:
    """The runs of one table: how its rows train, and what is said of them."""

    def __init__(self, experiment: Experiment, request: ExperimentRequest) -> None:
        self.experiment, self.adaptation = experiment, adaptation_of(experiment, request)
        self.request, self.data = self.adaptation.request, self.adaptation.network  # the network is above the columns
        self.builder = Builder(experiment, self.request)
        self.families = {
            name: [one for one in family if one in (self.request.corruptions or family)]
            for name, family in FAMILIES.items()
        }
        self.families = {name: family for name, family in self.families.items() if family}
        self.not_run: dict[str, str] = {}
        self._check_steps()

    def _check_steps(self) -> None:
        """Leave out a row whose search for a rate, which has the fewest steps, would train nothing."""
        epochs = self.request.search_epochs or self.request.epochs
        for row in self.experiment.trained:
            declared = self.experiment.declared.get(row)
            if declared is None or declared.method == BP:
                continue
            run = self._run("", "", row, TrainingSetup(declared.given, declared.method))
            try:
                run.check_steps(self.adaptation.kept // self.request.batch * epochs)
            except RigError as error:
                self.not_run[row] = str(error)

    @cached_property
    def budget(self) -> int | None:
        """The perturbed forward passes of every run but the test trainings; None: the epochs decide."""
        if self.experiment.name not in BUDGETED:
            return None
        masks = (self.adaptation.curved,) if self.experiment.name == "pmt-figure9" else BLOCKS.values()
        layers = max(len(self.adaptation.layers(self.adaptation.block(mask))) for mask in masks)
        request = self.request
        return request.epochs * (request.images // request.batch) * request.batch * layers * request.queries

    @cached_property
    def equal(self) -> dict[str, int]:
        """The queries per layer and for the model with equal forward passes; a step has at most 127 queries."""
        blocks = () if self.experiment.name == "pmt-figure8" else self.adaptation.block(self.adaptation.curved)
        layers = len(self.adaptation.layers(blocks))
        each = max(min(self.request.queries, LIMITS["queries"][1] // layers), 1)
        return {"given": self.request.queries, "layer": each, "model": each * layers}

    @cached_property
    def counts(self) -> dict[str, int]:
        """Increasing numbers of queries up to --queries, in steps of about three, by row."""
        counts = sorted({max(round(self.request.queries * share), 1) for share in SHARES})
        return {f"Q={count}": count for count in counts[self.experiment.name == "pmt-figure9" :]}

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """The corruptions that the user or else the paper names, or the one new task."""
        default = FAMILY_TASKS if self.experiment.name in BOTH else tuple(self.experiment.published.get("*", ()))
        return self.adaptation.tasks(default or (CORRUPTION,))

    def columns(self) -> Columns:
        """Yield the columns with what they train on and their rows."""
        name, rows = self.experiment.name, self.experiment.trained
        if name == "pmt-table4":
            yield from ((family, corruptions, rows) for family, corruptions in self.families.items())
        elif name in TASKS:
            yield "two-classes" if name == "pmt-table11" else "new-classes", self.request.data, rows
        elif name == "pmt-figure7":
            for task in self.tasks:
                yield f"{task}-scaling", (task,), rows[:4]
                yield f"{task}-estimator", (task,), rows[4:]
        elif name == "pmt-figure9":
            yield self.tasks[0], self.tasks[:1], tuple(self.counts)
        else:
            for task in self.tasks:
                yield public_name(task), (task,), rows

    def way(self, row: TrainingRow) -> TrainingSetup:
        """Return how a declared row trains."""
        mask = self.adaptation.curved if row.blocks == "curved" else row.blocks
        given = (*(self.adaptation.block(mask) if mask else ()), *row.given)
        given += (("queries", self.equal[row.queries]),) if row.queries else ()
        return TrainingSetup(given, row.method, self.budget, row.fewest_steps, row.epochs)

    def declared(self, row: str) -> TrainingRow:
        """Return how a row is declared; those with a number of queries are not."""
        if row in self.counts:
            return TrainingRow(blocks="curved", settings={"queries": self.counts[row]})
        return self.experiment.declared[row]

    def add(self, column: str, tasks: Sequence[str], row: str, tuned_on: str) -> None:
        """Add the cell of a row: the mean over tasks and seeds, with the rate that is best on `tuned_on`.

        If the block is chosen, it is the one that Poor Man's Training improves most in one epoch, and each block has
        its own rate.
        """
        cell, datas, declared = (self.data, column, row), [*map(self.adaptation.set_of, tasks)], self.declared(row)
        if declared.method == BP:
            self.builder.add(cell, self._float_run(column, row, tuned_on), datas)
            return
        way = self.way(declared)
        if not declared.chosen:
            self.builder.add(cell, replace(self._run("", column, row, way), **self._rate({row: way}, tuned_on)), datas)
            return
        prefix = "" if way.method == PMT else f"{row}-"
        ways = {
            f"{prefix}{name}": replace(way, given=tuple((dict(way.given) | dict(self.adaptation.block(mask))).items()))
            for name, mask in BLOCKS.items()
        }
        run, runs = replace(self._run("", column, row, way), **self._rate(ways, tuned_on)), list[GraphRun]()
        for task in tasks:
            for seed in self.builder.seeds:
                blocks = self._tests(task, seed, tuned_on)
                runs.append(replace(run, data=self.adaptation.set_of(task), seed=seed, blocks_from=blocks))
        self.builder.cells[cell] = tuple(runs)

    def _rate(self, ways: Mapping[str, TrainingSetup], task: str) -> dict[str, Any]:
        """Return the fields of a run that define its learning rate; `ways` has one way, or one per block."""
        rates = [way.rates(self.request) for way in ways.values()]
        found: list[dict[str, Any]] = []
        for (label, way), its in zip(ways.items(), rates, strict=True):
            shorter = replace(way, epochs=way.epochs or self.request.search_epochs)
            found.append(self.builder.rate(self._run(self.adaptation.held_out(task), "rate", label, shorter), its))
        return found[0] if "eta" in found[0] else {"rate_from": tuple(one["rate_from"][0] for one in found)}

    def _tests(self, task: str, seed: int, tuned_on: str) -> tuple[str, ...]:
        """Add a test training of one epoch per block (PMT, section 3.3.1), and return their names."""
        names = []
        for label, mask in BLOCKS.items():
            way = self.way(TrainingRow(blocks=mask, queries="given"))
            run = self._run(self.adaptation.held_out(task), "block", label, replace(way, budget=None))
            run = replace(run, seed=seed, epochs=1, **self._rate({label: way}, tuned_on))
            self.builder.tests[run] = None
            names.append(run.name)
        return tuple(names)

    def _run(self, data: str, column: str, row: str, way: TrainingSetup) -> GraphRun:
        request = self.request
        return GraphRun(
            data, column, row, 1, way.epochs or request.epochs, request.batch, request.network, way.method, way.given,
            budget=way.budget, fewest_steps=way.fewest_steps,
        )  # fmt: skip

    def _float_run(self, column: str, row: str, tuned_on: str) -> QzoRun:
        """Return a run of back-propagation through all layers in floats, by steps whose rate falls along a cosine."""
        request, epochs = self.request, self.request.search_epochs or self.request.epochs
        run = QzoRun("", column, row, 1, request.epochs, request.batch, request.network, BP)
        given: tuple[Given, ...] = tuple(
            (("train_bias", 1), ("steps", images // request.batch * its))
            for images, its in ((self.adaptation.used, request.epochs), (self.adaptation.kept, epochs))
        )
        data = self.adaptation.held_out(tuned_on)
        tried = replace(run, data=data, column="rate", epochs=epochs, given=given[1])
        return replace(run, given=given[0], **self.builder.rate(tried, request.rates))

    def add_cosines(self) -> None:
        """Add the cells of figure 8, by layer: one step with each estimator, and with each number of queries."""
        request, task = self.request, self.tasks[0]
        ways = {row: (("perturb", "adaptive"), ("queries", count)) for row, count in self.counts.items()}
        ways |= {row: self.way(self.declared(row)).given for row in self.experiment.rows}  # type: ignore[misc]
        for row, given in ways.items():
            run = GraphRun(
                self.adaptation.set_of(task), "all", row, 1, 1, request.batch, request.network, PMT, given, eta=0.01,
                steps=1, compares=True,
            )  # fmt: skip
            for layer in self.adaptation.layers(()):
                self.builder.add((self.data, layer, row), run)

    def facts(self) -> dict[str, Any]:
        """Return what the sentences say of the request."""
        request, its, epochs = self.request, self.adaptation, self.request.search_epochs or self.request.epochs
        adapts, paper_epochs = self.experiment.measure != COSINE.name, self.experiment.defaults["epochs"]
        single, new = len(request.rates) == 1, its.new
        searching = "" if epochs == request.epochs else f" for {epochs} epoch{'s' * (epochs > 1)}"
        curved = its.layers(its.block(its.curved)) if self.experiment.name.startswith("pmt-figure") else ()
        return {
            "stands-in": not new, "stands-in-task": new, "network": request.network, "data": its.data,
            "on": f"on {its.data}" if new else "on corrupted images",
            "origin": find_network(request.network).provenance, "seeds": request.seeds,
            "drawn": " and a new head" if new else "",
            "images": its.used != self.experiment.defaults["images"], "used": its.used,
            "fewer": adapts and request.epochs != paper_epochs, "epochs": request.epochs, "paper_epochs": paper_epochs,
            "few-queries": request.queries != self.experiment.defaults["queries"], "queries": request.queries,
            "samples": request.batch != self.experiment.defaults["batch"], "batch": request.batch,
            "one-rate": adapts and single, "searched-rate": adapts and not single, "falling": adapts,
            "rates": ", ".join(f"{rate:g}" for rate in request.rates), "searching": searching, "kept": its.kept,
            "held": its.held, "paper_rate": RATES_OF_TASKS if new else RATES_OF_CORRUPTIONS,
            "tested": its.tested > 0, "most": its.tested,
            "first": (next(iter(self.families.values())) if self.experiment.name == "pmt-table4" else self.tasks)[0],
            "families": "; ".join(f"{name}: {', '.join(family)}" for name, family in self.families.items()),
            "budget": f"{self.budget:,}" if self.budget else "", "layers": ", ".join(curved),
            "each": self.equal["layer"], "total": self.equal["model"],
        }  # fmt: skip

    def memory(self) -> tuple[MemoryRow, ...]:
        """Return the memory of the rows with one sample a step; of a chosen block that of block 3."""
        found = []
        for row in self.experiment.trained:
            if row == NONE or self.declared(row).method == BP:
                continue
            declared = self.declared(row)
            way = self.way(replace(declared, blocks=BLOCKS["block3"]) if row == "pmt" else declared)
            kind, given = graph_method(way.method), dict(way.given) | {"batch": 1}
            method = kind.on(build(self.request.network, 1), kind.default_variant, **given)
            arena = method.resident(0, (True,)).plan.memory(1).total  # nothing fits 0 bytes: the smallest form
            name = f"{row}, blocks {given['blocks']:b}" if row == "pmt" else row
            parts = {"equation": method.figures.analytic()["bytes"], "arena": arena}
            found.append(MemoryRow(self.request.network, name, parts))
        return tuple(found)


def table(experiment: Experiment, request: ExperimentRequest) -> PaperTable:
    """Return a table or figure of the paper.

    Raises:
        RigError: a wrong request.
    """
    plan = TablePlan(experiment, request)
    its, name = plan.adaptation, experiment.name
    if name == "pmt-table11" and its.classes != 2:
        data, classes = its.request.data[0], its.classes
        raise RigError(f"pmt-table11 is a task of two classes, and {data} has {classes}: add @classes-A-B.")
    facts, others = plan.facts(), dict[str, Any]()
    for column, tasks, rows in plan.columns() if name != "pmt-figure8" else ():
        tuned_on = facts["first"] if name.startswith("pmt-table") and name not in TASKS else tasks[0]
        for row in rows:
            if row == NONE:
                plan.builder.add_none(plan.data, column)
            elif row not in plan.not_run:
                plan.add(column, tasks, row, tuned_on)
    counts = tuple(plan.counts)
    if name == "pmt-figure8":
        plan.add_cosines()
        others["claims"] = (*pairwise(counts[::-1]), *experiment.claims)
        others["rows"] = (*counts, *experiment.rows)
    elif name == "pmt-figure9":
        others |= {"rows": counts, "claims": ((counts[-1], counts[0]),)}
    if plan.budget:
        others["axis"] = Axis(PASSES, plan.budget / 1e6)
    if name in TASKS:
        others["memory"] = plan.memory()
    return plan.builder.table(facts, not_run=plan.not_run, **others)
