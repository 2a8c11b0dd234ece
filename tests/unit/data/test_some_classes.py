"""Some classes of a set, by name."""

from __future__ import annotations

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.data import load

NAME = "fashion-mnist-1k"


@pytest.mark.parametrize("labels", [(0, 6), (6, 0), (9, 2, 4)])
def test_the_samples_of_these_classes_in_their_order(labels: tuple[int, ...]) -> None:
    whole, some = load(NAME), load(f"{NAME}@classes-{'-'.join(map(str, labels))}")
    for part in ("train", "test"):
        old, images = getattr(whole, f"{part}_labels"), getattr(whole, f"{part}_images")
        kept = [place for place, label in enumerate(old) if label in labels]
        np.testing.assert_array_equal(getattr(some, f"{part}_images"), images[kept])
        assert getattr(some, f"{part}_labels").tolist() == [labels.index(old[place]) for place in kept]
    assert [one.label for one in some.card.classes] == list(range(len(labels)))
    assert some.card.changes == f"@classes-{'-'.join(map(str, labels))}" and some.train_labels.dtype == np.uint8


def test_it_goes_with_other_suffixes() -> None:
    some = load(f"{NAME}@classes-0-6@100-50@32x32x3")
    assert some.train_images.shape == (100, 32, 32, 3) and len(some.test_labels) == 50
    assert set(some.test_labels) == {0, 1}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("@classes-0-10", "fashion-mnist-1k has no class 10 in both of its parts: choose of 0, 1, 2"),
        ("@classes-3-4-3", "fashion-mnist-1k@classes-3-4-3 names a class twice: name each once."),
        ("@classes-3", "there is no data set"),
    ],
)
def test_what_is_refused(name: str, sentence: str) -> None:
    with pytest.raises(RigError, match=sentence):
        load(f"{NAME}{name}")
