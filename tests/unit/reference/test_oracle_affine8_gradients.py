"""Section 10 of docs/arithmetic-affine8.md: the gradients of network B in affine8, in float32 and by differences."""

from __future__ import annotations

import numpy as np
import pytest

from .affine8_double import differences
from .affine8_gradients import cosine, gradient_of, size
from .oracle_affine8_networks import in_float32, network_b, text_samples

WEIGHTED = (0, 2, 4, 5, 7, 9, 11)


@pytest.mark.parametrize(("sample", "least_cosine", "most_size"), [(0, 0.9985, 0.0215), (1, 0.999, 0.08)])
def test_affine8_against_float32(sample: int, least_cosine: float, most_size: float) -> None:
    """Sample 0 is that of the text, 2.1 % being rounded; in sample 1 the sums of the error of value 5 nearly cancel."""
    network = network_b()
    images, labels = text_samples(network)
    rough = gradient_of(network, images[sample], labels[sample])
    smooth = gradient_of(in_float32(network), images[sample], labels[sample])
    assert sorted(rough) == sorted((index, part) for index in WEIGHTED for part in ("bias", "weights"))
    assert min(cosine(rough[key], smooth[key]) for key in rough) >= least_cosine
    assert max(abs(size(rough[key], smooth[key]) - 1) for key in rough) <= most_size


@pytest.mark.parametrize("sample", [0, 1])
def test_float32_against_differences(sample: int) -> None:
    network = in_float32(network_b())
    images, labels = text_samples(network)
    found = gradient_of(network, images[sample], labels[sample])
    for (index, part), one in found.items():
        said = differences(network, images[sample], labels[sample], index, part == "bias", 1e-5)
        np.testing.assert_allclose(one, said, rtol=1e-4, atol=2e-6 * float(np.abs(said).max()))
