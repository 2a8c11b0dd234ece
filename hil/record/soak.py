"""soak.json in the folder of a run: resources of the processes over a soak test."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from hil.atomic_write import write_atomic
from hil.bounded_read import read_json
from hil.dataclass_json import rebuilt
from hil.record.safe_paths import safe_file

FILE = "soak.json"
LARGEST = 64 << 20  # bytes; a row has 200, and an hour on two boards gives about 10,000 rows
RERUN = "run the soak again"


@dataclass(frozen=True)
class SoakRow:
    """Resources of one process between two trials."""

    seconds: float  # since the soak began
    process: str  # `rig`, `bench` or `probe`
    board: str  # that the process serves
    rss_kb: int  # resident anonymous memory in kB (RssAnon of proc_pid_status(5))
    descriptors: int  # number of open file descriptors
    threads: int
    children: int  # number of child processes
    files: int | None  # number of files in the working folder of the rig's process; None for the other processes
    trials: int  # on the board so far


@dataclass
class Soak:
    """A soak test."""

    seed: int  # of the injected faults
    minutes: float  # duration
    commit: str  # of the checkout, followed by `+` if files differ from it
    boards: list[str]
    warm_up_s: float = 0.0  # seconds after which the figures must be flat
    counts: dict[str, int] = field(default_factory=dict)  # number of trials by outcome
    kinds: dict[str, dict[str, int]] = field(default_factory=dict)  # the same by injected fault
    wrong: list[str] = field(default_factory=list)  # sentences on wrong outcomes, and on leftover processes and files
    not_flat: list[str] = field(default_factory=list)  # a sentence for each figure of a process that is not flat
    memory_judged: bool = False  # whether there were enough rows to judge memory
    rows: list[SoakRow] = field(default_factory=list)  # in order of time

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
