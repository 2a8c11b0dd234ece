"""Libraries that only a part of the rig needs: which extra installs each, and a sentence where one is missing."""

from __future__ import annotations

import importlib
from types import ModuleType

from hil.errors import RigError

EXTRAS = {  # of pyproject.toml, by the name of the module
    "dask": "training",
    "distributed": "training",
    "flatbuffers": "training",
    "llvmlite": "virtual",
    "pandas": "frames",
    "tflite": "training",
    "threadpoolctl": "training",
    "unicorn": "virtual",
}


def library(module: str, what: str, extra: str) -> ModuleType:
    """Import a library that the optional dependency `trainrig[extra]` installs; `what` needs it.

    Raises:
        RigError: the library is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise RigError(
            f'the {what} needs {module}, which is not installed ({error}): pip install "trainrig[{extra}]".'
        ) from error


def missing_library(error: ModuleNotFoundError, what: str) -> RigError | None:
    """Return the error that names the extra which installs a missing library; None if no extra does."""
    name = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(name)
    if extra is None:
        return None
    return RigError(f'{what} needs {name}, which is not installed: pip install "trainrig[{extra}]".')
