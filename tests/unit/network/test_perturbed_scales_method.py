"""Perturbed scales as a method: what is trained, memory, first gains, and what is refused before flashing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference.quzo_text import text_graph

from hil import boards
from hil.errors import RigError
from hil.report.memory import lifetimes
from hil.training.graph.file import file_size
from hil.training.graph.formats import Format
from hil.training.graph.graph import Graph, inference_peak
from hil.training.graph.node import Tflite8Parameters
from hil.training.methods.perturbed_scales import PerturbedScales
from hil.training.networks import build
from hil.training.reference.methods import reference_of
from hil.training.trial.choose import method_of
from hil.training.trial.device import Device
from hil.training.trial.prepare import prepare
from hil.training.trial.recording import trial_record
from hil.trial import TrialSpec, does_not_fit
from hil.trial.outcome import Outcome

INT8, ONE = "lenet5-tflite", 2**24


def on(variant: str = "full", network: str = INT8, **settings: Any) -> PerturbedScales:
    return PerturbedScales.on(build(network, 1), variant, **settings)


def test_what_the_variants_train() -> None:
    tensors = on().plan.tensors
    assert [tensor.name for tensor in tensors] == ["conv1.gain", "conv2.gain", "fc1.gain", "fc2.gain", "fc3.gain"]
    assert [tensor.elements for tensor in tensors] == [6, 16, 120, 84, 10]
    assert [tensor.name for tensor in on("last-3").plan.tensors] == ["fc1.gain", "fc2.gain", "fc3.gain"]
    (last,) = on("linear-probe").plan.tensors
    assert (last.name, last.dtype, last.size) == ("fc3.gain", "int32", 40)


def test_formats() -> None:
    assert PerturbedScales.trains([Format.TFLITE8])
    assert not PerturbedScales.trains([Format.W16A8])
    assert not PerturbedScales.trains([Format.TFLITE8, Format.W16A8]) and not PerturbedScales.trains([])
    with pytest.raises(RigError, match="layer conv1 of lenet5-w16a8 is in w16a8, and perturbed-scales trains tflite8"):
        on(network="lenet5-w16a8")


@pytest.mark.parametrize("network", [INT8, "resnet-tiny"])
@pytest.mark.parametrize("variant", PerturbedScales.variants)
def test_every_variant_moves_gains(variant: str, network: str) -> None:
    method = on(variant, network, batch=2)
    reference, rng = reference_of(method), np.random.default_rng(1)
    images, labels = rng.integers(0, 256, (2, *method.network.in_shape), np.uint8), np.array([3, 7])
    before = reference.digests()
    for _ in range(2):
        reference.step(images, labels)
    assert all(old != new for old, new in zip(before, reference.digests(), strict=True))


@pytest.mark.parametrize("in_flash", [True, False])
def test_memory_of_every_buffer(in_flash: bool) -> None:
    """By hand from docs/arithmetic-quzo.md, section 10: LeNet-5 has 6, 16, 120, 84 and 10 channels."""
    method = replace(on(), in_flash=in_flash)
    plan = method.plan.memory(4)
    gains = {"gain[0]": 48 + 8, "gain[2]": 144, "gain[4]": 1080, "gain[5]": 672 + 84, "gain[6]": 80 + 12}
    up8 = {name: -(-size // 8) * 8 for name, size in gains.items()}
    file = {} if in_flash else {"file": -(-file_size(method.network) // 8) * 8}
    sizes = {buffer.name: buffer.size for buffer in plan.standing}
    assert sizes == file | up8 | {"labels": 8, "samples": 4 * 784}
    assert list(sizes)[-2:] == ["labels", "samples"]
    ((_, placed),) = plan.starts
    passing = {buffer.name: (buffer.size, buffer.first, buffer.last) for buffer in placed}
    assert passing["noise"] == (1024, 8, 8)
    assert passing["value[1]"] == (4704, 0, 1) and passing["work[6]"][1:] == (6, 6)
    first = sum(file.values())
    assert method.plan.places(plan)[:2] == (first, first + up8["gain[0]"])
    assert method.plan.slots()[-1] == "perturb, update" and len(method.plan.slots()) == 9
    assert method.figures.analytic()["bytes"] == inference_peak(method.network) + sum(gains.values())


def test_passes_and_work() -> None:
    method = on(batch=5)
    assert method.request.passes() == 2
    assert method.figures.work().macs == method.figures.step_macs() == 2 * 5 * 693_000
    assert method.figures.work().runs == (10,) * 7
    assert method.figures.weights_by_zo() == 236
    assert method.request.kept_state(method.settings) is None


def with_shift(shift: int) -> Graph:
    graph = text_graph()
    own = graph.own_of(Tflite8Parameters)[1]
    shifts = own.shift.copy()
    shifts[1] = shift
    return graph.changed({1: {"shift": shifts}})


@pytest.mark.parametrize("shift", [-30, 28])
def test_a_factor_that_gains_could_move_out_of_the_format_is_refused(shift: int) -> None:
    with pytest.raises(
        RigError, match=rf"layer dw1 of text has a channel with shift {shift}, .* -29\.\.27: train fewer last_layers"
    ):
        PerturbedScales.on(with_shift(shift), "full")
    assert PerturbedScales.on(with_shift(shift), "linear-probe")


@pytest.mark.parametrize("shift", [-29, 27])
def test_the_last_factors_that_are_trained(shift: int) -> None:
    method = PerturbedScales.on(with_shift(shift), "full")
    for gain in (2**22, 2**26):
        method.plan.file([np.full(array.shape, gain) for _, array in method.plan.arrays])


def test_a_network_without_weights_is_refused() -> None:
    graph = text_graph()
    bare = Graph("bare", (replace(graph.layers[0], own=None),), graph.in_shape, 3)
    with pytest.raises(RigError, match="bare has no layer with weights, so last_layers trains nothing"):
        PerturbedScales.on(bare, "full")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"epsilon": 0.0}, "2\\^-18 to 2\\^-5"),
        ({"epsilon": 0.04}, "2\\^-18 to 2\\^-5"),
        ({"eta": 2.0}, "2\\^-40 to 1"),
        ({"clip": -1.0}, "0 to 2\\^20"),
        ({"last_layers": 0}, "1..64"),
        ({"directions": 3}, "no setting 'directions'"),
    ],
)
def test_settings_out_of_range(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(RigError, match=said):
        on(**settings)


def test_first_gains_come_from_a_checkpoint_and_not_from_the_file(tmp_path: Path) -> None:
    """The board is told them after `configure`; the network file stays, and the digest of the start is another."""
    gains = np.arange(10, dtype=np.int32) + ONE
    np.savez(tmp_path / "own.npz", w0=gains)
    spec = TrialSpec("stm32h7b3", "linear-probe", INT8, "perturbed-scales", steps=1, evaluate=0)
    plain, own = prepare(spec), prepare(replace(spec, checkpoint=tmp_path / "own.npz"))
    assert plain.method.plan.beside_file() == ()
    (told,) = own.method.plan.beside_file()
    np.testing.assert_array_equal(told, gains)
    np.testing.assert_array_equal(reference_of(own.method).weights[0], gains)
    assert own.blob == plain.blob and own.network_sha256 != plain.network_sha256


@pytest.mark.parametrize("wrong", [2**22 - 1, 2**26 + 1, -ONE])
def test_gains_that_no_pass_can_have_are_refused(tmp_path: Path, wrong: int) -> None:
    gains = np.full(10, ONE, np.int32)
    gains[3] = wrong
    np.savez(tmp_path / "own.npz", w0=gains)
    spec = TrialSpec("stm32h7b3", "linear-probe", INT8, "perturbed-scales", checkpoint=tmp_path / "own.npz")
    with pytest.raises(RigError, match=f"the first gains of fc3 have {wrong:,}, outside 4,194,304..67,108,864"):
        method_of(spec, boards.load("stm32h7b3"), 1 << 20)


@pytest.mark.parametrize("board", boards.names())
def test_every_board_can_train_all_layers_of_lenet5(board: str) -> None:
    assert does_not_fit(TrialSpec(board, "full", INT8, "perturbed-scales", batch=2, evaluate=0)) is None


def test_every_time_slot_has_a_name_and_every_buffer_is_drawn() -> None:
    asked = TrialSpec("stm32h7b3", "full", INT8, "perturbed-scales", steps=1, evaluate=0)
    record = trial_record(Outcome(asked, planned=prepare(asked)))
    plan = record.memory_plan
    assert plan is not None and len(plan["slots"]) == 1 + max(buffer["last"] for buffer in plan["buffers"])
    assert len(lifetimes(plan)["data"]) == len(plan["buffers"])
    assert {"gain[0]", "gain[6]", "noise"} <= {buffer["name"] for buffer in plan["buffers"]}
    assert record.analytic is not None and record.analytic["equation"] == "perturbed scales, inference and gains"


class Told(Device):
    """A board that only notes what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def configure(self, configuration: Any) -> Any:
        self.told.append("configure")

    def write(self, tensor: int, data: bytes) -> None:
        self.told.append((tensor, np.frombuffer(data, "<i4").tolist()))


def test_a_board_begins_with_the_gains_of_a_checkpoint_and_others_with_what_configure_sets() -> None:
    method = on("linear-probe")
    own = method.given([np.arange(10) + ONE])
    for given, expected in ((method, ["configure"]), (own, ["configure", (0, list(range(ONE, ONE + 10)))])):
        board = Told()
        board.begin(given.plan, {})
        assert board.told == expected
