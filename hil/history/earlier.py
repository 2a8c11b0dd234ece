"""The figures of earlier nights, for relative budgets: read once a session, and no database hangs a trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hil.errors import message_of
from hil.gates import FIGURES, NO_HISTORY, EarlierUnknown, FigureGate, NoMedian
from hil.gates.judgement import SILICON
from hil.history.answer import NoAnswer, answer_of
from hil.history.device_rows import device_subject
from hil.history.rows import Row, name_of, subject_columns
from hil.history.statistics import FEWEST_NIGHTS, median_of_last
from hil.quantity import Provenance, Quantity

if TYPE_CHECKING:  # imported late, by the thread: SQLAlchemy takes as long to load as some trials
    from hil.history.queries import Subject

UNREADABLE = "cannot be read"
TELLS = "`hil history` says more"

Nights = dict[tuple[str, "Subject"], list[Quantity]]  # by path of the figure, one value a night, the oldest first


class EarlierNights:
    """The nights before a run, for the gates of one process (`hil.gates.Earlier`).

    They are read when the first relative budget asks. What the history then said, or why it said nothing, holds for the
    whole session: two trials of one night are judged by the same nights.

    Args:
        url: of rig.toml; None for the file in the folder of the runs.
        reports: folder of the runs.
        bench: name of this bench; only its nights count.
        uid: identity of the run that goes on, whose own trials are no earlier night.
    """

    def __init__(self, url: str | None, reports: Path, bench: str, uid: str) -> None:
        self._url, self._reports, self._bench, self._uid = url, reports, name_of(bench), uid
        self._found: Nights | None = None
        self._reason = ""

    def __call__(self, trial: Mapping[str, Any], path: str) -> Sequence[Quantity]:
        """Return the values in the nights in which the trial passed, one a night, the oldest first.

        Raises:
            EarlierUnknown: the history cannot be read; the message has no path, server or user, for it is recorded.
        """
        return self._of(subject_columns(trial)[0], path)

    def of_device(self, test: str, board: str, reality: str | None, path: str) -> Sequence[Quantity]:
        """Return the values of a figure of a device test in the nights in which the test passed, as `__call__` does."""
        return self._of(device_subject(test, board, reality), path)

    def _of(self, columns: Row, path: str) -> Sequence[Quantity]:
        if self._found is None and not self._reason:
            self._ask()
        if self._found is None:
            raise EarlierUnknown(self._reason)
        from hil.history.queries import Subject

        subject = Subject(bench=self._bench, **columns | {"reality": columns["reality"] or ""})
        return self._found.get((path, subject), [])

    def _ask(self) -> None:
        """Read the history, and keep what it says or why it says nothing."""
        try:
            answer = answer_of(self._read, "earlier nights")
        except NoAnswer as reason:
            answer = f"{reason} ({TELLS})"
        except (MemoryError, RuntimeError) as error:
            answer = f"the history is not read ({message_of(error)})"
        if isinstance(answer, str):
            self._reason = answer
        else:
            self._found = answer

    def _read(self) -> Nights | str:
        """Return the values of all figures that may have a budget, or why they cannot be read; never raises."""
        try:
            return self._values()
        except Exception as error:  # whatever it is: it costs the median, and no trial
            return f"the history {getattr(error, 'brief', UNREADABLE)} ({TELLS})"

    def _values(self) -> Nights:
        from hil.history.address import address_of
        from hil.history.changes import nights_of
        from hil.history.failures import NoTables
        from hil.history.filters import Filter
        from hil.history.queries import History

        found: Nights = {}
        try:
            history = History.open(address_of(self._url, self._reports))
        except NoTables:  # the first night
            return found
        with history:
            ours = {place for place, run in enumerate(history.runs) if run.uid == self._uid}
            chosen = Filter(bench=(self._bench,), verdict=("pass",))
            names = [figure.path for figure in FIGURES.values()] + history.names_below("figures.")
            for series in history.series(names, chosen):
                values = [
                    Quantity(night.value, series.unit, Provenance(series.provenance), night.uncertainty)
                    for night in nights_of(series.without(ours), history.runs)
                ]
                found.setdefault((series.name, series.subject), []).extend(values)
        return found


def median_of_nights(
    gate: FigureGate, value: Quantity | None, earlier: Callable[[], Sequence[Quantity]]
) -> Quantity | NoMedian:
    """Return the median of the last good nights of the same kind of figure, or why there is none.

    Args:
        gate: the budget; only a relative one needs a median.
        value: the figure of tonight.
        earlier: gives those of earlier nights, the oldest first.
    """
    if gate.relative is None or value is None or value.provenance not in SILICON:
        return NO_HISTORY
    try:
        alike = [one for one in earlier() if (one.unit, one.provenance) == (value.unit, value.provenance)]
    except EarlierUnknown as unknown:
        return NoMedian(str(unknown))
    median = median_of_last(alike)
    if median is not None:
        return median
    nights = (
        "no good night is" if not alike else "1 good night is" if len(alike) == 1 else f"{len(alike)} good nights are"
    )
    return NoMedian(f"{nights} in the history so far", FEWEST_NIGHTS - len(alike))
