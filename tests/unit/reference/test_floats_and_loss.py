"""exp32, log32 and the loss against double precision and the specification (docs/arithmetic.md, sections 5 and 6)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.reference.floats import exp32, log32
from hil.training.reference.formats.bfp8.loss import ERROR_EXP, cross_entropy, logits_error
from tests.oracle import loss as plain_loss
from tests.oracle import numbers as plain

F = np.float32
EXP_ULPS, LOG_ULPS = 2, 3  # docs/arithmetic.md, end of section 5

FORMS = ElasticZoSettings.table["logit_error"].words


def ulps(got: np.ndarray, true: np.ndarray) -> float:
    """Return the largest distance in units in the last place of the true value as float32."""
    return float((np.abs(got.astype(np.float64) - true) / np.spacing(np.abs(true).astype(F)).astype(np.float64)).max())


def test_exp32_is_as_close_as_the_document_says() -> None:
    x = np.concatenate([np.linspace(-87, 0, 200_001), -np.logspace(-30, 1.9, 20_001)]).astype(F)
    assert ulps(exp32(x), np.exp(x.astype(np.float64))) <= EXP_ULPS
    some = x[::997]
    assert ulps(exp32(some), np.array([math.exp(value) for value in some])) <= EXP_ULPS


def test_log32_is_as_close_as_the_document_says() -> None:
    x = np.concatenate([np.linspace(1, 256, 200_001), 1 + np.logspace(-6.9, 0, 20_001)]).astype(F)
    x = x[x > 1]
    assert ulps(log32(x), np.log(x.astype(np.float64))) <= LOG_ULPS
    some = x[::997]
    assert ulps(log32(some), np.array([math.log(value) for value in some])) <= LOG_ULPS


def test_values_that_are_exact() -> None:
    assert exp32(F(0)) == 1
    assert log32(F(1)) == 0
    assert exp32(F(0)).dtype == log32(F(1)).dtype == F


def test_exp32_underflows_at_once() -> None:
    edge = F(-87.0)
    assert exp32(edge) > np.finfo(F).tiny
    assert exp32(np.nextafter(edge, F(-100))) == 0
    assert not exp32(np.array([-88, -104, -1e10, -3e38], F)).any()


@given(x=st.floats(-90, 0, width=32))
def test_exp32_is_the_specifications(x: float) -> None:
    assert exp32(F(x)).tobytes() == F(plain.exp32(F(x))).tobytes()


@given(x=st.floats(0.25, 1024, width=32))
def test_log32_is_the_specifications(x: float) -> None:
    assert log32(F(x)).tobytes() == F(plain.log32(F(x))).tobytes()


@st.composite
def logits(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    batch, classes = draw(st.integers(1, 5)), draw(st.integers(2, 12))
    span = draw(st.sampled_from([1, 10, 127]))
    values = draw(st.lists(st.integers(-span, span), min_size=batch * classes, max_size=batch * classes))
    exponents = draw(st.lists(st.integers(-80, 80) | st.integers(-12, 10), min_size=batch, max_size=batch))
    labels = draw(st.lists(st.integers(0, classes - 1), min_size=batch, max_size=batch))
    return np.array(values, np.int8).reshape(batch, classes), np.array(exponents), np.array(labels)


@settings(max_examples=300)
@given(drawn=logits(), form=st.sampled_from(FORMS))
def test_loss_and_error_are_the_specifications(drawn: tuple[np.ndarray, np.ndarray, np.ndarray], form: str) -> None:
    values, exponents, labels = drawn
    tensors = [plain.Tensor(row, s) for row, s in zip(values.tolist(), exponents.tolist(), strict=True)]
    loss = F(0)
    for tensor, label in zip(tensors, labels.tolist(), strict=True):
        loss = F(loss + plain_loss.sample_loss(tensor, label))
    assert F(cross_entropy(values, exponents, labels)).tobytes() == loss.tobytes()
    errors = logits_error(values, exponents, labels, form)
    assert errors.dtype == np.int8
    expected = [
        plain_loss.logits_error(tensor, label, form) for tensor, label in zip(tensors, labels.tolist(), strict=True)
    ]
    assert errors.tolist() == [error.values for error in expected]
    assert {error.exponent for error in expected} == {ERROR_EXP}


@pytest.mark.parametrize("s", range(-12, 3))
def test_the_loss_is_the_cross_entropy(s: int) -> None:
    rng = np.random.default_rng(s + 100)
    values, labels = rng.integers(-127, 128, (40, 10)).astype(np.int8), rng.integers(0, 10, 40)
    real = values * 2.0**s
    true = (np.log(np.exp(real).sum(axis=1)) - real[np.arange(40), labels]).sum()
    assert float(cross_entropy(values, np.full(40, s), labels)) == pytest.approx(true, rel=1e-5)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("s", range(-10, 1))
def test_the_error_is_the_softmax_less_the_label(s: int, form: str) -> None:
    """In units of 2^-7. Powers of two for powers of e, or a polynomial, are coarse: the direction is what must be right."""
    rng = np.random.default_rng(s + 200)
    for _ in range(50):
        values, label = rng.integers(-127, 128, (1, 10)).astype(np.int8), rng.integers(0, 10, 1)
        real = values[0] * 2.0**s
        true = np.exp(real - real.max()) / np.exp(real - real.max()).sum()
        true[label[0]] -= 1
        got = logits_error(values, np.array([s]), label, form)[0].astype(float)
        if np.abs(true).max() < 0.1:
            continue  # nothing is left of it in 7 bits
        assert got[label[0]] <= 0 <= np.delete(got, label[0]).min()
        assert got @ true / np.linalg.norm(got) / np.linalg.norm(true) > 0.9
        assert (
            abs(got.sum()) <= (0 if form == "zero-sum" else 11) or got[label[0]] == -127
        )  # niti: 10 roundings and one


@pytest.mark.parametrize("form", FORMS)
def test_a_sample_that_is_right_beyond_doubt_leaves_no_error(form: str) -> None:
    """NITI's program has 2^t - 1: without its -1, an error is left at the label, and Full BP drives weights to their limits."""
    sure = np.array([[127, -127, -127, -127, -127, -127, -127, -127, -127, -127]], np.int8)
    for s in (-5, 0, 7):
        assert not logits_error(sure, np.array([s]), np.array([0]), form).any()


def test_niti_rounds_the_share_of_the_label_by_itself() -> None:
    """By hand: three powers of 1023, S = 3069, P = 682, which rounds to 42; NITI's label has 682 - 2046, which rounds to -86."""
    logits = np.array([[60, 59, 58]], np.int8)
    got = {form: logits_error(logits, np.array([-3]), np.array([1]), form)[0].tolist() for form in FORMS}
    assert got == {"niti": [42, -86, 42], "zero-sum": [42, -84, 42]}


@pytest.mark.parametrize("form", FORMS)
def test_equal_logits_share_equally(form: str) -> None:
    for s in (-9, -7, -6, 0, 12):
        got = logits_error(np.full((1, 4), 50, np.int8), np.array([s]), np.array([2]), form)
        assert got.tolist() == [[32, 32, -96, 32]]  # 1/4 and 1/4 - 1 in units of 2^-7
