"""One log a stage of a trial: what the rig, and the libraries below it, said while it lasted."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterator
from pathlib import Path

LOG = logging.getLogger("hil")
FORMAT = "%(asctime)s.%(msecs)03d %(name)s: %(message)s"


class StageLogs:
    """Args:
        folder: the trial's; `log/STAGE.log` in it is written as the stage goes on, and appended to when a trial begins again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "log"

    @contextlib.contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Log what is said within; the last line is how long the stage took, and what ended it if that was an error."""
        self._folder.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(self._folder / f"{stage}.log", encoding="utf-8")
        handler.setFormatter(logging.Formatter(FORMAT, "%H:%M:%S"))
        before, started, ended = LOG.level, time.monotonic(), "done"
        LOG.addHandler(handler)
        LOG.setLevel(logging.INFO)
        try:
            yield
        except BaseException as error:
            ended = f"{type(error).__name__}: {error}"
            raise
        finally:
            LOG.info("%.3f s; %s", time.monotonic() - started, ended)
            LOG.setLevel(before)
            LOG.removeHandler(handler)
            handler.close()
