"""What the readers of the history cost, by its size: the end of each run, relative budgets, and `hil history`."""

from __future__ import annotations

import resource
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import func, select

from hil.benchmarks.lab.records import BENCH
from hil.child_process import module_command
from hil.gates import FIGURES
from hil.history.address import Address
from hil.history.filters import Filter
from hil.history.models import trials
from hil.history.queries import History
from hil.history.since_last_good import since_last_good
from hil.history.store import Store


@dataclass(frozen=True)
class Read:
    """Measured on this computer: wall seconds of one reader, by the trials that the history had.

    Attributes:
        run_end_s: what changed since the last good night, which each run asks at its end.
        budgets_s: the earlier nights, which a session with relative budgets reads once.
        list_s, list_bytes: `hil history --json`, in a process of its own, and its largest resident set.
    """

    trials: int
    run_end_s: float
    budgets_s: float
    list_s: float
    list_bytes: int


def read(address: Address) -> Read:
    """Measure each reader once."""
    began = time.perf_counter()
    with Store(address, read_only=True) as store:
        history = History(store, counted=False)  # as the session has it
        since_last_good(history, history.runs[-1].uid)
    run_end_s = time.perf_counter() - began
    began = time.perf_counter()
    with History.open(address) as history:
        history.series([figure.path for figure in FIGURES.values()], Filter(bench=(BENCH,), verdict=("pass",)))
    budgets_s = time.perf_counter() - began
    with address.engine(read_only=True).connect() as connection:
        count = int(connection.execute(select(func.count()).select_from(trials)).scalar_one())
    return Read(count, run_end_s, budgets_s, *_listed(address))


def _listed(address: Address) -> tuple[float, int]:
    url = address.url.render_as_string(hide_password=False)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "rig.toml").write_text(f'[history]\nurl = "{url}"\n', encoding="utf-8")
        command = module_command("hil.commands.main", "history", "--json")
        began = time.perf_counter()
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - began
    return seconds, 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


def at(size: float, small: tuple[int, float], large: tuple[int, float]) -> float:
    """Return the value on the straight line through two measured ones, (trials, value) each."""
    slope = (large[1] - small[1]) / (large[0] - small[0])
    return large[1] + slope * (size - large[0])


def size_for(value: float, small: tuple[int, float], large: tuple[int, float]) -> float:
    """Return the number of trials at which that line reaches a value; infinity if it never does."""
    slope = (large[1] - small[1]) / (large[0] - small[0])
    return large[0] + (value - large[1]) / slope if slope > 0 else float("inf")
