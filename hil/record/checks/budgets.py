"""Budgets of a trial against its figures: every judgement is made again (docs/trials.md)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from hil.gates import FIGURES, FigureGate, More, begin_of, judge
from hil.gates.judgement import COVERAGE, SILICON, Judgement
from hil.quantity import Provenance, Quantity
from hil.record.checks.entries import close
from hil.record.checks.recorded import RecordedRun, RecordedTrial
from hil.record.contradiction import NOTHING, Contradiction, differ
from hil.record.gates import Gate
from hil.record.trial_record import TrialRecord
from hil.rig_toml import IN_FILE

PASS, FAIL, NOT_JUDGED = "pass", "fail", "not judged"
ENERGY = "energy_per_step"
OF_TEST = "of the test"  # where a budget of a test is written (hil/training/trial/spec.py)
WHAT = ("energy windows", "test images")  # more of them shrink an uncertainty (hil/training/trial/gating.py)
ROUNDING = 5e-4  # of the coverage factor, which the record has with three digits


def check_budgets(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """Each budget has the figure of the record, and the verdict that follows from figure, uncertainty and limit."""
    record, file = trial.record, trial.source
    for gate in record.gates:
        figure = trial.figures.get(gate["path"])
        if gate["name"] in FIGURES and FIGURES[gate["name"]].path != gate["path"]:
            path, name = FIGURES[gate["name"]].path, f"path of the budget of {gate['name']}"
            yield differ(file, name, gate["path"], "docs/trials.md", path, trial.name)
            continue
        yield from _figure(gate, figure, file, trial)
        yield from _verdict(gate, trial, file)
    known = _limits(record, "sram")
    if known and record.sram["budget"] != round(min(known)):
        yield differ(file, "sram.budget", record.sram["budget"], f"{file} (gates)", round(min(known)), trial.name)


def check_sentences(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """Each budget has the sentence that follows from its fields; SRAM and latency name the budgets that there are."""
    record, file = trial.record, trial.source
    for gate in record.gates:
        if gate["name"] in FIGURES:
            yield from _words(gate, trial, file)
    # without a figure, the budget of the catalogue is not among the gates: nobody asked for it
    if record.sram["budget"] is not None and record.sram["total"] is not None and not _limits(record, "sram"):
        yield differ(file, "sram.budget", record.sram["budget"], f"{file} (gates)", None, trial.name)
    latency = record.latency
    if latency is not None:
        first = next(iter(_limits(record, "latency")), None)
        here = latency["budget_ms"]
        if (here is None) != (first is None) or (
            here is not None and first is not None and not close(here, 1e3 * first)
        ):
            there = None if first is None else 1e3 * first
            yield differ(file, "latency.budget_ms", here, f"{file} (gates)", there, trial.name)


def _limits(record: TrialRecord, name: str) -> list[float]:
    """Return the absolute limits of a figure."""
    gates = [gate for gate in record.gates if gate["name"] == name and gate["relative"] is None]
    return [gate["limit"] for gate in gates if gate["limit"] is not None]


def _figure(gate: Gate, figure: Quantity | None, file: str, trial: RecordedTrial) -> Iterator[Contradiction]:
    """Compare value, uncertainty and provenance of a budget's figure with those of the record."""
    name = f"of the budget of {gate['name']}"
    if gate["value"] is None:
        if figure is not None and not trial.record.wrong_figures:
            yield differ(file, f"value {name}", None, f"{file} ({gate['path']})", figure.value, trial.name)
        return
    if figure is None:
        yield differ(file, f"value {name}", gate["value"], f"{file} ({gate['path']})", NOTHING, trial.name)
        return
    pairs = {"value": figure.value, "uncertainty": figure.uncertainty}
    for key, there in pairs.items():
        here: float | None = gate[key]  # type: ignore[literal-required]
        if (here is None) != (there is None) or (here is not None and there is not None and not close(here, there)):
            yield differ(file, f"{key} {name}", here, f"{file} ({gate['path']})", there, trial.name)
    if gate["provenance"] != figure.provenance.value:
        word = figure.provenance.value
        yield differ(file, f"provenance {name}", gate["provenance"], f"{file} ({gate['path']})", word, trial.name)


