"""A published network with its 1,000 classes on a board: it has the top-1 class of LiteRT for every image."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hil.training.experiments.command import on_bench
from hil.training.graph.file import encode
from hil.trial import TrialSpec
from tests.unit.network.test_tree_on_litert import images, imported_of, logits_of, pytestmark, read
from tests.unit.tflite_models.witness import run

BOARD, IMAGES = "stm32h7b3", 100

__all__ = ["pytestmark"]  # skipped where the trees are not


@pytest.mark.tier("nightly")
@pytest.mark.parametrize("name", ["mcunet-5fps", "mbv2-w0.35"])
def test_the_board_has_the_class_of_litert_for_every_image(name: str, tmp_path: Path) -> None:
    """LiteRT's classes are the labels, so the accuracy before training is the share of images that agree."""
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    data, imported = imported_of(name)
    samples = images(IMAGES)
    labels = np.concatenate(
        [logits_of(imported, run(data, samples[at : at + 10])).argmax(1) for at in range(0, IMAGES, 10)]
    )
    pixels = (samples.astype(np.int16) + 128).astype(np.uint8)
    own = tmp_path / "images.npz"
    np.savez(own, train_x=pixels, train_y=labels, test_x=pixels, test_y=labels)
    network = tmp_path / f"{name}.hnet"
    network.write_bytes(encode(read(name)))
    spec = TrialSpec(BOARD, "adaptive", str(network), "last-layer", str(own), batch=1, steps=1, evaluate=IMAGES)
    outcome = on_bench(spec, tmp_path)
    assert outcome.verdict == "pass", outcome.reason
    assert (outcome.evaluated, outcome.accuracy_before) == (IMAGES, 1.0)  # the logits are those of the reference, too
