"""What a session keeps in pytest's stash: the bench, the writer of its run, the nights before, and of each test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hil.errors import FOLDER_GONE, Blocked, short_path

if TYPE_CHECKING:
    from hil.history.earlier import EarlierNights
    from hil.history.keeper import Keeper
    from hil.record import TrialWriter
    from hil.rig_toml import Bench
    from hil.session.tracker import Tracker

# Of the config:
BENCH: pytest.StashKey[Bench] = pytest.StashKey()  # what rig.toml says
ASKED: pytest.StashKey[tuple[str, ...]] = pytest.StashKey()  # --board: names of kinds, and ids of rig.toml
WRITER: pytest.StashKey[TrialWriter] = pytest.StashKey()  # writes the trials of this process
KEEPER: pytest.StashKey[Keeper] = pytest.StashKey()  # knows the boards in quarantine
EARLIER: pytest.StashKey[EarlierNights] = pytest.StashKey()  # the nights before this run
# Of an item:
TRACKER: pytest.StashKey[Tracker] = pytest.StashKey()  # follows the test


def disk_error(folder: Path, error: OSError) -> Blocked:
    """Return the error of a run whose folder takes no trial."""
    if not folder.is_dir():
        return Blocked("record", FOLDER_GONE.format(short_path(folder)))
    reason = error.strerror or error
    sentence = f"the trial cannot be recorded in {short_path(folder)} ({reason}): check the disk, nothing was flashed."
    return Blocked("record", sentence)
