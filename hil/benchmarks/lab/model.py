"""The simulated lab and its night: boards, exporters, when runs arrive, and how long their trials take."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from hil import boards
from hil.packaged import packaged_folder

EXAMPLE = packaged_folder("example", "reports/example") / "results.json"
NIGHT_S = 8 * 3600.0
DEMAND = (0.30, 0.25, 0.20, 0.15, 0.10)  # of the trials, by board: what is asked for is not what is there
AT_ONCE, AT_ONCE_S = 0.5, 900.0  # the share of runs that timers start, within a quarter of an hour
LAST_S = 0.75 * NIGHT_S  # the other runs are a Poisson process until then
STRETCH = 20.0  # a trial of the nightly tier trains longer than the recorded ones of the quick tier


@dataclass(frozen=True)
class Lab:
    """A lab and what it is asked for in a night.

    Attributes:
        boards: places, as many of each kind of board.
        exporters: computers that the boards are attached to.
        trials: of a night.
        runs: of pytest that they belong to.
        workers: of each run (`pytest -n`), each of which holds a place.
        start_s: time that an exporter takes to acquire the serial port of a place: `SER2NET_S`, or 0 for a port that is
            always on the network.
        seed: of everything that is drawn.
        of: the kinds of board that it has; empty for all.
    """

    boards: int = 1000
    exporters: int = 100
    trials: int = 100_000
    runs: int = 1000
    workers: int = 4
    start_s: float = 0.52
    seed: int = 1
    of: tuple[str, ...] = ()

    def times(self, factor: float) -> Lab:
        """Return a lab of another size, with as many runs and trials a board."""
        sizes = {
            name: max(1, round(factor * getattr(self, name))) for name in ("boards", "exporters", "trials", "runs")
        }
        return replace(self, **sizes)

    def kinds(self) -> list[str]:
        """Return the kind of board of each place."""
        names = self.of or kinds_of_board()
        return [names[number % len(names)] for number in range(self.boards)]


@dataclass(frozen=True)
class SimulatedRun:
    """A run of pytest: when it begins (s), on which kind of board, and how long each of its trials takes (s)."""

    number: int
    begins: float
    kind: str
    durations: tuple[float, ...]
    workers: int


def kinds_of_board() -> list[str]:
    """Return the kinds of a lab: boards of the catalogue that can be attached, as many as have a demand."""
    attached = [name for name in boards.BOARDS.house_names() if boards.load(name).stand_in == "virtual"]
    return attached[: len(DEMAND)]


@cache
def recorded_trials() -> tuple[dict[str, Any], ...]:
    """Return the trials of the committed example run, as results.json has them."""
    return tuple(json.loads(EXAMPLE.read_text(encoding="utf-8"))["trials"])


def runs_of(lab: Lab) -> list[SimulatedRun]:
    """Return the runs of a night in the order of their beginning."""
    random = np.random.default_rng(lab.seed)
    timed = round(AT_ONCE * lab.runs)
    begins = np.concatenate((random.uniform(0, AT_ONCE_S, timed), random.uniform(0, LAST_S, lab.runs - timed)))
    names = kinds_of_board()[: max(1, lab.boards)]
    demand = np.array(DEMAND[: len(names)]) / sum(DEMAND[: len(names)])
    kinds = random.choice(names, lab.runs, p=demand)
    walls = STRETCH * np.array([trial["wall_s"] for trial in recorded_trials()])
    sizes = [lab.trials // lab.runs + (number < lab.trials % lab.runs) for number in range(lab.runs)]
    found = [
        (float(begin), str(kind), tuple(random.choice(walls, size).tolist()))
        for begin, kind, size in zip(begins, kinds, sizes, strict=True)
    ]
    return [
        SimulatedRun(number, *each, lab.workers) for number, each in enumerate(sorted(found, key=lambda one: one[0]))
    ]
