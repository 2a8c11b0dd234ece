"""Fixtures of the engine's tests: the training engine of the firmware, built for this computer."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.host_make import make_host


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, str]]:
    """Return a function that makes a target of firmware/host/Makefile; it returns the folder and what was printed."""
    return partial(make_host, tmp_path_factory)


@pytest.fixture(scope="session")
def library(make: Callable[[str], tuple[Path, str]]) -> ctypes.CDLL:
    """Return the engine as a shared library."""
    build, _ = make("all")
    return ctypes.CDLL(str(build / "libtrainrig_host.so"))
