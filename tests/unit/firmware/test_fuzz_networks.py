"""The fuzzer begins with networks that an agent takes: what it changes must not be refused from the start."""

from __future__ import annotations

from hil.training.graph.file import decode
from hil.training.graph.formats import Format
from tests.faults.fuzz.sessions import graph_like, lenet_like


def test_the_networks_of_the_sessions_are_valid_files() -> None:
    assert decode(lenet_like()).formats == (Format.BFP8,)
    assert decode(graph_like()).formats == (Format.TFLITE8,)
