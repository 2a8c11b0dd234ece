"""QZO-FF on `w16a8` in the tree's reference against the oracle, bit for bit, on small random graphs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from network.in_format import in_format

from hil.training.graph.formats import POOLS, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Node, W16A8Node, W16A8Parameters
from hil.training.methods.qzo_ff_settings import QzoFfSettings
from hil.training.reference.methods import training_loop
from reference.drawn_graphs import drawn_graph, images
from tests.oracle import w16a8
from tests.oracle.qzo_ff import PlainQzoFf

STEPS = 2


def drawn_w16a8(rng: np.random.Generator, largest: int) -> Graph:
    """Return a small random graph in `w16a8` with the layers of `drawn_graph`."""
    graph = drawn_graph(rng)
    layers = [_in_w16a8(graph, layer, rng, largest) for layer in graph.layers]
    return replace(graph, layers=tuple(layers))


def _in_w16a8(graph: Graph, layer: Node, rng: np.random.Generator, largest: int) -> Node:
    """Return a layer with one scale for all its channels, and with finer weights if they have 16 bits."""
    if layer.own is None:
        return in_format(W16A8Node, layer)
    old, finer = layer.own, 256 if largest == 32767 else 1
    weights = old.weights.astype(np.int16) * finer + rng.integers(-finer // 2, finer // 2 + 1, old.weights.shape)
    weights = np.clip(weights, -largest, largest).astype(np.int16)
    multiplier, shift = int(old.multiplier[0]), min(int(old.shift[0]), -2) - (8 if finer == 256 else 0)
    unit = multiplier * 2.0 ** (shift - 31) * layer.scale / graph.scale_of(layer.reads[0])
    own = W16A8Parameters(weights, old.bias * finer, multiplier, shift, float(np.float32(unit)), largest)
    return in_format(W16A8Node, layer, own=own)


@st.composite
def enhancements(draw: st.DrawFn) -> dict[str, object]:
    """Return settings, each as its default half of the time."""

    def some(default: object, *others: object) -> object:
        return draw(st.sampled_from([default] * len(others) + list(others)))

    return {
        "directions": some(1, 2, 3, 8),
        "optimizer": some("plain", "adamw"),
        "beta1": some(0.9, 0.0, 0.99),
        "beta2": some(0.95, 0.0, 0.5),
        "distribution": some("gaussian", "binomial"),
        "last_layers": some(64, 1, 2),
        "train_bias": some(0, 1),
        "guide": some(0, 1, 200, 256),
        "guide_from": some(0, 1),
        "smoothing": some(26, 1, 255),
        "sparse": some("off", "top", "random", "threshold"),
        "keep": some(26, 1, 128, 255),
        "normalise": some(0, 1),
        "warmup": some(0, 1, 3),
        "steps": some(0, 4, 60),
    }


@settings(max_examples=60, deadline=None)
@given(
    others=enhancements(),
    epsilon=st.sampled_from([0.2, 0.7, 5, 100, 2000]),
    rho=st.sampled_from([0, 0, 0.3, 3, 1500]),
    eta=st.sampled_from([2.0**-40, 1e-5, 1e-3, 0.05, 1.0]),
    largest=st.sampled_from([32767, 32767, 127]),
    samples=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
    first=st.sampled_from([0, 1, 2, 50]),
)
@example({"directions": 127, "guide": 256}, 100, 0, 1e-3, 32767, 1, 5, 0)
def test_small_graphs(
    others: dict[str, object],
    epsilon: float,
    rho: float,
    eta: float,
    largest: int,
    samples: int,
    seed: int,
    first: int,
) -> None:
    """`epsilon` and `rho` are in steps of the finest weights; of 8 bits, in 1/500 of that."""
    rng = np.random.default_rng(seed)
    graph = drawn_w16a8(rng, largest)
    unit = min(layer.own.scale for layer in graph.trained if layer.own is not None)
    one = unit if largest == 32767 else unit / 500
    chosen = QzoFfSettings(
        epsilon=float(np.float32(min(epsilon * one, 0.5))),
        rho=float(np.float32(min(rho * one, 0.5))),
        eta=float(np.float32(eta)),
        eta_min=float(np.float32(eta / 8)),
        threshold=float(np.float32(40 * unit * (256 if largest == 32767 else 1))),
        batch=samples,
        seed=seed,
        **others,  # type: ignore[arg-type]
    )
    fast, slow = training_loop("qzo-ff")(graph, chosen), PlainQzoFf(graph, chosen)
    for begin in (first, first + STEPS):  # the second time without the history of the first
        fast.configure(chosen, begin)
        slow.configure(chosen)
        for step in range(begin, begin + STEPS):
            pictures, labels = images(graph, samples, rng)
            outcome = fast.step(pictures, labels.astype(np.uint8))
            plus, minus, sign = slow.step(step, pictures, labels.tolist())
            assert np.float32(outcome.loss_plus).tobytes() == plus.tobytes()
            assert np.float32(outcome.loss_minus).tobytes() == minus.tobytes()
            assert outcome.sign == sign
            for index, (got, tensor) in enumerate(zip(fast.weights, slow.tensors, strict=True)):
                assert got.ravel().tolist() == tensor.values, f"tensor {index}"
            assert outcome.digests == slow.digests()


@settings(max_examples=60, deadline=None)
@given(largest=st.sampled_from([32767, 127]), seed=st.integers(0, 2**32 - 1))
def test_logits(largest: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = drawn_w16a8(rng, largest)
    pictures, _ = images(graph, 3, rng)
    fast = training_loop("qzo-ff")(graph, QzoFfSettings(batch=3))
    own = w16a8.Own.of(graph)
    assert fast.logits(pictures)[0].tolist() == [w16a8.forward(graph, own, image)[-1] for image in pictures]


def test_the_drawn_graphs_have_every_operation() -> None:
    graphs = [drawn_w16a8(np.random.default_rng(seed), 32767) for seed in range(40)]
    ops = {layer.op for graph in graphs for layer in graph.layers}
    assert ops == {Op.CONV2D, Op.FULLY_CONNECTED, Op.DEPTHWISE, Op.POINTWISE, Op.ADD, *POOLS}
