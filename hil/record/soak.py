"""soak.json in the folder of a run: resources of the processes over a soak test."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from hil.bounded_read import read_json
from hil.dataclass_json import rebuilt
from hil.record.atomic_write import write_atomic
from hil.record.safe_paths import safe_file

FILE = "soak.json"
LARGEST = 64 << 20  # bytes; a row has 200, and an hour on two boards gives about 10,000 rows
RERUN = "run the soak again"


@dataclass(frozen=True)
class SoakRow:
    """Resources of one process between two trials.

    Attributes:
        seconds: since the soak began.
        process: `rig`, `bench` or `probe`.
        board: the board that it serves.
        rss_kb: resident anonymous memory in kB (RssAnon of proc_pid_status(5)).
        descriptors: number of open file descriptors.
        threads: number of threads.
        children: number of child processes.
        files: number of files in the working folder of the rig's process; None for the other processes.
        trials: number of trials on the board so far.
    """

    seconds: float
    process: str
    board: str
    rss_kb: int
    descriptors: int
    threads: int
    children: int
    files: int | None
    trials: int


@dataclass
class Soak:
    """A soak test.

    Attributes:
        seed: of the injected faults.
        minutes: duration.
        commit: of the checkout, followed by `+` if files differ from it.
        boards: their names.
        warm_up_s: seconds after which the figures must be flat.
        counts: number of trials by outcome.
        kinds: number of trials by injected fault and outcome.
        wrong: a sentence for each trial with a wrong outcome, and for each leftover process or file.
        not_flat: a sentence for each figure of a process that is not flat.
        memory_judged: whether there were enough rows to judge memory.
        rows: resources of the processes, in order of time.
    """

    seed: int
    minutes: float
    commit: str
    boards: list[str]
    warm_up_s: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, dict[str, int]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    not_flat: list[str] = field(default_factory=list)
    memory_judged: bool = False
    rows: list[SoakRow] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """Write soak.json into the folder of a run, one row per line."""
        fields = asdict(self)
        rows = ",\n".join("  " + json.dumps(row) for row in fields.pop("rows"))
        write_atomic(folder / FILE, json.dumps(fields, indent=1)[:-2] + f',\n "rows": [\n{rows}\n ]\n}}\n')


def read_soak(folder: Path) -> Soak | None:
    """Return the soak test in the folder of a run, None if there is none.

    Raises:
        RigError: its file is damaged.
    """
    path = safe_file(folder, FILE)
    return None if path is None else rebuilt(Soak, read_json(path, LARGEST, RERUN), str(path), RERUN)


def series_of(rows: Sequence[SoakRow]) -> dict[tuple[str, str], list[SoakRow]]:
    """Return the rows of each process, by process and board."""
    series: dict[tuple[str, str], list[SoakRow]] = {}
    for row in rows:
        series.setdefault((row.process, row.board), []).append(row)
    return series
