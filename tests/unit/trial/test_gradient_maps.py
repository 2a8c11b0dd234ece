"""Maps of the gradients of a sample: how they are reduced, and when a trial leaves them out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hil.record.sample_gradients import MOST_CELLS, MOST_ROWS
from hil.training.methods.elasticzo_int8 import ElasticZoInt8
from hil.training.methods.fqt import Fqt as Method
from hil.training.networks import build
from hil.training.reference.methods import MethodReference, StepFailed, reference_of
from hil.training.reference.methods.sample_gradients import SampleGradient, ShowsSampleGradients
from hil.training.trial.difference import BoardDifference
from hil.training.trial.lockstep_outcome import LockStepOutcome
from hil.training.trial.recording import _sample_gradients, trial_record
from hil.training.trial.sample_gradients import GradientMaps, block_maxima
from hil.trial import TrialSpec
from hil.trial.outcome import Outcome

IMAGES, LABELS = np.arange(2 * 16, dtype=np.uint8).reshape(2, 4, 4), np.array([3, 1])


class Shown(MethodReference, ShowsSampleGradients):
    """Stands in for a reference: shows given gradients, and remembers of which samples."""

    weights = passes = step = logits = trace = None  # type: ignore[assignment]

    def __init__(self, *gradients: SampleGradient) -> None:
        self.gradients, self.asked = list(gradients), []

    def sample_gradients(self, image: np.ndarray, label: int) -> list[SampleGradient]:
        """As `ShowsSampleGradients`."""
        self.asked.append((image.tobytes(), label))
        return self.gradients


def gradient(channels: int, weights: int, kept: Any = None, seed: int = 1, name: str = "fc1") -> SampleGradient:
    values = np.random.default_rng(seed).normal(0, 1, (channels, weights)).astype(np.float32)
    kept = None if kept is None else np.array(kept)
    return SampleGradient(name, values if kept is None else np.where(kept[:, None], values, np.float32(0)), kept)


def layer_of(shown: SampleGradient) -> dict[str, Any]:
    maps = GradientMaps(Shown(shown))
    maps.take(0, IMAGES, LABELS)
    return maps.layers[0]


@pytest.mark.parametrize(
    ("shape", "down", "across"), [((5, 7), 2, 3), ((4, 6), 2, 3), ((1, 1), 1, 1), ((3, 4), 5, 9), ((130, 200), 3, 3)]
)
def test_a_block_has_its_largest_value(shape: tuple[int, int], down: int, across: int) -> None:
    values = np.random.default_rng(2).random(shape)
    found = block_maxima(values, down, across)
    for row, line in enumerate(found):
        for column, cell in enumerate(line):
            inside = [
                values[o, k]
                for o in range(row * down, min((row + 1) * down, shape[0]))
                for k in range(column * across, min((column + 1) * across, shape[1]))
            ]
            assert cell == max(inside)
    assert found.shape == (-(-shape[0] // down), -(-shape[1] // across))


@pytest.mark.parametrize(
    ("shape", "down", "across"),
    [((10, 32), 1, 1), ((64, 96), 1, 1), ((65, 97), 2, 2), ((96, 784), 2, 9), ((1000, 9), 16, 1)],
)
def test_a_layer_is_reduced_no_more_than_it_must_be(shape: tuple[int, int], down: int, across: int) -> None:
    shown = gradient(*shape)
    layer, (channels, weights) = layer_of(shown), shape
    assert (layer["channels"], layer["weights"], layer["down"], layer["across"]) == (*shape, down, across)
    found = layer["maps"][0]
    assert found["kept"] is None and found["largest"] == float(np.abs(shown.weights).max())
    cells = np.array([list(bytes.fromhex(row)) for row in found["rows"]])
    assert cells.shape == (-(-channels // down), -(-weights // across))
    assert cells.shape[0] <= MOST_ROWS and cells.shape[1] <= MOST_CELLS and cells.max() == 255
    expected = np.zeros(cells.shape)
    for (o, k), value in np.ndenumerate(np.abs(shown.weights)):
        expected[o // down, k // across] = max(expected[o // down, k // across], value)
    assert np.abs(cells - 255 * expected / found["largest"]).max() <= 0.5 + 1e-6


def test_rows_of_skipped_channels_are_empty_and_those_of_kept_ones_with_no_gradient_are_not() -> None:
    kept = [True, False, True, False, False, True]
    shown = gradient(6, 4, kept)
    shown.weights[2] = 0
    found = layer_of(shown)["maps"][0]
    assert [bool(row) for row in found["rows"]] == kept and found["kept"] == 3
    assert found["rows"][2] == "00" * 4


def test_a_row_of_several_channels_is_empty_if_all_are_skipped() -> None:
    kept = np.zeros(100, bool)
    kept[[3, 98]] = True
    found = layer_of(gradient(100, 4, kept))["maps"][0]
    assert [number for number, row in enumerate(found["rows"]) if row] == [1, 49] and len(found["rows"]) == 50


@pytest.mark.parametrize("value", [0.0, 1e-45, 3e38])
def test_a_gradient_of_nothing_or_of_extreme_size(value: float) -> None:
    found = layer_of(SampleGradient("fc1", np.full((2, 2), -value, np.float32), None))["maps"][0]
    assert found["rows"] == (["ffff"] * 2 if value else ["0000"] * 2)


def test_the_last_three_layers_of_one_sample_in_both_steps() -> None:
    shown = Shown(*(gradient(2, 3, name=name) for name in ("conv1", "conv2", "fc1", "fc2")))
    maps = GradientMaps(shown)
    maps.take(4, IMAGES, LABELS)
    maps.take(9, IMAGES[::-1], LABELS[::-1])
    assert shown.asked == [(IMAGES[0].tobytes(), 3)] * 2, "the first sample of the first step, both times"
    assert maps.steps == [4, 9] and [layer["layer"] for layer in maps.layers] == ["conv2", "fc1", "fc2"]
    assert all(len(layer["maps"]) == 2 for layer in maps.layers)


def test_only_a_reference_that_shows_gradients_has_maps() -> None:
    fqt = reference_of(Method.on(build("fqt-cnn-uint8", 1), "uint8"))
    assert GradientMaps.of(fqt) is not None
    assert GradientMaps.of(reference_of(ElasticZoInt8.on(build("lenet5", 1), "cls1"))) is None


def test_a_gradient_that_is_not_finite_or_fails_is_no_map() -> None:
    wild = gradient(2, 2)
    wild.weights[1, 1] = np.inf
    maps = GradientMaps(Shown(wild))
    maps.take(7, IMAGES, LABELS)
    assert maps.trouble == "the gradient of fc1 in step 7 is not finite." and not maps.steps

    class Failing(Shown):
        def sample_gradients(self, image: np.ndarray, label: int) -> list[SampleGradient]:
            raise StepFailed(7, "fc1", 2, 3)

    maps = GradientMaps(Failing())
    maps.take(7, IMAGES, LABELS)
    assert maps.trouble == "the backward pass of the sample fails with the weights before step 7."
    assert said(maps, 1) == maps.trouble


def said(maps: GradientMaps, steps: int, difference: BoardDifference | None = None) -> str | None:
    """Return what the record of a trial of one step has as `left_out`."""
    prepared = SimpleNamespace(spec=TrialSpec("stm32h7b3", "uint8", "fqt-cnn-uint8", "fqt", steps=1))
    outcome = LockStepOutcome(prepared, "virtual", 1, steps=[None] * steps)
    outcome.gradients, outcome.difference = maps, difference
    found = _sample_gradients(outcome)
    assert bool(found["left_out"]) != bool(found["layers"]) and bool(found["layers"]) == bool(found["steps"])
    return found["left_out"]


def test_a_record_has_maps_only_if_all_steps_agreed() -> None:
    maps = GradientMaps(Shown(gradient(2, 2)))
    maps.take(0, IMAGES, LABELS)
    assert said(maps, 1) == ""
    assert said(maps, 0) == "the trial ended before its last step was compared."
    assert said(maps, 1, BoardDifference(0, "fc1", 1, 2, 3, "weight")) == "board and reference differ."


def test_a_trial_that_has_not_begun_has_none() -> None:
    outcome = Outcome(TrialSpec("stm32h7b3", "uint8", "fqt-cnn-uint8", "fqt", steps=1))
    assert trial_record(outcome).sample_gradients is None
