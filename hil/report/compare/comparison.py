"""Pairs of trials with the settings that differ and the differences of their figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hil.errors import RigError
from hil.history.statistics import FigureDifference, difference
from hil.quantity import Quantity
from hil.record import TrialRecord, quantities
from hil.record.device_test import DeviceTest
from hil.report.compare.devices import Tensors, fields_of, figures_of, name_of, tensors_of
from hil.report.compare.sides import ComparedResult, Side
from hil.report.damage import damage_reported
from hil.report.paper_elasticzo import elasticzo_rows
from hil.report.paper_energy import energy_comparison
from hil.report.paper_pmt import pmt_rows
from hil.report.paper_row import PaperFigure

IDENTITY = ("board", "network", "method", "variant", "data", "batch", "seed")  # trials that are alike are a pair
TEST = "test"  # of a test of a device, without its board
SHOWN = (
    "board", "core", "reality", "network", "method", "variant", "data", "batch", "seed", "steps", "slots", "clock_hz",
    "keep", "image_sha256", "network_sha256", "data_sha256", "schedule", "verdict",
)  # fmt: skip
MAIN = (  # figures of a table; CSV and JSON have all
    "accuracy.before", "accuracy.after", "signs.right", "steps_compared", "sram.total", "sram.static",
    "sram.arena_peak", "sram.stack_peak", "cycles.total", "cycles.perturb", "cycles.forward", "cycles.backward",
    "cycles.update", "step_time_s", "latency.total.mean", "latency.p99_s", "energy.per_step",
    "energy.per.step.gross", "energy.per.step.idle", "energy.per.step.time", "work.macs",
)  # fmt: skip


@dataclass(frozen=True)
class DifferingSetting:
    """A setting, a field or a fact of the run in which two trials differ; a dash where one has none."""

    name: str
    first: str
    second: str


@dataclass(frozen=True)
class FigureRow:
    """A figure of two trials by its path in the record; the difference is None if one of them has none."""

    path: str
    first: Quantity | None
    second: Quantity | None
    difference: FigureDifference | None

    @property
    def sentence(self) -> str:
        """What may be said of the difference."""
        if self.difference is not None:
            return self.difference.sentence
        return "only in the second" if self.first is None else "only in the first"


@dataclass(frozen=True)
class PaperRow:
    """A figure of a paper beside those of two trials; a dash where one has none."""

    what: str
    paper: str
    first: str
    second: str
    differs: str


@dataclass(frozen=True)
class Pair:
    """Two trials beside each other."""

    first: ComparedResult
    second: ComparedResult
    settings: list[DifferingSetting]
    figures: list[FigureRow]
    papers: list[PaperRow]
    tensors: Tensors | None = None

    @property
    def main(self) -> list[FigureRow]:
        """The figures of a table, in its order."""
        if isinstance(self.first.trial, DeviceTest):
            return self.figures
        by_path = {row.path: row for row in self.figures}
        return [by_path[path] for path in MAIN if path in by_path]


@dataclass(frozen=True)
class ComparedSides:
    """Two sides; `only_first` and `only_second` are folders of trials that have no like on the other side."""

    first: str
    second: str
    pairs: list[Pair]
    only_first: list[str]
    only_second: list[str]

    def to_json(self) -> dict[str, Any]:
        """Return the fields for JSON, with every figure."""
        return {
            "first": self.first,
            "second": self.second,
            "pairs": [
                {
                    "first": pair.first.trial.folder,
                    "second": pair.second.trial.folder,
                    "settings": [asdict(setting) for setting in pair.settings],
                    "figures": [_row_json(row) for row in pair.figures],
                    "papers": [asdict(row) for row in pair.papers],
                    "tensors": asdict(pair.tensors) if pair.tensors is not None else None,
                }
                for pair in self.pairs
            ],
            "only_first": self.only_first,
            "only_second": self.only_second,
        }


def compare(first: Side, second: Side) -> ComparedSides:
    """Return the pairs of two sides: trials that are alike in all that no selector names, in order of the first.

    If each side has one trial, the two are a pair whatever they are.

    Raises:
        RigError: no trial of one side is like one of the other, or a record makes no sense.
    """
    found = list(_pairs(first, second))
    if not found:
        raise RigError(
            f"no trial of {first.name} is like one of {second.name} in {', '.join(_keys(first, second))}: "
            "give the folder of a trial on each side, or of a test, or selectors such as board=host board=stm32f746."
        )
    taken = [{id(one) for one in side} for side in zip(*found, strict=True)]
    alone = [
        [one.trial.folder for one in side.trials if id(one) not in known]
        for side, known in zip((first, second), taken, strict=True)
    ]
    with damage_reported(f"the comparison of {first.name} and {second.name}"):
        return ComparedSides(first.name, second.name, [_pair(*pair) for pair in found], *alone)


def _keys(first: Side, second: Side) -> list[str]:
    return [name for name in IDENTITY if name not in {**first.selectors, **second.selectors}]


def _pairs(first: Side, second: Side) -> Iterator[tuple[ComparedResult, ComparedResult]]:
    if len(first.trials) == len(second.trials) == 1:
        yield first.trials[0], second.trials[0]
        return
    keys, left = _keys(first, second), list(second.trials)
    for one in first.trials:
        alike = [other for other in left if _are_alike(one, other, keys)]
        if not alike:
            continue
        other = min(alike, key=lambda each: each.trial.folder != one.trial.folder)  # of several, that of the same name
        left = [each for each in left if each is not other]
        yield one, other


def _are_alike(one: ComparedResult, other: ComparedResult, keys: Sequence[str]) -> bool:
    here, there = _identity(one), _identity(other)
    return here.keys() == there.keys() and all(here[key] == there[key] for key in here if key in (*keys, TEST))


def _identity(one: ComparedResult) -> dict[str, Any]:
    """Return what makes trials, or tests of devices, alike."""
    if isinstance(one.trial, DeviceTest):
        return {"board": one.trial.board, TEST: name_of(one.trial)}
    return {name: getattr(one.trial, name) for name in IDENTITY}


def _pair(first: ComparedResult, second: ComparedResult) -> Pair:
    papers = [paper_rows(each.trial) if isinstance(each.trial, TrialRecord) else [] for each in (first, second)]
    return Pair(
        first, second, _settings(first, second), _figures(first, second), _papers(*papers),
        tensors_of(first.folder, second.folder),
    )  # fmt: skip


def _settings(first: ComparedResult, second: ComparedResult) -> list[DifferingSetting]:
    sides = [_fields(one) for one in (first, second)]
    names = dict.fromkeys(name for side in sides for name in side)
    rows = [DifferingSetting(name, *(_written(side.get(name)) for side in sides)) for name in names]
    return [row for row in rows if row.first != row.second]


def _fields(one: ComparedResult) -> dict[str, Any]:
    """Return what may differ: the fields of the trial, its settings, and the facts of its run."""
    versions: Mapping[str, Any] = one.facts.get("versions", {})
    facts = {"commit": one.facts.get("commit"), **{f"version of {name}": word for name, word in versions.items()}}
    if isinstance(one.trial, DeviceTest):
        return fields_of(one.trial) | facts
    return {name: getattr(one.trial, name) for name in SHOWN} | one.trial.settings | facts


def _written(value: Any) -> str:
    if value is None or value == []:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _figures(first: ComparedResult, second: ComparedResult) -> list[FigureRow]:
    one, other = (
        figures_of(each.trial) if isinstance(each.trial, DeviceTest) else quantities(each.trial)
        for each in (first, second)
    )
    rows = []
    for path in dict.fromkeys([*one, *other]):
        here, there = one.get(path), other.get(path)
        both = difference(here, there) if here is not None and there is not None else None
        rows.append(FigureRow(path, here, there, both))
    return rows


def _papers(*rows_of_sides: Sequence[PaperFigure]) -> list[PaperRow]:
    sides = [{row.what: row for row in rows} for rows in rows_of_sides]
    found = []
    for what in dict.fromkeys(name for side in sides for name in side):
        rows = [side.get(what) for side in sides]
        known = [row for row in rows if row is not None]
        differs = "; ".join(dict.fromkeys(row.differs for row in known))
        first_here, second_here = ("–" if row is None else row.here for row in rows)
        found.append(PaperRow(what, known[0].paper, first_here, second_here, differs))
    return found


def paper_rows(trial: TrialRecord) -> Sequence[PaperFigure]:
    """Return the figures of papers that the page of a trial shows."""
    return [*elasticzo_rows(trial), *pmt_rows(trial), *energy_comparison(trial)]


def _row_json(row: FigureRow) -> dict[str, Any]:
    found: dict[str, Any] = {"path": row.path, "says": row.sentence}
    for name, quantity in (("first", row.first), ("second", row.second)):
        found[name] = quantity.to_json() if quantity is not None else None
    one = row.difference
    found["difference"] = one and {
        **one.quantity.to_json(), "relative": one.relative, "low": one.low, "high": one.high,
    }  # fmt: skip
    return found
