"""What a program loads before its first training step: nothing that only a record, a report or a probe's own process needs."""

from __future__ import annotations

import subprocess
import sys

LATE = {"pandas", "pyarrow", "plotly", "pyocd", "unicorn"}


def test_nothing_that_comes_later_is_loaded_at_the_start() -> None:
    program = "import sys, pytest, hil.session.rig_session; from hil.training.benchmarks import first_step; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.split()
    assert "hil.training.trial.run" in loaded
    assert not LATE & set(loaded)
