"""What goes on without a fault: moments are drawn within it, and digests are compared with it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from .carry import in_child
from .desk import Desk
from .fault import Fault, Measured
from .long_run import LongRun
from .marked import Mark
from .session import Session

WITHIN_S = 600.0
TURNS = 3
BOOT = 20_000_000  # instructions before and between the steps of a trial: modelled, for the range of moments only


def measure(folder: Path, scenes: Collection[str]) -> Measured:
    """Run each trial without a fault, and a session of pytest and a campaign where they are among the scenes.

    Raises:
        AssertionError: one does not pass.
    """
    desk = Desk(folder)
    digests, events, seconds = {}, {}, 0.0
    session_s = campaign_s = 0.0
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
        if "session" in scenes:
            (folder / "session").mkdir()
            began = time.monotonic()
            session = Session(folder / "session", desk.rig_toml)
            assert session.end(WITHIN_S) and session.process.returncode == 0, session.said
            session_s = time.monotonic() - began
            digests |= session.digests()
        if "campaign" in scenes:
            (folder / "campaign").mkdir()
            began = time.monotonic()
            run = LongRun(folder / "campaign", desk.rig_toml)
            assert run.end(WITHIN_S) and run.codes == [0], run.said
            campaign_s = time.monotonic() - began
            digests["campaign"] = run.status()["digest"]
    finally:
        desk.stop()
    return Measured(digests, events, seconds, session_s, 3 * BOOT, campaign_s)


def _undisturbed(nothing: Fault, desk: Desk, folder: Path) -> dict[str, Any]:
    for _ in range(TURNS):  # a computer that is busy with something else may be too slow for the rig's deadlines
        own = Path(tempfile.mkdtemp(dir=folder))
        _, ended = in_child(nothing, desk, own, Mark(), WITHIN_S)
        if ended.get("trial", {}).get("verdict") == "pass":
            return ended
    raise AssertionError(ended)
