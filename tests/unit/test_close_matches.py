"""What a message suggests for an unknown name."""

from __future__ import annotations

import pytest

from hil.errors import close_matches
from hil.training.networks import NETWORKS


@pytest.mark.parametrize(
    ("name", "suggested"),
    [
        (
            "lenet",
            "lenet5 or lenet5-8w8a or lenet5-w16a8 or lenet5-tflite or lenet5-float32",
        ),  # not resnet-tiny, which shares four letters
        ("LeNet-5", "lenet5 or lenet5-8w8a or lenet5-w16a8"),
        ("MCUNET-64", "mcunet-64"),
        ("mcunet", "mcunet-48 or mcunet-64 or mcunet-96 or mcunet-128"),
        ("resnet-32", "resnet-tiny-32 or resnet-tiny or resnet-tiny-float32"),
        ("tflite", "lenet5-tflite"),
    ],
)
def test_the_nearest_networks_are_suggested_first(name: str, suggested: str) -> None:
    assert close_matches(name, NETWORKS) == f"did you mean {suggested}?"


@pytest.mark.parametrize("name", ["", "vgg", "x" * 1000])
def test_a_name_like_no_other_gets_them_all(name: str) -> None:
    assert close_matches(name, {"b", "a"}) == "known are: a, b."
