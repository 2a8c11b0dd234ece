"""Train runs in parallel: one process per run, one BLAS thread per process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from threading import Event, Lock

from hil.errors import RigError
from hil.experiments.choice import outdated
from hil.experiments.curve import EpochRow, complete, read_curve, read_run
from hil.experiments.progress import RunLines
from hil.threads import ThreadPool

# A step's products are small: threads within a run cost more than they gain, and parallel runs already fill the cores.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
LOG_FILE = "worker.log"


class Pool:
    """Worker processes; they are always ended when the block is left.

    Args:
        jobs: number of parallel processes.
        lines: show the progress; they are called from several threads, one call at a time.
    """

    def __init__(self, jobs: int, lines: RunLines) -> None:
        self._jobs, self._lines = jobs, lines
        self._running: set[subprocess.Popen[str]] = set()
        self._lock, self._stop = Lock(), Event()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        with self._lock:
            for process in self._running:
                process.terminate()

    def train(self, folders: Iterable[Path]) -> None:
        """Train the runs of these folders; complete ones are skipped, unless their choice is outdated.

        Raises:
            RigError: a run failed; the others are trained.
        """
        left = [folder for folder in folders if not complete(folder) or outdated(folder)]
        workers = ThreadPool(self._jobs)
        try:
            reasons = [reason for reason in workers.map(self._one, left) if reason]
        except BaseException:
            self.__exit__()
            raise
        finally:
            workers.shutdown(cancel_futures=True)
        if reasons:
            raise RigError(f"{len(reasons)} of {len(left)} runs failed, the first: {reasons[0]}")

    def _one(self, folder: Path) -> str | None:
        """Train one run; return the reason of a failure."""
        if self._stop.is_set():
            return None
        epochs = read_run(folder)[0].epochs
        done = read_curve(folder)
        with self._lock:
            self._lines.begin(folder.name, done[-1].epoch if done else 0, epochs)
        log = folder / LOG_FILE
        with log.open("w", encoding="utf-8") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "hil.experiments.train", str(folder)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **ONE_THREAD},
            )
        with self._lock:
            self._running.add(process)
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                with self._lock:
                    self._lines.epoch(folder.name, EpochRow(**json.loads(line)))
        code = process.wait()
        with self._lock:
            self._running.discard(process)
            self._lines.end(folder.name, read_curve(folder))
        if code == 0 or self._stop.is_set():
            return None
        lines = log.read_text(encoding="utf-8").strip().splitlines()
        return f"{folder.name} ended with {code} ({lines[-1] if lines else f'nothing in {log}'})"
