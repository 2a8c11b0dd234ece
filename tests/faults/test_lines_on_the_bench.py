"""Hostile lines on the real path: a trial on the virtual board ends in its true reason, `blocked` where the line is at fault."""

from __future__ import annotations

import pytest

from hil.link import flow_control
from hil.rig import Rig
from hil.rig_toml import Bench
from hil.trial import TrialSpec, run_trial
from tests.faults.lines.harm import ACK, NAK, Cut, Only, Swallow
from tests.faults.lines.relay import OverRelay

NIGHTLY = pytest.mark.tier("nightly")  # ten seconds or more each; tests/unit/link has the same lines in simulated time
SPEC = TrialSpec("stm32h7b3", "cls1", steps=2, evaluate=0)


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    with Rig(Bench(), tmp_path_factory.mktemp("benches"), reality="virtual") as rig:
        yield rig


@pytest.fixture
def over(rig, tmp_path, monkeypatch):
    """Run a trial over a bad line and return its outcome."""
    monkeypatch.setattr(flow_control, "SILENCE_S", 3.0)

    def run(**options):
        return run_trial(SPEC, OverRelay(rig, **options), tmp_path)

    return run


@NIGHTLY
def test_a_good_relay_changes_nothing(over):
    outcome = over()
    assert outcome.verdict == "pass", outcome.reason


@NIGHTLY  # each waits for the deadline of a step
@pytest.mark.parametrize("after", [1_900, 500])
def test_a_line_from_the_board_that_is_cut_is_no_hang_of_its_firmware(over, after):
    outcome = over(to_host=[Cut(after)])
    assert (outcome.verdict, outcome.stage) == ("blocked", "link"), outcome.reason
    assert "the line from the board to this computer is cut" in outcome.reason


def test_a_line_to_the_board_that_is_cut_is_named(over):
    outcome = over(to_board=[Cut(60_000)])
    assert (outcome.verdict, outcome.stage) == ("blocked", "link"), outcome.reason
    assert "the line from this computer to the board is cut" in outcome.reason


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=NIGHTLY) for kind in (NAK, ACK)])
def test_endless_answers_are_the_lines_fault(over, kind):
    outcome = over(to_host=[Only(kind, after=20)])
    assert (outcome.verdict, outcome.stage) == ("blocked", "link"), outcome.reason
    assert "the firmware reads and answers" in outcome.reason and "hangs" not in outcome.reason


@NIGHTLY
def test_swallowed_flow_control_is_named(over):
    outcome = over(to_board=[Swallow(b"\x11\x13")], to_host=[Swallow(b"\x11\x13")])
    assert (outcome.verdict, outcome.stage) == ("blocked", "link"), outcome.reason
    assert "removes the bytes 0x11 (XON) and 0x13 (XOFF)" in outcome.reason
