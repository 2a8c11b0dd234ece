"""Where the history is: the URL of rig.toml, or a file in the folder of the runs."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError

from hil.errors import RigError, short_path
from hil.steady_clock import steady_s

FILE = "history.sqlite"
BUSY_S = 30.0  # how long a writer waits for others; SQLite gives no turns, so that one may wait for many
CONNECT_S = 3  # how long a server may take to answer; libpq counts whole seconds
ANSWER_S = 30  # how long a server may take for one statement
POLL_S = 0.05
READ_WRITE = "mode=rwc"
FORMS = "write sqlite:///FILE or postgresql+psycopg://HOST/DATABASE"


@dataclass(frozen=True)
class Address:
    """Where the history is; `url` may hold a password, `shown` never does."""

    url: URL = field(repr=False)

    @property
    def is_file(self) -> bool:
        """Whether it is a file of SQLite, not a server."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def path(self) -> Path:
        """The file of SQLite."""
        return Path(self.url.database or "")

    @property
    def shown(self) -> str:
        """The address for a message, without user, password and options."""
        if self.is_file:
            return f"the history {short_path(self.path)}"
        place = self.url.host or "this computer"
        return f"the history in the database {self.url.database or ''} on {place}".replace("  ", " ")

    def engine(self, read_only: bool = False) -> Engine:
        """Return an engine whose writers begin their transactions as writers.

        Raises:
            RigError: the library of the server is not installed.
        """
        return self._file_engine(read_only) if self.is_file else self._server_engine(read_only)

    def _file_engine(self, read_only: bool) -> Engine:
        engine = create_engine("sqlite://", creator=self._opener(read_only), pool_size=1, poolclass=QueuePool)

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            # A writer takes the lock at once: a reader that becomes a writer could not wait for another one.
            connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")

        return engine

    def _opener(self, read_only: bool) -> Callable[[], sqlite3.Connection]:
        def opened() -> sqlite3.Connection:
            try:
                return self._connect("mode=ro" if read_only else READ_WRITE)
            except sqlite3.OperationalError as error:
                if not read_only or "locked" in str(error) or not self.path.exists():
                    raise
                return self._connect("immutable=1")  # a file in a folder that is read-only, where no log can be made

        return opened

    def _connect(self, mode: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"file:{quote(str(self.path.absolute()))}?{mode}", uri=True, timeout=BUSY_S, isolation_level=None,
            check_same_thread=False,
        )  # fmt: skip
        try:
            connection.execute("PRAGMA foreign_keys=ON")
            connection.execute("PRAGMA synchronous=NORMAL")  # with a log: a power cut may cost the last trials
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # an error of the file comes here
            if mode == READ_WRITE:
                _use_log(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _server_engine(self, read_only: bool) -> Engine:
        if find_spec("psycopg") is None:
            raise RigError(f"{self.shown} needs a library: pip install 'trainrig[postgresql]'.")
        limits: dict[str, Any] = {
            "connect_timeout": CONNECT_S, "tcp_user_timeout": ANSWER_S * 1000, "application_name": "trainrig",
            "options": f"-c lock_timeout={int(BUSY_S * 1000)} -c statement_timeout={ANSWER_S * 1000}"
            f" -c default_transaction_read_only={'on' if read_only else 'off'}",
        }  # fmt: skip
        own = {name: value for name, value in limits.items() if name not in self.url.query}
        return create_engine(self.url, connect_args=own, pool_size=1, pool_pre_ping=True)


def address_of(url: str | None, reports: Path) -> Address:
    """Return the address of the history: that of rig.toml, or the file in the folder of the runs.

    Raises:
        RigError: the URL names no database that the history can be in. The message does not show it.
    """
    if url is None:
        return Address(URL.create("sqlite", database=str((reports / FILE).absolute())))
    try:
        found = make_url(url)
    except (ArgumentError, ValueError):
        raise RigError(f"rig.toml, [history], key url: this is not the URL of a database: {FORMS}.") from None
    backend = found.get_backend_name()
    if backend == "postgresql":
        return Address(found.set(drivername="postgresql+psycopg"))
    if backend != "sqlite" or not found.database or found.database == ":memory:":
        raise RigError(f"rig.toml, [history], key url: the history cannot be in {backend or 'this'}: {FORMS}.")
    if found.database.startswith("file:"):  # a URI of SQLite's own
        return Address(found)
    return Address(found.set(database=str(Path(found.database).absolute())))  # the working folder may change


def _use_log(connection: sqlite3.Connection) -> None:
    """Let SQLite write ahead to a log, so that readers and one writer never wait for each other."""
    end = steady_s() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:  # SQLite itself does not wait while another process does the same
            if "locked" not in str(error) or steady_s() > end:
                raise
        time.sleep(POLL_S)
