"""Flaky tests, shares with Wilson's interval, and whose fault it is."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.history.statistics import Result, flakiness, wilson

LETTERS = {"p": Result("pass"), "f": Result("fail"), "b": Result("blocked", "link"), "s": Result("skipped")}


def of(letters, commit=None):
    return flakiness([
        Result(LETTERS[letter].verdict, LETTERS[letter].stage, commit or f"c{n}") for n, letter in enumerate(letters)
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("letters", "flaky", "now_bad"),
    [
        ("pppp", False, 0),
        ("", False, 0),
        ("ppfff", False, 3),  # broken
        ("ppffpp", False, 0),  # broken and mended
        ("pfpfp", True, 0),
        ("pfpbp", True, 0),
        ("pfsspff", False, 2),
        ("fff", False, 3),
    ],
)
def test_a_test_is_flaky_if_it_went_bad_and_passed_again_twice(letters, flaky, now_bad):
    found = of(letters)
    assert (found.flaky, found.now_bad) == (flaky, now_bad)


def test_a_test_is_flaky_if_it_passed_and_failed_on_one_commit():
    assert of("pf", commit="same").flaky and not of("pf").flaky
    assert not flakiness([Result("pass"), Result("fail")]).flaky, "unknown commits are not one commit"


@pytest.mark.parametrize(
    ("letters", "fault", "stages"),
    [
        ("pp", "nobody", {}),
        ("pfpf", "board", {"fail": 2}),
        ("pbpb", "rig", {"link": 2}),
        ("pbpfpb", "both", {"link": 2, "fail": 1}),
    ],
)
def test_the_verdicts_say_whose_fault_it_is(letters, fault, stages):
    found = of(letters)
    assert (found.fault, found.stages) == (fault, stages)
    assert list(found.stages) == list(stages), "the most frequent first"


def test_nights_that_say_nothing_are_counted_apart():
    found = of("pspfs")
    assert (found.left_out, found.bad.n, found.failed.count, found.blocked.count) == (2, 3, 1, 0)


def test_wilson_against_its_published_example():
    """Newcombe, Statistics in Medicine 17, 1998, table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29."""
    for count, n, low, high in (
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ):
        found = wilson(count, n)
        assert (round(found.low, 4), round(found.high, 4)) == (low, high)


@given(st.integers(1, 500), st.data())
def test_wilson_is_where_the_score_test_turns(n, data):
    """At each end p of the interval, the count is 1.96 standard deviations of a binomial of p from its mean."""
    count = data.draw(st.integers(0, n))
    found = wilson(count, n)
    assert 0 <= found.low <= count / n <= found.high <= 1
    for end in (found.low, found.high):
        if 0 < end < 1:
            assert abs(count - n * end) / math.sqrt(n * end * (1 - end)) == pytest.approx(1.959964, rel=1e-6)


def test_no_nights_tell_nothing():
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)
