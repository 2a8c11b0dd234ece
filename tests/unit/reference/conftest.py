"""The arithmetic in C in each form that this processor can run."""

from __future__ import annotations

import ctypes

import pytest

from hil.training.reference.native.bfp8.library import Native
from hil.training.reference.native.build import OWN, NotBuilt, library
from hil.training.reference.native.float32.library import Native as Float32Native
from hil.training.reference.native.tflite8.library import Native as Tflite8Native
from hil.training.reference.native.w16a8.library import Native as W16A8Native

AVX2 = "haswell"  # the first processor that has it


@pytest.fixture(scope="session", params=[OWN, AVX2])
def built(request: pytest.FixtureRequest) -> ctypes.CDLL:
    try:
        library()  # it needs AVX2 at least
        return library(request.param)
    except NotBuilt as reason:
        pytest.skip(f"no native arithmetic here: {reason}")


@pytest.fixture(scope="session")
def native(built: ctypes.CDLL) -> Native:
    return Native(built)


@pytest.fixture(scope="session")
def native_float32(built: ctypes.CDLL) -> Float32Native:
    return Float32Native(built)


@pytest.fixture(scope="session")
def native_w16a8(built: ctypes.CDLL) -> W16A8Native:
    return W16A8Native(built)


@pytest.fixture(scope="session")
def native_tflite8(built: ctypes.CDLL) -> Tflite8Native:
    return Tflite8Native(built)
