"""The soak itself: every board gets one trial after the other until the time is over, and the numbers are judged."""

from __future__ import annotations

import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from pathlib import Path

from hil.record import AskedTest, RunWriter
from hil.record.origin import origin
from hil.record.soak import Soak
from tests.faults.campaign.judge import WRONG, Judged
from tests.faults.campaign.record import commit

from .course import Course
from .flat import is_judged, not_flat, warm_up_of

LOOK_S = 1.0
WRITE_S = 30.0  # between two times that soak.json is written


def soak(
    seed: int,
    minutes: float,
    boards: Sequence[str],
    out: Path,
    trials: int | None = None,
    leak: str = "nothing",
    say: Callable[[str], None] = print,
) -> Soak:
    """Soak; return what was found, which is also written to soak.json in the folder of the run.

    Args:
        seed: decides every fault.
        minutes: how long; a trial that has begun is finished.
        boards: names of virtual boards, each once.
        out: the folder of the run; it holds none yet.
        trials: end each board after so many, too.
        leak: that the rig has on purpose, by its name in leaks.py.
        say: takes a line a trial.
    """
    began = time.monotonic()
    found = Soak(seed, 0.0, commit(), list(boards), counts=dict.fromkeys(WRONG, 0))
    run = _begun(out, seed, minutes, boards)
    tally: dict[str, Counter[str]] = defaultdict(Counter)
    wrong: dict[str, list[str]] = {board: [] for board in boards}

    def take(course: Course, judged: Judged, kind: str) -> None:
        tally[kind][judged.outcome] += 1
        if judged.outcome in WRONG:
            wrong[course.board].append(f"{course.board}, trial {course.trials}, {kind}: {judged.outcome}: {judged.why}")

    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        courses = [
            Course(seed, number, board, Path(folder), out.resolve(), leak, began) for number, board in enumerate(boards)
        ]
        try:
            for course in courses:
                course.begin_trial()
            running, written = list(courses), began
            while running:
                ready = wait([course.pipe for course in running], LOOK_S)
                for course in list(running):
                    if course.pipe not in ready and not course.is_late():
                        continue
                    judged, rows = course.take_answer() if course.pipe in ready else (course.hang(), [])
                    take(course, judged, course.fault.kind)
                    found.rows += rows
                    say(_line(course, judged, time.monotonic() - began))
                    over = time.monotonic() - began > 60 * minutes or course.trials == trials
                    if over or not rows:
                        running.remove(course)
                    else:
                        course.begin_trial()
                if time.monotonic() - written > WRITE_S:
                    written = time.monotonic()
                    _bring_up_to_date(found, tally, wrong, written - began)
                    found.write(out)
            for course in courses:
                if (left := course.end()) is not None:
                    take(course, left, "the end")
        finally:
            for course in courses:
                course.kill()
    _bring_up_to_date(found, tally, wrong, time.monotonic() - began)
    found.write(out)
    _record(run, found, wrong)
    return found


def _begun(out: Path, seed: int, minutes: float, boards: Sequence[str]) -> RunWriter:
    out.mkdir(parents=True, exist_ok=True)
    command = f"python -m tests.faults.soak --minutes {minutes:g} --boards {' '.join(boards)} --seed {seed}"
    now = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
    run = RunWriter(out, {"id": out.resolve().name, "time": now} | origin() | {"command": command})
    run.plan(AskedTest(test=f"soak[{board}]", board=board) for board in boards)
    run.update()
    return run


def _bring_up_to_date(found: Soak, tally: dict[str, Counter[str]], wrong: dict[str, list[str]], seconds: float) -> None:
    found.minutes = round(seconds / 60, 2)
    found.kinds = {kind: dict(counts) for kind, counts in sorted(tally.items())}
    found.counts = dict.fromkeys(WRONG, 0) | sum(tally.values(), Counter())
    found.wrong = [sentence for sentences in wrong.values() for sentence in sentences]
    found.warm_up_s = warm_up_of(found.rows, found.boards, seconds)
    found.not_flat = not_flat(found.rows, found.warm_up_s)
    found.memory_judged = is_judged(found.rows, found.warm_up_s)


def _record(run: RunWriter, found: Soak, wrong: dict[str, list[str]]) -> None:
    for board in found.boards:
        climbs = sum(f" of {board}: " in sentence for sentence in found.not_flat)
        bad = bool(wrong[board] or climbs)
        reason = f"trials that ended wrongly: {len(wrong[board])}, figures that are not flat: {climbs}." if bad else ""
        verdict, word = ("fail", "failed") if bad else ("pass", "passed")
        run.end_test(
            AskedTest(
                test=f"soak[{board}]",
                board=board,
                verdict=verdict,
                reason=reason,
                outcome=word,
                repeat=run.facts["command"],
            )
        )
    run.finish(exit_code=int(bool(found.wrong or found.not_flat)))


def _line(course: Course, judged: Judged, seconds: float) -> str:
    why = f"\n      {judged.why}" if judged.outcome in WRONG else ""
    fault = course.fault
    return f"{seconds:7.1f} s  {course.board} {course.trials:5d} {judged.outcome:13} {fault.kind}, {fault.moment}{why}"


def summary(found: Soak) -> str:
    """Return what was found, in a few lines."""
    count = ", ".join(f"{number} {outcome}" for outcome, number in found.counts.items())
    lines = [f"{found.minutes:.1f} minutes, seed {found.seed}, {' and '.join(found.boards)}: {count}"]
    lines += [f"wrong: {sentence}" for sentence in found.wrong]
    lines += [f"not flat: {sentence}" for sentence in found.not_flat]
    if not found.not_flat:
        lines.append("descriptors, threads, children and files are flat.")
        lines.append("memory is flat." if found.memory_judged else "memory is not judged: too few trials.")
    return "\n".join(lines)
