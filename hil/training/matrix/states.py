"""The state of each cell, by the planner and by the recorded runs with the present firmware image."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hil.errors import RigError
from hil.images import image_of
from hil.training.matrix.cells import Cell
from hil.training.trial import does_not_fit

if TYPE_CHECKING:  # imported late: pydantic takes as long to load as the whole matrix to compute
    from hil.record import TrialRecord
    from hil.record.checks.recorded import RecordedRun


@dataclass(frozen=True)
class MatrixRow:
    """One row of the matrix."""

    method: str
    variant: str
    network: str
    board: str
    reality: str | None  # of the recorded trial; None without a record
    state: str  # `exact`, `differs`, `refused` (by the planner: does not fit) or `not-run`
    steps: int  # number of compared steps
    reason: str = ""  # why it differs or is refused
    run: str | None = None  # name of the run's folder; None without a record


class Records:
    """The trials of all runs in a folder, by cell. Only runs of which a trial is asked for are checked."""

    def __init__(self, reports: Path) -> None:
        self.image = cache(image_of)  # reads each file only once
        self._found: dict[Cell, list[tuple[Path, TrialRecord]]] = {}
        self._runs: dict[Path, RecordedRun] = {}
        self._agrees = cache(self._check)
        for path in sorted(reports.glob("*/results.json")):
            self._read(path.parent)

    def _read(self, run: Path) -> None:
        from hil.record.run_reader import read_recorded

        try:
            self._runs[run] = read_recorded(run)
        except RigError:
            return  # the record of another version, or an incomplete one
        for trial in (trial.record for trial in self._runs[run].trials):
            cell = Cell(trial.method, trial.variant, trial.network, trial.board)
            self._found.setdefault(cell, []).append((run, trial))

    def _check(self, run: Path) -> bool:
        from hil.record.checks import refuse_contradictions

        try:
            refuse_contradictions(self._runs[run])
        except RigError:
            return False
        return True

    def find(self, cell: Cell) -> tuple[Path, TrialRecord] | None:
        """Return run and trial of a cell with the present image: the last that differs, else that with most steps."""
        image = self.image(cell.board).sha256
        of_image = (each for each in self._found.get(cell, []) if each[1].image_sha256 == image)
        found = [each for each in of_image if self._agrees(each[0])]
        wrong = [each for each in found if each[1].bit_exact is False]
        exact = [each for each in found if each[1].bit_exact]
        return wrong[-1] if wrong else max(exact, key=lambda each: each[1].steps_compared, default=None)


def row_of(cell: Cell, records: Records) -> MatrixRow:
    """Return the state of a cell."""
    names = (cell.method, cell.variant, cell.network, cell.board)
    found = records.find(cell)
    if found is not None:
        run, trial = found
        state, reason = ("exact", "") if trial.bit_exact else ("differs", trial.reason)
        return MatrixRow(*names, trial.reality, state, trial.steps_compared, reason, run.name)
    refused = does_not_fit(cell.spec(), records.image(cell.board))
    if refused is not None:
        return MatrixRow(*names, None, "refused", 0, refused)
    return MatrixRow(*names, None, "not-run", 0)
