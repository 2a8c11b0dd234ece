"""The arithmetic in C in each form that this processor can run."""

from __future__ import annotations

import ctypes

import pytest

from hil.training.reference.native.bfp8.library import Bfp8Library
from hil.training.reference.native.build import OWN, NotBuilt, library
from hil.training.reference.native.float32.library import Float32Library
from hil.training.reference.native.tflite8.library import Tflite8Library
from hil.training.reference.native.w16a8.library import W16A8Library

AVX2 = "haswell"  # the first processor that has it


@pytest.fixture(scope="session", params=[OWN, AVX2])
def built(request: pytest.FixtureRequest) -> ctypes.CDLL:
    try:
        library()  # it needs AVX2 at least
        return library(request.param)
    except NotBuilt as reason:
        pytest.skip(f"no native arithmetic here: {reason}")


@pytest.fixture(scope="session")
def native(built: ctypes.CDLL) -> Bfp8Library:
    return Bfp8Library(built)


@pytest.fixture(scope="session")
def native_float32(built: ctypes.CDLL) -> Float32Library:
    return Float32Library(built)


@pytest.fixture(scope="session")
def native_w16a8(built: ctypes.CDLL) -> W16A8Library:
    return W16A8Library(built)


@pytest.fixture(scope="session")
def native_tflite8(built: ctypes.CDLL) -> Tflite8Library:
    return Tflite8Library(built)
