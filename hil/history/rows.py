"""The rows of the history, made from the record of a run. What a record says is data: text is cut and escaped."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from hil.errors import RigError, message_of, printable
from hil.record import AskedTest, TrialRecord, quantities
from hil.record.run_writer import INTERRUPTED
from hil.record.trial_writer import as_json, json_fields

LONGEST_NAME = 300  # characters; PostgreSQL indexes at most 2,704 bytes, two names among them
LONGEST_TEXT = 4000
LARGEST_INTEGER = 2**63 - 1
MOST_WORKERS = 2**31 - 1  # a column of a database takes no more
SUBJECT = ("board", "reality", "network", "method", "variant", "data")  # with SETTINGS and the bench: a series
SETTINGS = ("batch", "seed", "steps", "slots", "settings", "schedule")  # what tells two trials of one variant apart

Row = dict[str, Any]


@dataclass(frozen=True)
class TrialFigure:
    """One quantity of a trial; `value` and `uncertainty` are None if they are not numbers."""

    name: str
    unit: str
    provenance: str
    value: float | None
    uncertainty: float | None

    @property
    def kind(self) -> tuple[str, str, str]:
        """What figures of all trials share."""
        return self.name, self.unit, self.provenance


@dataclass(frozen=True)
class TrialRows:
    """The rows of one trial: its own without the number of its run, its settings as JSON, its quantities."""

    row: Row
    settings: str
    figures: tuple[TrialFigure, ...]

    @property
    def ended(self) -> bool:
        """Whether this is the record of a trial that ended; the other kind never replaces one."""
        return bool(self.row["verdict"] != INTERRUPTED)


def run_row(facts: Mapping[str, Any], path: str | None, imported: bool = False, bench: str = "") -> Row:
    """Return the row of a run.

    Args:
        facts: `run` of results.json.
        path: of its folder; None if there is none here.
        imported: it came by `hil import`.
        bench: name of the bench if the record has none.
    """
    host, versions = facts["host"], facts["versions"]
    code, workers = facts["exit_code"], facts.get("workers")
    return {
        "uid": name_of(facts.get("uid") or derived_uid(facts)),
        "name": name_of(facts["id"]),
        "bench": name_of(facts.get("bench") or bench),
        "after": name_of(facts["after"]) if facts.get("after") else None,
        "started": time_of(facts["time"]),
        "ended": time_of(facts["ended"]),
        "commit": name_of(facts["commit"]) if facts["commit"] else None,
        "host": name_of(" ".join(str(host[key]) for key in ("system", "machine", "cpus") if host.get(key) is not None)),
        "version": name_of(str(versions.get("trainrig", ""))),
        "command": text_of(facts.get("command", "")),
        "state": facts["state"],
        "whole": facts["whole"],
        "exit_code": code if code is not None and abs(code) <= LARGEST_INTEGER else None,
        "imported": imported,
        "path": text_of(path) if path is not None else None,
        "workers": workers if workers is not None and workers <= MOST_WORKERS else None,
    }


def asked_row(test: AskedTest) -> Row:
    """Return the row of a test, without the number of its run."""
    return {
        "test": name_of(test.test),
        "board": name_of(test.board) if test.board is not None else None,
        "verdict": test.verdict,
        "expected": test.expected,
        "reason": text_of(test.reason),
        "seconds": number(test.seconds),
    }


def planned_row(test: AskedTest, attached: Collection[str]) -> Row:
    """Return the row of a test that has yet to end, without the number of its run; `attached` names boards."""
    row = asked_row(test)
    return {"test": row["test"], "board": row["board"], "attached": test.board in attached}


def subject_columns(fields: Mapping[str, Any]) -> tuple[Row, str]:
    """Return the columns that say of which series a trial is, and its settings as JSON.

    Args:
        fields: of the record of the trial, at least SUBJECT and SETTINGS; also before it has ended.
    """
    chosen = {name: fields[name] for name in SETTINGS}
    if fields.get("keep") is not None:  # it takes RAM; a trial without it is of the series of older records
        chosen["keep"] = fields["keep"]
    settings = unique(canonical(json.loads(as_json(chosen))), LONGEST_TEXT)
    names = {name: name_of(fields[name]) for name in SUBJECT if name != "reality"}
    return names | {"reality": fields["reality"], "settings": digest_of(settings)[:16]}, settings


def trial_rows(record: TrialRecord) -> TrialRows:
    """Return the rows of a trial.

    Raises:
        RigError: its figures cannot be computed.
    """
    try:
        found = quantities(record)
    except (
        ArithmeticError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:  # the record of a stranger: 200 % of 3 images
        problem = f"its figures cannot be computed: {message_of(error)}"
        raise RigError(f"the trial {record.folder} is damaged ({problem}): run it again.") from error
    fields = json_fields(record)
    subject, settings = subject_columns(fields)
    row = {
        "folder": name_of(record.folder),
        "test": name_of(record.test),
        **subject,
        "verdict": record.verdict,
        "stage": name_of(record.stage),
        "reason": text_of(record.reason),
        "final_digest": record.final_digest,
        "image": record.image["digest"] if record.image is not None else None,
        "content": digest_of(canonical(fields))[:32],
        "began": time_of(record.began),
        "attached": record.attached,
        "place": name_of(record.place) if record.place is not None else None,
        "programmed": record.flash["programmed"] if record.flash is not None else None,
    }
    figures = {}
    for name, each in found.items():
        figure = TrialFigure(
            name_of(name), name_of(each.unit), each.provenance.value, number(each.value), number(each.uncertainty)
        )
        figures[figure.kind] = figure
    return TrialRows(row, settings, tuple(figures[kind] for kind in sorted(figures)))


def derived_uid(facts: Mapping[str, Any]) -> str:
    """Return the identity of a run whose record has none, from an older version: a digest of what never changes."""
    fixed = ("id", "time", "commit", "versions", "host", "command")
    return digest_of(canonical({name: facts.get(name) for name in fixed}))[:32]


def canonical(value: Any) -> str:
    """Return JSON that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def name_of(text: str) -> str:
    """Return a name in one line that every database takes. A longer one is cut, and stays unique by a digest."""
    return unique(" ".join(printable(text).split()), LONGEST_NAME)


def unique(text: str, most: int) -> str:
    """Return a text of at most `most` characters that stays unique: the end of a longer one becomes its digest."""
    return text if len(text) <= most else f"{text[: most - 17]}~{digest_of(text)[:16]}"


def text_of(text: str) -> str:
    """Return a text that every database takes, cut if it is long."""
    printed = printable(text)
    return printed if len(printed) <= LONGEST_TEXT else f"{printed[: LONGEST_TEXT - 1]}…"


def number(value: float | None) -> float | None:
    """Return a number as the database keeps it: NaN is null, an integer too large for a double is infinite."""
    if value is None:
        return None
    try:
        found = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return None if math.isnan(found) else found


def time_of(text: str | None) -> datetime | None:
    """Return a time in UTC; None if the text is no time. A time without a zone is in UTC."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=timezone.utc) if found.tzinfo is None else found.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None
