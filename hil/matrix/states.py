"""What is known of a cell: from the planner, and from the records of runs with the firmware image that is there now."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hil.boards import image_of
from hil.errors import RigError
from hil.matrix.cells import Cell
from hil.trial import does_not_fit

if (
    TYPE_CHECKING
):  # at run time it is loaded where there is a record to read: pydantic takes as long as the whole matrix
    from hil.record import TrialRecord


@dataclass(frozen=True)
class Row:
    """One row of the matrix.

    Attributes:
        method, variant, network, board: the cell.
        reality: that of the record; None where there is none.
        state: `exact`, `differs`, `refused` (the planner: does not fit) or `not-run`.
        steps: that were compared.
        reason: of a refusal or a difference.
        run: folder of the record.
    """

    method: str
    variant: str
    network: str
    board: str
    reality: str | None
    state: str
    steps: int
    reason: str = ""
    run: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the fields."""
        return asdict(self)


class Records:
    """The trials of all runs in a folder, by cell; of a cell the one that says most: a difference, else most steps.

    Args:
        reports: the folder that holds the runs.
    """

    def __init__(self, reports: Path) -> None:
        self.image = cache(image_of)  # each file is read once, for all cells of its board
        self._found: dict[Cell, list[tuple[Path, TrialRecord]]] = {}
        for path in sorted(reports.glob("*/results.json")):
            self._read(path.parent)

    def _read(self, run: Path) -> None:
        from hil.record import read_run

        try:
            trials = read_run(run).trials
        except RigError:
            return  # another version's record, or half of one
        for trial in trials:
            cell = Cell(trial.method, trial.variant, trial.network, trial.board)
            self._found.setdefault(cell, []).append((run, trial))

    def of(self, cell: Cell) -> tuple[Path, TrialRecord] | None:
        """Return run and trial of a cell, made with the image that is there now."""
        image = self.image(cell.board).sha256
        fitting = [
            (run, trial)
            for run, trial in self._found.get(cell, [])
            if trial.image_sha256 == image and trial.bit_exact is not None
        ]
        wrong = [found for found in fitting if found[1].bit_exact is False]
        return wrong[-1] if wrong else max(fitting, key=lambda found: found[1].steps_compared, default=None)


def row_of(cell: Cell, records: Records) -> Row:
    """Return what is known of a cell."""
    names = (cell.method, cell.variant, cell.network, cell.board)
    found = records.of(cell)
    if found is not None:
        run, trial = found
        state, reason = ("exact", "") if trial.bit_exact else ("differs", trial.reason)
        return Row(*names, trial.reality, state, trial.steps_compared, reason, run.name)
    refused = does_not_fit(cell.spec(), records.image(cell.board))
    if refused is not None:
        return Row(*names, None, "refused", 0, refused)
    return Row(*names, None, "not-run", 0)
