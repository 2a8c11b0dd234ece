"""Windows of the recordings of a smart watch in the package `seglearn` (docs/data.md)."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from hil.errors import RigError
from hil.training.data.array_pickle import ArraysOnly

WINDOW, STRIDE = 128, 64  # samples at 50 Hz
CHANNELS = 6  # ax, ay, az, wx, wy, wz
SUBJECTS, HELD_OUT = 10, 3  # people 1..10; the last three are for testing
EXERCISES = 7
BEYOND = 1000  # one sample in so many lies beyond the limit of its channel
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # training windows and labels, test windows and labels


def read_watch(data: bytes, subject: int | None = None) -> Arrays:
    """Make the data set from the bytes of `watch_dataset.npy`.

    Args:
        data: the file: a dictionary in an array of objects.
        subject: None for the set of all people, split by person; else the set of this person alone, who trains with
            the first half of each recording and is tested with the second.

    Returns:
        Training windows and labels, test windows and labels: uint8 [n, 128, 1, 6] and [n].

    Raises:
        RigError: the file cannot be read, or does not hold these recordings.
    """
    recordings, labels, subjects = _checked(_unpickled(data))
    training = [index for index, one in enumerate(subjects) if one <= SUBJECTS - HELD_OUT]
    limits = channel_limits(np.concatenate([recordings[index] for index in training]))
    coded = [as_bytes(recording, limits) for recording in recordings]
    if subject is None:
        chosen = [index for one in range(1, SUBJECTS + 1) for index in np.flatnonzero(subjects == one).tolist()]
        split = [subjects[index] > SUBJECTS - HELD_OUT for index in chosen]
        parts = [(coded[index], int(labels[index]), tested) for index, tested in zip(chosen, split, strict=True)]
    else:
        parts = []
        for index in np.flatnonzero(subjects == subject).tolist():
            middle = len(coded[index]) // 2
            parts += [(coded[index][:middle], int(labels[index]), False)]
            parts += [(coded[index][middle:], int(labels[index]), True)]
    found: list[np.ndarray] = []
    for tested in (False, True):
        mine = [(windows(series), label) for series, label, held in parts if held == tested]
        found.append(np.concatenate([its for its, _ in mine]))
        found.append(np.concatenate([np.full(len(its), label, np.uint8) for its, label in mine]))
    return found[0], found[1], found[2], found[3]


def channel_limits(samples: np.ndarray) -> np.ndarray:
    """Return for each channel the magnitude that one in a thousand of the samples [n, 6] exceeds, float64 [6]."""
    ordered = np.sort(np.abs(samples), axis=0)
    return np.asarray(ordered[len(ordered) - 1 - len(ordered) // BEYOND])


def as_bytes(recording: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return samples [n, 6] as bytes: p stands for (p - 128) / 128 of the limit of its channel; beyond, it is cut off.

    Each operation is one of IEEE 754, so every computer gives the same bytes.
    """
    values: np.ndarray = np.clip(np.rint(128 + 128 * (recording / limits)), 0, 255).astype(np.uint8)
    return values


def windows(series: np.ndarray) -> np.ndarray:
    """Return the windows [n, 128, 1, 6] of a series [samples, 6]; each begins in the middle of the one before."""
    starts = range(0, len(series) - WINDOW + 1, STRIDE)
    return np.stack([series[start : start + WINDOW] for start in starts])[:, :, None]


def _unpickled(data: bytes) -> Mapping[str, Any]:
    """Return the dictionary of the file; nothing but arrays and plain values is made of its pickle."""
    stream = io.BytesIO(data)
    try:
        if np.lib.format.read_magic(stream) != (1, 0):
            raise ValueError("its version is not 1.0")
        np.lib.format.read_array_header_1_0(stream)
        found: Mapping[str, Any] = ArraysOnly(stream).load().item()
        return found
    except Exception as error:  # a damaged pickle may raise almost any exception
        raise RigError(f"its pickle cannot be read ({error})") from error


def _checked(data: Mapping[str, Any]) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Return recordings [samples, 6], exercises and people of the dictionary."""
    try:
        recordings = [np.asarray(one, np.float64) for one in data["X"]]
        labels, subjects = np.asarray(data["y"], np.int64), np.asarray(data["subject"], np.int64)
        right = (
            labels.shape == subjects.shape == (len(recordings),)
            and all(one.ndim == 2 and one.shape[1] == CHANNELS and len(one) >= 2 * WINDOW for one in recordings)
            and all(np.isfinite(one).all() for one in recordings)
            and set(labels.tolist()) == set(range(EXERCISES))
            and set(subjects.tolist()) == set(range(1, SUBJECTS + 1))
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RigError(f"it does not hold the recordings ({error})") from error
    if not right:
        raise RigError(
            f"it does not hold recordings of {CHANNELS} channels, {EXERCISES} exercises and {SUBJECTS} people"
        )
    return recordings, labels, subjects
