"""results.csv: one row a trial, and one for every test that made none. Its columns are the fields of the model, nested ones as `sram.total`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, get_args, get_origin

from typing_extensions import NotRequired, get_type_hints, is_typeddict

from hil.record.asked import AskedTest
from hil.record.energy_part import Figure
from hil.record.kinds import NO_COLUMN
from hil.record.latency_part import Group, Latency, Phases
from hil.record.trial_record import TrialRecord

AS_FOUND = ("work",)  # it has columns of its own only where a trial has counted it


def csv_of(tests: Iterable[AskedTest], trials: Iterable[TrialRecord]) -> str:
    """Return the text, with the same columns whatever a trial found. Tables within a trial stay in the JSON.

    Args:
        tests: of the run, each with the folders of its trials.
        trials: of the run.
    """
    import pandas as pd

    by_folder = {trial.folder: trial for trial in trials}
    rows = []
    for test in tests:
        head = {"test": test.test, "test_verdict": test.verdict, "test_reason": test.reason}
        rows += [head | _trial_row(by_folder[folder]) for folder in test.trials]
        if not test.trials:
            rows.append(head | {"board": test.board, "verdict": test.verdict, "reason": test.reason})
    # Without nullable types a null would turn its column of bytes into floats.
    return str(pd.json_normalize(rows).convert_dtypes().to_csv(index=False))


def _trial_row(trial: TrialRecord) -> dict[str, Any]:
    row = {}
    for name, field in TrialRecord.model_fields.items():
        if NO_COLUMN in field.metadata:
            continue
        value, part = getattr(trial, name), _part(field.annotation)
        if value is None and part is not None and name not in AS_FOUND:
            value = dict.fromkeys(_columns(part))
        row[name] = " ".join(map(str, value)) if isinstance(value, list) else value
    per_step: Mapping[str, Any] = trial.energy["per_step"] if trial.energy else dict.fromkeys(_columns(Figure))
    return row | {"latency": _latency_row(trial.latency), "energy": {"per_step": per_step}}


def _latency_row(latency: Latency | None) -> dict[str, Any]:
    """Columns `latency.steps`, ... and `latency.total.median`, ...; histograms and layers stay in the JSON."""
    found: Mapping[str, Any] = latency or {}
    phases = found.get("phases", {})
    row = {name: found.get(name) for name in _columns(Latency) if name != "phases"}
    return row | {
        phase: {name: phases.get(phase, {}).get(name) for name in _columns(Group)} for phase in _columns(Phases)
    }


@cache
def _columns(part: Any) -> tuple[str, ...]:
    """Return the fields of a part that have a column in every row: those that it always has."""
    found = []
    for name, hint in get_type_hints(part, include_extras=True).items():
        of: Any = get_origin(hint)
        if of is not NotRequired and NO_COLUMN not in getattr(hint, "__metadata__", ()):
            found.append(name)
    return tuple(found)


def _part(annotation: Any) -> Any:
    """Return the TypedDict that a field holds, None where it holds anything else."""
    if get_origin(annotation) is Annotated:
        return _part(get_args(annotation)[0])
    return next((each for each in (annotation, *get_args(annotation)) if is_typeddict(each)), None)
