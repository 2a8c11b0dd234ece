"""One log a stage of a trial: what the rig, and the libraries below it, said while it lasted."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from hil.errors import RigError

LOG = logging.getLogger("hil")
FORMAT = "%(asctime)s.%(msecs)03d %(name)s: %(message)s"


class StageLogs:
    """Args:
        folder: the trial's; `log/STAGE.log` in it is written as the stage goes on, and appended to when a trial begins again.
        entered: takes the name of each stage.

    Attributes:
        current: the stage that was entered last.
        trouble: why a log is not whole, empty where all are: a full disk does not end a trial that has no need of it.
    """

    def __init__(self, folder: Path, entered: Callable[[str], None] = lambda stage: None) -> None:
        self._folder, self._entered = folder / "log", entered
        self.current, self.trouble = "", ""

    @contextlib.contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Log what is said within; the last line is how long the stage took, and what ended it if that was an error."""
        self.current = stage
        self._entered(stage)
        handler = self._handler(stage)
        before, started, ended = LOG.level, time.monotonic(), "done"
        LOG.addHandler(handler)
        LOG.setLevel(logging.INFO)
        try:
            yield
        except BaseException as error:
            ended = f"{type(error).__name__}: {error}"
            if not isinstance(
                error, (RigError, KeyboardInterrupt)
            ):  # a defect of the rig: where it is stands nowhere else
                LOG.info("traceback", exc_info=True)
            raise
        finally:
            LOG.info("%.3f s; %s", time.monotonic() - started, ended)
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
        self.trouble = (
            self.trouble
            or f"the log of stage {self.current} is not whole: {getattr(error, 'strerror', None) or error}."
        )


class _StageHandler(logging.FileHandler):
    """Notes an error of the disk where logging would print a traceback for every line."""

    def __init__(self, path: Path, note: Callable[[BaseException | None], None]) -> None:
        super().__init__(path, encoding="utf-8")
        self._noted = note

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (logging's name)
        self._noted(sys.exc_info()[1])
