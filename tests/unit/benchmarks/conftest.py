"""The kernel machines, core by core."""

from __future__ import annotations

import pytest

from hil.images.images import kernel_image
from hil.training.benchmarks.kernels.cases import CORES


@pytest.fixture(params=CORES)
def machine(request):
    """A core that calls the kernels of its committed image."""
    module = pytest.importorskip(
        "hil.training.benchmarks.kernels.machine", reason="the virtual core needs the extra `virtual`"
    )
    return module.KernelMachine(kernel_image(request.param), request.param)
