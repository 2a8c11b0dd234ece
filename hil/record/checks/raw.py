"""The rows of a trial's tables against each other, and figures of latency that no reader shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from hil.record.checks.recorded import LATENCY, POWER, STEPS, RecordedRun, RecordedTrial
from hil.record.checks.tables import columns_of
from hil.record.checks.verdicts import PASS
from hil.record.contradiction import NOTHING, Contradiction, differ
from hil.record.parquet import read_columns


def check_rows(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """In each row of steps.parquet the phases add up to the total, and the first difference is in the last row."""
    record, table, file, place = trial.record, trial.steps, trial.source, f"{trial.name}/{STEPS}"
    if record.signs is not None and record.signs["asked"] != record.steps:
        yield differ(file, "signs.asked", record.signs["asked"], f"{file} (steps)", record.steps, trial.name)
    if table is None or not len(table.get("step", ())) or "match" not in table:
        return
    difference, last = record.first_difference, int(table["step"][-1])
    if difference is not None and not table["match"][-1] and difference["step"] != last:
        yield differ(file, "first_difference.step", difference["step"], f"{place} (match)", last, trial.name)
    phases = [name for name in table if name.startswith("cycles_") and name != "cycles_total"]
    if "cycles_total" in table and phases:
        yield from _sums(trial, table, phases, "cycles_total", place)


def _sums(
    trial: RecordedTrial, table: Mapping[str, np.ndarray], phases: list[str], total: str, place: str
) -> Iterator[Contradiction]:
    """Compare the total of each row with its phases, unless the record says that figures of the board differ."""
    parts = np.sum([table[name].astype(np.int64) for name in phases], axis=0)
    for row in np.flatnonzero(parts != table[total].astype(np.int64))[:1] if not trial.record.wrong_figures else ():
        here, there = int(table[total][row]), int(parts[row])
        yield differ(place, f"{total} in row {row}", here, f"{place} (its phases)", there, trial.name)


def check_raw(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """Latency and energy have their tables, and histograms, sums of phases and costs of readings are those of these."""
    record, file, place = trial.record, trial.source, f"{trial.name}/{LATENCY}"
    latency: Mapping[str, Any] | None = record.latency
    if not run.has_tables(trial):
        return
    for field, figure, name in (("latency", record.latency, LATENCY), ("energy", record.energy, POWER)):
        there = trial.path(name) is not None
        if figure is not None and not there and not run.is_kept:
            yield differ(file, field, "there", f"{trial.name}/{name}", NOTHING, trial.name)
        elif there and figure is None and record.verdict == PASS:  # else the figure may have been refused
            yield differ(f"{trial.name}/{name}", "the table", "there", f"{file} ({field})", None, trial.name)
    path = trial.path(LATENCY)
    if latency is None or path is None:
        return
    table, columns = read_columns(path), columns_of(latency)
    groups = {field: group for field, (_, group) in columns.items()} | {"phases.digest": latency["phases"]["digest"]}
    for field, group in groups.items():
        cost = group["bookings"] * latency["booking"]["most"]  # docs/performance.md: subtracted, or at most still in it
        if group["subtracted"] + group["bound"] != cost:
            said, where = f"{group['subtracted']} + {group['bound']}", f"{file} (bookings x booking.most)"
            yield differ(file, f"latency.{field}, subtracted and bound,", said, where, cost, trial.name)
    for field, (name, group) in columns.items():
        yield from _histogram(trial, field, group, table.get(name), f"{place} ({name})")
    phases = [name for name in table if name != "total" and "." not in name]
    if "total" in table and phases:
        yield from _sums(trial, table, phases, "total", place)


def _histogram(
    trial: RecordedTrial, field: str, group: Mapping[str, Any], cycles: np.ndarray | None, place: str
) -> Iterator[Contradiction]:
    edges, told = group["histogram"]["edges"], group["histogram"]["counts"]
    if cycles is None or not len(cycles):
        return
    net = cycles.astype(np.int64) - group["subtracted"]
    ascending = len(edges) > 1 and edges == sorted(set(edges))  # as numpy.histogram needs them
    counts: list[int] = np.histogram(net, edges)[0].tolist() if ascending else []
    if counts != told or sum(counts) != len(net):
        yield differ(trial.source, f"latency.{field}.histogram", str(told), place, str(counts), trial.name)
