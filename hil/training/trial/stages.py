"""What a running trial tells as it goes on: callbacks, and a log file for each stage."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hil.errors import RigError
from hil.steady_clock import steady_s

if TYPE_CHECKING:  # whoever plans a trial needs neither record nor history
    from hil.training.trial.lockstep import LockStep
    from hil.training.trial.lockstep_outcome import StepRow
    from hil.training.trial.outcome import Outcome

LOG = logging.getLogger("hil")
FORMAT = "%(asctime)s.%(msecs)03d %(name)s: %(message)s"


def _nothing(*_: object) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Watch:
    """Callbacks, called from the thread of the trial.

    Attributes:
        begun: with the outcome, after the request was checked and before any hardware is used; may raise Blocked.
        stage: with the name of each stage as it begins: `plan`, `flash`, `load`, `train`, `evaluate`, ...
        step: with every compared step.
        agreed: with the trial, after every step in which both sides agree and so have the same weights.
        part: with the completed and the total amount of work of a stage.
        power: with the mean power in watts of every good energy window.
        tell: with a sentence for the user, such as a button to press.
        ended: with the outcome at the end of the trial, also after Ctrl-C.
    """

    begun: Callable[[Outcome], None] = _nothing
    stage: Callable[[str], None] = _nothing
    step: Callable[[StepRow], None] = _nothing
    agreed: Callable[[LockStep], None] = _nothing
    part: Callable[[int, int], None] = _nothing
    power: Callable[[float], None] = _nothing
    tell: Callable[[str], None] = _nothing
    ended: Callable[[Outcome], None] = _nothing


class StageLogs:
    """Writes the messages of logger `hil` to one file for each stage.

    Args:
        folder: of the trial; `log/STAGE.log` in it is appended to if a trial starts again.
        entered: called with the name of each stage.

    Attributes:
        current: the stage that was entered last.
        trouble: why a log is incomplete, or empty; an error of the disk does not end the trial.
    """

    def __init__(self, folder: Path, entered: Callable[[str], None] = lambda stage: None) -> None:
        self._folder, self._entered = folder / "log", entered
        self.current, self.trouble = "", ""

    @contextlib.contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Log the messages of a stage; the last line has its duration and the error that ended it, if any."""
        self.current = stage
        self._entered(stage)
        handler = self._handler(stage)
        before, started, ended = LOG.level, steady_s(), "done"
        LOG.addHandler(handler)
        LOG.setLevel(logging.INFO)
        try:
            yield
        except BaseException as error:
            ended = f"{type(error).__name__}: {error}"
            if not isinstance(error, (RigError, KeyboardInterrupt)):  # a defect of the rig
                LOG.info("traceback", exc_info=True)
            raise
        finally:
            LOG.info("%.3f s; %s", steady_s() - started, ended)
            LOG.setLevel(before)
            LOG.removeHandler(handler)
            try:
                handler.close()
            except OSError as error:
                self._note(error)

    def _handler(self, stage: str) -> logging.Handler:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            handler: logging.Handler = _StageHandler(self._folder / f"{stage}.log", self._note)
        except OSError as error:
            self._note(error)
            return logging.NullHandler()
        handler.setFormatter(logging.Formatter(FORMAT, "%H:%M:%S"))
        return handler

    def _note(self, error: BaseException | None) -> None:
        reason = getattr(error, "strerror", None) or error
        self.trouble = self.trouble or f"the log of stage {self.current} is incomplete: {reason}."


class _StageHandler(logging.FileHandler):
    """Reports an error of the disk once; logging would print a traceback for every line."""

    def __init__(self, path: Path, note: Callable[[BaseException | None], None]) -> None:
        super().__init__(path, encoding="utf-8")
        self._noted = note

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (logging's name)
        self._noted(sys.exc_info()[1])
