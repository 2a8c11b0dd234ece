"""The rig of a command that uses a board: it refuses boards in quarantine."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from hil.history.keeper import Keeper
from hil.rig import Rig, check_known
from hil.rig_toml import read_bench


@contextlib.contextmanager
def rig_of(rig_toml: Path, folder: Path | None = None, reality: str = "auto", wait_s: float = 0.0) -> Iterator[Rig]:
    """Open the bench of a rig.toml. If it is not known which boards are in quarantine, a note says so at the end.

    Args:
        rig_toml: path of the file.
        folder, reality, wait_s: of `hil.rig.Rig`.
    """
    bench = read_bench(rig_toml)
    check_known(reality)
    with Keeper.of(bench) as keeper, Rig(bench, folder, reality, wait_s, keeper) as rig:
        try:
            yield rig
        finally:
            if keeper.problem:
                print(f"note: {keeper.problem}", file=sys.stderr)
