"""Steps of the methods on graphs: synchronised updates, restoration, the two scalings, what is trained, evaluation and traces."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from hil.errors import RigError
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods.graph_settings import GraphSettings
from hil.training.methods.prng import signs, start_states
from hil.training.reference.floats import F
from hil.training.reference.formats.tflite8.loss import cross_entropy, deltas, summed
from hil.training.reference.methods import training_loop
from hil.training.reference.methods.poor_mans import PoorMans
from hil.training.reference.methods.update import lowered, steps
from reference.drawn_graphs import Builder, images
from tests.oracle import numbers
from tests.oracle import tflite_graph as spec
from tests.oracle.graph_method import fixed

SETTINGS = GraphSettings(queries=3, eta=0.5)


def whole_graph(seed: int = 2, bits: int = 7) -> Graph:
    """Return one layer of each kind with weights of `bits`, each in a block of its own, around a residual add."""
    builder = Builder(np.random.default_rng(seed), (4, 4, 2), "double", 3, bits)
    builder.append(Op.CONV2D, (4, 4, 3), (3, 3), 1, 1)
    builder.append(Op.DEPTHWISE, (4, 4, 3), (3, 3), 1, 1)
    builder.append(Op.POINTWISE, (4, 4, 3), (1, 1), 1)
    builder.append_add(1)
    builder.append(Op.MAX_POOL, (2, 2, 3), (2, 2), 2)
    builder.append(Op.FULLY_CONNECTED, (1, 1, 3))
    layers, blocks = list(builder.graph.layers), iter((1, 2, 3, 4))
    return replace(
        builder.graph,
        layers=tuple(replace(layer, block=next(blocks)) if layer.own is not None else layer for layer in layers),
    )


def after(graph: Graph, settings: GraphSettings, samples: int = 2) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return weights and biases of the trained layers after one step, by name."""
    method = training_loop(settings.method)(graph, settings)
    method.step(*images(graph, samples, np.random.default_rng(9)))
    return {layer.layer.name: (layer.weights, layer.bias) for layer in method.trained}


