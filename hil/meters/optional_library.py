"""Import a library that only one meter needs, when that meter is opened."""

from __future__ import annotations

import importlib
from types import ModuleType

from hil.errors import RigError


def library(module: str, meter: str, extra: str) -> ModuleType:
    """Import a library that the optional dependency `trainrig[extra]` installs.

    Raises:
        RigError: the library is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise RigError(
            f'the {meter} needs {module}, which is not installed ({error}): pip install "trainrig[{extra}]".'
        ) from error
