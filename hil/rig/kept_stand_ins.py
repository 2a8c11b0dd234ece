"""Stand-ins that outlive a trial: a virtual board, as an attached board does, with the image in its flash; a Renode, for one board after another."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hil.boards import Board
from hil.errors import Blocked
from hil.images import Image
from hil.standins import StandIn, renode, start_renode, start_virtual

KEPT = ("virtual", "renode")


@dataclass
class _Kept:
    stand_in: StandIn
    image: Path

    def serves(self, reality: str, board: Board, image: Image) -> bool:
        """Whether it still runs and is ready: a virtual board with this image's symbols, a Renode with this board booted anew."""
        with contextlib.suppress(Blocked):
            self.stand_in.alive()
            if reality == "renode":
                renode.boot_again(self.stand_in, board, image)
                return True
            return self.image == image.path
        return False


class KeptStandIns:
    """Lends a stand-in to one trial after another.

    Args:
        folder: takes a log for each virtual board, and one for Renode.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: dict[str, _Kept] = {}

    @contextlib.contextmanager
    def lend(self, reality: str, board: Board, image: Image, log: Path) -> Iterator[StandIn]:
        """Lend a stand-in with a board; one that a trial has left by an exception is not lent again.

        Args:
            reality: one of `KEPT`.
            board, image: as for `start_virtual` and `start_renode`.
            log: takes what the stand-in says meanwhile.

        Raises:
            Blocked: it did not come up.
        """
        name = board.name if reality == "virtual" else reality
        whole = self._folder / f"{name}.log"
        before = whole.stat().st_size if whole.exists() else 0
        kept = self._kept.pop(name, None)
        if kept is not None and not kept.serves(reality, board, image):
            kept.stand_in.stop()
            kept = None
        start = start_virtual if reality == "virtual" else start_renode
        try:
            kept = kept or _Kept(start(board, image, whole), image.path)
            yield kept.stand_in
        except BaseException:
            if kept is not None:
                kept.stand_in.stop()
            raise
        else:
            self._kept[name] = kept
        finally:
            log.write_bytes(whole.read_bytes()[before:] if whole.exists() else b"")

    def close(self) -> None:
        """End every stand-in that is left."""
        while self._kept:
            self._kept.popitem()[1].stand_in.stop()
