"""An action in a process of its own, as another session that uses the same files or the same database."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable


def in_child(action: Callable[[], None]) -> int:
    """Run an action in a process of its own, which ends with 0 if nothing was raised; return its number."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            action()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid
