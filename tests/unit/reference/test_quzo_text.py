"""QuZO on two small networks: whole steps of the reference and of the oracle, which agree and stay as they are."""

from __future__ import annotations

import numpy as np
import pytest
from network import w16a8_graphs

from hil.training.graph.file import checked
from hil.training.graph.graph import Graph
from hil.training.methods.quzo import Quzo
from hil.training.reference.methods import reference_of
from reference import quzo_text
from tests.oracle.quzo import PlainQuzo

Sampled = tuple[Graph, np.ndarray, np.ndarray]
Step = tuple[str, str, int, list[int]]  # loss_plus, loss_minus, sign and digests

STEPS: dict[tuple[str, int], list[Step]] = {
    ("w16a8", 1): [
        ("0x1.744d74p-1", "0x1.906ad6p-1", -1, [0xFC8B3FC6, 0xB48A5A9C]),
        ("0x1.2c560cp-1", "0x1.ebca1p-1", -1, [0xB5A463DC, 0xECE18C48]),
    ],
    ("w16a8", 3): [
        ("0x1.311930p+1", "0x1.12d38p+1", -1, [0x6D9B7A23, 0xE69E1FA4]),
        ("0x1.f19446p+0", "0x1.429918p+1", -1, [0x90E43091, 0x54318998]),
    ],
    ("tflite8", 1): [
        ("0x1.8e0174p+0", "0x1.a79418p+0", -1, [0x6CB65FC9, 0x36D0D4D2, 0x13ABAC65]),
        ("0x1.b9ef94p+0", "0x1.786cd6p+0", 1, [0x8E8C68A4, 0xC5FEE951, 0x25BCE844]),
    ],
    ("tflite8", 3): [
        ("0x1.2d2182p+2", "0x1.3b03acp+2", -1, [0xDB608A18, 0x333C00BF, 0x988699B6]),
        ("0x1.30b52ap+2", "0x1.2c6c4p+2", -1, [0xF14C8A83, 0x1C9DFCEB, 0x04F1D89F]),
    ],
}


def sampled(format: str) -> Sampled:
    """Return the network of a format with its two samples."""
    if format == "w16a8":
        return w16a8_graphs.text_network(), w16a8_graphs.PIXELS, w16a8_graphs.LABELS
    return quzo_text.text_graph(), quzo_text.PIXELS, quzo_text.LABELS


@pytest.mark.parametrize(("format", "directions"), STEPS)
def test_whole_steps(format: str, directions: int) -> None:
    graph, pixels, labels = sampled(format)
    checked(graph)
    method = Quzo.on(graph, "full", epsilon=0.05, eta=0.01, batch=2, directions=directions)
    fast, slow = reference_of(method), PlainQuzo(graph, method.settings)
    for step, (plus, minus, sign, digests) in enumerate(STEPS[format, directions]):
        found = fast.step(pixels, labels)
        assert (found.loss_plus, found.loss_minus) == (float.fromhex(plus), float.fromhex(minus))
        assert (found.sign, list(found.digests)) == (sign, digests)
        assert slow.step(step, pixels, labels.tolist()) == (found.loss_plus, found.loss_minus, sign)
        assert list(slow.digests()) == digests


@pytest.mark.parametrize(
    ("format", "parts", "reach"),
    [
        ("w16a8", [[3355443], [1677722]], [[4711], [2356]]),
        ("tflite8", [[13107, 6554], [6554, 26214], [13107, 3277, 6554]], [[19, 10], [10, 37], [19, 5, 10]]),
    ],
)
def test_epsilon_in_every_unit(format: str, parts: list[list[int]], reach: list[list[int]]) -> None:
    """E and U of epsilon 0.05; the units of A are 2^-15 and 2^-14, those of B are powers of two by channel."""
    tensors = Quzo.on(sampled(format)[0], "full", epsilon=0.05).plan.trained_tensors
    assert [tensor.parts.ravel().tolist() for tensor in tensors] == parts
    assert [tensor.reach.ravel().tolist() for tensor in tensors] == reach
