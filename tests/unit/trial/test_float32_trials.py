"""What is refused of a trial in `float32` before a board is used: a step that rounds to nothing, a board without room."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from hil import boards
from hil.errors import Blocked, RigError
from hil.training.matrix.cells import Cell, cells
from hil.training.networks import build
from hil.training.trial.prepare import prepare
from hil.trial import TrialSpec, does_not_fit


def spec(variant: str = "cls1", board: str = "stm32h7b3", network: str = "lenet5-float32", **others) -> TrialSpec:
    return TrialSpec(board, variant, network, "elasticzo-fp32", **{"evaluate": 0, "steps": 1, **others})


def checkpoint(folder: Path, **changes: float) -> Path:
    """Write the first weights of LeNet-5 with some tensors filled with a number, and return the file."""
    tensors = {}
    for index, layer in enumerate(build("lenet5-float32", 1).trained):
        assert layer.own is not None
        tensors |= {f"w{2 * index}": layer.own.weights, f"w{2 * index + 1}": layer.own.bias}
    tensors |= {name: np.full_like(tensors[name], value) for name, value in changes.items()}
    np.savez(folder / "start.npz", **tensors)
    return folder / "start.npz"


@pytest.mark.parametrize("variant", ["full-zo", "cls2", "cls1", "full-bp"])
@pytest.mark.parametrize("board", ["stm32h7b3", "imxrt1062"])
def test_lenet5_fits_both_large_boards(board: str, variant: str) -> None:
    assert does_not_fit(spec(variant, board)) is None


def test_the_cell_of_full_bp_on_imxrt1062_fits() -> None:
    """One sample at a time: a second needs 784 bytes more, 16 more than the arena of 917,504 has."""
    cell = Cell("elasticzo-fp32", "full-bp", "lenet5-float32", "imxrt1062")
    assert cell in cells(["imxrt1062"])
    prepared = prepare(cell.spec())
    assert (prepared.slots, prepared.plan.total) == (1, 916_736) and prepared.image.arena_size == 917_504


@pytest.mark.parametrize("board", ["rp2040", "nrf52840", "stm32f746"])
@pytest.mark.parametrize("network", ["resnet-tiny-float32", "pointnet-float32"])
def test_the_small_networks_fit_the_other_boards(board: str, network: str) -> None:
    assert does_not_fit(spec("full-zo", board, network)) is None
    assert does_not_fit(spec("cls2", board, network)) is None


@pytest.mark.parametrize("board", boards.names())
@pytest.mark.parametrize("variant", ["full-zo", "cls2", "cls1", "full-bp"])
def test_the_small_lenet_fits_every_board(board: str, variant: str) -> None:
    assert does_not_fit(spec(variant, board, "convnet-tiny-float32", batch=2)) is None
    assert sum(layer.weight_count + layer.channels for layer in build("convnet-tiny-float32", 1).trained) == 21_662


def test_a_board_without_room_is_refused_with_figures() -> None:
    with pytest.raises(Blocked, match=r"needs 4\d\d,\d{3} bytes, rp2040 has an arena of 2\d\d,\d{3}: choose a variant"):
        prepare(spec("full-zo", "rp2040"))


def test_a_rate_that_rounds_to_nothing_is_refused() -> None:
    prepare(spec(settings={"eta": 1e-8}))
    with pytest.raises(RigError, match="setting eta is 1e-12: most weights of fc3 would not change") as caught:
        prepare(spec(settings={"eta": 1e-12}))
    least = re.search(r"the smallest step that acts there is (\S+),", str(caught.value))
    assert least is not None and float(least[1]) == 2.0**-27  # the median is in 2^-3..2^-2
    prepare(spec(settings={"eta": float(least[1])}))


def test_a_rate_of_the_schedule_is_checked_too() -> None:
    with pytest.raises(RigError, match="setting eta is 1e-12"):
        prepare(spec(schedule=((1, {"eta": 1e-12}),)))


def test_a_scale_that_rounds_to_nothing_is_refused(tmp_path: Path) -> None:
    """A tensor of 3.0 has steps of 2^-22; only tensors of zeroth order are perturbed."""
    start = checkpoint(tmp_path, w2=3.0, w8=7.0)
    with pytest.raises(RigError, match=f"epsilon is 1e-07: most weights of conv2 .* acts there is {2.0**-23}, choose"):
        prepare(spec(checkpoint=start, settings={"epsilon": 1e-7, "eta": 1.0}))
    prepare(spec(checkpoint=start, settings={"epsilon": 2.0**-23}))
    with pytest.raises(RigError, match="epsilon is 1e-07, where it has no effect: it acts where zeroth order trains"):
        prepare(spec("full-bp", checkpoint=start, settings={"epsilon": 1e-7}))
    prepare(spec("full-bp", checkpoint=start))


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -1048577.0])
def test_weights_that_no_file_may_hold_are_refused(tmp_path: Path, wrong: float) -> None:
    with pytest.raises(RigError, match=r"tensor fc1.bias holds \S+: give weights and biases within 2\^20"):
        prepare(spec(checkpoint=checkpoint(tmp_path, w5=wrong)))


def test_settings_of_other_methods_are_unknown() -> None:
    with pytest.raises(RigError, match="the method has no setting 'r_max'"):
        prepare(spec(settings={"r_max": 3}))
    with pytest.raises(RigError, match="setting partition follows from the variant"):
        prepare(spec(settings={"partition": 3}))
    with pytest.raises(RigError, match="setting epsilon is 0: choose a number of 2\\^-24 to 1"):
        prepare(spec(settings={"epsilon": 0}))
