"""Perturbed scales in the tree's reference against the oracle, bit for bit, on small random graphs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hil.training.methods.perturbed_scales import PerturbedScales
from hil.training.methods.perturbed_scales_tensors import requantized
from hil.training.reference.methods import reference_of
from reference.drawn_graphs import drawn_graph, images
from tests.oracle.perturbed_scales import PlainPerturbedScales, factors

STEPS = 2
EPSILONS = [2.0**-18, 0.001, 0.01, 2.0**-5]


@settings(max_examples=60, deadline=None)
@given(
    epsilon=st.sampled_from(EPSILONS),
    eta=st.sampled_from([2.0**-40, 1e-3, 0.1, 1.0]),
    clip=st.sampled_from([0.0, 0.0, 1e-3, 0.5, 2.0**20]),
    last_layers=st.sampled_from([64, 1, 2]),
    samples=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
    first=st.sampled_from([0, 1, 50]),
    far=st.booleans(),
)
@example(2.0**-18, 1.0, 0.0, 64, 3, 5, 0, True)
def test_small_graphs(
    epsilon: float, eta: float, clip: float, last_layers: int, samples: int, seed: int, first: int, far: bool
) -> None:
    rng = np.random.default_rng(seed)
    graph = drawn_graph(rng)
    method = PerturbedScales.on(
        graph, "full", epsilon=epsilon, eta=eta, clip=clip, last_layers=last_layers, batch=samples, seed=seed
    )
    if far:  # gains anywhere, some of them beyond where they rest
        method = method.given([rng.integers(2**22, 2**26 + 1, array.size) for _, array in method.plan.arrays])
    fast, slow = reference_of(method), PlainPerturbedScales(graph, method.settings)
    for index, array in zip(slow.trained, fast.weights, strict=True):
        slow.gains[index] = array.tolist()
    fast.configure(method.settings, first)
    for step in range(first, first + STEPS):
        pictures, labels = images(graph, samples, rng)
        outcome = fast.step(pictures, labels.astype(np.uint8))
        plus, minus, sign = slow.step(step, pictures, labels.tolist())
        assert np.float32(outcome.loss_plus).tobytes() == plus.tobytes()
        assert np.float32(outcome.loss_minus).tobytes() == minus.tobytes()
        assert outcome.sign == sign
        for got, index in zip(fast.weights, slow.trained, strict=True):
            assert got.tolist() == slow.gains[index], graph.layers[index].name
        assert outcome.digests == slow.digests()
    pictures, _ = images(graph, 2, rng)
    assert fast.logits(pictures)[0].tolist() == [slow.logits(image) for image in pictures]


@given(
    multiplier=st.one_of(st.integers(2**30, 2**31 - 1), st.sampled_from([2**30, 2**30 + 1, 2**31 - 1])),
    shift=st.integers(-29, 27),
    gain=st.one_of(st.integers(2**22, 2**26), st.integers(2**24 - 9, 2**24 + 9), st.sampled_from([2**22, 2**26])),
)
@example(2147483520, 0, 2**24 + 1)
@example(2**31 - 1, 27, 2**26)
@example(2**30, -29, 2**22)
def test_factors(multiplier: int, shift: int, gain: int) -> None:
    found = requantized(np.array([multiplier], np.int32), np.array([shift], np.int8), np.array([gain], np.int32))
    m, moved = (int(array[0]) for array in found)
    assert (m, moved) == factors(multiplier, shift, gain)
    assert 2**30 <= m <= 2**31 - 1
    assert -31 <= moved <= 30
    exact = multiplier * gain * 2.0 ** (shift - 24)
    assert abs(m * 2.0**moved / exact - 1) <= 2**-30


@pytest.mark.parametrize(("multiplier", "gain", "shift"), [(2147483520, 2**24 + 1, 0), (2147483392, 2**24 + 2, 0)])
def test_a_product_that_rounds_to_the_next_power_of_two(multiplier: int, gain: int, shift: int) -> None:
    assert (multiplier * gain).bit_length() == 31 + 24
    assert factors(multiplier, shift, gain) == (2**30, shift + 1)
