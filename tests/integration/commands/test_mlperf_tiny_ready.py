"""What `hil mlperf-tiny` prepares for a network and a task, and what it refuses before any board is used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.commands.mlperf_tiny import main, ready
from hil.training.graph.file import decode
from tests.unit.tflite_models.made import CODED, Made, autoencoder, trainable


def written(folder: Path, made: Made) -> str:
    path = folder / "drawn.tflite"
    path.write_bytes(made.bytes())
    return str(path)


@pytest.mark.parametrize("task", ["images", "features", "reconstruction"])
def test_a_network_is_ready_with_the_bytes_of_its_file(task: str, tmp_path: Path) -> None:
    network = written(tmp_path, autoencoder())
    found = ready("stm32h7b3", network, task)
    graph = decode(found.blob)
    assert found.board.name == "stm32h7b3" and graph.in_shape == (1, 1, CODED) and graph.classes == CODED
    for ours, theirs in zip(graph.trained, found.method.network.trained, strict=True):
        assert np.array_equal(ours.own.weights, theirs.own.weights)


@pytest.mark.parametrize("task", ["features", "reconstruction"])
def test_other_tasks_than_images_need_a_network_in_tflite8(task: str) -> None:
    with pytest.raises(RigError, match="tflite8"):
        ready("stm32h7b3", "lenet5", task)


@pytest.mark.parametrize("made", [trainable(), autoencoder(outputs=CODED + 1)])
def test_a_reconstruction_has_as_many_outputs_as_inputs(made: Made, tmp_path: Path) -> None:
    network = written(tmp_path, made)
    with pytest.raises(RigError, match="inputs"):
        ready("stm32h7b3", network, "reconstruction")


def test_a_board_without_room_is_told(tmp_path: Path) -> None:
    made = Made()
    x = made.convolution(made.input((240, 240, 2)), 4)
    made.fully_connected(made.pool(x, kernel=(240, 240), stride=(240, 240)), 3)
    network = written(tmp_path, made)
    assert ready("stm32h7b3", network).board.name == "stm32h7b3"
    with pytest.raises(RigError, match="rp2040"):
        ready("rp2040", network)


def test_a_task_that_there_is_not_is_a_mistake_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--board", "mps2-an386", "--task", "sounds"])
    assert ended.value.code == 2 and "reconstruction" in capsys.readouterr().err
