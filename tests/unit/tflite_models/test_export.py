"""A trained network becomes a .tflite again: LiteRT gives what the reference gives, and no other byte changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from hil.errors import RigError
from hil.training.graph.file import decode
from hil.training.methods.perturbed_scales import PerturbedScales
from hil.training.tflite.export import with_weights_of
from hil.training.tflite.importing import Imported, network_of
from hil.training.tflite.read import parse

from .made import Made, small
from .test_witness import models, samples_for
from .witness import forward, run


def shaken(imported: Imported, seed: int = 3, biases: bool = True) -> Imported:
    """Return a network with other weights and biases, as training makes them, within the limits of training."""
    random = np.random.Generator(np.random.PCG64(seed))
    own = {}
    for index, layer in enumerate(imported.graph.layers):
        if layer.own is not None:
            weights = layer.own.weights.astype(int) + random.integers(-3, 4, layer.own.weights.shape)
            bias = layer.own.bias.astype(np.int64) + random.integers(-500, 500, layer.own.bias.shape) * biases
            own[index] = np.clip(weights, -126, 126).astype(np.int8), bias.astype(np.int32)
    return replace(imported, graph=imported.graph.with_parameters(own))


def imported_from(data: bytes) -> Imported:
    return network_of(parse(data, "made"), "made", "litert")


def agree(data: bytes, trained: Imported, count: int = 5) -> bool:
    """Return whether LiteRT gives the logits of the reference on a trained network."""
    samples = samples_for(trained, count)
    logits = np.stack([one[trained.tensors[-1]].reshape(-1) for one in run(data, samples)])
    return np.array_equal(forward(trained, samples), logits)


@settings(max_examples=40, deadline=None)
@given(models())
def test_litert_gives_what_the_trained_network_gives(made):
    data = made.bytes()
    before = imported_from(data)
    has_biases = all(source.bias >= 0 for source in before.sources.values())
    trained = shaken(before, biases=has_biases)
    exported = with_weights_of(data, parse(data, "made"), before, trained.graph)
    assert agree(exported.data, trained)
    again = imported_from(exported.data)
    assert with_weights_of(exported.data, parse(exported.data, "x"), again, again.graph).changed == {}


def test_only_the_bytes_of_constants_change_and_nothing_if_nothing_was_trained():
    data = small().bytes()
    model, before = parse(data, "made"), imported_from(data)
    untouched = with_weights_of(data, model, before, before.graph)
    assert (untouched.data, untouched.changed) == (data, {})
    exported = with_weights_of(data, model, before, shaken(before).graph)
    assert len(exported.data) == len(data)
    trained = {index for source in before.sources.values() for index in (source.weights, source.bias)}
    constants = b"".join(model.tensors[index].data.tobytes() for index in trained)
    apart = [place for place, (a, b) in enumerate(zip(data, exported.data, strict=True)) if a != b]
    assert 0 < len(apart) <= len(constants)
    new = parse(exported.data, "made")
    for old, now in zip(model.tensors, new.tensors, strict=True):
        if old.index not in trained and old.data is not None:
            assert now.data.tobytes() == old.data.tobytes()
    assert exported.arrays["conv1"].shape == (4, 3, 3, 2)
    assert exported.arrays["dw1"].shape == (1, 3, 3, 4)
    assert exported.arrays["fc1.bias"].tobytes() == new.tensors[before.sources[7 - 2].bias].data.tobytes()


def test_tensors_that_share_a_buffer_get_one_each_if_training_tells_them_apart():
    made = Made()
    x = made.convolution(made.convolution(made.input((5, 5, 3)), 4), 4)
    made.fully_connected(x, 3)
    first, second = (made.tensors[operator.inputs[2]] for operator in made.operators[:2])
    second.buffer = first.buffer
    data = made.bytes()
    before = imported_from(data)
    trained = shaken(before)
    exported = with_weights_of(data, parse(data, "made"), before, trained.graph)
    assert len(exported.data) > len(data)
    assert agree(exported.data, trained, 20)
    only_weights = shaken(before, biases=False)
    exported = with_weights_of(data, parse(data, "made"), before, only_weights.graph)
    assert len(exported.data) == len(data)
    assert agree(exported.data, only_weights, 20)


def test_biases_that_the_model_does_not_have_are_refused():
    made = Made()
    made.fully_connected(made.input((3, 3, 2)), 3, bias=False)
    data = made.bytes()
    before = imported_from(data)
    with pytest.raises(RigError, match=r"fc1, FULLY_CONNECTED \(node 0\), cannot be exported: it has no biases"):
        with_weights_of(data, parse(data, "made"), before, shaken(before).graph)


def test_factors_that_training_changed_are_refused():
    """Perturbed scales trains factors of 31 bits; a model has scales of 24."""
    data = small().bytes()
    before = imported_from(data)
    method = PerturbedScales.on(before.graph, "linear-probe")
    same = [array for _, array in method.plan.arrays]
    assert with_weights_of(data, parse(data, "made"), before, decode(method.plan.file(same))).changed == {}
    moved = decode(method.plan.file([array + 77_777 for array in same]))
    with pytest.raises(RigError, match=r"was trained in its scales, .* use the trained network file \(trained.hnet\)"):
        with_weights_of(data, parse(data, "made"), before, moved)


def test_another_model_is_refused():
    data = small().bytes()
    other = imported_from(Made.bytes(_other()))
    with pytest.raises(RigError, match="has other layers than the model"):
        with_weights_of(data, parse(data, "made"), imported_from(data), other.graph)


def _other() -> Made:
    made = Made()
    made.fully_connected(made.input((3, 3, 2)), 3)
    return made


def test_a_convolution_at_the_end_is_exported_as_the_convolution_that_it_was():
    made = Made()
    x = made.pool(made.convolution(made.input((6, 6, 3)), 4), kernel=(6, 6), stride=(6, 6))
    made.softmax(made.convolution(x, 3, (1, 1)))
    data = made.bytes()
    before = imported_from(data)
    assert [layer.name for layer in before.graph.layers] == ["conv1", "mean1", "fc1"]
    assert before.graph.layers[-1].rounding == "double"
    trained = shaken(before)
    assert agree(data, before)
    assert agree(with_weights_of(data, parse(data, "x"), before, trained.graph).data, trained)
