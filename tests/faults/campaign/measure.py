"""What goes on without a fault: moments are drawn within it, and digests are compared with it."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from .carry import in_child
from .desk import Desk
from .fault import Fault, Measured
from .marked import Mark
from .session import Session

WITHIN_S = 600.0
TURNS = 3
BOOT = 20_000_000  # instructions before and between the steps of a trial: modelled, for the range of moments only


def measure(folder: Path, sessions: bool) -> Measured:
    """Run each trial, and with `sessions` a session of pytest, without a fault.

    Raises:
        AssertionError: one does not pass.
    """
    desk = Desk(folder)
    digests, events, seconds = {}, {}, 0.0
    session_s = 0.0
    try:
        for name in (
            "plain",
            "flash",
            "plain",
            "energy",
        ):  # the first programs a flash that is empty, which no fault meets
            ended = _undisturbed(Fault("nothing", "never", trial=name), desk, folder)
            digests[name], events[name] = ended["trial"]["digest"], ended["tally"]
            seconds = ended["seconds"] if name == "plain" else seconds
        if sessions:
            (folder / "session").mkdir()
            began = time.monotonic()
            session = Session(folder / "session", desk.rig_toml)
            assert session.end(WITHIN_S) and session.process.returncode == 0, session.said
            session_s = time.monotonic() - began
            digests |= session.digests()
    finally:
        desk.stop()
    return Measured(digests, events, seconds, session_s, 3 * BOOT)


def _undisturbed(nothing: Fault, desk: Desk, folder: Path) -> dict[str, Any]:
    for _ in range(TURNS):  # a computer that is busy with something else may be too slow for the rig's deadlines
        own = Path(tempfile.mkdtemp(dir=folder))
        _, ended = in_child(nothing, desk, own, Mark(), WITHIN_S)
        if ended.get("trial", {}).get("verdict") == "pass":
            return ended
    raise AssertionError(ended)
