"""Both ends of the link, fuzzed: four seconds each in every run, an hour each at night. The seed is printed; `python -m tests.faults.fuzz` repeats it."""

from __future__ import annotations

import random

import pytest

from tests.faults.fuzz.recording import SPEC
from tests.faults.fuzz.replies import fuzz_replies
from tests.faults.fuzz.requests import fuzz_requests
from tests.unit.firmware.host_agent import agent_program

SECONDS = [4.0, pytest.param(3600.0, marks=pytest.mark.tier("nightly"))]


def test_the_recording_holds_a_whole_trial_and_a_trace(records):
    kinds = {kind for kind, _ in records.replies}
    assert SPEC.latency is not None and len(kinds) >= 14, (
        "hello, load, configure, digests, step, infer, run, laps, profile, bookings, memory, trace, read_tensor"
    )


def seed_of(seconds: float) -> int:
    """Return the seed: a new one every night, the same in every gate, which is to judge the change and not the draw."""
    return random.SystemRandom().getrandbits(32) if seconds > 60 else 7


@pytest.mark.parametrize("seconds", SECONDS)
def test_no_reply_ends_a_trial_without_a_verdict_or_passes_what_is_wrong(records, seconds):
    seed = seed_of(seconds)
    found = fuzz_replies(records, seconds, seed)
    print(f"rig, seed {seed}: {found}")
    assert found.trials > seconds / 10, "it hardly ran"
    assert not found.wrong, f"seed {seed}: {found}"


@pytest.mark.parametrize("seconds", SECONDS)
def test_no_request_breaks_the_agent(tmp_path, tmp_path_factory, seconds):
    seed = seed_of(seconds)
    program = agent_program(tmp_path_factory) if seconds < 60 else None  # an hour counts its coverage
    found = fuzz_requests(tmp_path, seconds, seed, program=program)
    print(f"agent, seed {seed}: {found}")
    assert found.sessions > seconds and found.counts["configure"] and found.counts["step"], str(found)
    assert found.counts["save_checkpoint"] and found.counts["load_checkpoint"], str(found.counts)
    assert not found.wrong, f"seed {seed}: {found}"
