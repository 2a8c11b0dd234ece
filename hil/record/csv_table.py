"""results.csv: a row for each trial and for each test without one; nested fields are columns such as `sram.total`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    return text_of(list(_rows(tests, trials)))


def text_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV, with a column for each path in them; those of nested fields are behind the others of a row.

    A missing value is empty. Floats of a column are written as whole numbers if all of them are.
    """
    flat = [dict(sorted(_flat(row, ""), key=lambda item: item[0] not in row)) for row in rows]  # a stable sort
    flat = [{name: value for name, value in row.items() if value != {}} for row in flat]
    columns = list(dict.fromkeys(name for row in flat for name in row))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(_column([row.get(name) for row in flat]) for name in columns), strict=True))
    return out.getvalue()


def _column(values: list[Any]) -> list[Any]:
    there = [value for value in values if value is not None and value == value]
    if any(isinstance(value, float) for value in there) and all(type(value) in (int, float) for value in there):
        whole = all(float(value).is_integer() and -(2**63) <= value < 2**63 for value in there)
        kind = int if whole else float
        return [kind(value) if value is not None and value == value else "" for value in values]
    return ["" if value is None or value != value else value for value in values]


def flat_rows(tests: Iterable[AskedTest], trials: Iterable[TrialRecord]) -> Iterator[dict[str, Any]]:
    """Yield the rows of results.csv as values by column; a column that a row lacks is empty there."""
    for row in _rows(tests, trials):
        yield dict(_flat(row, ""))


def _flat(row: Mapping[str, Any], place: str) -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{place}{name}.")
        else:
            yield f"{place}{name}", value


def _rows(tests: Iterable[AskedTest], trials: Iterable[TrialRecord]) -> Iterator[dict[str, Any]]:
    by_folder = {trial.folder: trial for trial in trials}
    for test in tests:
        head = {"test": test.test, "test_verdict": test.verdict, "test_reason": test.reason}
        for folder in test.trials:
            yield head | _trial_row(by_folder[folder])
        if not test.trials:
            yield head | {"board": test.board, "verdict": test.verdict, "reason": test.reason}


def _trial_row(trial: TrialRecord) -> dict[str, Any]:
    row = {}
    for name, field in TrialRecord.model_fields.items():
        if NO_COLUMN in field.metadata:
            continue
        value, part = getattr(trial, name), _part(field.annotation)
        if value is None and part is not None and name not in ONLY_IF_FOUND:
            value = dict.fromkeys(_columns(part))
        elif isinstance(value, dict) and part is not None:
            value = {key: each for key, each in value.items() if key not in _tables(part)}
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
    required = (name for name, hint in hints.items() if get_origin(hint) is not NotRequired)
    return tuple(name for name in required if name not in _tables(part))


@cache
def _tables(part: Any) -> tuple[str, ...]:
    """Return the fields of a part that have no column."""
    hints: dict[str, Any] = get_type_hints(part, include_extras=True)
    inner = {name: get_args(hint)[0] if get_origin(hint) is NotRequired else hint for name, hint in hints.items()}
    return tuple(name for name, hint in inner.items() if NO_COLUMN in getattr(hint, "__metadata__", ()))


def _part(annotation: Any) -> Any:
    """Return the TypedDict type of a field, None if it has another type."""
    if get_origin(annotation) is Annotated:
        return _part(get_args(annotation)[0])
    return next((each for each in (annotation, *get_args(annotation)) if is_typeddict(each)), None)
