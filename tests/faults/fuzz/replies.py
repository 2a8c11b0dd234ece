"""The fuzzer of the rig's side: whole trials on a board of recorded replies, one of which is changed.

A trial must end within its deadline in a verdict and a record. It must never end in an error that nobody has foreseen, nor pass where a compared
value was changed.
"""

from __future__ import annotations

import contextlib
import json
import random
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from hil.link import flow_control, transport
from hil.link.messages import REPLY_BIT
from hil.record.trial_writer import as_json
from hil.training.trial import device, run_trial
from hil.training.trial.recording import latency_table, steps_table, trial_record
from hil.training.trial.run import TRACEBACK
from hil.trial.outcome import Outcome

from .mutate import MESSAGES, Mutator
from .recording import SPEC
from .replayed import Records, ReplayedBoard

DEADLINE_S = 30.0
SHORTER = {
    (flow_control, "SILENCE_S"): 2.0,
    (transport, "AGAIN_S"): 0.5,
    (device, "STEP_DEADLINE_S"): 4.0,
}  # for 8, 2 and 120: what falls silent is the most of an hour
BEFORE = {"pass", "fail", "blocked"}


@dataclass
class Found:
    """What a fuzzer found.

    Attributes:
        trials: how many were run.
        verdicts: how they ended.
        wrong: what ended otherwise than it must: number of the trial, change, what happened.
    """

    trials: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        ends = ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(self.verdicts.items()))
        return "\n".join([f"{self.trials:,} trials: {ends}; {len(self.wrong)} wrong", *self.wrong])


def fuzz_replies(records: Records, seconds: float, seed: int, only: int | None = None) -> Found:
    """Run trials until the time is over.

    Args:
        records: what the board says.
        seconds: how long.
        seed: of all changes; with it, and `only`, the number of one trial, that one is run again.
    """
    found, until = Found(), time.monotonic() + seconds
    answers = _answers(records)
    number = only or 0
    with contextlib.ExitStack() as stack:
        for (module, name), value in SHORTER.items():
            stack.enter_context(patch.object(module, name, value))
        while (only is None and time.monotonic() < until) or (only is not None and not found.trials):
            one(records, seed * 1_000_003 + number, answers, found, number)
            number += 1
    return found


def one(records: Records, seed: int, answers: int, found: Found, number: int) -> None:
    """Run one trial and look at its end."""
    rng = random.Random(seed)
    at = min(int(rng.expovariate(3 / answers)), answers - 1) if rng.random() < 0.1 else _pick(rng, records, answers)
    mutator, began, problem = Mutator(seed), time.monotonic(), ""
    board = ReplayedBoard(records, at, mutator)
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(board):
        try:
            outcome = run_trial(SPEC, board, Path(folder))
            problem = _problem(outcome, mutator, Path(folder), at < records.compared)
            found.verdicts[outcome.verdict] += 1
        except Exception:
            problem = f"out of run_trial or its record: {traceback.format_exc()}"
    took = time.monotonic() - began
    found.trials += 1
    problem = problem or (f"took {took:.0f} s" if took > DEADLINE_S else "")
    if problem:
        found.wrong.append(f"trial {number}, answer {at}, {mutator.told and mutator.told.words}: {problem}")


def _pick(rng: random.Random, records: Records, answers: int) -> int:
    """Draw an answer: those to `load_data` and `samples`, most of all, are all alike, and drawn seldom."""
    return rng.choice(records.telling) if records.telling else rng.randrange(answers)


def _answers(records: Records) -> int:
    """Run an honest trial; return how many answers it has, and note which of them tell something."""
    kinds: list[int] = []
    board = ReplayedBoard(records, heard=kinds.append)
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(board):
        outcome = run_trial(SPEC, board, Path(folder))
    assert outcome.verdict == "pass", outcome.reason
    memory = MESSAGES.requests["memory"].id | REPLY_BIT
    records.compared = max(
        number for number, kind in enumerate(kinds) if kind == memory
    )  # behind it the last layer is measured alone, on weights of its own
    records.telling = [number for number, kind in enumerate(kinds) if kind & 0x80]
    return board.sent


def _problem(outcome: Outcome, mutator: Mutator, folder: Path, compared: bool) -> str:
    if outcome.verdict not in BEFORE:
        return f"ended as {outcome.verdict}"
    if (folder / TRACEBACK).exists():
        return (folder / TRACEBACK).read_text()
    if not outcome.reason and outcome.verdict != "pass":
        return "has no reason"
    if outcome.verdict == "pass" and mutator.told is not None and mutator.told.compared and compared:
        return "passed, and a compared value was changed"
    json.loads(as_json(trial_record(outcome).model_dump()), parse_constant=_no_constant)
    steps_table(outcome)
    latency_table(outcome)
    return ""


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is no JSON")
