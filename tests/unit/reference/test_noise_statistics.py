"""The noise over many steps (docs/arithmetic.md, section 8), and that a stream with one thing broken is found.

Each threshold is that of a good generator which fails its test once in 1 / ALPHA choices of the seed. Two kinds:

- **signs.** Of a good stream the z of a weight is symmetric and independent from step to step, so that a sum over steps of
  products with one independent sign each obeys Hoeffding's inequality, given the magnitudes: P(|sum a| >= x sqrt(sum a^2)) <= 2 exp(-x^2 / 2).
  No distribution is assumed; of m such sums the largest has ALPHA / m each.
- **means.** Averages over thousands of independent steps or numbers are normal; the score is (mean - expected) / standard error.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import pytest

from hil.training.methods import prng
from reference.drawn_noise import Stream, never_negative, of_one_number, of_one_word, quarter, without_sign

pytestmark = pytest.mark.tier("nightly")  # golden digests hold the streams in the gate
ALPHA = 1e-4
STEPS = 1000
SMALL = (36, 36, 36, 36)  # three words each: weights of a group, of a word, 12 and 24 apart, of four tensors
LARGE = (150, 2400, 24000)
GOOD = [Stream(84, 7), Stream(230, 63)]
ids = [f"p_zero {stream.p_zero}, r_max {stream.r_max}" for stream in GOOD]


def like_random_signs(sums: np.ndarray, squares: np.ndarray, over: int) -> bool:
    """Whether the largest of `over` sums of terms is likely for random signs, given the sums of the terms' squares."""
    scores = np.abs(sums) / np.sqrt(np.maximum(squares, 1))
    return float(scores.max()) < math.sqrt(2 * math.log(2 * over / ALPHA))


def normal(score: float, over: int = 1) -> bool:
    """Whether a standard normal score, one of `over`, is likely."""
    return abs(score) < NormalDist().inv_cdf(1 - ALPHA / (2 * over))


@lru_cache(maxsize=1)
def small(stream: Stream) -> np.ndarray:
    """Return z of all small tensors, float [steps, 144]."""
    return np.array([np.concatenate(stream.drawn(step, SMALL)) for step in range(STEPS)], float)


def weights_average_to_zero(stream: Stream) -> bool:
    z = small(stream)
    return like_random_signs(z.sum(axis=0), (z**2).sum(axis=0), z.shape[1])


def weights_are_uncorrelated(stream: Stream) -> bool:
    """All pairs of weights at one step: in a group, in a word, 12 and 24 apart, in different tensors."""
    z = small(stream)
    pairs = np.triu_indices(z.shape[1], 1)
    return like_random_signs((z.T @ z)[pairs], ((z**2).T @ z**2)[pairs], len(pairs[0]))


def steps_are_uncorrelated(stream: Stream) -> bool:
    """Each weight with itself at each of the next four steps; a product of neighbours has its own sign too."""
    z = small(stream)
    products = [z[later:] * z[:-later] for later in (1, 2, 3, 4)]
    return all(like_random_signs(p.sum(axis=0), (p**2).sum(axis=0), 4 * z.shape[1]) for p in products)


