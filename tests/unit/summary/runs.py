"""Runs as a reader of the record gets them, without a disk."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from hypothesis import strategies as st

from hil.record import AskedTest, Run, TrialRecord
from hil.record.run_writer import counts
from tests.unit.report.conftest import make_trial

FACTS = {
    "id": "20261127T042515Z-86d4", "time": "2026-11-27T04:25:15+00:00", "commit": "86721a8ad44f3458", "versions": {"trainrig": "0.1.0"},
    "host": {"system": "Linux", "machine": "x86_64", "cpus": 2}, "state": "ended", "ended": "2026-11-27T05:37:50+00:00", "whole": True, "exit_code": 0,
    "missing": [],
}  # fmt: skip
# What breaks one format or another: HTML, Markdown, workflow commands, ANSI, Slack, Java properties, directions of writing.
FRAGMENTS = (
    "<script>alert(1)</script>", "<!-- ", "&lt;", "<!channel>", "@all", "|", "\\|", "`", "``", "```", "**", "_a_", "[a](javascript:b)", "![a](http://b)",
    "\n", "\r\n", "\n\n", "\n- ", "\n# ", "\n::error::x", "::error file=a::", "##[error]", "%0A", "%", ",", "=", ":", "\x1b[31m", "\x00", "\t", "\u2028",
    "\u202e", "\\", "\\u0000", "\ufeff", "http://a.example", "]]>", "é", "\U0001f600", "$(id)", " ", "../..", "/etc", "test_a.py::test_b[x]",
)  # fmt: skip
HOSTILE = (
    st.lists(st.sampled_from(FRAGMENTS) | st.text(min_size=1, max_size=6), min_size=1, max_size=6)
    .map("".join)
    .filter(bool)
)


def make_test(verdict: str = "pass", test: str = "tests/test_a.py::test_a", **fields: object) -> AskedTest:
    reason = "" if verdict == "pass" else f"the reason of {verdict}."
    return AskedTest(**({"test": test, "verdict": verdict, "reason": reason, "outcome": "passed"} | fields))


def run_of(*tests: AskedTest, trials: tuple[TrialRecord, ...] = (), **facts: object) -> Run:
    facts = FACTS | facts
    steps = [pd.DataFrame()] * len(trials)
    return Run(Path("nowhere"), facts, counts(tests, trials), list(tests), list(trials), steps)


def with_trials(*verdicts: str, reality: str | None = "hardware", **fields: object) -> Run:
    """A run of a trial for each verdict; `refused` and `skipped` tests have none."""
    tests, trials = [], []
    for number, verdict in enumerate(verdicts):
        folder = f"trial-{number}"
        has_trial = verdict not in ("refused", "skipped")
        if has_trial:
            reason = "" if verdict == "pass" else f"trial {number} {verdict}."
            trials.append(make_trial(folder=folder, verdict=verdict, reason=reason, reality=reality))
        tests.append(make_test(verdict, f"tests/test_a.py::test_{number}", trials=[folder] if has_trial else []))
    return run_of(*tests, trials=tuple(trials), **fields)


@st.composite
def hostile_runs(draw: st.DrawFn) -> Run:
    """Runs in which every text is hostile; several tests of each verdict that did not pass."""
    tests, trials = [], []
    for number in range(draw(st.integers(1, 4))):
        verdict = draw(st.sampled_from(["fail", "blocked", "interrupted", "refused"]))
        words = [draw(HOSTILE) for _ in range(5)]
        folders = []
        if verdict != "refused":
            folders = [f"trial-{number}"]
            trials.append(
                make_trial(folder=folders[0], verdict=verdict, reason=words[0], stage=words[1], board=words[2], network=words[3], reality="virtual")
            )  # fmt: skip
        tests.append(make_test(verdict, words[4], reason=words[0], board=words[2], repeat=words[3], trials=folders))
    facts = {"commit": draw(HOSTILE), "missing": [draw(HOSTILE)], "versions": {draw(HOSTILE): draw(HOSTILE)}}
    return run_of(*tests, trials=tuple(trials), whole=False, **facts)
