"""One table of the whole history, a row for each quantity: what `hil export` writes and `hil import` reads.

A trial without quantities has one row without them, a test without a trial one row without a trial, and a run without
both one row of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import select

from hil.history.failures import explained
from hil.history.filters import OF_TRIALS, Filter
from hil.history.models import kinds, quantities, settings, tests, trials
from hil.history.nights import RunEntry
from hil.history.queries import History
from hil.history.rows import Row

OF_RUN = (
    "run_uid", "run", "bench", "after", "started", "ended", "commit", "host", "version", "command", "state", "whole",
    "exit_code",
)  # fmt: skip
OF_TEST = ("test", "test_board", "test_verdict", "test_expected", "test_reason")
OF_TRIAL = (
    "trial", "board", "reality", "network", "method", "variant", "data", "settings", "settings_digest", "verdict",
    "stage", "reason", "final_digest", "image", "content",
)  # fmt: skip
OF_QUANTITY = ("quantity", "value", "uncertainty", "unit", "provenance")
COLUMNS = (*OF_RUN, *OF_TEST, *OF_TRIAL, *OF_QUANTITY)
NUMBERS = ("value", "uncertainty")
WORDS = tuple(name for name in COLUMNS if name not in NUMBERS)


def run_columns(run: RunEntry) -> Row:
    """Return the columns of a run. The path of its folder is left out: it says where a person keeps files."""
    times = {
        name: moment.isoformat() if moment is not None else None
        for name, moment in (("started", run.started), ("ended", run.ended))
    }
    code = None if run.exit_code is None else str(run.exit_code)
    return {
        "run_uid": run.uid, "run": run.name, "bench": run.bench, "after": run.after, **times, "commit": run.commit,
        "host": run.host, "version": run.version, "command": run.command, "state": run.state,
        "whole": str(run.whole).lower(), "exit_code": code,
    }  # fmt: skip


def rows_of_runs(history: History, chosen: Filter) -> Iterator[list[Row]]:
    """Yield the rows of each run of a filter, oldest night first.

    A run none of whose trials is chosen is left out if the filter is about trials.
    """
    nights = history.nights(chosen)
    narrow = any(getattr(chosen, name) for name in OF_TRIALS)
    for run in history.runs:
        if run.number in nights:
            rows = _rows(history, run, chosen, narrow)
            if rows:
                yield rows


def _rows(history: History, run: RunEntry, chosen: Filter, narrow: bool) -> list[Row]:
    head = run_columns(run)
    with explained(history.store.address.shown), history.store.engine.connect() as connection:
        question = select(trials, settings.c.text).join(settings).where(trials.c.run_id == run.number)
        for name in OF_TRIALS:
            if getattr(chosen, name):
                question = question.where(trials.c[name].in_(getattr(chosen, name)))
        found = connection.execute(question.order_by(trials.c.id)).all()
        of_tests = {
            row.test: {
                "test": row.test, "test_board": row.board, "test_verdict": row.verdict,
                "test_expected": str(row.expected).lower(), "test_reason": row.reason,
            }
            for row in connection.execute(select(tests).where(tests.c.run_id == run.number))
        }  # fmt: skip
        # One range of the key for each kind: there is no index by trial.
        values = connection.execute(
            select(
                quantities.c.trial_id, kinds.c.name, quantities.c.value, quantities.c.uncertainty, kinds.c.unit,
                kinds.c.provenance,
            )
            .join(kinds)
            .where(quantities.c.kind_id.in_(select(kinds.c.id)))
            .where(quantities.c.trial_id.in_([row.id for row in found]))
        ).all()  # fmt: skip
    by_trial: dict[int, list[Row]] = {row.id: [] for row in found}
    for trial, *fields in sorted(tuple(row) for row in values):
        by_trial[trial].append(dict(zip(OF_QUANTITY, fields, strict=True)))
    rows = []
    for row in found:
        of_trial = head | of_tests.get(row.test, {"test": row.test}) | _trial_columns(row)
        rows += [of_trial | figure for figure in by_trial[row.id]] or [of_trial]
    if not narrow:
        named = {row.test for row in found}
        rows += [head | test for name, test in of_tests.items() if name not in named]
        rows = rows or [head]
    return rows


def _trial_columns(row: Any) -> Row:
    found = {name: getattr(row, name) for name in OF_TRIAL if name not in ("trial", "settings", "settings_digest")}
    return found | {"trial": row.folder, "settings": row.text, "settings_digest": row.settings}
