"""The slope that estimates are compared with: against numeric differences of the same network in double precision."""

from __future__ import annotations

import numpy as np
import pytest
from reference import float_graph
from reference.drawn_graphs import Builder

from hil.training.data import load
from hil.training.experiments.slope import cosine, cosines, slopes
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods.graph_settings import GraphSettings
from hil.training.networks import build
from hil.training.reference.methods.poor_mans import PoorMans

STEP = 1e-4
SAMPLES = 5


def drawn(pool: Op) -> Graph:
    """Return a graph with every operation around a residual add."""
    builder = Builder(np.random.default_rng(2), (6, 6, 2), "double", 4, 6)
    builder.append(Op.CONV2D, (6, 6, 3), (3, 3), 1, 1)
    builder.append(Op.DEPTHWISE, (6, 6, 3), (3, 3), 1, 1)
    builder.append(Op.POINTWISE, (6, 6, 3), (1, 1), 1)
    builder.append_add(1)
    builder.append(Op.CONV2D, (3, 3, 4), (3, 3), 2, 1)
    builder.append(pool, (1, 1, 4), (2, 2), 2)
    builder.append(Op.FULLY_CONNECTED, (1, 1, 4))
    return builder.graph


@pytest.mark.parametrize("pool", [Op.MAX_POOL, Op.AVERAGE_POOL])
def test_against_numeric_differences(pool: Op) -> None:
    graph = drawn(pool)
    rng = np.random.default_rng(3)
    images, labels = rng.integers(0, 256, (SAMPLES, *graph.in_shape)), rng.integers(0, graph.classes, SAMPLES)
    found = slopes(graph, float_graph.values(graph, float_graph.of_graph(graph), images), labels)
    assert len(found) == 5
    for index, slope in found.items():
        wanted = float_graph.gradient(graph, images, labels, index, False, STEP)
        np.testing.assert_allclose(slope.ravel(), wanted, atol=1e-6 * np.abs(wanted).max(), rtol=1e-4)


def test_an_estimate_points_along_it_the_better_the_more_queries() -> None:
    data = load("fashion-mnist-1k+gaussian-noise-5")
    images, labels = data.train_images[:4], data.train_labels[:4]
    alike = []
    for queries in (1, 60):
        method = PoorMans(build("lenet5-tflite", 1), GraphSettings(queries=queries, batch=4))
        before = method.digests()
        alike.append(cosines(method, 0, images, labels))
        assert method.digests() == before, "nothing is updated"
    assert len(alike[0]) == 5 and all(few < many for few, many in zip(*alike, strict=True))
    assert alike[1][-1] > 0.3


def test_cosine() -> None:
    one = np.array([[3.0, 0], [0, 4]])
    assert cosine(one, 2 * one) == pytest.approx(1) and cosine(one, -one) == pytest.approx(-1)
    assert cosine(one, np.array([[0.0, 1], [1, 0]])) == 0 == cosine(one, np.zeros((2, 2)))
