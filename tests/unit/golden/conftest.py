"""Fixtures of the golden tests: the C engine of this computer, and the reference."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import pytest
from engine.conftest import library, make  # noqa: F401 (fixtures)

from hil.training.reference.native import build
from tests.built_once import built_once
from tests.host_make import HOST

from .c_side import CTrainer, engine_library
from .numpy_side import NativeTrainer, NumpyTrainer

OTHER_KERNELS = ("KERNELS_DSP_IN_C", "KERNELS_THUMB1_IN_C")


@pytest.fixture(scope="session")
def numpy_trainer() -> NumpyTrainer:
    """Return the reference."""
    return NumpyTrainer()


@pytest.fixture(scope="session")
def native_trainer() -> NativeTrainer:
    """Return the C of the reference."""
    try:
        build.library()
    except build.NotBuilt as reason:
        pytest.skip(f"no native arithmetic here: {reason}")
    return NativeTrainer()


@pytest.fixture(scope="session")
def c_trainer(library: ctypes.CDLL) -> Iterator[CTrainer]:  # noqa: F811
    """Give the C engine of this computer."""
    trainer = CTrainer(library)
    yield trainer
    trainer.close()


@pytest.fixture(scope="session", params=OTHER_KERNELS)
def core_trainer(
    request: pytest.FixtureRequest,
    library: ctypes.CDLL,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[CTrainer]:
    """Give the C engine with the kernels of a core, their instructions spelt in C; `library` skips where there is no compiler."""
    option = f"-D{request.param}"
    built = built_once(tmp_path_factory, request.param, lambda folder: engine_library(HOST.parent, folder, option))
    trainer = CTrainer(ctypes.CDLL(str(built)), f"the C engine with {request.param}")
    yield trainer
    trainer.close()
