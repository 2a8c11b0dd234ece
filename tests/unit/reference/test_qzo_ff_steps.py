"""What docs/arithmetic-qzo-ff.md says of every step, on drawn graphs and settings."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network.w16a8_graphs import LABELS, PIXELS, alone, fully_connected, text_network, w16a8_graphs

from hil.errors import RigError
from hil.training.graph.graph import Graph
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.methods.qzo_ff_tensors import rounded_shift, trained_tensors, update_steps
from hil.training.networks.convert_w16a8 import W8, W16, parameters
from hil.training.reference.floats import F, float32_of
from hil.training.reference.formats.tflite8 import passes as tflite_passes
from hil.training.reference.methods.qzo_directions import DirectionGradient
from hil.training.reference.methods.qzo_directions import rounded_shift as array_shift
from hil.training.reference.methods.qzo_ff import QzoFfReference

SWITCHES = st.fixed_dictionaries(
    {
        "directions": st.integers(1, 3),
        "rho": st.sampled_from([0, 1]),
        "optimizer": st.sampled_from(["plain", "adamw"]),
        "distribution": st.sampled_from(["gaussian", "binomial"]),
        "last_layers": st.sampled_from([1, 2, 64]),
        "train_bias": st.integers(0, 1),
        "guide": st.sampled_from([0, 200]),
        "guide_from": st.sampled_from([0, 1]),
        "sparse": st.sampled_from(["off", "top", "random", "threshold"]),
        "threshold": st.just(0.001),
        "keep": st.sampled_from([1, 100]),
        "normalise": st.integers(0, 1),
        "seed": st.integers(0, 2**32 - 1),
    }
)


def half_away(x: Fraction) -> int:
    size = floor(abs(x) + Fraction(1, 2))
    return size if x >= 0 else -size


def case(graph: Graph, switches: dict[str, Any], seed: int) -> tuple[QzoFfReference, np.ndarray, np.ndarray]:
    """Return a reference with settings that move weights, and a batch of three; `rho` says whether it is epsilon."""
    units = [float(tensor.unit) for tensor in trained_tensors(graph, QzoFfSettings(**switches)) if not tensor.is_bias]
    scale = min(4 * min(units), 2.0**-4)
    others = {"rho": switches["rho"] * scale, "epsilon": scale, "eta": min(20 * scale, 1.0), "batch": 3}
    chosen = QzoFfSettings(**switches | others)
    rng = np.random.default_rng(seed)
    return (
        QzoFfReference(graph, chosen),
        rng.integers(0, 256, (3, *graph.in_shape), np.uint8),
        rng.integers(0, graph.classes, 3),
    )


@given(st.integers(-(2**40), 2**40), st.integers(1, 40))
def test_a_shift_rounds_half_away(x: int, n: int) -> None:
    assert rounded_shift(x, n) == half_away(Fraction(x, 2**n))
    assert array_shift(np.array([x]), n).tolist() == [rounded_shift(x, n)]


@given(st.integers(-127, 127), st.integers(0, 0x7F800000))
def test_an_update_rounds_half_away_and_is_bounded(g: int, pattern: int) -> None:
    f = np.array(pattern, np.uint32).view(F)[()]
    found = int(update_steps(np.array(g), f))
    if not 2.0**-126 <= float(f) < math.inf:
        assert found == 0
        return
    exact = half_away(g * Fraction(float(f)))
    assert found == (min(max(exact, -(2**30)), 2**30))


@given(st.lists(st.tuples(st.integers(-1, 1), st.integers(-127, 127)), min_size=1, max_size=127))
def test_a_mean_rounds_half_away(pairs: list[tuple[int, int]]) -> None:
    signs = [sign for sign, _ in pairs]
    found = DirectionGradient.of(signs, [np.array([z], np.int16) for _, z in pairs])
    assert found.mean.tolist() == [half_away(Fraction(sum(sign * z for sign, z in pairs), len(pairs)))]


@given(st.integers(0, 2**64 - 1))
def test_a_sum_becomes_a_float_by_one_rounding(value: int) -> None:
    found = float(float32_of(value))
    below, above = (float(np.nextafter(F(found), F(to))) for to in (-1, np.inf))
    assert all(abs(Fraction(found) - value) <= abs(Fraction(other) - value) for other in (below, above))


@settings(max_examples=40, deadline=None)
@given(w16a8_graphs(largest=5, most=4), SWITCHES, st.integers(0, 2**32))
def test_no_pass_leaves_the_range_and_the_weights_come_back(graph: Graph, switches: dict[str, Any], seed: int) -> None:
    reference, images, labels = case(graph, switches, seed)
    before = reference.weights
    reference.step(images, labels)
    after = reference.weights
    passes = list(reference.passes(before, 0))
    assert len(passes) == 2 * reference.settings.draws
    known = trained_tensors(graph, reference.settings)
    for weights in passes:
        for tensor, its in zip(known, weights, strict=True):
            assert np.abs(its.astype(np.int64)).max() <= tensor.largest
    for tensor, its in zip(known, after, strict=True):
        assert np.abs(its.astype(np.int64)).max() <= tensor.limit(reference.settings)
    assert all(np.array_equal(one, other) for one, other in zip(reference.weights, after, strict=True))


@settings(max_examples=30, deadline=None)
@given(w16a8_graphs(largest=5, most=4), SWITCHES, st.integers(0, 2**32))
def test_a_plus_and_a_minus_pass_lie_opposite(graph: Graph, switches: dict[str, Any], seed: int) -> None:
    """Their mean is the same for all directions after sharpness: the weights at rest, moved by a."""
    reference, images, labels = case(graph, switches, seed)
    before = reference.weights
    reference.step(images, labels)
    passes = [[its.astype(np.int64) for its in weights] for weights in reference.passes(before, 0)]
    means = [
        [(a + b) for a, b in zip(plus, minus, strict=True)]
        for plus, minus in zip(passes[::2], passes[1::2], strict=True)
    ]
    rest = means[1:] if reference.settings.has_sharpness else means
    for one in rest[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(rest[0], one, strict=True))
    assert all((total % 2 == 0).all() for total in means[0])


@settings(max_examples=30, deadline=None)
@given(w16a8_graphs(largest=5, most=4), SWITCHES, st.integers(0, 2**32))
def test_what_is_masked_never_moves(graph: Graph, switches: dict[str, Any], seed: int) -> None:
    reference, images, labels = case(graph, switches, seed)
    reference._begin()
    start, masks = reference.weights, reference._masks
    assert masks is not None
    for _ in range(3):
        reference.step(images, labels)
    for first, now, mask in zip(start, reference.weights, masks, strict=True):
        if mask is not None:
            assert np.array_equal(first.ravel()[~mask], now.ravel()[~mask])


@settings(max_examples=20, deadline=None)
@given(w16a8_graphs(largest=5, most=4), SWITCHES, st.integers(0, 2**32))
def test_a_batch_may_run_in_any_parts(graph: Graph, switches: dict[str, Any], seed: int) -> None:
    """Samples one at a time give the bits of all at once."""
    found = []
    for rows in (1, 2**19):
        kept, tflite_passes.ROW_ELEMENTS = tflite_passes.ROW_ELEMENTS, rows
        try:
            reference, images, labels = case(graph, switches, seed)
            found.append([replace(reference.step(images, labels), step=0) for _ in range(2)])
        finally:
            tflite_passes.ROW_ELEMENTS = kept
    assert found[0] == found[1]


def test_layers_that_are_not_trained_stay() -> None:
    """A linear probe has one tensor; the values before it are those of every pass."""
    reference = QzoFfReference(text_network(), QzoFfSettings(last_layers=1, epsilon=0.01, eta=0.01, batch=2))
    (weights,) = reference.weights
    assert weights.shape == (2, 3)
    before = reference.trace(reference.weights, PIXELS, LABELS, 0)[0].data
    reference.step(PIXELS, LABELS)
    assert reference.trace(reference.weights, PIXELS, LABELS, 0)[0].data == before
    assert not np.array_equal(reference.weights[0], weights)


@pytest.mark.parametrize("switches", [{"optimizer": "adamw"}, {"guide": 256}, {"sparse": "random", "keep": 128}])
def test_configure_begins_anew(switches: dict[str, Any]) -> None:
    """Moments, momentum and masks are not part of the weights: a board that comes back has none."""
    chosen = QzoFfSettings(**switches, epsilon=0.01, eta=0.01, batch=2)
    one = QzoFfReference(text_network(), chosen)
    one.step(PIXELS, LABELS)
    other = QzoFfReference(text_network().with_weights(one.weights), chosen)
    other.configure(chosen, 1)
    one.configure(chosen, 1)
    for _ in range(2):
        assert one.step(PIXELS, LABELS) == other.step(PIXELS, LABELS)


def test_the_passes_of_another_step_are_not_known() -> None:
    reference = QzoFfReference(text_network(), QzoFfSettings(batch=2))
    before = reference.weights
    reference.step(PIXELS, LABELS)
    with pytest.raises(RigError, match="step 5 is not the last one"):
        next(reference.passes(before, 5))


def test_a_tie_moves_nothing_by_plain_steps() -> None:
    """With weights of 8 bits and a small epsilon all losses tie."""
    graph = text_network()
    layers = tuple(
        replace(
            layer,
            own=replace(
                layer.own,
                weights=(layer.own.weights // 260).astype("<i2"),
                scale=float(F(layer.own.scale) * F(260)),
                largest=127,
            ),
        )
        for layer in graph.layers
        if layer.own is not None
    )
    reference = QzoFfReference(replace(graph, layers=layers), QzoFfSettings(batch=2, epsilon=0.001, eta=0.01))
    before = reference.digests()
    done = reference.step(PIXELS, LABELS)
    assert done.sign == 0 and done.loss_plus == done.loss_minus and done.digests == before


def test_weights_of_16_bits_learn_and_those_of_8_bits_stay() -> None:
    """A linear probe of 320 weights with r = 1.5, 300 steps, as in section 9 of the text, on drawn features."""
    rng = np.random.default_rng(1)
    centres = rng.integers(60, 196, (5, 8, 8))
    labels = np.arange(50) % 5
    images = np.clip(centres[labels] + rng.normal(0, 40, (50, 8, 8)), 0, 255).astype(np.uint8)
    first = rng.uniform(-1.5, 1.5, (5, 64))
    node = replace(fully_connected(np.zeros((5, 64)), [0] * 5), scale=2.0**-3, in_shape=(8, 8, 1))
    found = {}
    for largest in (W16, W8):
        own = parameters(node, (float(np.float32(1 / 255)), -128), first, np.zeros(5), largest)
        graph = alone(replace(node, own=own), -128)
        reference = QzoFfReference(graph, QzoFfSettings(eta=0.01, batch=50))
        steps = [reference.step(images, labels) for _ in range(300)]
        losses = [done.loss_plus + done.loss_minus for done in steps]
        found[largest] = losses[-1] / losses[0], np.array_equal(reference.weights[0], own.weights)
    assert found[W16][0] < 0.8 and not found[W16][1]
    assert found[W8] == (1.0, True)
