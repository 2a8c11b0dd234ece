"""A number format of a plugin: fixed16, the example of docs/new-method.md, under a number of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.formats import FORMATS, kernels_of
from hil.training.graph.chain import chain
from hil.training.graph.file import decode, encode
from hil.training.graph.formats import CHAINS, Format, Op
from hil.training.graph.node import ChainNode, ChainParameters
from hil.training.methods import find_method
from hil.training.reference.methods import reference_of

ADDED = Path(__file__).parents[2] / "integration/fixed16"
NUMBER = 77  # of no other test: a format that is known stays known in this process
CHAIN = """
NUMBER = 77
CHAIN = {
    "operations": ["conv2d", "fully_connected", "relu", "max_pool"], "weights": "int16", "largest_weight": 32512,
    "values": "int16", "exponents": [-40, -1], "input_exponent": -12, "most_products": 133144,
}
"""


def test_a_format_of_a_plugin_is_trained(plugin: Callable[..., Path], tmp_path: Path) -> None:
    code = (ADDED / "hil/training/formats/fixed16.py").read_text().partition("from __future__ import annotations")[2]
    code = code.replace("hil.training.reference.formats.fixed16:", "plug_arithmetic:")
    folder = plugin(tmp_path / "acme", code + CHAIN, "formats: fixed77 = plug_acme")
    (folder / "plug_arithmetic.py").write_text((ADDED / "hil/training/reference/formats/fixed16.py").read_text())
    format = Format(NUMBER)
    assert (format.name, Format(NUMBER) is format, kernels_of(format).NUMBER) == ("FIXED77", True, NUMBER)
    assert "fixed77" in FORMATS and CHAINS[format].values == np.dtype("int16")
    weights = np.random.default_rng(1).integers(-9000, 9000, (10, 784)).astype(np.int16)
    own = ChainParameters(weights, exponent=-16)
    layer = ChainNode("fc1", Op.FULLY_CONNECTED, (0,), (28, 28, 1), (1, 1, 10), block=1, own=own, format=format)
    network = decode(encode(chain([layer], 10)), "mine")
    assert network.layers[0].format is format and np.array_equal(network.layers[0].own.weights, weights)  # type: ignore[union-attr]
    learner = reference_of(find_method("elasticzo-int8").on(network, "full-bp", batch=2))
    before = learner.digests()
    images = np.random.default_rng(2).integers(0, 256, (2, 28, 28)).astype(np.uint8)
    learner.step(images, np.array([3, 7]))
    assert learner.digests() != before


@pytest.mark.parametrize(
    ("code", "entry", "why"),
    [
        ("WORDS = 'x'\nNUMBER = 4", "M", "its NUMBER in the network file is not one of 6 to 255"),
        ("WORDS = 'x'", "M", "its NUMBER in the network file is not one of"),
        ("WORDS = 'x'\nNUMBER = 78", "M", "its CHAIN is no table"),
        ("WORDS = 'x'\nNUMBER = 78\nCHAIN = {'weights': 'int7'}", "M", "its CHAIN is no table"),
        ("KIND = 1", "M:KIND", "a format is offered as a module"),
        ("KIND = 1", "M", "a format is offered as a module"),
    ],
)
def test_one_that_is_none(
    plugin: Callable[..., Path], said: Callable[[], list[str]], tmp_path: Path, code: str, entry: str, why: str
) -> None:
    plugin(tmp_path / "acme", code, f"formats: fixed78 = {'plug_acme' if entry == 'M' else entry}")
    (sentence,) = said()
    assert why in sentence
    with pytest.raises(ValueError, match="78 is not a valid Format"):
        Format(78)
    assert kernels_of(Format.BFP8).WORDS


def test_a_name_that_nobody_has() -> None:
    with pytest.raises(RigError, match="there is no format 'fixed'"):
        FORMATS.find("fixed")
