"""The record of a draw: an entry of `drawn` in mutations.json."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hil.bounded_read import packaged_toml

from .names import text_of

EQUIVALENT = Path(__file__).with_name("equivalent.toml")
CAUGHT, PASS, NOT_REACHED, BLOCKED = "fail", "pass", "not reached", "blocked"  # verdicts of a row
NOT_BUILT, SAME_IMAGE = "not built", "same image"  # why a change is discarded
LEAST_CAUGHT = 0.9  # of the rows that are not equivalent: what is asked of the quick tier


@dataclass(frozen=True)
class Drawn:
    """A change and what the tests said of it; a row of `drawn` in mutations.json.

    Attributes:
        name: file, function, and the line before and after.
        family, kind: of the change.
        place: file and line.
        tier: of the test that failed; `quick` if none did.
        trial: the test that failed; empty if none did.
        verdict: `fail` (caught), `pass`, `not reached` (no test runs its function), `blocked` (nothing is known).
        names: what the test named.
        said: its reason.
        reach: whether a test runs the `line`, its `function`, or `none`; `unknown` outside of functions.
        ran, of: tests that were run, and that there are.
        seconds: of the computer's clock, with the build.
    """

    name: str
    family: str
    kind: str
    place: str
    tier: str
    trial: str
    verdict: str
    names: tuple[str, ...]
    said: str
    reach: str
    ran: int
    of: int
    seconds: float

    @property
    def caught(self) -> bool:
        """Whether a test failed."""
        return self.verdict == CAUGHT


@dataclass(frozen=True)
class Control:
    """The tests that were not selected for a change, run all the same: how many, and those that did not pass."""

    name: str
    ran: int
    failed: tuple[str, ...]


@dataclass
class Campaign:
    """A draw and its rows; an entry of `drawn` in mutations.json.

    Attributes:
        board, seed: what is drawn for, and how.
        commit: of the sources.
        changes: that could be drawn.
        families: lines of code of each, in the image.
        discarded: names of drawn changes that do not compile, and of those that give the same image.
        rows: in the order of the draw.
    """

    board: str
    seed: int
    commit: str
    changes: int = 0
    families: dict[str, int] = field(default_factory=dict)
    discarded: dict[str, list[str]] = field(default_factory=lambda: {NOT_BUILT: [], SAME_IMAGE: []})
    rows: list[Drawn] = field(default_factory=list)
    controls: list[Control] = field(default_factory=list)

    @property
    def arguments(self) -> dict[str, str]:
        """Why rows of this draw are equivalent, by the text of their names."""
        return equivalent(self.seed)

    def argument(self, row: Drawn) -> str:
        """Why a row of this draw is equivalent; empty if nothing says so."""
        return self.arguments.get(text_of(row.name), "")

    @property
    def counts(self) -> dict[str, int]:
        """How many rows were caught, not caught, not reached, blocked, and are equivalent; these count as nothing else."""
        found = Counter("equivalent" if self.argument(row) and not row.caught else row.verdict for row in self.rows)
        return {what: found[what] for what in (CAUGHT, PASS, NOT_REACHED, BLOCKED, "equivalent")}

    @property
    def share(self) -> float:
        """The share of rows that the quick tier caught, of those that are not equivalent."""
        quick = sum(row.caught and row.tier == "quick" for row in self.rows)
        return quick / max(1, len(self.rows) - self.counts["equivalent"])

    @property
    def disproved(self) -> list[str]:
        """Names of rows that are argued to be equivalent, and were caught."""
        return [row.name for row in self.rows if row.caught and self.argument(row)]

    def to_json(self) -> dict[str, Any]:
        """Return the entry of mutations.json."""
        rows = [asdict(row) | {"caught": row.caught, "equivalent": self.argument(row)} for row in self.rows]
        return asdict(self) | {"of": len(self.rows), "counts": self.counts, "rows": rows}

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> Campaign:
        """Return what `to_json` gave."""
        made = {name: fields[name] for name in ("board", "seed", "commit", "changes", "families", "discarded")}
        rows = [
            Drawn(**{name: row[name] for name in Drawn.__dataclass_fields__} | {"names": tuple(row["names"])})
            for row in fields["rows"]
        ]
        controls = [Control(**control | {"failed": tuple(control["failed"])}) for control in fields["controls"]]
        return cls(**made, rows=rows, controls=controls)


def equivalent(seed: int) -> dict[str, str]:
    """Return the arguments of equivalent.toml for a draw: why no input shows the difference, by text."""
    table = packaged_toml(EQUIVALENT)
    return {text_of(row["name"]): row["why"] for row in table["equivalent"] if row["seed"] == seed}


def read(file: Path, board: str, seed: int) -> Campaign | None:
    """Return a draw from a mutations.json; None if the file or the draw is not there."""
    entries = json.loads(file.read_text(encoding="utf-8")).get("drawn", []) if file.exists() else []
    found = (Campaign.from_json(entry) for entry in entries)
    return next((each for each in found if (each.board, each.seed) == (board, seed)), None)


def write(file: Path, campaign: Campaign) -> None:
    """Write a draw into a mutations.json, in which all else stays."""
    entries = json.loads(file.read_text(encoding="utf-8")).get("drawn", []) if file.exists() else []
    others = [entry for entry in entries if (entry["board"], entry["seed"]) != (campaign.board, campaign.seed)]
    update(file, {"drawn": [*others, campaign.to_json()]})


def update(file: Path, fields: dict[str, Any]) -> None:
    """Write fields of a mutations.json, in which all others stay."""
    record = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(record | fields, indent=1) + "\n", encoding="utf-8")
    partial.replace(file)
