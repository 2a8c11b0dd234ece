"""The version of the tables. New tables are made as `hil.history.models` has them, old ones upgraded by Alembic."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Column, Connection, MetaData, String, Table, inspect, text

from hil.history.failures import HistoryError, NewerSchema
from hil.history.models import metadata

HEAD = "0003"  # the newest migration
TABLE = "trainrig_version"
VERSION = Table(TABLE, MetaData(), Column("version_num", String(32), primary_key=True))  # as Alembic makes it
LOCK = 0x7472_6967  # of PostgreSQL's advisory locks: one process upgrades at a time
MIGRATIONS = Path(__file__).parent / "migrations"


def version_of(connection: Connection) -> str | None:
    """Return the version of the tables; None if there are none."""
    if not inspect(connection).has_table(TABLE):
        return None
    found: str | None = connection.execute(text(f"SELECT version_num FROM {TABLE}")).scalar()
    return found


def check_version(version: str | None, shown: str) -> None:
    """Check that this version can be upgraded to.

    Raises:
        NewerSchema: a newer trainrig wrote it.
    """
    if version is not None and not any(MIGRATIONS.glob(f"versions/{version[:40]}_*.py")):
        raise NewerSchema(
            f"{shown} was written by a newer trainrig (its version is {version[:40]!r}, this one knows up to {HEAD}): "
            "use that version, or another history in rig.toml.",
            "was written by a newer trainrig",
        )


def upgrade(connection: Connection, shown: str) -> None:
    """Make or upgrade the tables, within the transaction of a writer.

    Raises:
        NewerSchema: a newer trainrig wrote them.
        HistoryError: the database holds tables of another program.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
    version = version_of(connection)
    check_version(version, shown)
    if version == HEAD:
        return
    if version is None:
        _check_empty(connection, shown)
        metadata.create_all(connection)  # what the migrations make, without loading Alembic
        VERSION.create(connection)
        connection.execute(VERSION.insert().values(version_num=HEAD))
        return
    from alembic import command  # late: only needed after trainrig was upgraded
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _check_empty(connection: Connection, shown: str) -> None:
    """Check that the database is empty. A server may also hold tables of others.

    Raises:
        HistoryError: it holds other tables.
    """
    found = set(inspect(connection).get_table_names())
    others = found if connection.dialect.name == "sqlite" else found & set(metadata.tables)
    if others:
        raise HistoryError(
            f"{shown} holds tables of another program ({', '.join(sorted(others)[:3])}): name another database.",
            "holds tables of another program",
        )
