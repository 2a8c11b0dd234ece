"""Steps that fail by the method's own arithmetic, on one side or on both (docs/link.md, `step_failed`)."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import pytest

from hil.errors import DeviceFault
from hil.link.failures import Refused
from hil.training.reference.methods import StepFailed
from hil.training.trial.step_failure import both, explained

LAYERS = ("conv1", "pool1", "fc1")
COLLAPSED = "step 7 fails: all weights of fc1 are 0, so their range collapses"


def done(found: Any) -> Future[Any]:
    future: Future[Any] = Future()
    if isinstance(found, BaseException):
        future.set_exception(found)
    else:
        future.set_result(found)
    return future


def refusing(code: str, a: int, b: int) -> Any:
    def board() -> Any:
        raise Refused("step", code, a, b)

    return board


def test_both_train() -> None:
    assert both(lambda: "reply", done("outcome"), 7, LAYERS) == ("reply", "outcome")  # type: ignore[arg-type,return-value]


def test_both_fail_alike() -> None:
    failed = StepFailed(7, "fc1", 2, 1)
    with pytest.raises(StepFailed, match=COLLAPSED) as caught:
        both(refusing("step_failed", 2, 1), done(failed), 7, LAYERS)
    assert caught.value is failed


@pytest.mark.parametrize(
    ("a", "b", "reference", "words"),
    [
        (2, 1, "outcome", COLLAPSED + ".*The reference trains it"),
        (2, 1, StepFailed(7, "conv1", 0, 1), COLLAPSED + ".*The reference says: step 7 fails: all weights of conv1"),
        (2, 2, StepFailed(7, "fc1", 2, 1), "weight or bias of fc1 leaves.*The reference says: " + COLLAPSED),
        (9, 8, "outcome", "cause 8 at layer 9"),
    ],
)
def test_they_fail_differently(a: int, b: int, reference: Any, words: str) -> None:
    with pytest.raises(DeviceFault, match=words):
        both(refusing("step_failed", a, b), done(reference), 7, LAYERS)


def test_only_the_reference_fails() -> None:
    with pytest.raises(DeviceFault, match="the board trains a step that fails in the reference: " + COLLAPSED):
        both(lambda: "reply", done(StepFailed(7, "fc1", 2, 1)), 7, LAYERS)  # type: ignore[arg-type,return-value]


def test_another_refusal_stays_what_it_is() -> None:
    refusal = Refused("step", "slots_empty", 1, 2)
    assert explained(refusal, done("outcome"), 7, LAYERS) is refusal


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (1, "all weights of fc1 are 0"),
        (2, r"leaves -2\^20..2\^20"),
        (3, r"scale above 2\^40"),
        (4, r"wider than 2\^30"),
    ],
)
def test_every_cause_has_a_sentence_with_a_cure(cause: int, words: str) -> None:
    with pytest.raises(StepFailed, match=f"^step 3 fails: .*{words}.*: choose a smaller eta, or .*other weights.$"):
        raise StepFailed(3, "fc1", 2, cause)
