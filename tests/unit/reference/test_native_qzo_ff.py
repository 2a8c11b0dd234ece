"""QZO-FF and its yardsticks with passes in C against NumPy's, bit for bit: steps of drawn networks and of named ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from network.drawn_float32 import float32_graphs
from network.w16a8_graphs import w16a8_graphs

from hil.errors import RigError
from hil.training.graph.graph import Graph
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.networks import build
from hil.training.reference.methods import MethodReference
from hil.training.reference.methods.float_back_propagation import FloatBackPropagation
from hil.training.reference.methods.qzo_ff import QzoFfReference
from hil.training.reference.native import float32, w16a8
from hil.training.reference.native.build import OWN
from hil.training.reference.native.float32.library import Float32Library
from hil.training.reference.native.float32.network import NativeFloat32Network
from hil.training.reference.native.w16a8.library import W16A8Library
from hil.training.reference.native.w16a8.network import NativeW16A8Network

from .test_native_float32_steps import Batches, drawn_batches
from .test_qzo_ff_steps import SWITCHES, case

SEEDS = st.integers(0, 2**32)
SIZES = (33, 1, 33)  # samples of the steps: with and without lanes that only fill up a vector


def same_values(one: np.ndarray, other: np.ndarray) -> None:
    """Compare bits: -0.0 is not 0.0, and a NaN equals itself."""
    assert one.dtype == other.dtype
    np.testing.assert_array_equal(one.view(f"u{one.itemsize}"), other.view(f"u{other.itemsize}"))


def same_steps(native: MethodReference, plain: MethodReference, given_batches: Batches) -> None:
    for images, labels in given_batches:
        got, expected = native.step(images, labels), plain.step(images, labels)
        assert str(got) == str(expected)
        for one, other in zip(native.weights, plain.weights, strict=True):
            same_values(np.ascontiguousarray(one), np.ascontiguousarray(other))
    images = np.concatenate([images for images, _ in given_batches * 5])  # two whole parts of an evaluation, and a rest
    same_values(np.ascontiguousarray(native.logits(images)[0]), np.ascontiguousarray(plain.logits(images)[0]))


def both(
    kind: Callable[..., MethodReference], native: Any, graph: Graph, **chosen: Any
) -> tuple[MethodReference, MethodReference]:
    its = QzoFfSettings(**chosen, epsilon=0.01, eta=0.02, batch=max(SIZES))
    return kind(graph, its, native), kind(graph, its)


@settings(max_examples=60, deadline=None)
@given(graph=float32_graphs(), switches=SWITCHES, seed=SEEDS)
def test_forward_gradients_in_float32(
    native_float32: Float32Library, graph: Graph, switches: dict[str, Any], seed: int
) -> None:
    chosen = switches | {"rho": 0.01 * switches["rho"]}
    native, plain = both(QzoFfReference, partial(NativeFloat32Network, native=native_float32), graph, **chosen)
    same_steps(native, plain, drawn_batches(graph, SIZES, seed))


@settings(max_examples=60, deadline=None)
@given(graph=float32_graphs(), switches=SWITCHES, seed=SEEDS)
def test_back_propagation(native_float32: Float32Library, graph: Graph, switches: dict[str, Any], seed: int) -> None:
    try:
        native, plain = both(
            FloatBackPropagation, partial(NativeFloat32Network, native=native_float32), graph, **switches | {"rho": 0}
        )
    except RigError:  # a pool that errors cannot be handed through
        assume(False)
    same_steps(native, plain, drawn_batches(graph, SIZES, seed))


@settings(max_examples=120, deadline=None)
@given(graph=w16a8_graphs(), switches=SWITCHES, seed=SEEDS)
def test_forward_gradients_in_w16a8(
    native_w16a8: W16A8Library, graph: Graph, switches: dict[str, Any], seed: int
) -> None:
    plain, *_ = case(graph, switches, seed)
    native = QzoFfReference(graph, plain.settings, partial(NativeW16A8Network, native=native_w16a8))
    same_steps(native, plain, drawn_batches(graph, SIZES, seed))


@pytest.mark.parametrize("built", [OWN], indirect=True)
@pytest.mark.parametrize("last_layers", [1, 3, 64])
@pytest.mark.parametrize("network", ["lenet5-w16a8", "lenet5-8w8a", "resnet-tiny-w16a8"])
def test_named_networks_in_w16a8(native_w16a8: W16A8Library, network: str, last_layers: int) -> None:
    graph, kind = build(network, 1), partial(NativeW16A8Network, native=native_w16a8)
    native, plain = both(QzoFfReference, kind, graph, last_layers=last_layers, directions=2)
    same_steps(native, plain, drawn_batches(graph, (25, 25), last_layers))


@pytest.mark.parametrize("built", [OWN], indirect=True)
@pytest.mark.parametrize("last_layers", [1, 3, 64])
@pytest.mark.parametrize("kind", [QzoFfReference, FloatBackPropagation])
@pytest.mark.parametrize("network", ["lenet5-float32", "resnet-tiny-float32"])
def test_named_networks_in_float32(
    native_float32: Float32Library, network: str, kind: Callable[..., MethodReference], last_layers: int
) -> None:
    graph = build(network, 1)
    native, plain = both(
        kind, partial(NativeFloat32Network, native=native_float32), graph, last_layers=last_layers, optimizer="adamw"
    )
    same_steps(native, plain, drawn_batches(graph, (25, 25), last_layers))


def test_the_name_says_what_computes(native_float32: Float32Library, native_w16a8: W16A8Library) -> None:
    graph, integers = build("lenet5-float32", 1), build("lenet5-w16a8", 1)
    assert (
        QzoFfReference(graph, QzoFfSettings()).arithmetic
        == QzoFfReference(integers, QzoFfSettings()).arithmetic
        == "NumPy"
    )
    native, _ = both(QzoFfReference, partial(NativeFloat32Network, native=native_float32), graph)
    assert native.arithmetic == native_float32.name
    native, _ = both(QzoFfReference, partial(NativeW16A8Network, native=native_w16a8), integers)
    assert native.arithmetic == native_w16a8.name
    assert native_w16a8.name in ("C, AVX-512 VNNI", "C, AVX-512", "C, AVX2")
    assert QzoFfReference(graph, QzoFfSettings(), float32.fastest_network).arithmetic.startswith("C, ")
    assert QzoFfReference(integers, QzoFfSettings(), w16a8.fastest_network).arithmetic.startswith("C, ")
