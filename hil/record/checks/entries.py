"""What results.json says of a trial against trial.json, and its figures against those that follow from the record."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from hil import __version__
from hil.record.checks.recorded import RESULTS, RecordedRun, RecordedTrial
from hil.record.contradiction import NOTHING, Contradiction, differ
from hil.record.trial_writer import BEGUN, ENDED

CLOSE = 1e-9  # relative: a figure that is computed again, on another computer
INTERRUPTED = "interrupted"
QUANTITIES = "quantities"


def check_entry(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """The entry in results.json is trial.json, field by field."""
    if trial.entry is None:
        return
    other, name = (trial.file, ENDED) if trial.file is not None else (trial.begun, BEGUN)
    if other is None:
        if not run.is_missing(trial) and not run.is_kept:
            yield differ(RESULTS, f"a trial in the folder {trial.name}", "there", trial.name, NOTHING, trial.name)
        return
    if name == BEGUN and run.is_missing(trial):
        return  # no memory or disk was left for what it has ended with
    if name == BEGUN and trial.record.verdict != INTERRUPTED:
        yield differ(
            RESULTS, f"verdict of {trial.name}", trial.record.verdict, trial.name,
            f"only {BEGUN}, of a trial that did not end", trial.name,
        )  # fmt: skip
    if name == ENDED and trial.record.verdict == INTERRUPTED and run.results["run"]["state"] != "ended":
        return  # results.json of a session that goes on may still have the begun trial
    fields = {key: value for key, value in other.items() if key != QUANTITIES}
    for place, here, there in different(trial.entry, fields, "", exact=True):
        yield differ(RESULTS, f"{place} of {trial.name}", here, f"{trial.name}/{name}", there, trial.name)


def check_quantities(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """The quantities in trial.json follow from its fields."""
    if trial.file is None:
        return
    listed, file = trial.file.get(QUANTITIES), f"{trial.name}/{ENDED}"
    if not isinstance(listed, dict):
        yield differ(file, QUANTITIES, NOTHING, file, f"{len(trial.figures)} figures", trial.name)
        return
    # Another version may list other figures, or describe them otherwise; what both list is the same.
    alike = run.results["run"].get("versions", {}).get("trainrig") == __version__
    for path in (
        dict.fromkeys([*trial.figures, *listed]) if alike else (path for path in trial.figures if path in listed)
    ):
        computed = trial.figures[path].to_json() if path in trial.figures else NOTHING
        for place, here, there in different(listed.get(path, NOTHING), computed, f"{QUANTITIES}[{path!r}]"):
            if alike or not place.endswith(".note"):
                yield differ(file, place, here, f"{trial.source} ({path})", there, trial.name)


def different(one: Any, other: Any, place: str, exact: bool = False) -> Iterator[tuple[str, Any, Any]]:
    """Yield place and both values of everything in which two JSON values differ; unless `exact`, not by rounding."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in dict.fromkeys([*one, *other]):
            inner = f"{place}.{name}" if place else str(name)
            yield from different(one.get(name, NOTHING), other.get(name, NOTHING), inner, exact)
    elif isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            yield f"the length of {place}", len(one), len(other)
        for number, (here, there) in enumerate(zip(one, other, strict=False)):
            yield from different(here, there, f"{place}[{number}]", exact)
    elif not same(one, other, exact):
        yield place, one, other


def same(one: Any, other: Any, exact: bool = False) -> bool:
    """Return whether two values of JSON are equal; unless `exact`, close numbers are. True is no 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return one == other or (not exact and close(one, other))
    return bool(one == other)


def close(one: float, other: float) -> bool:
    """Return whether two numbers agree but for rounding."""
    try:
        return math.isclose(one, other, rel_tol=CLOSE, abs_tol=1e-300)
    except OverflowError:  # an integer that is no float
        return False
