"""The schedule of section 5.1.1, in full and in proportion."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil.training.experiments.exponents import ExponentRun


def run(**fields: object) -> ExponentRun:
    return ExponentRun(**{"data": "mnist-50k", "column": "int8", "variant": "cls1", "seed": 1, "epochs": 100, **fields})


def test_the_paper_s_own_marks() -> None:
    """50,000 images at batch 256 are 195 steps an epoch; the marks are epochs 20 and 50."""
    one = run()
    schedule = one.schedule(195 * 100)
    assert [step for step, _ in schedule] == [20 * 195, 50 * 195]
    at = {step: one.settings(step, schedule) for step in (0, 3899, 3900, 9749, 9750, 19_499)}
    assert [(s.b_zo, s.b_bp, s.p_zero) for s in at.values()] == [(1, 5, 84)] * 2 + [(1, 4, 128)] * 2 + [(1, 3, 230)] * 2
    assert [round(256 * share) for share in (0.33, 0.5, 0.9)] == [84, 128, 230]


@given(st.integers(1, 10_000), st.sampled_from([50, 100]))
def test_marks_move_in_proportion(steps: int, paper: int) -> None:
    schedule = run(paper_epochs=paper).schedule(steps)
    firsts = [step for step, _ in schedule]
    assert firsts == sorted(set(firsts)) and all(0 <= step < steps for step in firsts)
    assert (paper == 50) == (3 not in [changes["b_bp"] for _, changes in schedule]), "epoch 50 of 50 never comes"
    for step, changes in schedule:
        mark = {4: 20, 3: 50}[changes["b_bp"]]
        assert step <= steps * mark / paper < step + 1


def test_of_two_marks_on_one_step_the_later_counts() -> None:
    assert run().schedule(1) == ((0, {"b_bp": 3, "p_zero": 230}),)


@pytest.mark.parametrize("column, loss", [("int8", "float"), ("int8star", "integer")])
@pytest.mark.parametrize("variant, partition", [("full-zo", 5), ("cls2", 4), ("cls1", 3), ("full-bp", 0)])
def test_settings_of_a_row(column: str, loss: str, variant: str, partition: int) -> None:
    settings = run(column=column, variant=variant, r_max=31, seed=7).settings(0, ())
    assert (settings.loss, settings.partition, settings.r_max, settings.batch, settings.seed) == (
        loss,
        partition,
        31,
        256,
        7,
    )
    assert (settings.scope, settings.perturb) == ("sample", "clamped"), "the paper's form"
