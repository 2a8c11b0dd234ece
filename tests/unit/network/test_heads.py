"""New last layers: prototypes as linear layers, and a pre-trained network in floats."""

from __future__ import annotations

import numpy as np
import pytest

from hil.training.data import load
from hil.training.graph.formats import Format
from hil.training.graph.node import Float32Parameters
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.networks import build, find_network
from hil.training.networks.convert_w16a8 import W8, W16, from_tflite8, with_head
from hil.training.networks.float32 import floats_of, in_float32, in_floats
from hil.training.networks.heads import MARGIN, drawn_head, prototype_head, with_float_head
from hil.training.reference.methods.qzo_ff import QzoFfReference

RNG = np.random.default_rng(3)
FEATURES = RNG.uniform(0, 4, (25, 12)) + np.repeat(RNG.uniform(0, 3, (5, 12)), 5, axis=0)
CLASSES = np.repeat(np.arange(5), 5)
QUERIES = RNG.uniform(0, 7, (200, 12))


def test_protonets_has_the_nearest_mean() -> None:
    weights, bias = prototype_head("protonet", FEATURES, CLASSES)
    means = np.stack([FEATURES[c == CLASSES].mean(axis=0) for c in range(5)])
    nearest = ((QUERIES[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    assert ((QUERIES @ weights.T + bias).argmax(axis=1) == nearest).all()
    logits = means @ weights.T + bias
    margins = logits.diagonal()[:, None] - logits
    assert margins.sum() / 20 == pytest.approx(MARGIN)


def test_simpleshot_has_the_nearest_direction() -> None:
    weights, bias = prototype_head("simpleshot", FEATURES, CLASSES)
    units = FEATURES / np.linalg.norm(FEATURES, axis=1, keepdims=True)
    means = np.stack([units[c == CLASSES].mean(axis=0) for c in range(5)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    queries = QUERIES / np.linalg.norm(QUERIES, axis=1, keepdims=True)
    nearest = ((queries[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
    assert ((QUERIES @ weights.T + bias).argmax(axis=1) == nearest).all() and not bias.any()


def test_equal_features_of_all_classes_give_finite_weights() -> None:
    for classifier in ("protonet", "simpleshot"):
        weights, bias = prototype_head(classifier, np.ones((10, 4)), np.repeat([0, 1], 5))
        assert np.isfinite(weights).all() and np.isfinite(bias).all()


@pytest.mark.parametrize("name", ["lenet5-tflite", "resnet-tiny"])
def test_a_pre_trained_network_in_floats_classifies_alike(name: str) -> None:
    graph = in_floats(find_network(name).shape(name, 1), build(name, 1))
    assert graph.formats == (Format.FLOAT32,)
    data = load("fashion-mnist-1k")
    images, chosen = data.test_images[:40], QzoFfSettings(last_layers=1)
    floats = QzoFfReference(graph, chosen).logits(images)[0]
    integers = QzoFfReference(from_tflite8(build(name, 1)), chosen)
    real = (integers.logits(images)[0] - integers.graph.layers[-1].zero) * integers.graph.layers[-1].scale
    assert (floats.argmax(axis=1) == real.argmax(axis=1)).mean() >= 0.9
    assert np.abs(floats - real).mean() < 0.1 * np.abs(real).max()


@pytest.mark.parametrize("name", ["lenet5-tflite", "resnet-tiny"])
def test_floats_without_a_shape_are_those_with_one(name: str) -> None:
    """The activations are read from the limits; a ReLU whose range ends below 6 may be read as a ReLU6."""
    graph = build(name, 1)
    found, known = floats_of(graph), in_floats(find_network(name).shape(name, 1), graph)
    chosen, images = QzoFfSettings(last_layers=1), load("fashion-mnist-1k").test_images[:20]
    ours, theirs = (QzoFfReference(one, chosen).logits(images)[0] for one in (in_float32(found), known))
    assert np.abs(ours - theirs).mean() < 1e-3 * np.abs(theirs).max()
    assert (found.of_input, found.classes) == ((graph.scale, graph.zero), graph.classes)
    assert [layer.block for layer in found.layers] == [layer.block for layer in known.layers]


@pytest.mark.parametrize("largest", [W16, W8])
def test_room_for_a_new_head(largest: int) -> None:
    graph = from_tflite8(build("lenet5-tflite", 1), largest)
    weights, bias = drawn_head(7, 84, 2)
    features = np.random.default_rng(1).uniform(0, 5, (30, 84))
    headed = with_head(graph, weights, bias, features, 4.0)
    own = headed.layers[-1].own
    assert own is not None and headed.classes == 7 and own.weights.shape == (7, 84)
    assert np.abs(own.weights).max() == pytest.approx((126 if largest == W8 else 32256) / 4, abs=1)
    logits = features @ weights.T
    assert 255 * headed.layers[-1].scale == pytest.approx(4 * (logits.max() - logits.min()), rel=1e-3)
    floats = in_float32(floats_of(build("lenet5-tflite", 1)))
    assert (
        with_float_head(floats, weights, bias).own_of(Float32Parameters)[len(floats.layers) - 1].weights.dtype
        == np.float32
    )
