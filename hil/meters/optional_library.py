"""Libraries that only one meter needs: imported when it is opened, and missed with one sentence."""

from __future__ import annotations

import importlib
from types import ModuleType

from hil.errors import RigError


def library(module: str, meter: str, extra: str) -> ModuleType:
    """Import a library that an extra brings.

    Raises:
        RigError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise RigError(
            f'the {meter} is driven through {module}, which is not installed ({error}): pip install "trainrig[{extra}]".'
        ) from error
