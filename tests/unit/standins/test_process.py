"""A stand-in's process: known to be gone as soon as it is."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.standins.process import StandIn
from tests.ended_process import ended

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


OWNER = """
import sys, time
from pathlib import Path
from hil.endpoints import Endpoints
from hil.standins import StandIn

program = "import os, sys, time; print(os.getpid(), flush=True); sys.stdin.read() or time.sleep(600)"
found = []
StandIn([sys.executable, "-c", program], lambda line: found.append(line) or Endpoints("b", "r"), Path(sys.argv[1]), "s")
print(found[0], flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_program_that_knows_nothing_of_this_project_ends_with_a_run_that_is_killed(tmp_path: Path) -> None:
    """Its standard input is open until then, so that a program that ends with it does not end at once."""
    command = [sys.executable, "-c", OWNER, str(tmp_path / "log")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert Path(f"/proc/{pid}").exists()
        owner.send_signal(signal.SIGKILL)
    assert ended(pid)