def tensors_sum_up_like_random_signs(stream: Stream) -> bool:
    """The mean square of sum(z) / sqrt(sum(z^2)), over steps, tensors and the four places of a group, is 1.

    Its square has variance 2 or less. This is where thousands of groups that draw from 256 entries would show.
    """
    scores = []
    for step in range(STEPS // 3):
        for z in stream.drawn(step, LARGE):
            places = z[: len(z) // 4 * 4].reshape(-1, 4).astype(float)
            scores.append(places.sum(axis=0) / np.sqrt(np.maximum((places**2).sum(axis=0), 1)))
    squares = np.array(scores) ** 2
    return normal((squares.mean() - 1) / math.sqrt(2 / squares.size))


def tensors_have_sums_of_their_own(stream: Stream) -> bool:
    """The sums over a place of the groups of two tensors have no common sign."""
    sums = np.array(
        [[z[:2400].reshape(-1, 4).sum(axis=0) for z in stream.drawn(step, LARGE)[1:]] for step in range(STEPS // 3)]
    )
    products = sums[:, 0] * sums[:, 1]
    return like_random_signs(products.sum(axis=0), (products**2).sum(axis=0), 4)


@pytest.mark.parametrize("stream", GOOD, ids=ids)
@pytest.mark.parametrize(
    ("holds", "breaks"),
    [
        (weights_average_to_zero, [{"pool": never_negative}]),
        (weights_are_uncorrelated, [{"z": of_one_word}, {"z": of_one_number}, {"tensor": lambda tensor: tensor % 3}]),
        (steps_are_uncorrelated, [{"pool_step": lambda step: step // 2, "draw_step": lambda step: step // 2}]),
        (tensors_sum_up_like_random_signs, [{"pool": without_sign}, {"z": of_one_word}]),
        (tensors_have_sums_of_their_own, [{"pool": without_sign}, {"tensor": lambda tensor: 0}]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_signs(stream: Stream, holds, breaks) -> None:
    assert holds(stream)
    for wrong in breaks:
        assert not holds(stream.broken(**wrong)), wrong


N = 2400


def per_step(stream: Stream) -> np.ndarray:
    """Return the share of zeros and the mean of z^2 of a tensor of N weights, float [steps, 2]."""
    z = [stream.drawn(step, (N,))[0] for step in range(STEPS)]
    return np.array([[np.mean(one == 0), np.mean(one.astype(float) ** 2)] for one in z])


def expected(stream: Stream) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of both, and their standard deviation from step to step: of 1,024 numbers, of which N are drawn four at a time.

    Given the pool, the N / 4 groups are independent draws of an entry, whose mean of four has variance v / 4 (255/256 of it within the pool).
    """
    both = np.stack([stream.values == 0, stream.values.astype(float) ** 2])
    return both.mean(axis=1), np.sqrt(both.var(axis=1) * (1 / 1024 + 255 / 256 / N))


def averages_are_as_expected(stream: Stream, meant: Stream) -> bool:
    mean, deviation = expected(meant)
    scores = (per_step(stream).mean(axis=0) - mean) / (deviation / math.sqrt(STEPS))
    return all(normal(score, 2) for score in scores)


def scatter_is_as_expected(stream: Stream, meant: Stream) -> bool:
    """The variance over steps, of which the standard error is sqrt(2 / steps) of itself for what is all but normal."""
    ratio = per_step(stream).var(axis=0) / expected(meant)[1] ** 2
    return all(normal(score, 2) for score in (ratio - 1) / math.sqrt(2 / STEPS))


@pytest.mark.parametrize("stream", GOOD, ids=ids)
def test_share_of_zeros_and_mean_square(stream: Stream) -> None:
    assert averages_are_as_expected(stream, stream)
    for wrong in ({"p_zero": stream.p_zero + 1}, {"pool_step": lambda step: 0}):
        assert not averages_are_as_expected(stream.broken(**wrong), stream), wrong


@pytest.mark.parametrize("stream", GOOD, ids=ids)
def test_scatter_of_both_from_step_to_step(stream: Stream) -> None:
    assert scatter_is_as_expected(stream, stream)
    for wrong in ({"pool": quarter}, {"pool_step": lambda step: 0}):
        assert not scatter_is_as_expected(stream.broken(**wrong), stream), wrong


NUMBERS = np.arange(2048, dtype=np.int16).reshape(512, 4) >> 2  # a pool that says which entry and sign was drawn


def fields_are_uniform(seed: int) -> bool:
    """Chi-square of the 512 values of a field at each of its three places, with Wilson and Hilferty's cube root; neither too uneven nor too even."""
    fields = np.concatenate(
        [prng.perturbation(NUMBERS, seed, step, tensor, 12 * 200)[::4] for step in range(100) for tensor in range(5)]
    ).reshape(-1, 3)
    good = True
    for place in range(3):
        counts = np.bincount(fields[:, place], minlength=512)
        chi = float(((counts - counts.mean()) ** 2).sum() / counts.mean())
        spread = 2 / (9 * 511)
        good &= normal(((chi / 511) ** (1 / 3) - (1 - spread)) / math.sqrt(spread), 3)
    return good


def test_entries_and_signs_are_drawn_uniformly(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fields_are_uniform(1)
    words = prng.words
    for wrong in (
        lambda state, count: words(state, count) & 0xFFFFFFFE,  # a bit that stands still
        lambda state, count: (state + np.arange(count) * 0x9E3779B9).astype(np.uint32),  # a counter: too even
    ):
        monkeypatch.setattr(prng, "words", wrong)
        assert not fields_are_uniform(1)


D = 1200  # weights of the quadratic: 300 groups


def estimates(stream: Stream, gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """Return the estimates (f(w + z) - f(w - z)) / 2 * z / mean(z^2) of a gradient at w = 0, [steps, D].

    f(w) = gradient . w + w . hessian w / 2: the even part cancels.
    """

    def f(w: np.ndarray) -> float:
        return float(gradient @ w + (w * hessian) @ w / 2)

    scale = (stream.values.astype(float) ** 2).mean()
    z = [stream.drawn(step, (D,))[0].astype(float) for step in range(STEPS)]
    return np.array([(f(one) - f(-one)) / 2 * one / scale for one in z])


def estimate_is_unbiased(stream: Stream) -> bool:
    """Along the gradient, which is steep in every weight alike, along ten random directions across it, and in every weight."""
    rng = np.random.default_rng(7)
    gradient = 1 + 0.3 * rng.standard_normal(D)
    found = estimates(stream, gradient, rng.uniform(-2, 2, D))
    directions = np.concatenate([gradient[:, None], rng.standard_normal((D, 10)), np.eye(D)], axis=1)
    directions[:, 1:11] -= np.outer(gradient, gradient @ directions[:, 1:11]) / (gradient @ gradient)
    along = found @ directions
    scores = (along.mean(axis=0) - gradient @ directions) / (along.std(axis=0) / math.sqrt(STEPS))
    return all(normal(float(score), len(scores)) for score in scores)


@pytest.mark.parametrize("stream", GOOD, ids=ids)
def test_the_estimate_of_a_quadratics_gradient_is_unbiased(stream: Stream) -> None:
    assert estimate_is_unbiased(stream)
    for wrong in ({"pool": without_sign}, {"z": of_one_word}):
        assert not estimate_is_unbiased(stream.broken(**wrong)), wrong
