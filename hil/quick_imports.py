"""Import many modules without Python's search for garbage, which takes a fifth of the time and finds nothing.

Modules, classes and functions stay. Each time the number of objects has grown by a quarter, Python looks at all of them
(gc, "generations"), pytest does so ten times when a session ends, and the interpreter once more.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def quick_imports() -> Iterator[None]:
    """Search for no garbage in a `with` block that imports."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def keep_out_of_searches() -> None:
    """Let later searches for garbage not look at what there is now: the modules of a session and its tests."""
    gc.freeze()
