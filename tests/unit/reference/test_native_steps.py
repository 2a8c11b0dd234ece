"""The arithmetic in C against NumPy's, bit for bit: whole steps of drawn networks and of LeNet-5."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network.drawn import networks

from hil.training.data import batches, load
from hil.training.graph.graph import Graph
from hil.training.methods.elasticzo_settings import VARIANTS, ElasticZoSettings
from hil.training.networks import build
from hil.training.reference.formats.bfp8.arithmetic import NumpyArithmetic
from hil.training.reference.methods.elasticzo_int8 import ElasticZoInt8Reference
from hil.training.reference.native.bfp8.arithmetic import NativeArithmetic
from hil.training.reference.native.bfp8.library import Bfp8Library
from hil.training.reference.native.build import OWN

from .test_oracle_against_vectorised import method_settings, samples

STEPS = 50


def same_steps(
    native: Bfp8Library, network: Graph, chosen: ElasticZoSettings, given_batches: list[tuple[np.ndarray, np.ndarray]]
) -> None:
    ours = ElasticZoInt8Reference(network, chosen, NativeArithmetic(network, native))
    theirs = ElasticZoInt8Reference(network, chosen, NumpyArithmetic(network))
    for images, labels in given_batches:
        assert ours.step(images, labels) == theirs.step(images, labels)
        for got, expected in zip(ours.weights, theirs.weights, strict=True):
            assert got.dtype == np.int8
            np.testing.assert_array_equal(got, expected)
    images, labels = given_batches[0]
    got, expected = ours.evaluate_chunk(images, labels), theirs.evaluate_chunk(images, labels)
    np.testing.assert_array_equal(got[0], expected[0])
    assert got[1:] == expected[1:]


@settings(max_examples=80, deadline=None)
@given(data=st.data(), network=networks(largest=9, exponents=(-14, 2)), seed=st.integers(0, 2**32))
def test_small_networks(native: Bfp8Library, data: st.DataObject, network: Graph, seed: int) -> None:
    chosen = data.draw(method_settings(network))
    same_steps(native, network, chosen, [samples(network, chosen.batch, seed + step) for step in range(3)])


@settings(max_examples=25, deadline=None)
@given(data=st.data(), network=networks(largest=5, exponents=(-32, 8)), seed=st.integers(0, 2**32))
def test_extreme_exponents_and_a_larger_batch(
    native: Bfp8Library, data: st.DataObject, network: Graph, seed: int
) -> None:
    chosen = data.draw(method_settings(network))
    same_steps(native, network, chosen, [samples(network, size, seed + size) for size in (30, 11, 1)])


@pytest.mark.parametrize("built", [OWN], indirect=True)
@pytest.mark.parametrize("perturb", ["clamped", "exact"])
@pytest.mark.parametrize("loss", ["float", "integer"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_steps_of_lenet5(native: Bfp8Library, variant: str, loss: str, perturb: str) -> None:
    data, network = load("fashion-mnist-1k"), build("lenet5", 1)
    chosen = ElasticZoSettings.of_variant(variant, 5, batch=12, loss=loss, perturb=perturb, r_max=15, seed=3)
    order = islice(batches(data, chosen.batch, 1), STEPS)
    same_steps(native, network, chosen, [(data.train_images[some], data.train_labels[some]) for some in order])
