"""Learning: losses that fall, accuracy, seeds within the reference's spread; and all that only looks like it."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.comparison import NotLearning, expect_learning
from hil.comparison.learning import CHANCE, _at_its_end, _risen_again
from hil.errors import DeviceFault, RigError

FALLING = [2.3 * 0.97**step + 0.1 for step in range(100)]


def test_a_loss_that_falls() -> None:
    found = expect_learning(FALLING, falls_by=0.5, at_most=0.4)
    assert found.losses == 100 and found.first_loss == pytest.approx(np.mean(FALLING[:20]))
    assert found.last_loss == pytest.approx(np.mean(FALLING[-20:]))
    assert len(found.judged) == 2 and "it falls by 0.863, 0.5 is needed." in found.judged[0]
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["accuracy"] is None
    assert expect_learning(enumerate(FALLING)).last_loss == found.last_loss
    assert expect_learning(zip(range(0, 1000, 10), np.float32(FALLING), strict=True)).losses == 100
    assert expect_learning(np.array(FALLING, np.float32)).judged


@pytest.mark.parametrize(
    ("losses", "said"),
    [
        ([1.0] * 50, "all 50 losses are 1: the device does not train."),
        ([0.0] * 3, "all 3 losses are 0"),
        (
            [1.0, 0.999],
            "loss from 1 to 0.999 (means of 1 of 2 losses): it does not fall by 0.1 of the first, but by 0.001.",
        ),
        ([1.0, 2.0], "it does not fall"),
        (FALLING[::-1], "it does not fall"),
        ([2.0, math.nan, 1.0], "loss 1 of 3 is nan: the training diverged."),
        ([2.0, 1.0, math.inf], "loss 2 of 3 is inf"),
        (
            [(0, 2.0), (1, 1.5), (0, 2.0), (1, 1.0)],
            "the loss of step 0 came after that of step 1: the device started again",
        ),
        ([(0, 2.0), (0, 1.0)], "the loss of step 0 came after that of step 0"),
        ([(0, 2.0), (math.nan, 1.0)], "the loss of step nan came after"),
    ],
)
def test_losses_that_do_not_fall(losses: Any, said: str) -> None:
    with pytest.raises(NotLearning) as raised:
        expect_learning(losses)
    assert said in str(raised.value) and isinstance(raised.value, DeviceFault)


@pytest.mark.parametrize(
    ("losses", "tail"),
    [
        ([2.3 * 0.95**step for step in range(95)] + [0.5] * 5, 5),
        (FALLING + [1.2] * 10, 10),
        ([*FALLING[:60], 1.1, 1.2, 1.4], 3),
    ],
)
def test_a_loss_that_rises_at_its_end_is_a_warning(losses: list[float], tail: int) -> None:
    found = expect_learning(losses)
    (warning,) = found.warnings
    assert (
        warning.startswith(f"the last {tail} of {len(losses)} losses (") and "may have diverged at its end" in warning
    )
    assert found.judged and "warnings" not in found.to_json()


@pytest.mark.parametrize(
    "losses",
    [
        FALLING, [*FALLING[:99], 2.0],  # one loss may be of a bad batch
        FALLING + [0.2] * 10,  # by less than a tenth of the fall
        [2.0, 1.9, 1.8, 1.7, 1.6, 1.0, 0.9, 0.5, 1.2, 1.3],  # too few to tell
    ],
)  # fmt: skip
def test_other_losses_are_none(losses: list[float]) -> None:
    assert expect_learning(losses, falls_by=0.01).warnings == ()


@pytest.mark.parametrize("count", [30, 80, 200])
def test_noise_after_a_fall_warns_less_than_once_in_700(count: int) -> None:
    """The second half is noise of two distributions, in which the last losses lie anywhere."""
    draws, rng, warned = 7000, np.random.default_rng(count), 0
    for draw in range(draws):
        noise = rng.random(count - count // 2) if draw % 2 else rng.lognormal(0, 2, count - count // 2)
        warned += bool(_risen_again(np.concatenate([np.full(count // 2, noise.mean() + 1e-9), noise])))
    assert warned <= draws / 700 + 3 * math.sqrt(draws / 700)


@pytest.mark.parametrize("count", range(2, 11))
def test_a_few_losses_never_pass(count: int) -> None:
    """One or two numbers that fall are no learning: a standard error needs two of them on each side."""
    losses = [2.0, *(1.5 for _ in range(count - 2)), 1.0]
    if count == 10:
        assert expect_learning([2.1, *losses[:1], *losses[2:]]).judged
        return
    with pytest.raises(RigError, match=f"{count} losses cannot show that the device learns.* give at least 10") as seen:
        expect_learning(losses)
    assert not isinstance(seen.value, DeviceFault)


def test_noise_is_no_learning() -> None:
    """Losses that only scatter, by more than falls_by, pass in less than 1 of 50 cases."""
    random = np.random.default_rng(3)
    passed = 0
    for _ in range(500):
        try:
            expect_learning(np.abs(random.normal(1, 0.8, 50)))
            passed += 1
        except NotLearning:
            pass
    assert passed < 10
    with pytest.raises(NotLearning, match="the fall is below 3 standard errors"):
        expect_learning([5.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 5.0, 1.2, 0.5])


@pytest.mark.parametrize(
    ("count", "head"), [(18, [2.3, 0.9, 0.4]), (50, [2.3, 0.4]), (50, [2.3, 0.9, 1.1, 0.3]), (1000, [2.3, 0.1])]
)
def test_a_device_that_is_at_its_end_after_its_first_steps(count: int, head: list[float]) -> None:
    rest = 0.001 + 0.0005 * np.random.default_rng(5).random(count - len(head))
    found = expect_learning([*head, *rest], at_most=0.01)
    assert "all above every later one" in found.judged[0] and found.last_loss == pytest.approx(0.00125, rel=0.2)
    for order in ([*rest, *head], [*rest[:9], *head, *rest[9:]], rest):  # not at the begin, or at its end all the time
        with pytest.raises(NotLearning):
            expect_learning(order)
    with pytest.raises(NotLearning, match="the fall is below|does not fall"):  # one number may be a wrong one
        expect_learning([2.3, *rest])
    if count > 18:  # else the means of the fifths tell it
        with pytest.raises(NotLearning):  # it fell a little, and stays there: it may be stuck
            expect_learning([*(np.array(head) + 3), *(rest + 2)])
    with pytest.raises(NotLearning):
        expect_learning([*head, *rest], falls_by=1.0)


@pytest.mark.parametrize("count", [18, 30, 60])
def test_scatter_of_any_form_is_seldom_taken_for_a_fast_device(count: int) -> None:
    """Losses without order, of a distribution with so heavy a tail that nine tenths are nothing."""
    random, window = np.random.default_rng(7), count // 5
    losses = np.exp(8 * random.standard_normal((20_000, count)))
    passed = sum(bool(_at_its_end(row, window, float(row[-window:].mean()), 0.9)) for row in losses)
    assert passed <= 20_000 * CHANCE + 4 * np.sqrt(20_000 * CHANCE)


@given(st.integers(2, 500), st.floats(0, 1e6))
def test_a_constant_never_passes(count: int, value: float) -> None:
    with pytest.raises(NotLearning, match="the device does not train"):
        expect_learning([value] * count)


@given(st.lists(st.floats(0.01, 100), min_size=8, max_size=40), st.floats(0.05, 0.9))
def test_one_rule_for_lists_without_noise(tail: list[float], fraction: float) -> None:
    """Without scatter in its first and its last fifth, a list passes exactly if the last is low enough."""
    window = max(1, (len(tail) + 2) // 5)
    last = 10 * (1 - fraction)
    middle = tail[: len(tail) + 2 - 2 * window]
    losses = [10.0] * window + middle + [last] * window
    if len(losses) // 5 != window:
        return
    assert expect_learning(losses, falls_by=fraction * 0.999).judged
    with pytest.raises(NotLearning):
        expect_learning(losses, falls_by=min(1.0, fraction * 1.001))


def test_a_last_loss_that_is_too_large() -> None:
    with pytest.raises(NotLearning, match=r"the last is above at_most=0\.1"):
        expect_learning(FALLING, at_most=0.1)


def test_accuracy() -> None:
    found = expect_learning(accuracy=0.9, at_least=0.85, against=0.1)
    assert found.judged == ("accuracy 0.9, at least 0.85.", "accuracy 0.9, 0.1 before training.") and found.losses == 0
    for arguments, said in (
        ({"accuracy": 0.8, "at_least": 0.85}, "the accuracy is 0.8, below at_least=0.85."),
        ({"accuracy": 0.1, "against": 0.1}, "the accuracy is 0.1, no better than 0.1 before training."),
        ({"accuracy": math.nan, "at_least": 0.1}, "the accuracy of the device is nan."),
        ({"losses": [1.0, 1.0], "accuracy": 0.9, "at_least": 0.5}, "all 2 losses are 1"),
    ):
        with pytest.raises(NotLearning) as raised:
            expect_learning(**arguments)
        assert str(raised.value).startswith(said)


def test_seeds_within_the_spread_of_the_reference() -> None:
    reference = [0.90, 0.91, 0.92, 0.89, 0.88]  # mean 0.90, standard deviation 0.0158
    found = expect_learning(seeds=[0.93, 0.89, 0.87], against=reference, sigmas=2)
    assert found.judged[0].startswith(
        "3 seeds within 2 standard deviations of the reference (0.9 with a standard deviation of 0.0158"
    )
    for seeds in ([0.90, 0.85], [0.90, 0.95], [0.9, math.nan], [0.9, math.inf]):
        with pytest.raises(
            NotLearning, match=r"1 of 2 seeds are not within 3 standard deviations .*: the first is seed number 1"
        ):
            expect_learning(seeds=seeds, against=reference)
    both = expect_learning(FALLING, accuracy=0.9, at_least=0.8, seeds=[0.9, 0.9], against=reference)
    assert len(both.judged) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "nothing is judged"),
        ({"losses": []}, "0 losses cannot show that the device learns: give at least 2."),
        ({"losses": [1.0]}, "1 losses cannot show"),
        ({"losses": "2.0 1.0"}, "give a list of numbers, or of pairs of step and loss."),
        ({"losses": ["a", "b"]}, "losses are no numbers"),
        ({"losses": [(0, 1.0), 2.0]}, "losses are no numbers"),
        ({"losses": [(0, 1, 2), (1, 2, 3)]}, "losses have the shape (2, 3)"),
        ({"losses": [-1.0, -2.0]}, "the first loss is -1: falls_by is a fraction of it"),
        ({"losses": FALLING, "falls_by": 0}, "falls_by=0: give a fraction above 0"),
        ({"losses": FALLING, "falls_by": 50}, "falls_by=50: give a fraction above 0"),
        ({"losses": FALLING, "falls_by": "half"}, "falls_by='half': give a number."),
        ({"losses": FALLING, "at_most": math.nan}, "at_most=nan: give a finite number."),
        ({"falls_by": 0.1}, "falls_by and at_most judge losses"),
        ({"accuracy": 0.9}, "accuracy alone judges nothing"),
        ({"accuracy": 93.0, "at_least": 0.9}, "accuracy=93: give a fraction from 0 to 1 (percent divided by 100)."),
        ({"accuracy": 0.9, "at_least": 90}, "at_least=90: give a fraction"),
        ({"accuracy": 0.0, "at_least": 0.0}, "at_least=0 lets every accuracy pass: give a fraction above 0"),
        ({"accuracy": 0.9, "against": [0.1, 0.2]}, "against is a list, which is for seeds"),
        ({"accuracy": "high", "at_least": 0.9}, "accuracy='high'"),
        ({"at_least": 0.9}, "at_least and against judge an accuracy"),
        ({"losses": FALLING, "against": 0.9}, "at_least and against judge an accuracy"),
        ({"sigmas": 2}, "sigmas judges seeds"),
        ({"seeds": [0.9, 0.9]}, "against=None: give a list of at least 3 numbers"),
        ({"seeds": [0.9], "against": [0.9, 0.8, 0.7]}, "seeds=[0.9]: give a list of at least 2 numbers"),
        ({"seeds": [0.9, 0.9], "against": [0.9, 0.8]}, "against=[0.9, 0.8]: give a list of at least 3 numbers"),
        (
            {"seeds": [0.9, 0.9], "against": [0.9, 0.9, 0.9]},
            "all 3 seeds of the reference have 0.9, so that sigma is 0",
        ),
        ({"seeds": [0.9, 0.9], "against": [0.9, 0.8, math.nan]}, "against has NaN or an infinity"),
        ({"seeds": [0.9, 0.9], "against": [0.9, 0.8, 0.7], "sigmas": 0}, "sigmas=0: give a number above 0."),
    ],
)
def test_wrong_requests(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(RigError) as raised:
        expect_learning(**arguments)
    assert said in str(raised.value) and not isinstance(raised.value, DeviceFault)


@pytest.mark.parametrize("given_", [
    {"losses": [10**400] * 12}, {"seeds": [10**400] * 3, "against": [1, 2, 3.5]}, {"accuracy": 10**400, "at_least": 0.5},
    {"accuracy": 0.5, "at_least": 10**400},
])  # fmt: skip
def test_an_integer_that_no_float_holds_is_refused(given_: dict[str, Any]) -> None:
    losses = given_.pop("losses", None)
    with pytest.raises(RigError, match="give a "):
        expect_learning(*([] if losses is None else [losses]), **given_)
