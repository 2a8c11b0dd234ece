"""Methods by name, digests and evaluation."""

from __future__ import annotations

import numpy as np
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st
from network.drawn import networks

from hil.errors import RigError
from hil.training.data import load
from hil.training.graph.chain import bfp8_node, chain
from hil.training.graph.formats import Op
from hil.training.graph.graph import Graph
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.networks import build
from hil.training.reference.methods import training_loop
from hil.training.reference.methods.elasticzo_int8 import ElasticZoInt8Reference
from tests.oracle import PlainElasticZoInt8

PRIME = 2654435761
# XXH32 of the first bytes of the sanity buffer of xxHash's own test program, by length and seed.
PUBLISHED = [
    (0, 0, 0x02CC5D05), (0, PRIME, 0x36B78AE7), (1, 0, 0xB85CBEE5), (1, PRIME, 0xD5845D64),
    (14, 0, 0xE5AA0AB4), (14, PRIME, 0x4481951D), (101, 0, 0x1F1AA412), (101, PRIME, 0x498EC8E2),
]  # fmt: skip


def sanity_buffer() -> bytes:
    word, buffer = PRIME, bytearray()
    for _ in range(101):
        buffer.append(word >> 24)
        word = word * word % 2**32
    return bytes(buffer)


@pytest.mark.parametrize(("length", "seed", "digest"), PUBLISHED)
def test_xxh32_of_the_published_vectors(length: int, seed: int, digest: int) -> None:
    assert xxhash.xxh32_intdigest(sanity_buffer()[:length], seed) == digest


def test_an_unknown_method_gets_its_close_match() -> None:
    with pytest.raises(RigError, match=r"no method 'elasticzo': did you mean elasticzo-fp32 or elasticzo-int8\?"):
        training_loop("elasticzo")
    with pytest.raises(
        RigError,
        match=r"no method 'zzz': known are: bp, deepzero, .*, perturbed-scales, poor-mans, quzo, qzo-ff, tinytrain\.",
    ):
        training_loop("zzz")


def test_a_known_method_is_found() -> None:
    assert training_loop("elasticzo-int8") is ElasticZoInt8Reference


def test_a_partition_of_more_tensors_than_there_are() -> None:
    with pytest.raises(RigError, match="setting partition is 6: the network has 5 trained tensors"):
        ElasticZoInt8Reference(build("lenet5", 1), ElasticZoSettings(6))


def test_digests_cover_every_weight() -> None:
    network = build("lenet5", 1)
    first = ElasticZoInt8Reference(network, ElasticZoSettings(3)).digests()
    assert first == tuple(xxhash.xxh32_intdigest(layer.weights.tobytes()) for layer in network.trained)
    for index, layer in enumerate(network.trained):
        changed = [x.weights.copy() for x in network.trained]
        changed[index].reshape(-1)[layer.weights.size // 2] ^= 1
        digests = ElasticZoInt8Reference(network.with_weights(changed), ElasticZoSettings(3)).digests()
        assert [a != b for a, b in zip(first, digests, strict=True)] == [i == index for i in range(5)]


def test_a_step_reports_the_digests_after_it() -> None:
    data = load("fashion-mnist-1k")
    trained = ElasticZoInt8Reference(build("lenet5", 1), ElasticZoSettings.of_variant("cls1", 5, r_max=15))
    before = trained.digests()
    outcome = trained.step(data.train_images[:8], data.train_labels[:8])
    assert outcome.digests == trained.digests()
    assert all(a != b for a, b in zip(before, outcome.digests, strict=True))


@settings(max_examples=40, deadline=None)
@given(network=networks(largest=5), seed=st.integers(0, 2**32), batch=st.integers(1, 5))
def test_evaluation_is_the_specifications(network: Graph, seed: int, batch: int) -> None:
    rng = np.random.default_rng(seed)
    images = rng.integers(0, 256, (batch, *network.in_shape)).astype(np.uint8)
    labels = rng.integers(0, network.classes, batch)
    slow = PlainElasticZoInt8(network, ElasticZoSettings(0))
    data, classes = b"", []
    for image in images:
        logits = slow.activations([image])[-1][0]
        data += np.array(logits.values, np.int8).tobytes() + logits.exponent.to_bytes(2, "little", signed=True)
        classes.append(logits.values.index(max(logits.values)))  # the lowest index among the largest
    predictions, correct, digest = ElasticZoInt8Reference(network, ElasticZoSettings(0)).evaluate_chunk(images, labels)
    assert predictions.tolist() == classes
    assert correct == sum(c == y for c, y in zip(classes, labels.tolist(), strict=True))
    assert digest == xxhash.xxh32_intdigest(data)


def test_accuracy_is_the_share_of_right_predictions() -> None:
    data = load("fashion-mnist-1k")
    images, labels = data.test_images[:300], data.test_labels[:300]  # a chunk and a part
    trained = ElasticZoInt8Reference(build("lenet5", 1), ElasticZoSettings.of_variant("full-bp", 5, scope="batch"))
    trained.step(data.train_images[:8], data.train_labels[:8])
    assert trained.accuracy(images, labels) == trained.evaluate_chunk(images, labels)[1] / 300


def test_a_gradient_of_one_moves_the_weights_by_one() -> None:
    """By hand: x = 1, s = -5, h = 5 and -1, v = 2^10 and 2^4, P = 2016 and 31, so zero-sum's e = g = -1 and 1, and b = 1 is not 0."""
    weights = np.array([[120], [-20]], np.int8)
    layer = bfp8_node("fc1", Op.FULLY_CONNECTED, (1, 1, 1), (1, 1, 2), weights=weights, weight_exp=2)
    trained = ElasticZoInt8Reference(chain((layer,), 2), ElasticZoSettings(0, batch=1, logit_error="zero-sum"))
    trained.step(np.array([[[2]]], np.uint8), np.array([0]))
    assert trained.weights[0].tolist() == [[121], [-21]]


def test_training_learns() -> None:
    data, network = load("fashion-mnist-1k"), build("lenet5", 1)
    trained = ElasticZoInt8Reference(network, ElasticZoSettings.of_variant("full-bp", 5, batch=8))
    _, before, _ = trained.evaluate_chunk(data.test_images[:200], data.test_labels[:200])
    for start in range(0, 320, 8):
        trained.step(data.train_images[start : start + 8], data.train_labels[start : start + 8])
    _, after, _ = trained.evaluate_chunk(data.test_images[:200], data.test_labels[:200])
    assert after > before + 20
