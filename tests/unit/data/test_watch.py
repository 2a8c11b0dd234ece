"""Windows of the recordings of a watch: bytes by the limits of the training people, split by person."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.data import load
from hil.training.data.download_routes import from_recordings
from hil.training.data.idx import idx_bytes
from hil.training.data.store import PARTS, data_folder, file_name
from hil.training.data.watch import (
    CHANNELS,
    EXERCISES,
    HELD_OUT,
    STRIDE,
    SUBJECTS,
    WINDOW,
    as_bytes,
    channel_limits,
    read_watch,
    windows,
)

LONG = 3 * WINDOW


def recordings() -> dict:
    """One recording for each person and exercise; the first sample says whose it is."""
    rng = np.random.Generator(np.random.PCG64(5))
    data: dict = {"X": [], "y": [], "subject": []}
    for subject in range(SUBJECTS, 0, -1):
        for exercise in range(EXERCISES):
            series = rng.normal(size=(LONG, CHANNELS)) * (1 + 9 * (subject > SUBJECTS - HELD_OUT))
            series[:, 5] = subject / 100
            data["X"].append(series)
            data["y"].append(exercise)
            data["subject"].append(subject)
    return data | {"y": np.array(data["y"]), "subject": np.array(data["subject"])}


def as_file(data: object) -> bytes:
    array = np.empty((), object)
    array[()] = data
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "|O", "fortran_order": False, "shape": ()})
    pickle.dump(array, stream, protocol=2)  # bytes as text in Latin-1, as in the package
    return stream.getvalue()


def test_people_for_testing_are_not_those_for_training() -> None:
    train, labels, test, test_labels = read_watch(as_file(recordings()))
    of_each = (LONG - WINDOW) // STRIDE + 1
    assert train.shape == ((SUBJECTS - HELD_OUT) * EXERCISES * of_each, WINDOW, 1, CHANNELS)
    assert test.shape == (HELD_OUT * EXERCISES * of_each, WINDOW, 1, CHANNELS)
    scale = 128 / ((SUBJECTS - HELD_OUT) / 100)  # the largest training person is the limit of channel 5
    whose = [np.rint((images[:, 0, 0, 5].astype(float) - 128) / scale * 100).astype(int) for images in (train, test)]
    assert whose[0].tolist() == np.repeat(np.arange(1, 8), EXERCISES * of_each).clip(max=7).tolist()
    assert set(whose[1].tolist()) == {7}, "those beyond the limit of the training people are cut off"
    assert labels.tolist() == np.tile(np.repeat(np.arange(EXERCISES), of_each), 7).tolist()
    assert set(test_labels.tolist()) == set(range(EXERCISES))


def test_one_person_trains_with_the_first_half_of_each_recording() -> None:
    data = recordings()
    train, labels, test, test_labels = read_watch(as_file(data), 9)
    mine = [one for one, subject in zip(data["X"], data["subject"], strict=True) if subject == 9]
    training = [one for one, subject in zip(data["X"], data["subject"], strict=True) if subject <= 7]
    limits = channel_limits(np.concatenate(training))
    expected = [windows(as_bytes(one, limits)[: LONG // 2]) for one in mine]
    np.testing.assert_array_equal(train, np.concatenate(expected))
    np.testing.assert_array_equal(test, np.concatenate([windows(as_bytes(one, limits)[LONG // 2 :]) for one in mine]))
    assert labels.tolist() == test_labels.tolist() == np.repeat(np.arange(EXERCISES), len(expected[0])).tolist()


def test_a_limit_leaves_out_one_sample_in_a_thousand() -> None:
    samples = np.arange(-3000, 0, dtype=float)[:, None] * np.array([1.0, 0.5])
    assert channel_limits(samples).tolist() == [2997.0, 1498.5]


def test_bytes_stand_for_parts_of_the_limit() -> None:
    got = as_bytes(np.array([[0.0, 2.0], [-1.0, 1.0], [-9.0, 9.0], [0.01, -0.01]]), np.array([1.0, 2.0]))
    assert got.tolist() == [[128, 255], [0, 192], [0, 255], [129, 127]]


def test_windows_overlap_by_half() -> None:
    found = windows(np.arange(2 * 300, dtype=np.uint16).reshape(300, 2))
    assert found.shape == (3, WINDOW, 1, 2)
    assert found[:, 0, 0, 0].tolist() == [0, 2 * STRIDE, 4 * STRIDE]


class Harm:
    def __reduce__(self) -> tuple:
        return exec, ("raise SystemExit('it ran')",)


@pytest.mark.parametrize(
    "data, said",
    [
        (as_file(Harm()), "cannot be read .*exec is not allowed"),
        (b"no array", "cannot be read"),
        (as_file({"X": []}), "does not hold the recordings"),
        (as_file(recordings() | {"y": np.zeros(70, int)}), "does not hold recordings of 6 channels"),
        (as_file(recordings() | {"subject": np.full(70, 3)}), "7 exercises and 10 people"),
    ],
)
def test_other_files_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(RigError, match=said):
        read_watch(data)


def test_the_parts_of_the_route_are_idx_files() -> None:
    data = as_file(recordings())
    for part, array in zip(PARTS, read_watch(data, 8), strict=True):
        assert from_recordings(data, 8)[part] == idx_bytes(array)


def test_the_real_recordings() -> None:
    if not (data_folder() / "watch" / file_name(PARTS[0])).is_file():
        pytest.skip("this set was not fetched here: `hil data fetch watch`")
    data = load("watch")
    assert (data.train_images.shape, data.test_images.shape) == ((2460, 128, 1, 6), (1145, 128, 1, 6))
    assert np.bincount(data.train_labels).tolist() == [261, 393, 403, 386, 386, 316, 315]
