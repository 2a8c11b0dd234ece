"""A PostgreSQL server of the tests' own: Debian's programs, a fresh cluster, a socket in its folder and no port."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

import pytest

PATIENCE_S = 120  # on a busy machine too
QUICK = [
    "fsync=off",
    "full_page_writes=off",
    "max_connections=20",
    "shared_buffers=4MB",
]  # it must survive no power cut


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, None if it is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    own = shutil.which("initdb")
    return found[-1].parent if found else Path(own).resolve().parent if own else None


class Server:
    """A running server. PostgreSQL does not run as root, so that root starts it as another user."""

    def __init__(self) -> None:
        found = programs()
        assert found is not None
        self._programs, self._count = found, 0
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self.user = pwd.getpwuid(os.getuid()).pw_name
        self._as: dict[str, object] = {}
        if os.getuid() == 0:
            self.user = "postgres" if "postgres" in {each.pw_name for each in pwd.getpwall()} else "nobody"
            who = pwd.getpwnam(self.user)
            os.chown(self.folder, who.pw_uid, who.pw_gid)
            self._as = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
        self._run(
            "initdb", "--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-instructions", self.data
        )
        self.start()

    @property
    def data(self) -> str:
        return str(self.folder / "data")

    def start(self) -> None:
        options = [word for each in QUICK for word in ("-c", each)]
        command = [self._programs / "postgres", "-D", self.data, "-k", self.folder, "-c", "listen_addresses=", *options]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder, **self._as)  # type: ignore[call-overload]
        end = time.monotonic() + PATIENCE_S
        while subprocess.run([self._programs / "pg_isready", "-q", "-h", self.folder]).returncode:
            assert time.monotonic() < end and self._process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop at once, as a server that crashes; what was committed stays."""
        self._process.send_signal(3)  # SIGQUIT: "immediate shutdown"
        self._process.wait()

    def signal(self, number: int) -> None:
        """Send a signal to the server and to all its processes."""
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self._process.pid)], capture_output=True, text=True
        )
        for pid in (self._process.pid, *map(int, children.stdout.split())):
            os.kill(pid, number)

    def database(self) -> str:
        """Make an empty database and return its URL."""
        self._count += 1
        name = f"history{self._count}"
        self._run("createdb", "-h", str(self.folder), name)
        return f"postgresql+psycopg://{self.user}:not-shown@/{name}?host={quote(str(self.folder))}"

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._programs / program, *arguments],
            capture_output=True,
            text=True,
            cwd=self.folder,
            timeout=PATIENCE_S,
            **self._as,
        )  # type: ignore[call-overload]
        assert done.returncode == 0, done.stderr


def started() -> Server:
    """Return a server that runs; a test without PostgreSQL is skipped."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed: apt install postgresql")
    pytest.importorskip("psycopg", reason="pip install 'trainrig[postgresql]'")
    return Server()