def same(a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("changes", [{"perturb": "weight"}, {"perturb": "node"}, {"method": "deepzero"}])
def test_updates_are_synchronised(changes: dict[str, str]) -> None:
    """A layer that is trained with all others gets the update that it gets when it is trained alone: no loss has seen another's update."""
    graph, settings = whole_graph(bits=6), replace(SETTINGS, **changes)  # nothing is beyond its limits at rest
    together = after(graph, settings)
    assert list(together) == ["conv1", "dw1", "pw1", "fc1"]
    for block in range(4):
        [(name, alone)] = after(graph, replace(settings, blocks=1 << block)).items()
        assert same(alone, together[name]), name
        own = next(layer.own for layer in graph.layers if layer.name == name)
        assert own is not None
        assert not np.array_equal(alone[0], own.weights), name


@pytest.mark.parametrize("wise", ["layer", "model"])
@pytest.mark.parametrize("perturb", ["weight", "node"])
def test_nothing_is_left_of_a_perturbation(wise: str, perturb: str) -> None:
    """With a learning rate too small to move a weight, the weights are those before but for the limits at rest."""
    graph = whole_graph()
    settings = replace(SETTINGS, wise=wise, perturb=perturb, eta=2.0**-100, qas=0)
    for name, (weights, bias) in after(graph, settings).items():
        own = next(layer.own for layer in graph.layers if layer.name == name)
        assert own is not None
        assert same((weights, bias), (np.clip(own.weights, -126, 126), own.bias)), name


def test_weights_rest_where_a_perturbation_does_not_saturate() -> None:
    graph = whole_graph()
    own = graph.layers[0].own
    assert own is not None
    full = np.where(own.weights > 0, 127, -127).astype(np.int8)
    far = np.full_like(own.bias, 2**30)
    graph = graph.with_parameters({0: (full, far)})
    for train_bias in (0, 1):
        method = PoorMans(graph, replace(SETTINGS, eta=2.0**-100, qas=0, train_bias=train_bias))
        method.estimate(0, *images(graph, 1, np.random.default_rng(0)))
        assert set(np.abs(method.trained[0].weights).ravel().tolist()) == {126}
        assert set(method.trained[0].bias.tolist()) == {2**30 - 2**20 if train_bias else 2**30}


@pytest.mark.parametrize("wise", ["layer", "model"])
@pytest.mark.parametrize("perturb", ["weight", "node", "adaptive"])
def test_gradient_norm_scaling_divides_by_what_it_says(wise: str, perturb: str) -> None:
    """N Q / (N Q + d - 1): a learning rate that is larger by as much gives the same step without it."""
    graph = whole_graph()
    common = replace(SETTINGS, wise=wise, perturb=perturb, qas=0, eta=50.0)
    trained = PoorMans(graph, common).trained
    for layer in trained:
        d = sum(one.dimension for one in trained) if wise == "model" else layer.dimension
        expected = layer.layer.out_size if layer.by_nodes else layer.layer.weight_count + layer.layer.channels
        assert layer.dimension == expected
        nq = 2 * common.queries
        without = replace(common, gns=0, eta=float(F(50.0) * (F(nq) / F(nq + d - 1))))
        assert same(after(graph, common)[layer.layer.name], after(graph, without)[layer.layer.name])
        assert not same(after(graph, common)[layer.layer.name], after(graph, replace(common, gns=0))[layer.layer.name])


@pytest.mark.parametrize("perturb", ["weight", "node"])
def test_quantization_aware_scaling_divides_by_the_square_of_the_scale(perturb: str) -> None:
    """Powers of two as scales, so that a learning rate takes the place of them exactly: 2^-4 weighs as 2^8."""
    graph = whole_graph()
    layers = []
    for layer in graph.layers:
        own = layer.own
        layers.append(replace(layer, own=replace(own, scale=np.full_like(own.scale, 2.0**-4))) if own else layer)
    graph = replace(graph, layers=tuple(layers), scale=2.0**-3)  # of the input: conv1's biases have 2^-7
    common = replace(SETTINGS, perturb=perturb, gns=0)
    scaled, plain = (after(graph, replace(common, qas=qas, eta=2.0**eta)) for qas, eta in ((1, -6), (0, 2)))
    for name in scaled:
        assert np.array_equal(scaled[name][0], plain[name][0]), name
    own = graph.layers[0].own
    assert own is not None
    scaled, plain = (after(graph, replace(common, qas=qas, eta=2.0**eta)) for qas, eta in ((1, 2), (0, 16)))
    assert np.array_equal(scaled["conv1"][1], plain["conv1"][1])
    assert not np.array_equal(scaled["conv1"][1], own.bias)


def test_what_is_trained() -> None:
    graph = whole_graph()
    for changes, expected in (
        ({}, [np.int8, np.int32] * 4),
        ({"train_bias": 0}, [np.int8] * 4),
        ({"train": "bias"}, [np.int32] * 4),
        ({"train": "last"}, [np.int8, np.int32]),
        ({"train": "pointwise", "train_bias": 0}, [np.int8]),
        ({"blocks": 6}, [np.int8, np.int32] * 2),
    ):
        method = PoorMans(graph, replace(SETTINGS, **changes))
        assert [tensor.dtype.type for tensor in method.weights] == expected
        assert len(method.digests()) == len(expected)
    with pytest.raises(RigError, match="blocks"):
        PoorMans(
            replace(graph, layers=tuple(replace(one, block=min(one.block, 1)) for one in graph.layers)),
            replace(SETTINGS, blocks=2),
        )


def test_a_method_is_known_by_its_name() -> None:
    assert training_loop("poor-mans") is PoorMans
    with pytest.raises(RigError, match="deepzero"):
        training_loop("deepzer")


def test_streams_depend_on_the_step_and_the_place_in_it() -> None:
    """A step with another index, a sample at another place: other draws. Asking again: the same."""
    graph = whole_graph()
    pictures, labels = images(graph, 1, np.random.default_rng(3))

    def totals(step: int, copies: int) -> list[list[int]]:
        found = PoorMans(graph, replace(SETTINGS, perturb="weight")).estimate(
            step, np.repeat(pictures, copies, axis=0), np.repeat(labels, copies)
        )
        return [gradient.total.tolist() for gradient in found.gradients]

    assert totals(4, 1) == totals(4, 1)
    assert totals(4, 1) != totals(5, 1)
    assert totals(4, 2) != [[2 * value for value in layer] for layer in totals(4, 1)]


def test_evaluation_and_trace_are_the_plain_forward_pass() -> None:
    graph = whole_graph()
    pictures, labels = images(graph, 70, np.random.default_rng(4))
    method = PoorMans(graph, SETTINGS)
    values = spec.forward(graph, pictures)
    logits = values[-1].reshape(70, -1)
    predictions, right, digest = method.evaluate_chunk(pictures, labels)
    assert predictions.dtype == np.uint16
    assert predictions.tolist() == [row.tolist().index(max(row)) for row in logits]
    assert right == sum(predictions == labels) == round(method.accuracy(pictures, labels) * 70)
    assert digest == xxhash.xxh32_intdigest(b"".join(row.tobytes() + b"\0\0" for row in logits))
    stages = method.trace(method.weights, pictures, labels, 11)
    assert [stage.layer for stage in stages] == [layer.name for layer in graph.layers]
    assert [stage.data for stage in stages] == [value[11].tobytes() + b"\0\0" for value in values[1:]]
    changed = [np.zeros_like(tensor) for tensor in method.weights]
    assert [stage.data for stage in method.trace(changed, pictures, labels, 11)] != [stage.data for stage in stages]


def test_digests_are_those_of_the_bytes_on_the_board() -> None:
    method = PoorMans(whole_graph(), SETTINGS)
    first, second = method.digests()[:2]
    assert first == xxhash.xxh32_intdigest(method.trained[0].weights.tobytes())
    assert second == xxhash.xxh32_intdigest(
        b"".join(int(b).to_bytes(4, "little", signed=True) for b in method.trained[0].bias)
    )


@given(
    seed=st.integers(0, 2**32 - 1),
    step=st.integers(0, 2**20),
    first=st.integers(0, 2**32 - 200),
    count=st.integers(1, 300),
)
def test_streams_of_signs(seed: int, step: int, first: int, count: int) -> None:
    settings = GraphSettings(seed=seed)
    indices = np.arange(first, first + 3, dtype=np.uint32).reshape(3, 1)
    states = start_states(seed, step, indices)
    assert states.ravel().tolist() == [numbers.start(settings, step, int(i)) for i in indices.ravel()]
    drawn = signs(states, count)
    assert (drawn.shape, drawn.dtype) == ((3, 1, count), np.int8)
    for state, ours in zip(states.ravel().tolist(), drawn[:, 0].tolist(), strict=True):
        for xi in ours:
            state = numbers.xorshift32(state)
            assert xi == (-1 if state & 1 else 1)


@given(st.floats(-40, 40, width=32) | st.integers(-(2**22), 2**22).map(lambda n: float(F(n / 2**17))))
def test_delta(difference: float) -> None:
    """Halves between two deltas among them: multiples of 2^-17."""
    assert deltas(np.array([difference], np.float32)).tolist() == [fixed(F(difference))]


@given(
    st.lists(st.integers(-128, 127), min_size=2, max_size=9),
    st.integers(0, 1),
    st.sampled_from([0.001, 0.05, 0.7, 3.0]),
)
def test_the_loss_is_the_cross_entropy(logits: list[int], label: int, scale: float) -> None:
    x = np.array(logits) * float(F(scale))
    exact = np.log(np.exp(x - x.max()).sum()) + x.max() - x[label]
    found = cross_entropy(np.array([logits]), np.array([label]), scale)
    assert found.dtype == np.float32
    assert float(found[0]) == pytest.approx(exact, rel=1e-5, abs=1e-6)


def test_losses_are_summed_one_after_the_other() -> None:
    losses, before = np.array([[2.0**24, 1.0], [1.0, 1.0]], np.float32), F(0)
    assert float(summed(losses, before)) == 2.0**24  # each 1 is lost, though all three together would not be
    assert float(summed(losses[::-1], before)) == 2.0**24 + 4  # 2 + 2^24, and 1 more is a tie


FACTORS = st.one_of(
    st.floats(2.0**-140, 2.0**120, width=32), st.sampled_from([0.0, 2.0**-127, 2.0**-126, float("inf"), 1.0, 2.0**-60])
)


@given(
    gradient=st.integers(-(2**31), 2**31 - 1) | st.integers(-9, 9),
    exponent=st.integers(-40, 20),
    factor=FACTORS,
    value=st.integers(-126, 126),
)
def test_the_update_is_the_exact_product_rounded_half_away(
    gradient: int, exponent: int, factor: float, value: int
) -> None:
    """An exact fraction, halves away from zero, cut at 2^30; nothing where the factor is not a normal number."""
    f = F(factor)
    for limit in (126, 2**30 - 2**20):
        size = 0
        if np.isfinite(f) and f >= F(2.0**-126):
            exact = abs(Fraction(float(f)) * gradient) * Fraction(2) ** exponent
            size = min(int(exact + Fraction(1, 2)), 2**30)
        expected = value - size if gradient > 0 else value + size
        by = steps(np.array([gradient]), np.array(exponent), np.array([f]))
        found = lowered(np.array([value], np.int32), by, limit)
        assert found.tolist() == [min(max(expected, -limit), limit)]
