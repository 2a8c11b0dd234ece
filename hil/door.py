"""The door of a room: its public names, each imported from its file when somebody asks for it (PEP 562).

So a program that needs one file of a room does not load all of them: the probe process, for example, needs pyOCD and
no firmware image.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def door(room: str, files: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a room.

    Args:
        room: full name of the package.
        files: the module of the room that has a name, by the name. No file of the room may have one of these names:
            Python makes each file that is imported an attribute of the room.
    """

    def opened(name: str) -> Any:
        if name not in files:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        found = getattr(import_module(f"{room}.{files[name]}"), name)
        setattr(sys.modules[room], name, found)
        return found

    return opened
