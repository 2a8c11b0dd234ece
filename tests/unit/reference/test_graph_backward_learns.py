"""Do bp and tinytrain recover what heavy noise takes from the committed networks, with 300 images (PMT's task: adapting to a corruption)?"""

from __future__ import annotations

import numpy as np
import pytest

from hil.training.data import load
from hil.training.methods.graph_settings import GraphSettings
from hil.training.networks import build
from hil.training.reference.methods import training_loop

TRAINED_ON, EPOCHS = 300, 2
BP = {"method": "bp", "batch": 10}
TINY = {"method": "tinytrain", "batch": 10, "momentum": 0.9, "eta": 0.003}


NIGHTLY = pytest.mark.tier("nightly")


@pytest.mark.parametrize(
    ("network", "settings", "before", "least"),
    [
        pytest.param("lenet5-tflite", GraphSettings(eta=0.01, **BP), 0.51, 0.68, marks=NIGHTLY),
        pytest.param("lenet5-tflite", GraphSettings(eta=0.001, momentum=0.9, **BP), 0.51, 0.68, marks=NIGHTLY),
        pytest.param("lenet5-tflite", GraphSettings(eta=300.0, qas=0, **BP), 0.51, 0.63, marks=NIGHTLY),
        pytest.param("resnet-tiny", GraphSettings(eta=0.01, **BP), 0.16, 0.52, marks=NIGHTLY),
        ("resnet-tiny", GraphSettings(eta=0.003, momentum=0.9, train="pointwise", blocks=8, **BP), 0.16, 0.34),
        pytest.param("lenet5-tflite", GraphSettings(**TINY), 0.51, 0.66, marks=NIGHTLY),
        pytest.param("resnet-tiny", GraphSettings(**TINY), 0.16, 0.34, marks=NIGHTLY),
    ],
)
def test_accuracy_is_recovered(network: str, settings: GraphSettings, before: float, least: float) -> None:
    """On 500 test images that are not among them; the losses fall too."""
    data, graph = load("fashion-mnist-1k+gaussian-noise-5"), build(network, 1)
    method = training_loop(settings.method)(graph, settings)
    assert abs(method.accuracy(data.test_images, data.test_labels) - before) < 0.01
    losses = []
    for epoch in range(EPOCHS):
        order = np.random.default_rng(epoch).permutation(TRAINED_ON).reshape(-1, settings.batch)
        losses.append(sum(method.step(data.train_images[some], data.train_labels[some]).loss_plus for some in order))
    assert losses[1] < 0.9 * losses[0]
    assert method.accuracy(data.test_images, data.test_labels) > least
