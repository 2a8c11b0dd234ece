"""Measure the time from the start of a program, imports included, to the end of the first training step.

The board is a virtual board that keeps running and is named in rig.toml like an attached one. The first program flashes
it; the others find the image in its flash. Each program trains one step and prints the time of its end.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
from pathlib import Path

from hil import boards
from hil.child_process import module_command
from hil.images import image_of
from hil.rig import Rig
from hil.rig_toml import read_bench
from hil.standins import start_virtual
from hil.steady_clock import steady_s
from hil.training.trial import TrialSpec, Watch, run_trial

PROGRAMS = 4  # the first one flashes


def seconds(board: str) -> float:
    """Return the median time in seconds of the programs that find their image on the board.

    Raises:
        Blocked: the virtual board did not start.
        RuntimeError: a trial did not pass.
    """
    with tempfile.TemporaryDirectory() as folder:
        stand_in = start_virtual(boards.load(board), image_of(board), Path(folder) / "bench.log")
        try:
            bench = Path(folder) / "rig.toml"
            ends = stand_in.endpoints
            text = f'[[board]]\nname = "{board}"\nprobe = "{ends.probe}"\nserial = "{ends.serial}"\n'
            bench.write_text(text, encoding="utf-8")
            return sorted(_program(board, bench) for _ in range(PROGRAMS))[(PROGRAMS - 1) // 2]
        finally:
            stand_in.stop()


def _program(board: str, bench: Path) -> float:
    started = steady_s()
    done = subprocess.run(
        module_command("hil.training.benchmarks.first_step", board, str(bench)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(done.stdout) - started


def main(board: str, bench: str) -> None:
    """Train one step on a board that a rig.toml names, and print the time of its end."""
    ends: list[float] = []
    with tempfile.TemporaryDirectory() as folder, Rig(read_bench(Path(bench))) as rig:
        spec = TrialSpec(board, "cls1", steps=1, evaluate=0)
        outcome = run_trial(spec, rig, Path(folder), watch=Watch(step=lambda row: ends.append(steady_s())))
    if outcome.verdict != "pass":
        raise RuntimeError(f"the trial ended as {outcome.verdict}: {outcome.reason}")
    print(ends[0])


if __name__ == "__main__":
    for each in ("pytest", "hil.session.rig_session"):  # what a run of pytest imports
        importlib.import_module(each)
    main(*sys.argv[1:])
