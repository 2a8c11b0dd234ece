"""A stand-in's process: known to be gone as soon as it is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.standins.process import StandIn

ENDS_SOON = "import os, sys, time; print('here', flush=True); os.close(1); time.sleep(0.5); sys.exit(3)"


def test_one_that_is_about_to_end_is_known_to_be_gone_where_that_is_waited_for(tmp_path: Path) -> None:
    """Its ports are gone before it can be waited for, as with a process that is killed."""
    stand_in = StandIn(
        [sys.executable, "-c", ENDS_SOON],
        lambda line: Endpoints("stm32h7b3", "virtual"),
        tmp_path / "log",
        "short-lived",
    )
    try:
        stand_in.alive()
        with pytest.raises(Blocked, match="the stand-in short-lived ended with status 3"):
            stand_in.alive(within_s=30.0)
    finally:
        stand_in.stop()
