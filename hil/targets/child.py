"""The process that works with a probe: takes one request after the other from a pipe, and ends with its parent.

`python -m hil.targets.child DESCRIPTOR`; started by probe_process.py.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

from hil.errors import Blocked
from hil.targets.pyocd_session import ERRORS, PyocdSession


def main(descriptor: int) -> None:
    """Answer requests `(name of a method, arguments)` with `("done", result)`, `("blocked", stage, reason)` or `("failed", text)`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is the parent's: it closes the probe in good order
    threading.Thread(target=_end_with_parent, daemon=True).start()
    pipe, session = Connection(descriptor), PyocdSession()
    while True:
        try:
            name, arguments = pipe.recv()
        except EOFError:
            return
        pipe.send(_answer(session, name, arguments))


def _answer(session: PyocdSession, name: str, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    try:
        return "done", getattr(session, name)(*arguments)
    except Blocked as blocked:
        return "blocked", blocked.stage, blocked.reason
    except ERRORS as error:
        return "failed", f"{type(error).__name__}: {error}" if isinstance(error, LookupError) else str(error)


def _end_with_parent() -> None:
    """Wait for the end of standard input, which the parent never writes to: it comes when the parent is gone, however it went."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
