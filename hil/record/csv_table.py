"""results.csv: a row for each trial and for each test without one; nested fields are columns such as `sram.total`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, get_args, get_origin

from typing_extensions import NotRequired, get_type_hints, is_typeddict

from hil.record.energy import Figure
from hil.record.field_types import NO_COLUMN
from hil.record.latency import Group, Latency, Phases
from hil.record.trial_record import TrialRecord
from hil.record.verdicts import AskedTest

ONLY_IF_FOUND = ("work",)  # no columns if no trial has it


def csv_of(tests: Iterable[AskedTest], trials: Iterable[TrialRecord]) -> str:
    """Return the text of results.csv. Columns do not depend on the results; tables within a trial are left out."""
    import pandas as pd

    by_folder = {trial.folder: trial for trial in trials}
    rows = []
    for test in tests:
        head = {"test": test.test, "test_verdict": test.verdict, "test_reason": test.reason}
        rows += [head | _trial_row(by_folder[folder]) for folder in test.trials]
        if not test.trials:
            rows.append(head | {"board": test.board, "verdict": test.verdict, "reason": test.reason})
    # Nullable types, because a null would turn a column of integers into floats.
    return str(pd.json_normalize(rows).convert_dtypes().to_csv(index=False))


def _trial_row(trial: TrialRecord) -> dict[str, Any]:
    row = {}
    for name, field in TrialRecord.model_fields.items():
        if NO_COLUMN in field.metadata:
            continue
        value, part = getattr(trial, name), _part(field.annotation)
        if value is None and part is not None and name not in ONLY_IF_FOUND:
            value = dict.fromkeys(_columns(part))
        row[name] = " ".join(map(str, value)) if isinstance(value, list) else value
    per_step: Mapping[str, Any] = trial.energy["per_step"] if trial.energy else dict.fromkeys(_columns(Figure))
    return row | {"latency": _latency_row(trial.latency), "energy": {"per_step": per_step}}


def _latency_row(latency: Latency | None) -> dict[str, Any]:
    """Return columns such as `latency.steps` and `latency.total.median`, without histograms and layers."""
    found: Mapping[str, Any] = latency or {}
    phases = found.get("phases", {})
    row = {name: found.get(name) for name in _columns(Latency) if name != "phases"}
    return row | {
        phase: {name: phases.get(phase, {}).get(name) for name in _columns(Group)} for phase in _columns(Phases)
    }


@cache
def _columns(part: Any) -> tuple[str, ...]:
    """Return the required fields of a part that have a column."""
    hints: dict[str, Any] = get_type_hints(part, include_extras=True)
    required = {name: hint for name, hint in hints.items() if get_origin(hint) is not NotRequired}
    return tuple(name for name, hint in required.items() if NO_COLUMN not in getattr(hint, "__metadata__", ()))


def _part(annotation: Any) -> Any:
    """Return the TypedDict type of a field, None if it has another type."""
    if get_origin(annotation) is Annotated:
        return _part(get_args(annotation)[0])
    return next((each for each in (annotation, *get_args(annotation)) if is_typeddict(each)), None)
