"""The tables of the history."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    event,
)

metadata = MetaData()


class Utc(TypeDecorator[datetime]):
    """A time in UTC. SQLite keeps no time zone, so that it is removed before and added after."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the time as the database keeps it."""
        if value is None:
            return None
        utc = value.astimezone(timezone.utc)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        """Return the time with its zone."""
        if value is None:
            return None
        found: datetime = value
        return found.replace(tzinfo=timezone.utc) if found.tzinfo is None else found.astimezone(timezone.utc)


runs = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("uid", Text, nullable=False, unique=True),  # of the run, not of its name: two benches may use one name
    Column("name", Text, nullable=False),  # of its folder
    Column("bench", Text, nullable=False),  # name of the bench; empty without one
    Column("after", Text),  # name of the run before it in its folder: tells the order when the clock is wrong
    Column("started", Utc),
    Column("ended", Utc),
    Column("commit", Text),
    Column("host", Text, nullable=False),
    Column("version", Text, nullable=False),  # of trainrig
    Column("command", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("whole", Boolean, nullable=False),
    Column("exit_code", BigInteger),
    Column("imported", Boolean, nullable=False),
    Column("path", Text),  # of its folder on the computer that indexed it; null if there is none
    Column("workers", Integer),  # processes that run tests side by side; null if unknown
    Column("heard", Utc),  # when it last wrote into this history, by the clock of the database
    Column("moved", Utc),  # when one of its tests last ended, by that clock
)

tests = Table(
    "tests",
    metadata,
    Column("run_id", ForeignKey("runs.id"), primary_key=True),
    Column("test", Text, primary_key=True),
    Column("board", Text),
    Column("verdict", Text, nullable=False),
    Column("expected", Boolean, nullable=False),  # marked xfail, and failed as expected
    Column("reason", Text, nullable=False),
    Column("seconds", Double),  # setup, call and teardown; null if it did not end, or is of an older version
)

planned = Table(  # tests that a run that goes on has yet to end
    "planned",
    metadata,
    Column("run_id", ForeignKey("runs.id"), primary_key=True),
    Column("test", Text, primary_key=True),
    Column("board", Text),
    Column("attached", Boolean, nullable=False),  # to be run on the board that rig.toml names
)

settings = Table(
    "settings",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("text", Text, nullable=False),  # JSON
)

trials = Table(
    "trials",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", ForeignKey("runs.id"), nullable=False),
    Column("folder", Text, nullable=False),  # of the trial in the folder of the run
    Column("test", Text, nullable=False),
    Column("board", Text, nullable=False),
    Column("reality", Text),
    Column("network", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("variant", Text, nullable=False),
    Column("data", Text, nullable=False),
    Column("settings", ForeignKey("settings.digest"), nullable=False),
    Column("verdict", Text, nullable=False),
    Column("stage", Text, nullable=False),  # at which it was blocked
    Column("reason", Text, nullable=False),
    Column("final_digest", Text),  # of the trained tensors after the last step
    Column("image", Text),  # XXH32 of the flashed image; of a device test, begin of the SHA-256 of its ELF file
    Column("content", Text, nullable=False),  # digest of the record
    Column("began", Utc),
    Column("attached", Boolean),  # rig.toml named the board; null if it is not known
    Column("place", Text),  # labgrid place of the board, or its `id` in rig.toml; null without
    Column("programmed", Boolean),  # the flash was written; null if it is not known
    UniqueConstraint("run_id", "folder"),
)

kinds = Table(
    "kinds",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),  # path of the figure in results.json, such as `sram.total`
    Column("unit", Text, nullable=False),
    Column("provenance", Text, nullable=False),
    UniqueConstraint("name", "unit", "provenance"),
)

# What no folder of a run has: `hil history rebuild` leaves it as it is.
boards = Table(
    "boards",
    metadata,
    Column(
        "bench", Text, primary_key=True
    ),  # empty for a board with an id, or at a labgrid place, which several benches may use
    Column("board", Text, primary_key=True),
    Column("place", Text, primary_key=True),  # labgrid place, or `id` in rig.toml; empty without
    Column("faults", Integer, nullable=False),  # of the rig, one after the other
    Column("since", Utc),  # in quarantine since then; null if it is not
    Column("by_hand", Boolean, nullable=False),  # a person put it in quarantine
    Column("why", Text, nullable=False),
)

# SQLite: rows of one kind lie side by side, so that a series over all nights is one range. It keeps no row number
# beside the key, and there is no index by trial: both would make the file a third larger. By trial, look up each kind.
# PostgreSQL: rows lie as they came, trial after trial. A key of both columns would be a third of the database. An index
# by kind takes a third of that, because equal keys share an entry; one by trial, of ranges of pages, takes nothing.
BY_TRIAL = Index("quantities_by_trial", "trial_id").ddl_if(dialect="postgresql")
quantities = Table(
    "quantities",
    metadata,
    Column("kind_id", ForeignKey("kinds.id"), nullable=False),
    Column("trial_id", ForeignKey("trials.id"), nullable=False),
    Column("value", Double),  # null: not a number
    Column("uncertainty", Double),
    PrimaryKeyConstraint("kind_id", "trial_id").ddl_if(dialect="sqlite"),
    Index("quantities_by_kind", "kind_id").ddl_if(dialect="postgresql"),
    BY_TRIAL,
    sqlite_with_rowid=False,
)


@event.listens_for(metadata, "before_create")
def _make_ranges(_: MetaData, connection: Connection, **__: Any) -> None:
    """Make the index by trial one of ranges. As an argument of the index it would load the dialect for everybody."""
    if connection.dialect.name == "postgresql":
        BY_TRIAL.kwargs["postgresql_using"] = "brin"
