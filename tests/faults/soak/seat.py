"""A process of the rig that stays, as a worker of pytest-xdist does: one board, one `Rig`, trial after trial.

`python -m tests.faults.soak.seat DESCRIPTOR BOARD FOLDER RUN LEAK` reads faults from a pipe and
answers what became of each trial.
The rig is not made for two threads (a probe's process has one pipe), so that two boards have two of these.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from hil.record import TrialExtras, TrialWriter
from hil.rig import Rig, locks
from hil.rig_toml import Bench, BenchBoard
from hil.training.trial.recording import latency_table, steps_table, trial_record
from hil.trial import Watch, run_trial
from hil.trial.outcome import Outcome
from tests.faults.campaign.acts import ACTS, Scene
from tests.faults.campaign.desk import Desk
from tests.faults.campaign.fault import Fault
from tests.faults.campaign.marked import kept_in
from tests.faults.campaign.port import Port
from tests.faults.campaign.trial import SETTLED_S, spec_of, told
from tests.faults.campaign.trigger import Trigger
from tests.faults.campaign.wire import Wire

from .leaks import LEAKS


class Seat:
    """A virtual board, and the rig that has it, until `close`.

    Args:
        board: its name.
        folder: takes logs, locks and temporary files.
        run: folder of the run, which takes a folder a trial.
    """

    def __init__(self, board: str, folder: Path, run: Path) -> None:
        self._board, self._folder, self._writer = board, folder, TrialWriter(run)
        self._trigger = Trigger(None, lambda: None)
        self._desk = Desk(folder, board=board)
        said = self._desk.said
        self._port = Port(said["serial"], folder / "tty", lambda side, number: self._trigger.count(side, number))
        self._probe = Wire(int(said["probe"].rpartition(":")[2]), lambda: self._trigger.count("probe"))
        self._meter = Wire(int(said["meter"].split("::")[2]), lambda: self._trigger.count("meter"))
        self._threads = threading.active_count()
        named = BenchBoard(
            name=board,
            probe=f"remote:127.0.0.1:{self._probe.port}",
            serial=str(folder / "tty"),
            meter=f"TCPIP0::127.0.0.1::{self._meter.port}::SOCKET",
            meter_model=said["meter_model"],
        )
        self._rig = Rig(Bench(board=[named]))

    @property
    def processes(self) -> dict[str, int]:
        """Process ids of rig, bench and probe; that of the probe only while there is one."""
        found = {"rig": os.getpid(), "bench": self._desk.process, "probe": next(iter(self._rig._probes.pids), None)}
        return {name: process for name, process in found.items() if process is not None}

    def trial(self, fault: Fault) -> dict[str, Any]:
        """Run a trial that meets a fault, record it, take back what the fault has left; return what became of it."""
        scene = Scene(self._folder, self._desk.process, self._desk.said["supply"])
        scene.port, scene.probe, scene.meter = self._port, self._probe, self._meter
        scene.probe_process = lambda: next(iter(self._rig._probes.pids), None)
        trigger = self._trigger = Trigger(fault.at, lambda: ACTS[fault.act](scene, **fault.options))
        spec = spec_of(fault.trial, self._board)
        folder = self._writer.trial_folder(spec.name)
        test = f"soak[{self._board}]"

        def ended(outcome: Outcome) -> None:
            self._writer.write_trial(
                trial_record(outcome, test),
                steps_table(outcome),
                folder,
                TrialExtras(outcome.power, latency_table(outcome)),
            )

        watch = Watch(
            begun=lambda outcome: self._writer.begin_trial(trial_record(outcome, test), folder),
            ended=ended,
            stage=trigger.stage,
        )
        began = time.monotonic()
        outcome = run_trial(spec, self._rig, folder, reflash=fault.trial == "flash", watch=watch)
        seconds = time.monotonic() - began
        trigger.wait()
        self._settle(scene)
        if trigger.failed:
            raise RuntimeError(f"the fault could not be carried out: {trigger.failed}")
        return {
            "trial": told(outcome),
            "folder": folder.name,
            "seconds": round(seconds, 2),
            "met": trigger.struck is not None,
            "events": {stage: dict(counted) for stage, counted in trigger.tally.items()},
            "processes": self.processes,
        }

    def _settle(self, scene: Scene) -> None:
        """Bring everything to the state that it has between two trials."""
        scene.restore()
        for wire in (self._probe, self._meter):
            wire.change = None
            wire.hang_up()
        for harms in self._port.harms.values():
            harms.clear()
        until = time.monotonic() + SETTLED_S
        while threading.active_count() > self._threads and time.monotonic() < until:
            time.sleep(0.02)

    def close(self) -> None:
        """Give everything back."""
        self._rig.close()
        for one in (self._port, self._probe, self._meter):
            one.close()
        self._desk.stop()


def main(descriptor: str, board: str, folder: str, run: str, leak: str) -> None:
    """Answer faults until there are no more."""
    place = Path(folder).resolve()
    (place / "locks").mkdir()
    os.environ |= kept_in(place)
    locks.FOLDER = place / "locks"
    whole = Path(run).resolve()
    os.chdir(place)
    LEAKS[leak]()
    with Connection(int(descriptor)) as pipe:
        seat = Seat(board, place, whole)
        try:
            while (fault := pipe.recv()) is not None:
                pipe.send(seat.trial(fault))
        except EOFError:
            pass
        finally:
            seat.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
