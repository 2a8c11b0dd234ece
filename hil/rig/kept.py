"""Virtual benches that outlive a trial, as an attached board does: the next trial finds the image in the flash already."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hil.boards import Board, Image
from hil.errors import Blocked
from hil.standins import StandIn, start_virtual


@dataclass
class _Kept:
    stand_in: StandIn
    image: Path

    def serves(self, image: Image) -> bool:
        """Whether it still runs, with this image's symbols."""
        with contextlib.suppress(Blocked):
            self.stand_in.alive()
            return self.image == image.path
        return False


class KeptStandIns:
    """Lends a virtual bench to one trial after another.

    Args:
        folder: takes a log for each board.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: dict[str, _Kept] = {}

    @contextlib.contextmanager
    def lend(self, board: Board, image: Image, log: Path) -> Iterator[StandIn]:
        """Lend the bench of a board; one that a trial has left by an exception is not lent again.

        Args:
            board, image: as for `start_virtual`.
            log: takes what the bench says meanwhile.

        Raises:
            Blocked: the bench did not come up.
        """
        whole = self._folder / f"{board.name}.log"
        before = whole.stat().st_size if whole.exists() else 0
        kept = self._kept.pop(board.name, None)
        if kept is not None and not kept.serves(image):
            kept.stand_in.stop()
            kept = None
        kept = kept or _Kept(start_virtual(board, image, whole), image.path)
        try:
            yield kept.stand_in
        except BaseException:
            kept.stand_in.stop()
            raise
        else:
            self._kept[board.name] = kept
        finally:
            log.write_bytes(whole.read_bytes()[before:])

    def close(self) -> None:
        """End every bench that is left."""
        while self._kept:
            self._kept.popitem()[1].stand_in.stop()
