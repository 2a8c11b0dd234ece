"""Stand-ins that are kept between trials.

A virtual board keeps the image in its flash, like an attached board. A Renode process serves one board after another.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hil.boards import Board
from hil.errors import Blocked
from hil.images import Image
from hil.rig.reality import start
from hil.standins import StandIn, renode

KEPT = ("virtual", "renode")


@dataclass
class _KeptStandIn:
    stand_in: StandIn
    image: Path

    def serves(self, reality: str, board: Board, image: Image) -> bool:
        """Return whether it runs and is usable: a virtual board with this image's symbols, or Renode after a reboot."""
        with contextlib.suppress(Blocked):
            self.stand_in.alive()
            if reality == "renode":
                renode.boot_again(self.stand_in, board, image)
                return True
            return self.image == image.path
        return False


class KeptStandIns:
    """Provides stand-ins to one trial after another; the log of each is in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: dict[str, _KeptStandIn] = {}

    @contextlib.contextmanager
    def provide(self, reality: str, board: Board, image: Image, log: Path) -> Iterator[StandIn]:
        """Provide a stand-in for a `with` block, and write its output of that time to `log`.

        It is stopped, and not used again, if the block raises an exception. Raises Blocked if it did not start.
        """
        name = board.name if reality == "virtual" else reality
        full_log = self._folder / f"{name}.log"
        before = full_log.stat().st_size if full_log.exists() else 0
        kept = self._kept.pop(name, None)
        if kept is not None and not kept.serves(reality, board, image):
            kept.stand_in.stop()
            kept = None
        try:
            kept = kept or _KeptStandIn(start(reality, board, image, full_log), image.path)
            yield kept.stand_in
        except BaseException:
            if kept is not None:
                kept.stand_in.stop()
            raise
        else:
            self._kept[name] = kept
        finally:
            log.write_bytes(full_log.read_bytes()[before:] if full_log.exists() else b"")

    def close(self) -> None:
        """Stop every stand-in."""
        while self._kept:
            self._kept.popitem()[1].stand_in.stop()
