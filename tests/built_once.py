"""What a test run builds once for all its workers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def built_once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], Path]) -> Path:
    """Return what `build` made in a folder that all workers of pytest-xdist share; the first one that asks builds it.

    Args:
        factory: pytest's folders; those of the workers of one run have one parent.
        name: the folder's; one for each thing that is built.
        build: makes it in the folder, which is new, and returns its path there.
    """
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    path = folder.with_suffix(".path")
    with FileLock(folder.with_suffix(".lock")):
        if not path.exists():  # a build that failed is tried again
            folder.mkdir(exist_ok=True)
            path.write_text(str(build(folder)), encoding="utf-8")
    return Path(path.read_text(encoding="utf-8"))
