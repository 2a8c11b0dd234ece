"""Send the runs that wait to the history."""

from __future__ import annotations

from pathlib import Path

from hil.errors import RigError
from hil.history.failures import HistoryError
from hil.history.folders import Count, index_run
from hil.history.store import Store
from hil.history.unsent import held, waiting
from hil.steady_clock import steady_s


def send(store: Store, reports: Path, budget_s: float | None = None) -> Count:
    """Send the runs that wait, except those that go on; after `budget_s` seconds begin no other one.

    Raises:
        HistoryError: the history cannot be written; what was not sent waits on.
    """
    count, begun = Count(), steady_s()
    for run in waiting(reports):
        if budget_s is not None and steady_s() - begun > budget_s:
            break
        with held(run) as unsent:
            if unsent is None:
                continue
            try:
                if run.is_dir():
                    index_run(store, run, count, sent=True)
            except HistoryError:
                raise
            except RigError as error:
                count.problems.append(f"the run {run.name} is not in the history: {error}")
            unsent.done()
    return count
