"""What FQT's reference shows of a sample, and of an evaluation (docs/arithmetic-affine8.md, section 8)."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import xxhash

from hil.training.graph.graph import Graph
from hil.training.methods.fqt_settings import FqtSettings
from hil.training.reference.methods.fqt import FqtReference
from reference.fqt_sample import Sample

from .affine8_networks import F32, network_a, network_b, network_c, samples


def digest(data: bytes) -> str:
    return f"{xxhash.xxh32_intdigest(data):08X}"


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("network", [network_a(), network_b(), network_c(), network_b(F32)])
def test_stages(network: Graph, number: int) -> None:
    """The outputs, each followed by two zero bytes, then the errors from the last layer back."""
    reference, (images, labels) = FqtReference(network, FqtSettings(batch=2)), samples(network)
    expected, n = Sample.of(network, number), len(network.layers)
    stages = reference.trace(reference.weights, images, labels, number)
    assert [stage.layer for stage in stages[:n]] == [layer.name for layer in network.layers]
    assert all(stage.data[-2:] == bytes(2) and not stage.scaled for stage in stages[:n])
    assert [digest(stage.data[:-2]) for stage in stages[:n]] == expected.values[1:]
    errors = stages[n:]
    assert [stage.layer for stage in errors] == [layer.name for layer in reversed(network.layers)]
    for stage, of in zip(errors, expected.errors, strict=True):
        assert stage.what == "error" and stage.scaled is (len(of) == 3)
        if stage.scaled:
            scale, zero = struct.unpack("<Ih", stage.data[-6:])
            assert (digest(stage.data[:-6]), f"{scale:08X}", str(zero)) == of
        else:
            assert stage.type == "float32" and (digest(stage.data[:-2]), stage.data[-2:]) == (of[0], bytes(2))


def test_types() -> None:
    reference = FqtReference(network_c(), FqtSettings(batch=2))
    stages = reference.trace(reference.weights, *samples(network_c()), 0)
    assert [stage.type for stage in stages] == ["int8"] * 2 + ["float32"] * 4 + ["int8"] * 2
    assert reference.value_type == "float32" and FqtReference(network_a(), FqtSettings()).value_type == "int8"


def test_the_errors_of_few_layers() -> None:
    reference = FqtReference(network_b(), FqtSettings(batch=2, last_layers=2))
    stages = reference.trace(reference.weights, *samples(network_b()), 0)
    assert [stage.layer for stage in stages[12:]] == ["fc1", "mean2", "conv1"]


def test_other_weights_are_traced_and_all_channels_are_kept() -> None:
    batch = samples(network_b())
    reference = FqtReference(network_b(), FqtSettings(batch=2, eta=0.01, lambda_min=0.4, lambda_max=0.4))
    first = reference.weights
    before = reference.trace(first, *batch, 1)
    reference.step(*batch)
    assert reference.trace(first, *batch, 1) == before != reference.trace(reference.weights, *batch, 1)
    dense = FqtReference(network_b(), FqtSettings(batch=2)).trace(first, *batch, 1)
    assert dense == before


def test_a_sample_is_traced_by_itself() -> None:
    """With running ranges and shares of channels, too, whatever was trained before."""
    chosen = FqtSettings(batch=2, error_range="running", lambda_min=0.2)
    batch = samples(network_b())
    fresh, old = FqtReference(network_b(), chosen), FqtReference(network_b(), chosen)
    weights = fresh.weights
    old.step(*batch)
    assert old.trace(weights, *batch, 1) == fresh.trace(weights, *batch, 1)


@pytest.mark.parametrize("network", [network_a(), network_c()])
def test_evaluation(network: Graph) -> None:
    reference, (images, labels) = FqtReference(network, FqtSettings(batch=2)), samples(network)
    predictions, right, found = reference.evaluate_chunk(images, labels)
    logits, _ = reference.logits(images)
    assert logits.dtype == (np.int8 if len(network.layers) == 3 else np.float32)
    data = b"".join(row.tobytes() + bytes(2) for row in logits)
    assert f"{found:08X}" == digest(data)
    assert predictions.tolist() == logits.argmax(axis=1).tolist()
    assert right == int((predictions == labels).sum())


def test_of_equal_logits_the_first_is_predicted() -> None:
    network = network_a()
    reference = FqtReference(network, FqtSettings(batch=2))
    images = np.zeros((1, 6, 6, 1), np.uint8)
    reference.logits = lambda _: (np.array([[3, 7, 7]], np.int8), np.zeros(1, np.int64))  # type: ignore[method-assign]
    assert reference.evaluate_chunk(images, np.array([1]))[0].tolist() == [1]
