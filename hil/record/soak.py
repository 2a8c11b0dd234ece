"""What a soak has measured of its processes, as soak.json in the folder of a run holds it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from hil.bounded import read_json
from hil.fields import rebuilt
from hil.record.inside import file_of
from hil.record.whole import write_whole

FILE = "soak.json"
LARGEST = 64 << 20  # bytes: a row has 200, and an hour on two boards some 10,000 of them
AGAIN = "run the soak again"


@dataclass(frozen=True)
class SoakRow:
    """What one process held between two trials.

    Attributes:
        seconds: since the soak began.
        process: `rig`, `bench` or `probe`.
        board: which it serves.
        rss_kb: its memory, in kB: the anonymous pages that are resident (RssAnon of proc_pid_status(5)).
        descriptors: that are open.
        threads: that it has.
        children: processes that it has started and that are there.
        files: in the working folder of the rig's process; None for the others.
        trials: that the board has had.
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
    """A soak.

    Attributes:
        seed: decides its faults.
        minutes: that it took.
        commit: of the checkout, with a `+` where files differ from it.
        boards: their names.
        warm_up_s: seconds after which the figures must be flat.
        counts: trials by outcome.
        kinds: trials by what met them and by outcome.
        wrong: a sentence for each trial that ended wrongly, and for what was left behind.
        not_flat: a sentence for each figure of a process that is not flat.
        memory_judged: whether there were rows enough for a judgement on memory.
        rows: what the processes held, in the order in which it was measured.
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
        """Write soak.json into the folder of a run, a row a line.

        Raises:
            OSError: the disk takes no more.
        """
        said = asdict(self)
        rows = ",\n".join("  " + json.dumps(row) for row in said.pop("rows"))
        write_whole(folder / FILE, json.dumps(said, indent=1)[:-2] + f',\n "rows": [\n{rows}\n ]\n}}\n')


def read_soak(folder: Path) -> Soak | None:
    """Return the soak in the folder of a run; None where it was none.

    Raises:
        RigError: its file is damaged.
    """
    path = file_of(folder, FILE)
    return None if path is None else rebuilt(Soak, read_json(path, LARGEST, AGAIN), str(path), AGAIN)


def series_of(rows: Sequence[SoakRow]) -> dict[tuple[str, str], list[SoakRow]]:
    """Return the rows of each process, by its name and board, in their order."""
    series: dict[tuple[str, str], list[SoakRow]] = {}
    for row in rows:
        series.setdefault((row.process, row.board), []).append(row)
    return series
