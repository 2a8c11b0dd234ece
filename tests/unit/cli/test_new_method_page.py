"""The paths of docs/new-method.md are there, and a network and a variant that are added as it says can be trained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hil.training.methods.poor_mans_training import PoorMansTraining
from hil.training.networks import NETWORKS, NamedNetwork
from hil.training.networks.drawing import Drawing
from hil.training.networks.floating import FloatGraph
from hil.training.reference.methods import reference_of
from hil.training.trial.prepare import prepare
from hil.trial import TrialSpec

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "tests/integration"


def test_every_path_of_the_page_is_there() -> None:
    """In the tree, or among the files of the page's examples."""
    page = (ROOT / "docs/new-method.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:firmware|hil|tests|tools)/[\w/.]+)`", page) + [
        f"docs/{other}" for other in re.findall(r"\]\(([\w-]+\.md)\)", page)
    ]
    assert len(named) > 20
    places = ROOT, EXAMPLES / "spsa", EXAMPLES / "fixed16"
    assert [path for path in named if not any((place / path).exists() for place in places)] == []


def mine(name: str, seed: int) -> FloatGraph:
    net = Drawing(name, (28, 28, 1), 10, seed)
    net.conv(3, 2, 1, 8, "relu")
    net.block = 2
    net.bottleneck(3, 2, 16, 8, residual=False)
    net.mean()
    net.block = 4
    net.fully_connected(10)
    return net.graph


def test_a_network_and_a_variant_that_are_added_can_be_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NETWORKS, "mine", NamedNetwork(mine, "fashion-mnist-1k"))
    more = {"weight-central": {"perturb": "weight", "difference": "central"}}
    monkeypatch.setattr(PoorMansTraining, "variants", PoorMansTraining.variants | more)
    spec = TrialSpec(
        "rp2040",
        "weight-central",
        network="mine",
        method="poor-mans-training",
        batch=1,
        settings={"queries": 2, "eta": 1.0},
    )
    prepared = prepare(spec)
    learner = reference_of(prepared.method)
    before = learner.digests()
    learner.step(prepared.data.train_images[:1], prepared.data.train_labels[:1])
    assert learner.digests() != before
