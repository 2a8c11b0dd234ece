"""The int8 models of MLPerf Tiny, which are never part of this project, where the user has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = "TRAINRIG_MLPERF_TINY"


def mlperf_model(name: str) -> Path:
    """Return the path of a model by the name of its file without suffix; skip the test where nobody has the files."""
    folder = os.environ.get(FOLDER)
    if not folder:
        pytest.skip(f"set {FOLDER} to a folder with the int8 models of MLPerf Tiny (mlcommons/tiny)")
    return Path(folder) / f"{name}.tflite"
