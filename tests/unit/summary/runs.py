"""Runs as a reader of the record gets them, without a disk."""

from __future__ import annotations

from pathlib import Path

from hypothesis import HealthCheck, settings
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
    outcome = "xfailed" if fields.get("expected") else "passed"
    return AskedTest(**({"test": test, "verdict": verdict, "reason": reason, "outcome": outcome} | fields))


def run_of(*tests: AskedTest, trials: tuple[TrialRecord, ...] = (), **facts: object) -> Run:
    facts = FACTS | facts
    steps = [{}] * len(trials)
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


BASE = make_trial(reality="virtual")
# Drawing is slow on a busy computer, which is no defect.
DRAWN = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def hostile_runs(draw: st.DrawFn) -> Run:
    """Runs in which every text is hostile; several tests of the verdicts that need a reason."""
    reason, stage, board, network, repeat, commit = (draw(HOSTILE) for _ in range(6))
    tests, trials = [], []
    for number, verdict in enumerate(
        draw(st.lists(st.sampled_from(["fail", "blocked", "interrupted", "refused"]), min_size=1, max_size=4))
    ):
        folders = [f"trial-{number}"] if verdict != "refused" else []
        if folders:
            words = {
                "folder": folders[0],
                "verdict": verdict,
                "reason": reason,
                "stage": stage,
                "board": board,
                "network": network,
            }
            trials.append(BASE.model_copy(update=words))
        tests.append(make_test(verdict, draw(HOSTILE), reason=reason, board=board, repeat=repeat, trials=folders))
    facts = {"commit": commit, "missing": [reason], "versions": {board: network}}
    return run_of(*tests, trials=tuple(trials), whole=False, **facts)
