"""Whether a fault ended rightly: the verdicts, what was recorded, and what is left behind. Knows nothing of how the rig works."""

from __future__ import annotations

import fcntl
import json
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from hil.record import Run, read_run

from .expected import EXPECTED, Right
from .fault import Fault, Measured
from .long_run import LongRun
from .marked import Mark
from .session import NAMES, Session, name_of

FREE_WITHIN_S = 10.0  # after the end of a session none of its processes is there
WRONG_VERDICT, HANG, LOST, LEFTOVER = WRONG = ("wrong verdict", "hang", "lost result", "leftover")


@dataclass(frozen=True)
class Judged:
    """How a fault ended.

    Attributes:
        outcome: `pass`, `blocked`, `flagged`, `missed`, `interrupted`, or one of WRONG.
        why: one sentence of what was found.
    """

    outcome: str
    why: str = ""


def judge_trial(folder: Path, mark: Mark, fault: Fault, measured: Measured, in_time: bool, said: str = "") -> Judged:
    """Judge a trial on a desk that is over.

    Args:
        folder: of the trial: `ended.json`, locks, logs.
        mark: of its processes.
        fault: what happened to it.
        measured: trials without a fault.
        in_time: whether it ended by itself within its deadline.
        said: what it wrote to its terminal.
    """
    if not in_time:
        return Judged(HANG, f"not over in time: {said[max(0, said.rfind('Current thread')) :][:600]}")
    path = folder / "ended.json"
    ended: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"lost": said[-600:]}
    if "lost" in ended or "trial" not in ended:
        return Judged(LOST, str(ended.get("lost"))[-900:])
    if left := left_behind(folder / "locks", mark, killed=fault.kind.startswith("lock:")) or _half(folder):
        return Judged(LEFTOVER, left)
    if ended["threads"]:
        return Judged(LEFTOVER, f"threads: {ended['threads']}")
    judged = judge_verdict(ended["trial"], measured.digests[fault.trial], EXPECTED[fault.kind])
    if judged.outcome in WRONG or "following" not in ended:
        return judged
    after = judge_verdict(ended["following"], measured.digests["plain"], Right(passes=True))
    return (
        judged
        if after.outcome == "pass"
        else Judged(
            after.outcome, f"the trial that follows: {after.why} (the one before: {judged.outcome} {judged.why})"
        )
    )


def judge_verdict(trial: Mapping[str, Any], digest: str, right: Right) -> Judged:
    """Judge the verdict of a trial.

    Args:
        trial: what it was told to be: `verdict`, `stage`, `reason`, `digest`, `notes`.
        digest: that an undisturbed trial ends on.
        right: which ends are.
    """
    verdict, reason = trial["verdict"], trial["reason"]
    if verdict == "pass":
        if trial["digest"] != digest:
            return Judged(WRONG_VERDICT, f"passes and ends on {trial['digest'] or 'nothing'}, not on {digest}.")
        return Judged("pass", "; ".join(trial["notes"]))
    if verdict != "blocked" or right.passes:
        return Judged(WRONG_VERDICT, f"is {verdict} ({trial['stage']}): {reason}")
    if not re.search(right.words, reason, re.IGNORECASE):
        return Judged(WRONG_VERDICT, f"its reason does not name the cause ({right.words}): {reason}")
    return Judged("blocked", reason)


def judge_session(
    session: Session, fault: Fault, measured: Measured, in_time: bool, before: Mapping[str, str]
) -> Judged:
    """Judge a session that is over.

    Args:
        session, fault: what ran, and what happened to it.
        measured: a session without a fault.
        in_time: whether it ended by itself within its deadline.
        before: contents of the trials' records that were there when the fault came, by path.
    """
    right = EXPECTED[fault.kind]
    if not in_time:
        return Judged(HANG, f"not over in time; the last lines are {session.said.strip().splitlines()[-3:]}")
    killed = right.cut and session.process.returncode not in (0, 1)
    if left := left_behind(session.folder, session.mark, right.cut) or (_half(session.reports) if not killed else ""):
        return Judged(LEFTOVER, left)
    for path, text in before.items():
        if not Path(path).is_file() or Path(path).read_text(encoding="utf-8") != text:
            return Judged(LOST, f"{path} had been written before the fault, and is gone or changed.")
    runs = sorted(path for path in session.reports.glob("2*") if (path / "results.json").is_file())
    if not runs:
        return (
            Judged("interrupted", "before anything was recorded")
            if right.cut
            else Judged(LOST, f"nothing is recorded: {session.said[-600:]}")
        )
    try:
        run = _whole(runs[0])
    except Exception as error:  # whatever it is: it cannot be read
        return Judged(LOST, f"the record cannot be read: {type(error).__name__}: {error}")
    if "INTERNALERROR" in session.said:
        return Judged(LOST, f"pytest gave up: {session.said[session.said.index('INTERNALERROR') :][:900]}")
    return _recorded(session, run, right, measured)


