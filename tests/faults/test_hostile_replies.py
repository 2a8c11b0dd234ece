"""Replies that cannot be, in whole trials on a board of recorded replies: each ends in a verdict whose sentence names reply, field and value."""

from __future__ import annotations

import contextlib
import struct
from dataclasses import replace

import pytest

from hil.link import flow_control
from hil.link.frames import LinkFrame
from hil.link.messages import REPLY_BIT, decode, description, encode
from hil.training.trial.recording import trial_record
from hil.trial import run_trial
from tests.faults.fuzz.recording import SPEC
from tests.faults.fuzz.replayed import ReplayedBoard

MESSAGES = description()
ERROR, FAULT, ACK = (MESSAGES.controls[name].id for name in ("error", "fault", "ack"))


def with_field(name, **changes):
    """Return a change of every reply of a name: fields to other values, or by a function of their value."""
    fields = MESSAGES.requests[name].reply

    def change(frame: LinkFrame) -> list[LinkFrame]:
        if frame.type != MESSAGES.requests[name].id | REPLY_BIT:
            return [frame]
        values = decode(fields, frame.body)
        values |= {field: value(values[field]) if callable(value) else value for field, value in changes.items()}
        return [replace(frame, body=encode(fields, values))]

    return change


def control(kind, body, at):
    """Return a change of one kind of frame into a control frame."""
    return lambda frame: [replace(frame, type=kind, body=body)] if frame.type == at else [frame]


class Changed(ReplayedBoard):
    """Every answer goes through the change."""

    def __init__(self, records, change):
        self._through = change
        super().__init__(records)

    def _write(self, frame: LinkFrame) -> None:
        for each in self._through(frame):
            super()._write(each)


@pytest.fixture
def trial(records, tmp_path, monkeypatch):
    monkeypatch.setattr(flow_control, "SILENCE_S", 2.0)

    def run(change):
        with contextlib.closing(Changed(records, change)) as board:
            outcome = run_trial(SPEC, board, tmp_path)
        assert not (tmp_path / "traceback.txt").exists(), (tmp_path / "traceback.txt").read_text()
        return outcome

    return run


def test_an_honest_board_passes(trial):
    outcome = trial(lambda frame: [frame])
    assert outcome.verdict == "pass", outcome.reason


def test_without_probe_and_meter_the_record_says_which_figures_had_one_source(trial):
    record = trial_record(trial(lambda frame: [frame]))
    alone = {figure for figure, sources in record.second_sources.items() if not sources}
    assert record.wrong_figures == {}
    assert alone == {
        "cycles", "bookings", "stack_peak", "layer_cycles", "layer_cycles_backward", "unclaimed_ram",
    }  # fmt: skip
    assert record.second_sources["clock_hz"] == ["catalogue"] and record.second_sources["arena_peak"] == ["plan"]
    assert record.second_sources["correct"] == ["host"]


STEP_REPLY = MESSAGES.requests["step"].id | REPLY_BIT


@pytest.mark.parametrize(("change", "verdict", "words"), [
    (with_field("hello", clock_hz=0), "fail", "'hello' has clock_hz 0"),
    (with_field("hello", clock_hz=4_290_000_000), "fail", "'hello' has clock_hz 4,290,000,000"),
    (with_field("hello", counter=9), "fail", "'hello' has counter 9"),
    (with_field("hello", protocol=3), "blocked", "the agent uses protocol 3"),
    (with_field("configure", arena_planned=8), "fail", "the agent plans 8 bytes"),
    (with_field("profile", cycles=()), "fail", "'profile' has 0 counts"),
    (with_field("profile", cycles=lambda cycles: cycles + cycles), "fail", "'profile' has 44 counts, but there must be 22"),
    (with_field("bookings", cycles=()), "fail", "'bookings' has cycles of 0 readings"),
    (with_field("laps", cycles=lambda cycles: cycles[:-1]), "fail", "'laps' has 3 counts, but there must be 4"),
    (with_field("laps", cycles=(2**64 - 1,) * 4), "fail", "'laps' has a count 18,446,744,073,709,551,615"),
    (with_field("laps", cycles=(5,) * 120), "fail", "'laps' has 120 counts"),
    (with_field("step", cycles_total=2**64 - 1), "fail", "'step' has cycles_total"),
    (with_field("step", loss_plus=float("nan")), "fail", "'step' has loss_plus nan"),
    (with_field("step", step=1), "fail", "'step' has step 1, but step 0 was requested"),
    (with_field("step", digests=()), "fail", "'step' has 0 digests"),
    (with_field("infer", predictions=b""), "fail", "'infer' has predictions of 0 bytes"),
    (with_field("memory", arena_peak=2**32 - 1), "fail", "'memory' has arena_peak"),
    (control(ERROR, b"\x0e\0\0", ACK), "blocked", "'error' does not fit the protocol"),
    (control(ERROR, b"", STEP_REPLY), "blocked", "'error' does not fit the protocol"),
    (control(FAULT, b"\3\0\0", STEP_REPLY), "blocked", "'fault' does not fit the protocol"),
    (control(ACK, b"", ACK), "blocked", "'ack' does not fit the protocol"),
    (control(STEP_REPLY, b"\0" * 7, STEP_REPLY), "blocked", "'step' does not fit the protocol"),
    (control(ERROR, struct.pack("<BII", 77, 1, 2), STEP_REPLY), "fail", "the agent refused step: 77 (1, 2)"),
])  # fmt: skip
def test_a_reply_that_cannot_be_is_named(trial, change, verdict, words):
    outcome = trial(change)
    assert (outcome.verdict, words in outcome.reason) == (verdict, True), outcome.reason
