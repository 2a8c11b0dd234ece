"""Parts of a set, by name."""

from __future__ import annotations

import numpy as np
import pytest

from hil.errors import RigError
from hil.training.data import load

NAME = "fashion-mnist-1k+fog-5"


def test_the_first_images_and_those_that_follow() -> None:
    whole, first, held = load(NAME), load(f"{NAME}@800"), load(f"{NAME}@800-150")
    for part in (first, held):
        np.testing.assert_array_equal(part.train_images, whole.train_images[:800])
        np.testing.assert_array_equal(part.train_labels, whole.train_labels[:800])
    np.testing.assert_array_equal(first.test_images, whole.test_images)
    np.testing.assert_array_equal(held.test_images, whole.train_images[800:950])
    np.testing.assert_array_equal(held.test_labels, whole.train_labels[800:950])
    assert len({whole.sha256, first.sha256, held.sha256}) == 3


def test_more_than_there_is() -> None:
    assert len(load(f"{NAME}@1000").train_images) == 1000
    with pytest.raises(RigError, match=r"fog-5 has 1000 training images, not 1001"):
        load(f"{NAME}@900-101")
    with pytest.raises(RigError, match="there is no data set"):
        load(f"{NAME}@0")