def _verdict(gate: Gate, trial: RecordedTrial, file: str) -> Iterator[Contradiction]:
    name = f"verdict of the budget of {gate['name']}"
    if gate["value"] is None or gate["name"] not in FIGURES or gate["provenance"] is None:
        if gate["verdict"] != NOT_JUDGED:
            yield differ(file, name, gate["verdict"], file, "no figure for it", trial.name)
        return
    if gate["unit"] != FIGURES[gate["name"]].unit:
        unit = FIGURES[gate["name"]].unit
        yield differ(file, f"unit of the budget of {gate['name']}", gate["unit"], "docs/trials.md", unit, trial.name)
        return
    provenance = Provenance(gate["provenance"])
    if gate["relative"] is not None or gate["limit"] is None:
        # The uncertainty of the median of the nights before is not in the record: only the side of the limit is known.
        upper, limit = FIGURES[gate["name"]].upper, gate["limit"]
        beyond = limit is not None and (gate["value"] > limit if upper else gate["value"] < limit)
        wrong = (gate["verdict"] == PASS and (limit is None or beyond)) or (gate["verdict"] == FAIL and not beyond)
        if wrong or (provenance not in SILICON) != (gate["verdict"] == NOT_JUDGED):
            yield differ(file, name, gate["verdict"], file, f"value {gate['value']} and limit {limit}", trial.name)
        return
    possible = {each.verdict for each in _judged(gate, trial)}
    if gate["verdict"] not in possible:
        said = f"{' or '.join(sorted(possible))} for {gate['value']} and the limit {gate['limit']}"
        yield differ(file, name, gate["verdict"], file, said, trial.name)
    latency = trial.record.latency
    if gate["name"] == "latency" and latency is not None and latency["budget_ms"] is not None:
        word = {"pass": "within", "fail": "beyond", "inconclusive": "inconclusive"}.get(gate["verdict"], "")
        word = word or f"{NOT_JUDGED}: {latency['provenance']}"
        # of several budgets, the latency names the first
        if latency["judged"] != word and close(latency["budget_ms"], 1e3 * gate["limit"]):
            yield differ(file, "latency.judged", latency["judged"], f"{file} (gates)", word, trial.name)


def _budget(gate: Gate) -> FigureGate:
    limit = None if gate["relative"] is not None else gate["limit"]
    return FigureGate(gate["name"], gate["source"], limit, gate["relative"])


def _factors(gate: Gate, trial: RecordedTrial) -> list[float]:
    """Return the coverage factors that the record allows: it has them rounded."""
    coverage = COVERAGE
    if gate["name"] == ENERGY and trial.record.energy is not None:
        per_step: Mapping[str, Any] = trial.record.energy["per_step"]
        coverage = float(per_step.get("coverage_factor", COVERAGE))
    return [coverage + change for change in (-ROUNDING, 0.0, ROUNDING)]


def _judged(gate: Gate, trial: RecordedTrial) -> list[Judgement]:
    """Judge a figure with a value by an absolute budget, with every coverage factor that the record allows."""
    value = Quantity(gate["value"] or 0.0, gate["unit"], Provenance(gate["provenance"]), gate["uncertainty"])
    more = [More(what, lambda room: gate["more"]) for what in WHAT if gate["more_of"] in ("", what)]
    factors = _factors(gate, trial)
    return [judge(_budget(gate), value, factor, more=one) for factor in factors for one in (None, *more)]


def _words(gate: Gate, trial: RecordedTrial, file: str) -> Iterator[Contradiction]:
    """Compare the words of a budget: where it is written, its sign, and its sentence."""
    known = FIGURES[gate["name"]]
    sources = (OF_TEST, IN_FILE, f"of {trial.record.board} {IN_FILE}", f"of {trial.record.board}")
    if gate["source"] not in sources:
        name, there = f"source of the budget of {gate['name']}", " or ".join(sources)
        yield differ(file, name, gate["source"], "docs/trials.md", there, trial.name)
    change = gate["relative"]
    if change and (change > 0) != known.upper:  # a limit from above allows more of the figure, one from below less
        there = "a positive one" if known.upper else "a negative one"
        yield differ(file, f"relative of the budget of {gate['name']}", change, "docs/trials.md", there, trial.name)
    if gate["value"] is None or gate["provenance"] is None:
        yield from _sentence(gate, {judge(_budget(gate), None).sentence}, trial, file)
    elif change is not None:
        value = Quantity(gate["value"], gate["unit"], Provenance(gate["provenance"]), gate["uncertainty"])
        begins = {
            begin_of(_budget(gate), value, factor, gate["limit"], gate["verdict"]) for factor in _factors(gate, trial)
        }
        yield from _sentence(gate, begins, trial, file, whole=False)
    elif gate["limit"] is not None and gate["unit"] == known.unit:
        said = (gate["verdict"], gate["more"], gate["more_of"])
        alike = [each for each in _judged(gate, trial) if (each.verdict, each.more, each.more_of) == said]
        yield from _sentence(gate, {each.sentence for each in alike}, trial, file)


def _sentence(
    gate: Gate, possible: Collection[str], trial: RecordedTrial, file: str, whole: bool = True
) -> Iterator[Contradiction]:
    """Compare the sentence of a budget with those that follow from its fields, or with how these begin."""
    said = gate["sentence"]
    if not (said in possible if whole else said.startswith(tuple(possible))):
        there = min(possible, default="none for this verdict")
        yield differ(
            file, f"sentence of the budget of {gate['name']}", said, f"{file} (its figures)", there, trial.name
        )
