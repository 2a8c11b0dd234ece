"""Networks that are drawn and calibrated are the same on every processor, whose kernels add floats in another order."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

NETWORKS = ("fqt-cnn-uint8", "fqt-cnn-mixed", "mbednet-reset-mixed", "resnet-tiny-32", "mcunet-48")
KERNELS = ("Nehalem", "Sandybridge")  # of OpenBLAS; every processor for x86-64 of today has both instruction sets
SCRIPT = f"""
import hashlib
from hil.training.graph.file import encode
from hil.training.networks import build
for name in {NETWORKS}:
    print(name, hashlib.sha256(encode(build(name, 1))).hexdigest())
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the names are those of OpenBLAS's kernels for x86-64")
def test_the_kernels_of_a_processor_change_no_bit() -> None:
    printed = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=os.environ | {"OPENBLAS_CORETYPE": kernels},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        for kernels in KERNELS
    ]
    assert len(printed[0]) == len(NETWORKS)
    assert printed[0] == printed[1]
