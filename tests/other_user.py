"""Do something as another user of this computer, in a process of its own."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import Any

import pytest

NOBODY, SOMEBODY = 65534, 65533
needs_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another user"
)


def as_user(number: int, action: Callable[[], Any]) -> Any:
    """Return what an action returns, or the exception that it raises, as another user; what it imports must be loaded before."""
    "".encode("idna")  # the codec of host names, loaded at its first use: another user may not be able to read it
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(number)
            os.setuid(number)
            try:
                result: Any = action()
            except Exception as error:
                result = error
            os.write(theirs, pickle.dumps(result))
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return pickle.loads(said)
