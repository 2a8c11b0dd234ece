"""The arithmetic of `float32` in C against NumPy's, bit for bit: whole steps of drawn networks and of named ones."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from network.drawn_float32 import float32_graphs

from hil.errors import RigError
from hil.training.data import batches, load
from hil.training.experiments.adam import AdamPreTraining
from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph
from hil.training.methods.elasticzo_settings import VARIANTS, Fp32Settings
from hil.training.networks import build
from hil.training.reference.formats.float32.arithmetic import Float32Arithmetic
from hil.training.reference.methods.elasticzo_fp32 import ElasticZoFp32Reference
from hil.training.reference.native.build import OWN
from hil.training.reference.native.float32 import fastest
from hil.training.reference.native.float32.arithmetic import NativeFloat32
from hil.training.reference.native.float32.library import Float32Library

from . import affine8_networks
from .float32_networks import network_b
from .test_native_float32_layers import same_bits

Batches = list[tuple[np.ndarray, np.ndarray]]


def drawn_batches(graph: Graph, sizes: tuple[int, ...], seed: int) -> Batches:
    rng = np.random.default_rng(seed)
    return [
        (
            rng.integers(0, 256, (size, *graph.in_shape)).astype(np.uint8),
            rng.integers(0, graph.classes, size).astype(np.uint8),
        )
        for size in sizes
    ]


def same_steps(native: ElasticZoFp32Reference, plain: ElasticZoFp32Reference, given_batches: Batches) -> None:
    for images, labels in given_batches:
        assert native.step(images, labels) == plain.step(images, labels)
        for got, expected in zip(native.weights, plain.weights, strict=True):
            same_bits(got, expected)
    images, labels = given_batches[0]
    same_bits(native.logits(images)[0], plain.logits(images)[0])
    for got, expected in zip(native.gradients(images, labels), plain.gradients(images, labels), strict=True):
        same_bits(got, expected)


def same_values(native: NativeFloat32, graph: Graph, images: np.ndarray) -> None:
    own = {index: (layer.own.weights, layer.own.bias) for index, layer in enumerate(graph.layers) if layer.own}
    for number in range(len(graph.layers) + 1):
        expected = Float32Arithmetic(graph).value(images, own, number)
        same_bits(native.value(images, own, number), expected)
        assert expected.shape == (
            len(images),
            graph.layers[number - 1].out_size if number else int(np.prod(graph.in_shape)),
        )


@settings(max_examples=100, deadline=None)
@given(data=st.data(), graph=float32_graphs(), seed=st.integers(0, 2**32))
def test_drawn_networks(native_float32: Float32Library, data: st.DataObject, graph: Graph, seed: int) -> None:
    """Also with more samples than are computed at a time."""
    partition = data.draw(st.integers(0, len(graph.trained)))
    chosen = Fp32Settings(partition=partition, epsilon=0.01, eta=0.1, batch=40, seed=seed % 2**31)
    try:
        plain = ElasticZoFp32Reference(graph, chosen)
    except RigError:  # a pool that errors cannot be handed through
        assume(False)
    native = ElasticZoFp32Reference(graph, chosen, NativeFloat32(graph, native_float32))
    same_steps(native, plain, drawn_batches(graph, (40, 3), seed))
    same_values(NativeFloat32(graph, native_float32), graph, drawn_batches(graph, (17,), seed)[0][0])


@pytest.mark.parametrize("partition", range(6))
def test_every_operation(native_float32: Float32Library, partition: int) -> None:
    graph = network_b()
    chosen = Fp32Settings(partition=partition, epsilon=0.01, eta=0.05, batch=33, seed=5)
    native = ElasticZoFp32Reference(graph, chosen, NativeFloat32(graph, native_float32))
    same_steps(native, ElasticZoFp32Reference(graph, chosen), drawn_batches(graph, (33, 1, 17), partition))


@pytest.mark.parametrize("built", [OWN], indirect=True)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("network", ["lenet5-float32", "resnet-tiny-float32"])
def test_steps_of_named_networks(native_float32: Float32Library, network: str, variant: str) -> None:
    data, graph = load("fashion-mnist-1k"), build(network, 1)
    chosen = Fp32Settings.of_variant(variant, len(graph.trained), batch=32, eta=0.01, seed=3)
    order = islice(batches(data, chosen.batch, 1), 5)
    native = ElasticZoFp32Reference(graph, chosen, NativeFloat32(graph, native_float32))
    given_batches = [(data.train_images[some], data.train_labels[some]) for some in order]
    same_steps(native, ElasticZoFp32Reference(graph, chosen), given_batches)


@pytest.mark.parametrize("built", [OWN], indirect=True)
def test_clouds_of_points(native_float32: Float32Library) -> None:
    graph = build("pointnet-float32", 1)
    chosen = Fp32Settings.of_variant("full-bp", len(graph.trained), batch=8, eta=0.01, seed=3)
    native = ElasticZoFp32Reference(graph, chosen, NativeFloat32(graph, native_float32))
    same_steps(native, ElasticZoFp32Reference(graph, chosen), drawn_batches(graph, (8, 8), 1))


@pytest.mark.parametrize("built", [OWN], indirect=True)
def test_pre_training_with_adam(native_float32: Float32Library) -> None:
    graph = build("lenet5-float32", 2)
    native = AdamPreTraining(graph, 32, 1, NativeFloat32(graph, native_float32))
    same_steps(native, AdamPreTraining(graph, 32, 1), drawn_batches(graph, (32, 32), 2))


def test_the_name_says_what_computes(native_float32: Float32Library) -> None:
    graph = build("lenet5-float32", 1)
    assert native_float32.name in ("C, AVX-512", "C, AVX2")
    assert fastest(graph).name.startswith("C, ")
    chosen = Fp32Settings(partition=0)
    assert ElasticZoFp32Reference(graph, chosen).arithmetic == "NumPy"
    assert ElasticZoFp32Reference(graph, chosen, fastest(graph)).arithmetic == fastest(graph).name


def test_what_the_library_does_not_have_is_left_to_numpy() -> None:
    graph = affine8_networks.network_b(Format.FLOAT32)
    assert fastest(graph).name == "NumPy (no hard_swish in C)"
    chosen = Fp32Settings(partition=0, eta=0.05, batch=2)
    reference = ElasticZoFp32Reference(graph, chosen, fastest(graph))
    losses = [reference.step(*affine8_networks.samples(graph)).loss_plus for _ in range(10)]
    assert losses[-1] < losses[0]
