"""Carries a fault out, on a desk or on a whole session, has it judged, and returns its row."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import instrument_kinds, strike, trial
from .desk import Desk
from .fault import Fault, Measured
from .judge import WRONG, Judged, judge_campaign, judge_session, judge_trial
from .long_run import LongRun
from .marked import Mark
from .session import Session

NOTHING = Fault("nothing", "never")
LOOK_S = 0.02
INJECTED = "injected: "  # the virtual board's own word, when the moment of an injected fault has come
ENDS_DESKS = ("process: SIGKILL to the desk", "process: SIGTERM to the desk")


def deadline_s(fault: Fault, measured: Measured) -> float:
    """Return the seconds within which a fault must have ended: the deadlines of the rig (2 minutes for a step), and 20 times what goes on without one."""
    return 150.0 + 20 * {"session": measured.session_s, "campaign": measured.campaign_s}.get(
        fault.scene, measured.trial_s
    )


class FaultRunner:
    """What one process of the campaign carries faults out on: a desk that is kept from one to the next.

    Args:
        out: takes the folders.
        measured: what goes on without a fault.
    """

    def __init__(self, out: Path, measured: Measured) -> None:
        self._out, self._measured = out, measured
        self._desk: Desk | None = None
        self._folder: Path | None = None

    def desk(self) -> Desk:
        """Return the desk; a new one has the image in its flash."""
        if self._desk is None:
            self._folder = Path(tempfile.mkdtemp(prefix="desk-", dir=self._out))
            self._desk = Desk(self._folder)
            first = self._folder / "first"
            first.mkdir()
            ended = in_child(NOTHING, self._desk, first, Mark(), 300.0)[1]
            assert ended.get("trial", {}).get("verdict") == "pass", ended
        return self._desk

    def close(self) -> None:
        """End the desk."""
        if self._desk is not None and self._folder is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._desk.process, signal.SIGCONT)
            self._desk.stop()
            shutil.rmtree(self._folder, ignore_errors=True)
        self._desk = None

    def row(
        self, number: int, fault: Fault, sabotage: trial.Sabotage = lambda: None, within_s: float = 0.0
    ) -> dict[str, Any]:
        """Carry a fault out and return its row; the folder of one that ended wrongly stays."""
        folder = Path(tempfile.mkdtemp(prefix=f"fault-{number:05d}-", dir=self._out))
        began = time.monotonic()
        scenes = {
            "desk": self._on_desk,
            "session": self._on_session,
            "campaign": self._on_campaign,
            "instrument": self._on_instrument,
        }
        carry = scenes[fault.scene]
        try:
            judged, more = carry(fault, folder, sabotage, within_s or deadline_s(fault, self._measured))
        except Exception:
            judged, more = Judged("lost result", f"the campaign itself failed: {traceback.format_exc()}"), {}
        row = {
            "number": number,
            "fault": fault.kind,
            "moment": fault.moment,
            "outcome": judged.outcome,
            "seconds": round(time.monotonic() - began, 2),
        }
        row |= more | {"why": judged.why.replace(str(folder), "FOLDER")}
        if judged.outcome in WRONG or fault.kind in ENDS_DESKS:
            self.close()
        if judged.outcome in WRONG:
            (folder / "row.json").write_text(json.dumps(row, indent=1), encoding="utf-8")
        else:
            shutil.rmtree(folder, ignore_errors=True)
        return row

    def _on_desk(
        self, fault: Fault, folder: Path, sabotage: trial.Sabotage, within_s: float
    ) -> tuple[Judged, dict[str, Any]]:
        desk, mark = Desk(folder, fault.inject) if fault.inject else self.desk(), Mark()
        try:
            in_time, ended = in_child(fault, desk, folder, mark, within_s, sabotage)
        finally:
            if fault.inject:
                desk.stop()
        judged = judge_trial(folder, mark, fault, self._measured, in_time, _said(folder))
        met = _injected(folder) if fault.inject else ended.get("met", False)
        return judged, {"met": met, "recovery_s": ended.get("recovery_s")}

    def _on_session(
        self, fault: Fault, folder: Path, sabotage: trial.Sabotage, within_s: float
    ) -> tuple[Judged, dict[str, Any]]:
        rig = "" if fault.options.get("own") or fault.inject else self.desk().rig_toml
        options = ("-n", "1") if fault.options.get("to") == "worker" else ()
        with strike.own_disk(folder, fault) as reports:
            session = Session(folder, rig, reports, options, strike.environment(folder, fault))
            met, before = False, {}
            if session.wait_until(fault.after_s):
                before = session.records()
                with contextlib.suppress(ProcessLookupError, FileNotFoundError):  # it ended in that moment
                    met = strike.strike(session, fault)
            judged = judge_session(session, fault, self._measured, session.end(within_s), before)
        return judged, {"met": met, "recovery_s": None}

    def _on_campaign(
        self, fault: Fault, folder: Path, sabotage: trial.Sabotage, within_s: float
    ) -> tuple[Judged, dict[str, Any]]:
        desk = Desk(folder, fault.inject) if fault.inject else self.desk()
        try:
            with strike.own_disk(folder, fault) as home:
                run, before = LongRun(folder, desk.rig_toml, home), b""
                struck = run.strike(fault) if fault.act else None
                in_time = run.end(within_s)
                if struck is not None and in_time:
                    before = struck
                    run.resume()
                    in_time = run.end(within_s)
                judged = judge_campaign(run, fault, self._measured, in_time, before)
        finally:
            if fault.inject:
                desk.stop()
        met = struck is not None or (bool(fault.inject) and _injected(folder))
        return judged, {"met": met, "recovery_s": None}

    def _on_instrument(
        self, fault: Fault, folder: Path, sabotage: trial.Sabotage, within_s: float
    ) -> tuple[Judged, dict[str, Any]]:
        answer = folder / "answer.json"
        mark = Mark()
        in_time = forked(
            lambda: answer.write_text(json.dumps(instrument_kinds.outcome_of(fault))), folder, mark, within_s
        )
        if not in_time:
            return Judged("hang", _said(folder)[-300:]), {}
        judged = (
            Judged(*json.loads(answer.read_text())) if answer.is_file() else Judged("lost result", _said(folder)[-900:])
        )
        return judged, {"met": True, "recovery_s": None}


def in_child(
    fault: Fault, desk: Desk, folder: Path, mark: Mark, within_s: float, sabotage: trial.Sabotage = lambda: None
) -> tuple[bool, dict[str, Any]]:  # fmt: skip
    """Run a trial in a process of its own; return whether it ended in time, and what came out of it."""
    in_time = forked(
        lambda: trial.run(fault, desk.said, desk.process, folder, (mark.name, mark.value), sabotage),
        folder,
        mark,
        within_s,
    )
    path = folder / trial.ENDED
    return in_time, json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def forked(work: Callable[[], Any], folder: Path, mark: Mark, within_s: float) -> bool:
    """Do something in a copy of this process, which has no threads; return whether it ended within so many seconds. Else it and what it started is killed."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        _alone(work, folder)
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if os.waitpid(child, os.WNOHANG)[0]:
            return True
        time.sleep(LOOK_S)
    os.kill(child, signal.SIGABRT)  # faulthandler says where it stands
    time.sleep(1.0)
    os.kill(child, signal.SIGKILL)
    mark.kill()
    os.waitpid(child, 0)
    return False


def _alone(work: Callable[[], Any], folder: Path) -> None:
    """Of the copy: do it, and end without a word to whoever was copied."""
    import faulthandler

    code = 1
    try:
        os.setsid()
        said = os.open(folder / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(said, 1)
        os.dup2(said, 2)
        faulthandler.enable(2, all_threads=True)
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _injected(folder: Path) -> bool:
    return INJECTED in (folder / "desk.log").read_text(encoding="utf-8", errors="replace")


def _said(folder: Path) -> str:
    path = folder / "said.txt"
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
