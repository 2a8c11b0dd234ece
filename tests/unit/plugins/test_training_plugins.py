"""Networks and methods of a plugin are known like those of this package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hil.errors import Blocked, RigError
from hil.training.methods import METHODS, find_method
from hil.training.networks import KNOWN, build, find_network, is_known, names
from hil.training.reference.methods import reference_of
from hil.training.trial.prepare import prepare
from hil.trial import TrialSpec

CODE = """
from hil.training.methods.poor_mans_training import PoorMansTraining
from hil.training.networks import NamedNetwork
from hil.training.networks.drawing import Drawing

def small(name, seed):
    net = Drawing(name, (28, 28, 1), 10, seed)
    net.conv(3, 2, 1, 8, "relu")
    net.mean()
    net.block = 1
    net.fully_connected(10)
    return net.graph

NETWORKS = {"small": NamedNetwork(small, "fashion-mnist-1k"), "none": small}

class Mine(PoorMansTraining):
    name = "mine"
    variants = {"central": {"perturb": "weight", "difference": "central"}}
    default_variant = "central"
"""
ENTRIES = ("networks: small = M:NETWORKS", "methods: mine = M:Mine")


def test_a_network_and_a_method_of_a_plugin_are_trained(plugin: Callable[..., Path], tmp_path: Path) -> None:
    plugin(tmp_path / "acme", CODE, *ENTRIES)
    assert "small" in names(*find_network("small").formats) and is_known("small") and "small" in KNOWN
    settings = {"queries": 2, "eta": 1.0}
    spec = TrialSpec("rp2040", "central", network="small", method="mine", batch=1, settings=settings)
    prepared = prepare(spec)
    learner = reference_of(prepared.method)
    before = learner.digests()
    learner.step(prepared.data.train_images[:1], prepared.data.train_labels[:1])
    assert learner.digests() != before
    assert list(METHODS)[-1] == "mine" and list(METHODS.house()) == list(METHODS)[:-1]


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (
            "networks: none = M:NETWORKS",
            "a network is offered as a dictionary with a hil.training.networks.NamedNetwork",
        ),
        ("networks: gone = M:NETWORKS", "a network is offered as a dictionary"),
        ("networks: lenet5 = M:NETWORKS", "trainrig .* has this name already"),
        ("methods: other = M:Mine", "a method is offered as a class of hil.training.methods.Method whose `name` is"),
        ("methods: fqt = M:Mine", "has this name already"),
    ],
)
def test_one_that_is_none_costs_nothing_else(
    plugin: Callable[..., Path], said: Callable[[], list[str]], tmp_path: Path, entry: str, why: str
) -> None:
    plugin(tmp_path / "acme", CODE, *ENTRIES, entry)
    (sentence,) = said()
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(sentence)
    assert "mine" in METHODS and "small" in [*KNOWN]
    assert find_method("fqt").name == "fqt" and find_network("lenet5").formats
    name = entry.split()[1]
    if name not in ("fqt", "lenet5"):
        with pytest.raises(Blocked):
            (find_network if "networks" in entry else find_method)(name)


def test_a_name_of_this_package_loads_no_plugin(plugin: Callable[..., Path], tmp_path: Path) -> None:
    plugin(tmp_path / "acme", "1 / 0", *ENTRIES)
    assert build("lenet5", 1) and find_method("mezo")
    assert "plug_acme" not in sys.modules
    with pytest.raises(RigError, match="there is no network 'smell': did you mean small"):
        find_network("smell")