def judge_campaign(run: LongRun, fault: Fault, measured: Measured, in_time: bool, before: bytes) -> Judged:
    """Judge a campaign that is over, after it was gone on with where it was cut.

    Args:
        run, fault: what ran, and what happened to it.
        measured: a campaign without a fault.
        in_time: whether each of its processes ended by itself within the deadline.
        before: journal of the moment of the fault; empty: it was not cut.
    """
    if not in_time:
        return Judged(HANG, f"not over in time; the last lines are {run.said.strip().splitlines()[-3:]}")
    if left := left_behind(run.folder, run.mark, killed=True) or _half(run.home / "c"):
        return Judged(LEFTOVER, left)
    if not run.journal().startswith(before):
        return Judged(LOST, "the journal does not begin with what it was when the fault came.")
    try:
        status = run.status()
    except ValueError as error:
        return Judged(LOST, f"the campaign cannot be read: {error}")
    digest, words = measured.digests["campaign"], EXPECTED[fault.kind].words
    if (status["state"], status["digest"]) != ("pass", digest) or run.codes[-1] != 0:
        return Judged(
            WRONG_VERDICT, f"is {status['state']}, ends on {status['digest']} where {digest} is due: {run.said[-600:]}"
        )
    if status["steps_again"] > 1:
        return Judged(LOST, f"{status['steps_again']} steps were computed twice after one cut.")
    if (
        len(run.codes) > 1
        and run.codes[0] not in (0, -signal.SIGKILL)
        and not re.search(words, run.said, re.IGNORECASE)
    ):
        return Judged(
            WRONG_VERDICT,
            f"ends with code {run.codes[0]}, and its words do not name the cause ({words}): {run.said[-600:]}",
        )
    return Judged(
        "pass",
        ""
        if len(run.codes) == 1
        else f"gone on after code {run.codes[0]}, {status['steps_again']} steps computed twice",
    )


def _whole(folder: Path) -> Run:
    """Return a record every file of which can be read."""
    for path in folder.rglob("*.json"):
        json.loads(path.read_text(encoding="utf-8"))
    for path in folder.rglob("*.parquet"):
        pd.read_parquet(path)
    return read_run(folder)


def _recorded(session: Session, run: Run, right: Right, measured: Measured) -> Judged:
    verdicts = {name_of(test.test): (test.verdict, test.reason) for test in run.tests}
    if not right.cut and set(verdicts) != set(NAMES):
        return Judged(LOST, f"tests in the record: {sorted(verdicts)}")
    if not verdicts and right.cut:
        if session.process.returncode == 0:
            return Judged(WRONG_VERDICT, "no test ran, and pytest exits with 0")
        return Judged("interrupted", "before any test was collected")
    for trial in run.trials:
        name = name_of(trial.test or "")
        if trial.verdict == "pass" and trial.final_digest != measured.digests[name]:
            return Judged(
                WRONG_VERDICT, f"{name} passes and ends on {trial.final_digest}, not on {measured.digests[name]}."
            )
    for name, (verdict, reason) in verdicts.items():
        if verdict == "pass" or (verdict == "interrupted" and right.cut):
            continue
        if verdict != "blocked" or right.passes or not right.words:
            return Judged(WRONG_VERDICT, f"{name} is {verdict}: {reason}")
        if not re.search(right.words, reason, re.IGNORECASE):
            return Judged(WRONG_VERDICT, f"the reason of {name} does not name the cause ({right.words}): {reason}")
    found = {verdict for verdict, _ in verdicts.values()} - {"pass"}
    code = session.process.returncode
    if not found and not right.cut and code != 0:
        return Judged(WRONG_VERDICT, f"all pass, and pytest exits with {code}: {session.said[-600:]}")
    if found and code == 0:
        return Judged(WRONG_VERDICT, f"pytest exits with 0 over {verdicts}")
    worst = next((one for one in ("blocked", "interrupted") if one in found), "pass")
    return Judged(
        worst,
        "; ".join(f"{name} {verdict}: {reason}" for name, (verdict, reason) in verdicts.items() if verdict != "pass"),
    )


def left_behind(locks: Path, mark: Mark, killed: bool) -> str:
    """Return what is left of processes and locks; where its holder was killed the file of a lock may stay, but nobody holds it."""
    if processes := mark.left(FREE_WITHIN_S):
        return f"processes: {processes}"
    files = sorted(locks.glob("**/trainrig-*.lock"))
    if held := [path.name for path in files if _is_held(path)]:
        return f"locks that are still held: {held}"
    return f"files of locks: {[path.name for path in files]}" if files and not killed else ""


def _is_held(path: Path) -> bool:
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def _half(folder: Path) -> str:
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.part"))
    return f"half-written files: {found}" if found else ""
