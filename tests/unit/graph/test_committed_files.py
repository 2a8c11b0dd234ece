"""The network files in fixtures/weights hold the weights with which they were made."""

from __future__ import annotations

import xxhash

from hil.training.graph.file import decode
from hil.training.networks import WEIGHTS

COMMITTED = {"lenet5-tflite": ("d722ac04", "37622842"), "resnet-tiny": ("b668d59e", "644fc08d")}


def test_the_weights_of_the_committed_networks_are_those_that_were_trained() -> None:
    """XXH32 of all weights, and of all biases."""
    digests = {
        name: tuple(xxhash.xxh32_hexdigest(b"".join(parts)) for parts in zip(*tensors(name), strict=True))
        for name in COMMITTED
    }
    assert digests == COMMITTED


def tensors(name: str) -> list[tuple[bytes, bytes]]:
    graph = decode((WEIGHTS / f"{name}.hnet").read_bytes())
    return [
        (layer.own.weights.tobytes(), layer.own.bias.astype("<i4").tobytes())
        for layer in graph.trained
        if layer.own is not None
    ]
