"""faults.json: what became of every fault; of a shard, or of a whole campaign."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil.commit import ALL, commit_of_folder

from .instrument_kinds import MISSED, misses_allowed
from .judge import WRONG

FILE = "faults.json"
ROOT = Path(__file__).resolve().parents[3]


@dataclass
class Record:
    """Attributes:
    seed, faults: of the whole campaign.
    shards: `I/N` of those that are in it.
    commit: of the checkout; `+` behind it where files differ from it.
    rows: a fault each: `number`, `fault`, `moment`, `outcome`, `seconds`, and more; `commit` in those that were run again later.
    """

    seed: int
    faults: int
    shards: list[str]
    commit: str
    rows: list[dict[str, Any]]

    @property
    def wrong(self) -> list[dict[str, Any]]:
        """The rows that ended wrongly."""
        return [row for row in self.rows if row["outcome"] in WRONG]

    @property
    def misses(self) -> tuple[int, int]:
        """How many energies missed the truth, and how many may of as many that were stated with nothing but their interval."""
        stated = [
            row
            for row in self.rows
            if row["fault"].startswith("meter: instrument") and row["outcome"] in ("pass", MISSED)
        ]
        return sum(row["outcome"] == MISSED for row in stated), misses_allowed(len(stated))

    @property
    def holds(self) -> bool:
        """Whether nothing ended wrongly, and no more intervals missed than may by chance."""
        missed, allowed = self.misses
        return not self.wrong and missed <= allowed

    def counts(self) -> dict[str, int]:
        """Return how many there are of each outcome; of the wrong ones also where there are none."""
        return dict.fromkeys(WRONG, 0) | Counter(row["outcome"] for row in self.rows)

    def to_json(self) -> str:
        """Return the text of the file."""
        rows = ",\n".join("  " + json.dumps(row) for row in self.rows)
        head = {
            "seed": self.seed,
            "faults": self.faults,
            "shards": self.shards,
            "commit": self.commit,
            "counts": self.counts(),
        }
        return json.dumps(head, indent=1)[:-2] + f',\n "rows": [\n{rows}\n ]\n}}\n'

    @staticmethod
    def line(row: dict[str, Any]) -> str:
        """Return a line of the terminal, and a second one for what is wrong."""
        met = "" if row.get("met") else " (met nothing)"
        text = f"{row['number']:5d} {row['outcome']:13} {row['seconds']:6.1f} s  {row['fault']}, {row['moment']}{met}"
        return text + (f"\n      {row['why']}" if row["outcome"] in WRONG else "")

    def summary(self) -> str:
        """Return the counts, and how long faults and recoveries took."""
        seconds = [row["seconds"] for row in self.rows]
        back = [row["recovery_s"] for row in self.rows if row.get("recovery_s") is not None]
        lines = [
            f"{len(self.rows)} of {self.faults} faults of seed {self.seed}: "
            + ", ".join(f"{count} {name}" for name, count in self.counts().items())
        ]
        missed, allowed = self.misses
        if missed:
            lines.append(
                f"{missed} energies missed the truth by more than their interval of 95 %; by chance up to {allowed} may"
            )
        if seconds:
            lines.append(
                f"seconds a fault: mean {statistics.mean(seconds):.1f}, median {statistics.median(seconds):.1f}, largest {max(seconds):.1f}"
            )
        if back:
            lines.append(
                f"recovery after what was gone is back: {len(back)} times, median {statistics.median(back):.2f} s, largest {max(back):.2f} s"
            )
        return "\n".join(lines)


def read(path: Path) -> Record:
    """Return the record of a file."""
    told = json.loads(path.read_text(encoding="utf-8"))
    return Record(told["seed"], told["faults"], told["shards"], told["commit"], told["rows"])


def merge(paths: Sequence[Path], again: Sequence[Path] = ()) -> Record:
    """Return the shards of one campaign as one record.

    Args:
        paths: of the shards, all of one commit.
        again: of faults that were run again, on the same or a later commit; they take the places of the first runs.

    Raises:
        SystemExit: they are not of one campaign, or a fault is in two of them.
    """
    parts, later = [read(path) for path in paths], [read(path) for path in again]
    first = parts[0]
    if len({(part.seed, part.faults, part.commit) for part in parts}) != 1:
        raise SystemExit("these shards are not of one campaign: seed, number of faults and commit must be the same.")
    if any((part.seed, part.faults) != (first.seed, first.faults) for part in later):
        raise SystemExit("these faults are not of this campaign: seed and number of faults must be the same.")
    rows = _by_number(parts, "a fault is in two of these shards: name each shard once.")
    second = _by_number(later, "a fault was run again in two of these files: name one of them.")
    if not second.keys() <= rows.keys():
        raise SystemExit("a fault was run again that is in none of these shards: name its shard too.")
    rows |= {row["number"]: row | {"commit": part.commit} for part in later for row in part.rows}
    shards = sorted(shard for part in parts for shard in part.shards)
    return Record(first.seed, first.faults, shards, first.commit, [rows[number] for number in sorted(rows)])


def _by_number(parts: Sequence[Record], twice: str) -> dict[int, dict[str, Any]]:
    """Return the rows of all parts by their numbers; end with the sentence `twice` where a number is in two of them."""
    rows = {int(row["number"]): row for part in parts for row in part.rows}
    if len(rows) != sum(len(part.rows) for part in parts):
        raise SystemExit(twice)
    return rows


def commit() -> str:
    """Return the commit of the checkout, with a `+` where files differ from it."""
    return commit_of_folder(ROOT, ALL) or "unknown"
