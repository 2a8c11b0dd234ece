"""Figures of a trial that follow from others: accuracy and time of a step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from hil.record.checks.entries import close
from hil.record.checks.recorded import RecordedRun, RecordedTrial
from hil.record.contradiction import Contradiction, differ


def check_accuracy(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """The accuracy is a count of its images, the ends of the curve are those before and after, and both sides agree."""
    record, file = trial.record, trial.source
    accuracy, curve = record.accuracy, record.evaluations
    for name in ("before", "after", "reference_after"):
        value: float | None = accuracy[name]
        if value is not None and not _is_share(value, accuracy["n"]):
            yield differ(file, f"accuracy.{name}", value, file, f"{accuracy['n']} images", trial.name)
    ends = {"before": curve[0], "after": curve[-1]} if len(curve) > 1 else {}
    for name, point in ends.items():
        sides = {name: "board"} | ({"reference_after": "reference"} if name == "after" else {})
        for field, side in sides.items():
            value, there = accuracy[field], point[side]  # type: ignore[literal-required]
            if value is not None and (there is None or not close(value, there)):
                yield differ(file, f"accuracy.{field}", value, f"{file} (evaluations)", there, trial.name)
    after, reference = accuracy["after"], accuracy["reference_after"]
    both = record.bit_exact and after is not None and reference is not None and not record.wrong_figures
    if both and after != reference:
        yield differ(file, "accuracy.after", after, f"{file} (reference_after)", reference, trial.name)


def check_curve(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """The accuracy curve has its points, each a count of the same images, equal on both sides if no step differs."""
    record, file = trial.record, trial.source
    accuracy, curve = record.accuracy, record.evaluations
    both = record.bit_exact and accuracy["reference_after"] is not None and not record.wrong_figures
    held = sum(one["test"] for one in record.data_card["classes"]) if record.data_card is not None else None
    if held is not None and accuracy["n"] > held:
        yield differ(file, "accuracy.n", accuracy["n"], f"{file} (data_card.classes)", f"{held} images", trial.name)
    for number, point in enumerate(curve):
        place = f"evaluations[{number}]"
        if point["n"] != accuracy["n"]:
            yield differ(file, f"{place}.n", point["n"], f"{file} (accuracy.n)", accuracy["n"], trial.name)
        for side in ("board", "reference"):
            share: float | None = point[side]
            if share is not None and not _is_share(share, point["n"]):
                yield differ(file, f"{place}.{side}", share, file, f"{point['n']} images", trial.name)
        if both and point["reference"] is not None and point["board"] != point["reference"]:
            yield differ(file, f"{place}.board", point["board"], f"{file} (reference)", point["reference"], trial.name)
    yield from _points(trial)


def _is_share(value: float, n: int) -> bool:
    """Return whether a fraction is one of n images."""
    return n > 0 and 0 <= value <= 1 and abs(value * n - round(value * n)) <= 1e-6


def _points(trial: RecordedTrial) -> Iterator[Contradiction]:
    """Compare the steps of the accuracy curve with those at which the trial was to evaluate."""
    record, file = trial.record, trial.source
    steps, every = [point["step"] for point in record.evaluations], record.evaluate_every
    for number, (one, after) in enumerate(pairwise(steps), start=1):
        if after < one or (after == one and record.steps_compared):
            yield differ(file, f"evaluations[{number}].step", after, f"{file} (the point before)", one, trial.name)
    table = trial.steps
    if every is None or not steps or table is None or not len(table.get("step", ())):
        return  # a record of an older version, or nothing was trained
    first = int(table["step"][0])
    end = first + record.steps_compared
    middle = range(first - first % every + every, end, every) if every else range(0)
    wanted = [*([first] if record.accuracy["before"] is not None else []), *middle]
    wanted += [end] if record.accuracy["after"] is not None else []
    found = steps if record.accuracy["after"] is not None else [step for step in steps if step != end]
    if found != wanted:
        place = f"{file} (evaluate_every {every}, {record.steps_compared} steps from {first})"
        yield differ(file, "the steps of evaluations", str(found), place, str(wanted), trial.name)


def check_time(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """The time of a step is its cycles over the clock."""
    record, file = trial.record, trial.source
    total, clock = record.cycles.get("total"), record.clock_hz
    if record.step_time_s is not None and (total is None or not clock or not close(record.step_time_s, total / clock)):
        said = None if total is None or not clock else total / clock
        yield differ(file, "step_time_s", record.step_time_s, f"{file} (cycles.total / clock_hz)", said, trial.name)
    if record.latency is not None and clock and record.latency["clock_hz"] != clock:
        yield differ(file, "latency.clock_hz", record.latency["clock_hz"], f"{file} (clock_hz)", clock, trial.name)
