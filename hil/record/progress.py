"""The progress of a trial that is running, as a small file in its folder, for `hil tail` in another shell.

The file is written at most once a second, and removed when the trial ends. It is no part of the record: a disk that
does not take it costs nothing.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from hil.atomic_write import write_atomic
from hil.bounded_read import read_json
from hil.dataclass_json import rebuilt
from hil.record.safe_paths import RERUN, safe_file
from hil.steady_clock import steady_s

NAME = "progress.json"
EVERY_S = 1.0
RATE_OVER = 10  # writes: the rate is that of the last ten seconds or more
LARGEST = 1 << 12  # bytes


@dataclass(frozen=True)
class Progress:
    """Where a trial is.

    Attributes:
        stage: name of the stage.
        done, of: steps of the training, or parts of another stage; both 0 if unknown.
        loss: of the last step, per sample, by the reference; None before the first step.
        rate: of `done` per second; None before it is known.
        power_w: mean power of the last energy window; None without one.
        at: UNIX time of this state.
    """

    stage: str = ""
    done: int = 0
    of: int = 0
    loss: float | None = None
    rate: float | None = None
    power_w: float | None = None
    at: float = 0.0

    @property
    def left_s(self) -> float | None:
        """Time left of this stage in s; None if unknown."""
        return (self.of - self.done) / self.rate if self.rate and self.of else None


class ProgressFile:
    """Keeps the progress of one trial in a file.

    Args:
        folder: of the trial.
        now: UNIX time.
        steady: seconds of a clock that nobody sets, for the rate.
    """

    def __init__(
        self, folder: Path, now: Callable[[], float] = time.time, steady: Callable[[], float] = steady_s
    ) -> None:
        self._path, self._now, self._steady = folder / NAME, now, steady
        self._state, self._written = Progress(), float("-inf")
        self._marks: deque[tuple[float, int]] = deque(maxlen=RATE_OVER)

    def stage(self, name: str, of: int = 0) -> None:
        """Begin a stage of `of` steps, 0 if it has none."""
        self._state = replace(self._state, stage=name, done=0, of=of)
        self._marks.clear()
        self._write()

    def step(self, loss: float) -> None:
        """Count a step, with its loss."""
        self._state = replace(self._state, done=self._state.done + 1, loss=loss)
        self._write_sometimes()

    def part(self, done: int, of: int) -> None:
        """Set how much of a stage is done."""
        self._state = replace(self._state, done=done, of=of)
        self._write_sometimes()

    def power(self, watts: float) -> None:
        """Set the mean power of the last energy window."""
        self._state = replace(self._state, power_w=watts)
        self._write()

    def remove(self) -> None:
        """Remove the file, because the trial has ended."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _write_sometimes(self) -> None:
        if self._steady() - self._written >= EVERY_S:
            self._write()

    def _write(self) -> None:
        self._written = self._steady()
        self._marks.append((self._written, self._state.done))
        (first, before), (last, done) = self._marks[0], self._marks[-1]
        rate = (done - before) / (last - first) if last > first and done > before else None
        self._state = replace(self._state, at=self._now(), rate=rate)
        with suppress(OSError, ValueError):  # a full disk; a loss that is no number
            write_atomic(self._path, json.dumps(asdict(self._state), allow_nan=False))


def read_progress(folder: Path) -> Progress | None:
    """Return the progress of a trial by its folder; None if it has not begun, or has ended.

    Raises:
        RigError: the file is damaged.
    """
    try:
        path = safe_file(folder, NAME)
        return None if path is None else rebuilt(Progress, read_json(path, LARGEST, RERUN), str(path), RERUN)
    except FileNotFoundError:  # removed meanwhile
        return None
