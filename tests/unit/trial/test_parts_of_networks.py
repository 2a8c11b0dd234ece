"""The parts of a network whose memory plans the agent is asked for."""

from __future__ import annotations

import pytest

from hil.suite.corners.networks import write_network
from hil.training.graph.file import encode
from hil.training.graph.formats import Op
from hil.training.trial.agent_checks.parts import parts_of


@pytest.mark.parametrize(
    "name", ["windows-tflite8", "windows-w16a8", "tightgates-nearest", "large-huge", "windows-bfp8"]
)
def test_every_layer_that_can_be_alone_is_a_network_of_its_own(name: str, tmp_path) -> None:
    _, graph = write_network(tmp_path, name, 2)
    parts = list(parts_of(graph))
    alone = {part.name.removeprefix("layer ") for part in parts if part.name.startswith("layer ")}
    can_be = (layer for layer in graph.layers[:-1] if len(layer.reads) == 1 and layer.op is not Op.RELU)
    assert alone == {layer.name for layer in can_be}
    assert any(len(part.layers) > 2 for part in parts)
    for part in parts:
        assert encode(part) and part.layers[-1].op is Op.FULLY_CONNECTED and part.classes == graph.classes
