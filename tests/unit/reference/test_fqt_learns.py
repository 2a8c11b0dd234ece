"""FQT learns real images from random weights, dense and sparse, in 8 bits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from hil.training.data import batches, load
from hil.training.graph.affine8 import with_scales
from hil.training.graph.formats import Op, Shape
from hil.training.graph.graph import Graph
from hil.training.methods.fqt_settings import FqtSettings
from hil.training.reference.methods.fqt import FqtReference
from reference.affine8_networks import IMAGE, Maker

BATCH, STEPS, IMAGES = 48, 90, 500


def network(seed: int) -> Graph:
    """Return a small convolutional network with random weights (He), whose ranges are guesses."""
    net, rng = Maker((28, 28, 1), *IMAGE), np.random.default_rng(seed)
    layers: tuple[tuple[Op, Shape, int, int, tuple[float, float]], ...] = (
        (Op.CONV2D, (12, 12, 8), 5, 2, (0.0, 4.0)),
        (Op.CONV2D, (10, 10, 16), 3, 1, (0.0, 8.0)),
        (Op.MAX_POOL, (5, 5, 16), 2, 2, (0.0, 0.0)),
        (Op.FULLY_CONNECTED, (1, 1, 32), 0, 0, (0.0, 8.0)),
        (Op.FULLY_CONNECTED, (1, 1, 10), 0, 0, (-8.0, 8.0)),
    )
    for op, out, kernel, stride, range in layers:
        activation = "relu" if op is not Op.MAX_POOL and out != (1, 1, 10) else "none"
        net.add(op, out, kernel, stride, activation=activation, range=range)
    nodes = []
    for node in net.nodes:
        if node.own is not None:
            weights = np.clip(np.rint(rng.normal(0, 40, node.own.weights.shape)), -128, 127).astype(np.int8)
            scale = np.array([(2 / node.taps) ** 0.5 / 40], np.float32)
            node = replace(node, own=replace(node.own, weights=weights, scale=scale, zero=0, bias=0 * node.own.bias))
        nodes.append(node)
    return with_scales(replace(net.graph(), layers=tuple(nodes), classes=10))


@pytest.mark.parametrize(("settings", "least"), [({}, 0.6), ({"lambda_min": 0.1}, 0.5)], ids=["dense", "sparse"])
def test_images_are_learnt(settings: dict[str, Any], least: float) -> None:
    data = load("fashion-mnist-1k")
    reference = FqtReference(network(3), FqtSettings(batch=BATCH, **settings))
    tests = data.test_images[:IMAGES], data.test_labels[:IMAGES]
    assert reference.accuracy(*tests) < 0.3
    order = batches(data, BATCH, 3)
    with threadpool_limits(1, "blas"):  # the products are small, as in a trial
        for _ in range(STEPS):
            chosen = next(order)
            reference.step(data.train_images[chosen], data.train_labels[chosen])
    assert reference.accuracy(*tests) > least
