"""A trial on a desk, in a process of its own: what comes out of it is written to `ended.json` for the judge."""

from __future__ import annotations

import json
import os
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hil.rig import Rig, locks
from hil.rig_toml import Bench, BenchBoard, PowerEntry
from hil.trial import EnergyWindows, TrialSpec, Watch, run_trial
from hil.trial.outcome import Outcome

from .acts import ACTS, Scene
from .fault import BOARD, Fault
from .marked import kept_in
from .port import OURS, Port
from .trigger import Trigger
from .wire import Wire

ENDED = "ended.json"
SETTLED_S = 3.0  # within which the threads of a trial end
Sabotage = Callable[[], None]


def spec_of(trial: str, board: str = BOARD) -> TrialSpec:
    """Return what is asked of a trial: `plain`, `flash` (the same, on a board that is programmed first) or `energy`."""
    if trial == "energy":
        return TrialSpec(board, "cls1", steps=1, batch=2, evaluate=0, energy=EnergyWindows(windows=2))
    return TrialSpec(board, "cls1", steps=2, batch=2, evaluate=0)


def run(
    fault: Fault,
    said: dict[str, Any],
    desk: int,
    folder: Path,
    mark: tuple[str, str],
    sabotage: Sabotage = lambda: None,
) -> None:
    """Run the trial that a fault meets, and the one that follows it, and write what came out.

    Args:
        fault: the fault.
        said: endpoints of the desk.
        desk: its process id.
        folder: is made the working folder; takes logs, locks and `ended.json`.
        mark: variable and value of the environment of what this process starts.
        sabotage: breaks the rig on purpose before it is used.
    """
    os.environ[mark[0]] = mark[1]
    os.environ |= kept_in(folder)
    os.chdir(folder)
    locks.FOLDER = folder / "locks"
    locks.FOLDER.mkdir()
    sabotage()
    try:
        ended = _run(fault, said, desk, folder)
    except BaseException:
        ended = {"lost": traceback.format_exc()}
    (folder / "ended.part").write_text(json.dumps(ended), encoding="utf-8")
    (folder / "ended.part").replace(folder / ENDED)


def _run(fault: Fault, said: dict[str, Any], desk: int, folder: Path) -> dict[str, Any]:
    scene = Scene(folder, desk, said["supply"])
    trigger = Trigger(fault.at, lambda: ACTS[fault.act](scene, **fault.options))
    scene.port = Port(None if fault.direct else said["serial"], folder / "tty", trigger.count)
    scene.probe = Wire(int(said["probe"].rpartition(":")[2]), lambda: trigger.count("probe"))
    scene.meter = Wire(int(said["meter"].split("::")[2]), lambda: trigger.count("meter"))
    ended: dict[str, Any] = {}
    try:
        if fault.act and fault.at is None:
            ACTS[fault.act](scene, **fault.options)
        with Rig(Bench(board=[_named(fault, said, scene)]), wait_s=scene.waits_s) as rig:
            scene.probe_process = lambda: next(iter(rig._probes.pids), None)
            (folder / "trial").mkdir()
            ended["trial"] = told(
                run_trial(
                    spec_of(fault.trial),
                    rig,
                    folder / "trial",
                    reflash=fault.trial == "flash",
                    watch=Watch(stage=trigger.stage),
                )
            )
            ended["seconds"] = round(time.monotonic() - trigger.stages[0][1], 2)
            trigger.wait()
            ended["met"] = trigger.struck is not None or bool(fault.act and fault.at is None) or bool(fault.inject)
            ended["tally"] = {stage: dict(counted) for stage, counted in trigger.tally.items()}
            scene.restore()
            if fault.follows and ended["met"]:
                ended |= _following(scene, rig, folder)
        ended["threads"] = _threads()
        if trigger.failed:
            raise RuntimeError(f"the fault could not be carried out: {trigger.failed}")
    finally:
        scene.close()
    return ended


def _named(fault: Fault, said: dict[str, Any], scene: Scene) -> BenchBoard:
    power = PowerEntry(supply=said["supply"], channel=1, volts=3.3, amps=0.5) if fault.power else None
    meter = f"TCPIP0::127.0.0.1::{scene.meter.port}::SOCKET" if fault.trial == "energy" else None
    model = said["meter_model"] if meter else None
    probe, serial = f"remote:127.0.0.1:{scene.probe.port}", str(scene.folder / "tty")
    if fault.direct:
        probe, serial = said["probe"], said["serial"]
    return BenchBoard(name=BOARD, probe=probe, serial=serial, meter=meter, meter_model=model, power=power)


def told(outcome: Outcome) -> dict[str, Any]:
    """Return what a judge is told of a trial."""
    digest = f"{outcome.steps[-1].digest:08x}" if outcome.steps else ""
    return {
        "verdict": outcome.verdict,
        "stage": outcome.stage,
        "reason": outcome.reason,
        "digest": digest,
        "steps": len(outcome.steps),
        "notes": outcome.notes,
    }


def _following(scene: Scene, rig: Rig, folder: Path) -> dict[str, Any]:
    """Run the next trial of the session once what was gone is back; it recovers when the board is greeted."""
    greeted: list[float] = []
    (folder / "following").mkdir()
    begins = max(time.monotonic(), scene.wait_for_return())
    watch = Watch(stage=lambda name: greeted.append(time.monotonic()) if name == "load" else None)
    outcome = run_trial(spec_of("plain"), rig, folder / "following", watch=watch)
    return {"following": told(outcome), "recovery_s": round(greeted[0] - begins, 2) if greeted else None}


def _threads() -> list[str]:
    """Return the names of the threads that a trial has left."""
    until = time.monotonic() + SETTLED_S
    while True:
        left = [one.name for one in threading.enumerate() if one is not threading.main_thread() and one.name != OURS]
        if not left or time.monotonic() > until:
            return left
        time.sleep(0.05)
