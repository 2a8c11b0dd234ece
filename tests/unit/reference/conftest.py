"""The arithmetic in C in each form that this processor can run."""

from __future__ import annotations

import pytest

from hil.reference.native.bfp8.library import Native
from hil.reference.native.build import OWN, NotBuilt, library

AVX2 = "haswell"  # the first processor that has it


@pytest.fixture(scope="session", params=[OWN, AVX2])
def native(request: pytest.FixtureRequest) -> Native:
    try:
        library()  # it needs AVX2 at least
        return Native(library(request.param))
    except NotBuilt as reason:
        pytest.skip(f"no native arithmetic here: {reason}")
