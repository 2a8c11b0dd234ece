"""Poor Man's Training in C against NumPy, bit for bit: losses, weights, biases and logits of whole steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods import METHODS, graph_method
from hil.training.methods.graph_settings import GraphSettings
from hil.training.networks import build
from hil.training.reference.methods.poor_mans import PoorMans
from hil.training.reference.native import tflite8
from hil.training.reference.native.build import OWN
from hil.training.reference.native.tflite8.library import Tflite8Library
from hil.training.reference.native.tflite8.methods import NativePoorMans

from .drawn_graphs import drawn_graph, images
from .test_graph_methods_against_oracle import poor_mans_settings
from .test_graph_passes import extreme
from .wide_graphs import OPS, wide_graph

SEEDS = st.integers(0, 2**32)
VARIANTS = [
    (name, variant)
    for name, method in METHODS.items()
    if method.loop == "poor-mans"
    for variant in method.variants
    if variant != "selected"
]


def same_steps(
    native: Tflite8Library, graph: Graph, chosen: GraphSettings, rng: np.random.Generator, samples: int, steps: int = 2
) -> None:
    fast, plain = NativePoorMans(graph, chosen, native), PoorMans(graph, chosen)
    for learner in (fast, plain):
        learner.configure(chosen, 2**32 - 2)  # the index of a step has 32 bits
    for _ in range(steps):
        pictures, labels = images(graph, samples, rng)
        assert str(fast.step(pictures, labels)) == str(plain.step(pictures, labels))
        for one, other in zip(fast.weights, plain.weights, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(fast.logits(pictures)[0], plain.logits(pictures)[0])


@settings(max_examples=80, deadline=None)
@given(chosen=poor_mans_settings(), seed=SEEDS, samples=st.integers(1, 4), wild=st.booleans())
def test_small_graphs(
    native_tflite8: Tflite8Library, chosen: GraphSettings, seed: int, samples: int, wild: bool
) -> None:
    rng = np.random.default_rng(seed)
    graph = drawn_graph(rng)
    graph = extreme(graph, rng) if wild else graph
    assume(chosen.trained(graph))
    same_steps(native_tflite8, graph, chosen, rng, samples)


@pytest.mark.parametrize("op", OPS)
@settings(max_examples=15, deadline=None)
@given(chosen=poor_mans_settings(), seed=SEEDS, samples=st.integers(1, 3))
def test_many_channels(native_tflite8: Tflite8Library, op: Op, chosen: GraphSettings, seed: int, samples: int) -> None:
    rng = np.random.default_rng(seed)
    graph = wide_graph(rng, op)
    assume(chosen.trained(graph))
    same_steps(native_tflite8, graph, chosen, rng, samples)


@settings(max_examples=15, deadline=None)
@given(
    seed=SEEDS,
    queries=st.integers(1, 127),
    samples=st.integers(1, 3),
    wise=st.sampled_from(["layer", "model"]),
    perturb=st.sampled_from(["weight", "node"]),
)
def test_any_number_of_queries(
    native_tflite8: Tflite8Library, seed: int, queries: int, samples: int, wise: str, perturb: str
) -> None:
    rng = np.random.default_rng(seed)
    graph = wide_graph(rng, Op.POINTWISE)
    chosen = GraphSettings(wise=wise, perturb=perturb, queries=queries, eta=0.3)
    same_steps(native_tflite8, graph, chosen, rng, samples)


@pytest.mark.parametrize("built", [OWN], indirect=True)
@pytest.mark.parametrize(("network", "given"), [
    ("resnet-tiny", {"blocks": 3, "train": "pointwise", "queries": 5}),
    ("resnet-tiny", {"wise": "model", "perturb": "weight", "difference": "central", "queries": 2}),
    ("lenet5-tflite", {"perturb": "node", "queries": 3}),
    ("mcunet-48", {"blocks": 4, "queries": 1}),
])  # fmt: skip
def test_named_networks(native_tflite8: Tflite8Library, network: str, given: Mapping[str, Any]) -> None:
    chosen = GraphSettings(eta=0.05, seed=7, **given)
    same_steps(native_tflite8, build(network, 1), chosen, np.random.default_rng(2), 2)


@pytest.mark.tier("nightly")
@pytest.mark.parametrize("built", [OWN], indirect=True)
@pytest.mark.parametrize("network", ["lenet5-tflite", "resnet-tiny"])
@pytest.mark.parametrize(("method", "variant"), VARIANTS)
def test_every_variant_at_night(native_tflite8: Tflite8Library, network: str, method: str, variant: str) -> None:
    """Steps of 10 samples, with evaluations."""
    kind, graph = graph_method(method), build(network, 3)
    chosen = kind.settings_of(variant, batch=10, eta=0.01, seed=3)
    if not chosen.trained(graph):
        pytest.skip(f"{network} has no layer that {variant} trains")
    same_steps(native_tflite8, graph, chosen, np.random.default_rng(3), 10, 5)


@pytest.mark.tier("nightly")
@pytest.mark.parametrize("built", [OWN], indirect=True)
def test_mcunet_at_night(native_tflite8: Tflite8Library) -> None:
    chosen = graph_method("poor-mans-training").settings_of("block3", batch=2, eta=0.01, seed=3)
    same_steps(native_tflite8, build("mcunet-128", 1), chosen, np.random.default_rng(4), 2)


def test_the_name_says_what_computes(native_tflite8: Tflite8Library, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, chosen = build("lenet5-tflite", 1), GraphSettings()
    assert PoorMans(graph, chosen).arithmetic == "NumPy"
    assert native_tflite8.name in ("C, AVX-512 VNNI", "C, AVX-512", "C, AVX2")
    assert NativePoorMans(graph, chosen, native_tflite8).arithmetic == native_tflite8.name
    assert tflite8.fastest(graph, chosen).arithmetic.startswith("C, ")
    other = build("lenet5-w16a8", 1)  # whose weights have 16 bits
    assert not tflite8.library.runs(other)

    def without_compiler() -> None:
        raise tflite8.build.NotBuilt("there is no C compiler 'cc'")

    monkeypatch.setattr(tflite8.build, "library", without_compiler)
    assert tflite8.fastest(graph, chosen).arithmetic == "NumPy (there is no C compiler 'cc')"


def test_a_label_beyond_the_classes(native_tflite8: Tflite8Library) -> None:
    graph = build("lenet5-tflite", 1)
    pictures = np.zeros((1, 28, 28), np.uint8)
    for label in (10, -1):
        with pytest.raises(IndexError, match="a label beyond the 10 classes"):
            NativePoorMans(graph, GraphSettings(), native_tflite8).step(pictures, np.array([label]))


@pytest.mark.parametrize(("name", "variant"), [("mcutrain", "block3"), ("int8-bp", "plain"), ("tinytrain", "whole")])
def test_back_propagation_is_evaluated_in_c(native_tflite8: Tflite8Library, name: str, variant: str) -> None:
    """Training is NumPy's; logits follow the trained weights."""
    method = graph_method(name).on(
        build("lenet5-tflite", 1), variant, batch=2, eta=3000.0 if name == "int8-bp" else 0.01
    )
    plain, evaluated = tflite8.KINDS[method.settings.method]
    fast, slow = evaluated(method.network, method.settings, native_tflite8), plain(method.network, method.settings)
    assert (fast.arithmetic, slow.arithmetic) == (f"NumPy; evaluated in {native_tflite8.name}", "NumPy")
    pictures, labels = images(method.network, 4, np.random.default_rng(1))
    before = fast.logits(pictures)[0]
    for _ in range(3):
        assert str(fast.step(pictures[:2], labels[:2])) == str(slow.step(pictures[:2], labels[:2]))
    np.testing.assert_array_equal(fast.logits(pictures)[0], slow.logits(pictures)[0])
    assert (fast.logits(pictures)[0] != before).any()
