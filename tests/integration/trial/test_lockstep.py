"""The check can fail: a change of one bit in the reference's rounding is found at its step, layer and index."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from hil.link.failures import Refused
from hil.link.session import Session
from hil.training.data import batches, load
from hil.training.methods.elasticzo_settings import ElasticZoSettings
from hil.training.networks import build
from hil.training.reference.formats.bfp8 import layers
from hil.training.reference.methods import TracedStage
from hil.training.reference.methods.elasticzo_int8 import ElasticZoInt8Reference
from hil.training.trial.difference import bits_of, first_weight
from hil.training.trial.locate_difference import _element
from hil.training.trial.lockstep import LockStep
from hil.training.trial.lockstep_outcome import AccuracyPoint
from hil.training.trial.recording import trial_record
from hil.trial import TrialSpec, run_trial


def test_floats_are_compared_by_their_bits():
    assert bits_of(0.0) != bits_of(-0.0)
    assert bits_of(1.0) == 0x3F800000


def test_the_first_weight_that_differs_is_named():
    reference = np.arange(12, dtype=np.int8).reshape(3, 4)
    board = bytearray(reference.tobytes())
    board[7] ^= 0x40
    found = first_weight(5, "fc1", bytes(board), reference)
    assert (found.step, found.layer, found.index, found.board, found.reference) == (5, "fc1", 7, 71, 7)


def test_the_first_value_that_differs_is_named_in_the_type_of_its_format():
    values = np.arange(6, dtype=np.int16) * 1000
    stage = TracedStage("fc1", "output", values.tobytes() + b"\xf4\xff", "int16")
    values[4] += 1
    found = _element(2, 1, stage, values.tobytes() + b"\xf4\xff")
    assert (found.layer, found.index, found.board, found.reference) == ("fc1", 4, 4001, 4000)


def test_numbers_in_binary32_are_compared_by_their_bits_and_named_in_json():
    reference = np.array([1.5, 0.0, 2.0], np.float32)
    for index, wrong, named in ((1, -0.0, "-0.0"), (2, float("nan"), "nan"), (0, float("-inf"), "-inf")):
        board = reference.copy()
        board[index] = wrong
        found = first_weight(5, "fc1", board.tobytes(), reference)
        assert (found.index, str(found.board), found.reference) == (index, named, reference[index])
        assert json.dumps(found.board, allow_nan=False)
        stage = TracedStage("fc1", "error", reference.tobytes() + bytes(2), "float32")
        assert _element(2, 1, stage, board.tobytes() + bytes(2)).index == index


@pytest.fixture
def trial(virtual_rig, tmp_path):
    def run(variant, steps):
        return run_trial(TrialSpec("stm32h7b3", variant, steps=steps, evaluate=16), virtual_rig, tmp_path)

    return run


@pytest.mark.parametrize(("eta", "moves"), [(0.01, False), (3000.0, True)])
def test_a_trial_in_which_nothing_moved_passes_with_a_warning(virtual_rig, tmp_path, eta, moves):
    """Without QAS, gradients in units of the weights round to nothing unless the rate is large."""
    spec = TrialSpec(
        "stm32h7b3", "plain", network="lenet5-tflite", method="int8-bp", data="fashion-mnist-1k+fog-5", batch=1,
        steps=2, evaluate=0, settings={"eta": eta},
    )  # fmt: skip
    outcome = run_trial(spec, virtual_rig, tmp_path)
    assert outcome.verdict == "pass", outcome.reason
    said = "nothing moved: after 2 steps every trained number is what it was before: give a larger learning rate"
    warnings = trial_record(outcome).still
    assert any(one.startswith(said) for one in warnings) is not moves
    if moves:
        return
    (least,) = re.findall(r"; from (\S+) on a weight moves in the first step that trains\)", warnings[0])
    again = run_trial(replace(spec, steps=1, settings={"eta": float(least)}), virtual_rig, tmp_path / "least")
    assert again.verdict == "pass" and not trial_record(again).still


def test_a_short_trial_on_the_virtual_board_is_bit_exact(trial):
    outcome = trial("cls1", 3)
    assert outcome.verdict == "pass", outcome.reason
    assert outcome.bit_exact and len(outcome.steps) == 3
    assert outcome.sram_probe is not None and outcome.sram_probe.arena_peak == outcome.sram.marks.arena_peak


def test_accuracies_in_the_midst_of_training_are_the_reference_s(virtual_rig, tmp_path):
    """The curve has its points, and evaluating between two steps changes no bit of either."""
    spec = TrialSpec("stm32h7b3", "cls1", steps=5, evaluate=16, evaluate_every=2)
    outcome = run_trial(spec, virtual_rig, tmp_path)
    assert outcome.verdict == "pass" and outcome.bit_exact and len(outcome.steps) == 5, outcome.reason
    assert [step for step, _, _ in outcome.evaluations] == [2, 4]
    assert all(board == reference for _, board, reference in outcome.evaluations)
    assert [point["step"] for point in trial_record(outcome).evaluations] == [0, 2, 4, 5]


def _half_up(x):
    """Rounding with one bit of its rule changed: a negative half goes up, not away from zero."""
    return np.floor(x + 0.5)


def _first_tie(monkeypatch):
    """Return slot and index of the first conv1 output of step 0 that the changed rule makes different."""
    data, network = load("fashion-mnist-1k"), build("lenet5", 1)
    settings = ElasticZoSettings.of_variant("full-bp", tensors=5)
    reference = ElasticZoInt8Reference(network, settings)
    plus = next(reference.passes(reference.weights, 0))
    chosen = next(batches(data, 8, 1))
    images, labels = data.train_images[chosen], data.train_labels[chosen]
    for slot in range(8):
        honest = reference.trace(plus, images, labels, slot)[0].data
        with monkeypatch.context() as patch:
            patch.setattr(layers, "round_half_away", _half_up)
            changed = reference.trace(plus, images, labels, slot)[0].data
        different = [i for i, pair in enumerate(zip(honest, changed, strict=True)) if pair[0] != pair[1]]
        if different:
            return slot, different[0]
    raise AssertionError("no tie in the whole batch: the changed rule changes nothing")


def nothing_right(trial: LockStep) -> AccuracyPoint:
    return AccuracyPoint(trial.next_step, 0.0, 0.0)


def test_one_bit_of_the_references_rounding_is_found_at_its_step_layer_and_index(trial, monkeypatch):
    slot, index = _first_tie(monkeypatch)
    monkeypatch.setattr(layers, "round_half_away", _half_up)
    monkeypatch.setattr(LockStep, "_evaluate", nothing_right)  # it would see it before step 0
    outcome = trial("full-bp", 3)
    assert outcome.verdict == "fail"
    found = outcome.difference
    assert (found.step, found.layer, found.index) == (0, "conv1", index), found.sentence()
    assert found.what == f"sample {slot} of the batch, output of"
    assert found.board == found.reference - 1, "away from zero on the board, up in the changed reference"


def test_a_firmware_that_can_neither_trace_nor_give_weights_away_has_its_digests_told(trial, monkeypatch):
    def refuse(*_):
        raise Refused("read_tensor", "unknown_request", 9, 0)

    for name in ("tensor", "trace"):
        monkeypatch.setattr(f"hil.training.trial.device.Device.{name}", refuse)
    monkeypatch.setattr(layers, "round_half_away", _half_up)
    monkeypatch.setattr(LockStep, "_evaluate", nothing_right)
    outcome = trial("full-bp", 3)
    assert outcome.verdict == "fail"
    found = outcome.difference
    assert (found.index, found.board, found.reference, found.what) == (None, "another digest", "its digest", "weight")


def test_a_firmware_that_counts_no_cycles_by_layer_passes_without(trial, monkeypatch):
    asked = []
    honest = Session.request

    def without_profile(session, name, *arguments, **values):
        if name == "profile":
            asked.append(name)
            raise Refused("profile", "unknown_request", 17, 0)
        return honest(session, name, *arguments, **values)

    monkeypatch.setattr(Session, "request", without_profile)
    outcome = trial("cls1", 3)
    assert (outcome.verdict, outcome.profile, len(asked)) == ("pass", None, 1), outcome.reason


@pytest.mark.parametrize(("name", "reply", "said"), [
    ("load_end", {"network_digest": 0, "tensors": 4, "layers": 9}, "the firmware finds 4 tensors to train, but the network file has 5"),
    ("digests", {"digests": (1, 2, 3)}, "the firmware's reply to 'digests' has 3 digests, but its network has 5 tensors"),
])  # fmt: skip
def test_a_firmware_with_other_tensors_is_wrong(trial, monkeypatch, name, reply, said):
    honest = Session.request
    monkeypatch.setattr(
        Session,
        "request",
        lambda self, asked, *rest, **values: reply if asked == name else honest(self, asked, *rest, **values),
    )
    outcome = trial("cls1", 1)
    assert outcome.verdict == "fail" and said in outcome.reason
