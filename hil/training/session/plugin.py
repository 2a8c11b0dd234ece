"""The training half's part in a pytest session: the fixture `hil_trial`, and the bench tests of `--board`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from hil.errors import RigError
from hil.optional_library import missing_library
from hil.session.hooks import BenchTests
from hil.session.run_state import TRACKER

if TYPE_CHECKING:  # a session without --board imports none of it
    from hil.record import TrialWriter
    from hil.rig import Rig
    from hil.training.trial import TrialSpec
    from hil.training.trial.outcome import Outcome

LATE_IMPORTS = ("hil.training.session.run_trial", "hil.training.trial.run")  # that no file of a project may shadow
SUITE = Path(__file__).parents[2] / "suite"  # the bench tests


class RunTrial(Protocol):
    """Runs one trial, records it and returns its outcome; errors as `hil_trial`."""

    def __call__(self, spec: TrialSpec) -> Outcome:
        """Run it."""


def pytest_trainrig_fixtures() -> Sequence[str]:
    """Record every test that runs trials."""
    return ("hil_trial",)


def pytest_trainrig_bench_tests(config: pytest.Config, boards: Sequence[str]) -> BenchTests:
    """Return the bench tests. Trials need a prebuilt image for every board, or an agent in the firmware of --elf."""
    from hil.images import image_of

    try:
        for name in boards:
            image_of(name, config.getoption("elf"))
    except RigError:
        return BenchTests(SUITE, False)
    return BenchTests(SUITE, True)


@pytest.fixture
def hil_trial(
    request: pytest.FixtureRequest, hil_rig: Rig, run_record: TrialWriter, hil_reflash: set[str]
) -> Iterator[RunTrial]:
    """A function that runs one trial, records it and returns its outcome.

    It raises RigError for a wrong request (verdict `refused`) and Blocked for a fault of the rig. The outcome of a
    failed trial is returned; the test fails even if it does not look at the verdict, or catches the error. Threads of
    the test may call it: their trials run one after the other, and the test ends after them.
    """
    try:
        from hil.training.session.run_trial import Trials
    except ModuleNotFoundError as error:
        raise missing_library(error, "hil_trial") or error from error

    tracker = request.node.stash[TRACKER]
    tracker.uses_rig = True  # not known before if the test calls request.getfixturevalue
    trials = Trials(request.node, hil_rig, run_record, hil_reflash, tracker)
    yield trials.run
    trials.close()
