"""Run a test file on a board that is a program in Python."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from hil.record.checks import checked
from hil.record.run_reader import read_recorded
from tests.one_process import one_process

Entries = dict[str, dict]
PROGRAM = 'print("ready", flush=True)\ninput()\n'


def ran(folder: Path, tests: str, program: str = PROGRAM) -> tuple[int, Entries, Entries]:
    """Return the exit code, and by name the tests and the device tests of the record, which agrees with itself."""
    (folder / "train.py").write_text(program)
    (folder / "rig.toml").write_text(
        f'[[board]]\nname = "host"\nreality = "host"\nelf = "train.py"\nrun = ["{sys.executable}", "-u", "{{elf}}"]\n'
    )
    (folder / "test_mine.py").write_text(tests)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *one_process("--board=host"), "test_mine.py"],
        cwd=folder, capture_output=True, text=True, timeout=300, env=dict(os.environ), check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's job in the background ignores it
    )  # fmt: skip
    (run,) = (each for each in (folder / "reports").iterdir() if each.is_dir() and not each.is_symlink())
    assert [one for each in checked(read_recorded(run)) for one in each.found] == [], done.stdout
    results = json.loads((run / "results.json").read_text())
    return done.returncode, _by_name(results["tests"]), _by_name(results["device_tests"])


def _by_name(entries: list[dict]) -> Entries:
    return {each["test"].rpartition("::")[2].partition("[")[0]: each for each in entries}
