"""Flaky tests: how often a test ends badly though nothing is broken for good, and whether board or rig is to blame."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

COVERAGE = 1.959964  # of 95 %
PASS, FAIL, BLOCKED = "pass", "fail", "blocked"
EVIDENCE = (PASS, FAIL, BLOCKED)  # a test that was skipped, refused or interrupted says nothing about board and rig
BOARD, RIG, BOTH, NOBODY = "board", "rig", "both", "nobody"


@dataclass(frozen=True)
class Result:
    """How a test ended in one night: its verdict, the stage that blocked it or empty, and the commit or empty."""

    verdict: str
    stage: str = ""
    commit: str = ""


@dataclass(frozen=True)
class Share:
    """A share of n nights with its 95 % interval."""

    count: int
    n: int
    low: float
    high: float


@dataclass(frozen=True)
class Flakiness:
    """How a test behaved over the nights.

    Attributes:
        flaky: it ended badly and passed on one commit, or ended badly and passed again at least twice.
        bad, failed, blocked: shares of the nights that count.
        spells: stretches of bad nights, with those that have not ended.
        now_bad: the number of last nights that all were bad; such a stretch is a break, not a sign of a flaky test.
        fault: `board` if all bad nights failed, `rig` if all were blocked, `both`, or `nobody` without a bad night.
        stages: number of bad nights by stage, the most frequent first; `fail` for those of the board.
        left_out: nights that were skipped, refused or interrupted.
    """

    flaky: bool
    bad: Share
    failed: Share
    blocked: Share
    spells: int
    now_bad: int
    fault: str
    stages: dict[str, int]
    left_out: int


def wilson(count: int, n: int) -> Share:
    """Return a share with its score interval; that of no nights is 0 to 1.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22, 1927. It covers about
    95 % even near 0 and 1, where the interval of the normal approximation is empty.
    """
    if not n:
        return Share(0, 0, 0.0, 1.0)
    square = COVERAGE**2
    middle = (count + square / 2) / (n + square)
    half = COVERAGE * math.sqrt(count * (n - count) / n + square / 4) / (n + square)
    low, high = middle - half, middle + half
    return Share(count, n, 0.0 if not count else max(0.0, low), 1.0 if count == n else min(1.0, high))


def flakiness(nights: Sequence[Result]) -> Flakiness:
    """Return how a test behaved, the oldest night first.

    A test that breaks at a commit and is mended at a later one is not flaky. So one bad stretch that ended is no proof,
    unless the test both passed and ended badly on one commit.
    """
    kept = [night for night in nights if night.verdict in EVIDENCE]
    bad = [night for night in kept if night.verdict != PASS]
    spells = [is_bad for is_bad, _ in groupby(kept, key=lambda night: night.verdict != PASS)]
    lasting = bool(spells) and spells[-1]
    ended = sum(spells) - lasting
    outcomes: dict[str, set[bool]] = {}
    for night in kept:
        outcomes.setdefault(night.commit, set()).add(night.verdict == PASS)
    both = any(len(ends) > 1 for commit, ends in outcomes.items() if commit)
    verdicts = Counter(night.verdict for night in kept)
    words = {(False, False): NOBODY, (True, False): BOARD, (False, True): RIG, (True, True): BOTH}
    tail = next((n for n, night in enumerate(reversed(kept)) if night.verdict == PASS), len(kept))
    stages = Counter(FAIL if night.verdict == FAIL else night.stage or "unknown" for night in bad)
    return Flakiness(
        flaky=both or ended >= 2,
        bad=wilson(len(bad), len(kept)),
        failed=wilson(verdicts[FAIL], len(kept)),
        blocked=wilson(verdicts[BLOCKED], len(kept)),
        spells=sum(spells),
        now_bad=tail,
        fault=words[verdicts[FAIL] > 0, verdicts[BLOCKED] > 0],
        stages=dict(stages.most_common()),
        left_out=len(nights) - len(kept),
    )
