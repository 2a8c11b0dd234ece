"""Properties of FQT's reference on drawn networks, whatever their numbers are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from graph.test_file_affine8 import tiny
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from network.drawn_affine8 import affine8_graphs
from network.drawn_float32 import float32_graphs

from hil.errors import RigError
from hil.training.graph.affine8 import with_scales
from hil.training.graph.file import NetworkFileError, decode, encode
from hil.training.graph.formats import Format, Op
from hil.training.graph.graph import Graph
from hil.training.graph.node import Float32Node
from hil.training.methods.fqt_settings import FqtSettings
from hil.training.methods.fqt_tensors import with_arrays
from hil.training.reference.formats.tflite8 import passes as tflite8
from hil.training.reference.methods import StepFailed, fqt
from hil.training.reference.methods.fqt import FqtReference
from hil.training.reference.methods.fqt_passes import FqtPasses

from .affine8_networks import Maker, network_a, network_b, network_c, samples

CHOSEN = st.fixed_dictionaries(
    {
        "last_layers": st.integers(1, 4),
        "train_bias": st.integers(0, 1),
        "eta": st.sampled_from([0.001, 0.01, 0.1]),
        "standardise": st.sampled_from(["off", "running", "batch", "accumulated"]),
        "optimizer": st.sampled_from(["sgd", "momentum", "adam"]),
        "gradient": st.sampled_from(["sum", "mean"]),
        "error_range": st.sampled_from(["sample", "running"]),
        "lambda_min": st.sampled_from([0.0, 0.3, 1.0]),
        "rate": st.sampled_from(["ratio", "difference"]),
        "sparse_head": st.integers(0, 1),
        "batch": st.just(5),
    }
)
Batch = tuple[np.ndarray, np.ndarray]


def drawn(graph: Graph, chosen: dict[str, Any], seed: int) -> tuple[FqtReference, Batch]:
    """Return the method and five samples; networks that it refuses are passed over."""
    rng = np.random.default_rng(seed)
    batch = (
        rng.integers(0, 256, (5, *graph.in_shape)).astype(np.uint8),
        rng.integers(0, graph.classes, 5).astype(np.uint8),
    )
    try:
        return FqtReference(graph, FqtSettings(**chosen)), batch
    except RigError:
        assume(False)
        raise


def step(reference: FqtReference, batch: Batch) -> tuple[Any, ...]:
    """Return what a step gave, or layer and cause of its failure."""
    try:
        outcome = reference.step(*batch)
    except StepFailed as failed:
        return failed.layer, failed.cause
    return outcome.loss_plus, outcome.digests


@settings(max_examples=60, deadline=None)
@given(graph=st.one_of(affine8_graphs(), float32_graphs(largest=5, most=4)), chosen=CHOSEN, seed=st.integers(0, 99))
def test_how_many_samples_are_computed_at_a_time_changes_nothing(
    graph: Graph, chosen: dict[str, Any], seed: int
) -> None:
    (one, batch), (other, _) = drawn(graph, chosen, seed), drawn(graph, chosen, seed)
    kept = fqt.GROUP
    try:
        for _ in range(2):
            fqt.GROUP = 2
            mine = step(one, batch)
            fqt.GROUP = 16
            assert mine == step(other, batch)
            if len(mine) == 2 and isinstance(mine[1], int):  # statistics of a step that fails are not defined
                return
    finally:
        fqt.GROUP = kept
    for name, array in one.state().items():
        np.testing.assert_array_equal(array, other.state()[name], err_msg=name)


@settings(max_examples=40, deadline=None)
@given(graph=affine8_graphs(), chosen=CHOSEN, seed=st.integers(0, 99))
def test_a_step_that_fails_changes_no_tensor_and_one_that_does_not_leaves_a_network(
    graph: Graph, chosen: dict[str, Any], seed: int
) -> None:
    reference, batch = drawn(graph, chosen, seed)
    before = reference.digests()
    if isinstance(step(reference, batch)[1], int):
        assert reference.digests() == before
        return
    for layer in reference.graph.layers:
        assert isinstance(layer, Float32Node) or layer.low <= 0 <= layer.high
        assert layer.own is None or np.isfinite(layer.own.bias).all()
    again = with_arrays(graph, reference._tensors, reference.weights)
    assert encode(again) == encode(reference.graph)
    try:
        decode(encode(again))
    except NetworkFileError as refused:  # a range that had to be wider than its limits, or a bias beside its scale
        assert refused.check in (9, 11, 13)


@settings(max_examples=30, deadline=None)
@given(graph=affine8_graphs(), chosen=CHOSEN, seed=st.integers(0, 99))
def test_evaluation_and_trace_observe_nothing(graph: Graph, chosen: dict[str, Any], seed: int) -> None:
    (one, batch), (other, _) = drawn(graph, chosen, seed), drawn(graph, chosen, seed)
    for _ in range(2):
        one.logits(batch[0])
        one.trace(one.weights, *batch, 3)
        assert step(one, batch) == step(other, batch)


@pytest.mark.parametrize(
    "chosen",
    [
        {}, {"error_range": "running", "lambda_min": 0.2}, {"standardise": "off"}, {"standardise": "accumulated"},
        {"optimizer": "momentum"}, {"optimizer": "adam", "standardise": "off"},
        {"optimizer": "adam", "standardise": "accumulated", "lambda_min": 0.2, "train_bias": 0},
    ],
)  # fmt: skip
def test_a_reference_goes_on_from_its_state(chosen: dict[str, Any]) -> None:
    batch, its = samples(network_b()), FqtSettings(eta=0.01, batch=2, **chosen)
    one = FqtReference(network_b(), its)
    for _ in range(3):
        one.step(*batch)
    other = FqtReference(one.graph, its)
    other.configure(its, 3)
    other.restore(one.state())
    assert one.step(*batch) == other.step(*batch)


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam"])
def test_a_new_configuration_begins_anew(optimizer: str) -> None:
    batch, its = samples(network_a()), FqtSettings(eta=0.01, batch=2, optimizer=optimizer)
    one = FqtReference(network_a(), its)
    one.step(*batch)
    one.configure(its, 1)
    fresh = FqtReference(one.graph, its)
    fresh.configure(its, 1)
    assert one.step(*batch) == fresh.step(*batch)


@pytest.mark.parametrize(
    "chosen",
    [
        {"standardise": "running"}, {"standardise": "accumulated"}, {"error_range": "running"}, {"lambda_min": 0.2},
        {"optimizer": "momentum"}, {"optimizer": "adam"},
    ],
)  # fmt: skip
def test_a_schedule_keeps_all_state(chosen: dict[str, Any]) -> None:
    """With the same rate it changes nothing, and a new configuration would; with another one only weights differ."""
    batch, its = samples(network_b()), FqtSettings(eta=0.01, batch=2, **{"standardise": "off"} | chosen)
    plain, followed, other, anew = (FqtReference(network_b(), its) for _ in range(4))
    for number in range(3):
        if number == 2:
            other.follow(replace(its, eta=0.001))
            anew.configure(its, 2)
        followed.follow(its)
        outcomes = [one.step(*batch) for one in (plain, followed, other, anew)]
        assert outcomes[0] == outcomes[1]
        assert (outcomes[0].digests == outcomes[2].digests) == (number < 2)
        assert (outcomes[0].digests == outcomes[3].digests) == (number < 2)
    for name, array in plain.state().items():
        if name.startswith(("velocity", "m", "v", "largest")):
            np.testing.assert_array_equal(array, other.state()[name], err_msg=name)


def failure(graph: Graph, **chosen: Any) -> tuple[int, int]:
    """Return layer and cause of the failure of step 0."""
    with pytest.raises(StepFailed) as caught:
        FqtReference(with_scales(graph), FqtSettings(**{"batch": 2, **chosen})).step(*samples(graph))
    return caught.value.layer, caught.value.cause


def replaced(graph: Graph, index: int, own: dict[str, Any] | None = None, **changes: Any) -> Graph:
    layer = graph.layers[index]
    assert layer.own is not None
    layer = replace(layer, own=replace(layer.own, **own or {}), **changes)
    return replace(graph, layers=(*graph.layers[:index], layer, *graph.layers[index + 1 :]))


def test_a_weight_or_a_bias_that_is_too_large() -> None:
    heavy = replaced(network_a(), 2, {"scale": 2.0**14})
    assert failure(heavy) == (2, 2)
    biased = replaced(network_a(), 2, {"bias": np.full(3, 2.0**20, np.float32)})  # the gradients of some are below 0
    assert failure(biased, eta=16.0) == (2, 2)
    both = replaced(heavy, 0, {"bias": np.array([np.inf, 0], np.float32)})
    assert failure(both) == (0, 2)


def test_a_range_that_is_too_wide() -> None:
    """Small values lie at its lower end, which is moved by the whole width."""
    wide = replaced(network_a(), 2, low=0.0, high=2.0**30)
    assert failure(wide, range_growth=1.0) == (2, 4)
    assert FqtReference(with_scales(wide), FqtSettings(batch=2, range_growth=0.0)).step(*samples(wide))


def test_an_error_whose_scale_is_too_large() -> None:
    """The reader that computes it is named, of the first sample that fails, also if another layer fails later."""
    net = Maker((4, 4, 1), 2.0**-8, 0)
    for _ in range(5):
        net.add(Op.POINTWISE, (4, 4, 1), 1, 1, range=(-(2.0**20), 2.0**20))
    net.add(Op.FULLY_CONNECTED, (1, 1, 3), range=(-1.0, 1.0))
    graph = net.graph()
    for index in range(6):
        graph = replaced(graph, index, {"scale": 2.0**14, "zero": -100})
    reference = FqtReference(with_scales(graph), FqtSettings(batch=2))
    before = reference.digests()
    with pytest.raises(StepFailed, match="the error that pw4 gives has a scale above 2\\^40") as caught:
        reference.step(*samples(graph))
    assert (caught.value.layer, caught.value.cause) == (3, 3) and reference.digests() == before


def test_layers_in_tflite8_before_the_trained_ones() -> None:
    """They give what they give by themselves, and keep their weights."""
    graph = tiny()
    batch = samples(graph)
    reference = FqtReference(graph, FqtSettings(batch=2, eta=0.01, standardise="off"))
    stem = replace(graph, layers=graph.layers[:1])
    alone = tflite8.Passes(stem)
    own = stem.layers[0].own
    assert own is not None
    layer = alone.layers[0]
    expected = alone.clean(batch[0], [layer.own(own.weights.reshape(-1), own.bias, np.float64)])[1][:, 0]
    found = FqtPasses(reference.graph, reference._backward).values(batch[0])[1]
    np.testing.assert_array_equal(found, expected)
    losses = [reference.step(*batch).loss_plus for _ in range(20)]
    assert losses[-1] < losses[0] and reference.graph.layers[0] == graph.layers[0]


@pytest.mark.filterwarnings("error")
def test_numbers_beyond_binary32_are_limited_or_fail() -> None:
    net = Maker((2, 2, 1), 2.0**32, -128, Format.FLOAT32)
    net.add(Op.CONV2D, (2, 2, 2), 1, 1)
    net.add(Op.FULLY_CONNECTED, (1, 1, 3))
    graph = net.graph()
    for standardise in ("running", "batch", "off"):
        reference = FqtReference(graph, FqtSettings(batch=2, standardise=standardise, eta=16.0, epsilon=2.0**-40))
        for _ in range(3):
            mine = step(reference, samples(graph))
            assert np.isfinite(mine[0])
            for tensor in reference.weights:
                assert np.isfinite(tensor).all()


@pytest.mark.parametrize("network", [network_a(), network_b(), network_c()], ids="ABC")
def test_training_lowers_the_loss(network: Graph) -> None:
    reference = FqtReference(network, FqtSettings(eta=0.01, batch=2))
    losses = [reference.step(*samples(network)).loss_plus for _ in range(30)]
    assert losses[-1] < 0.7 * losses[0]
