"""Stand-ins that are kept between trials.

A virtual board keeps the image in its flash, like an attached board. A Renode process serves one board after another.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hil.boards import Board
from hil.errors import Blocked, not_written
from hil.images import Image
from hil.rig.reality import start
from hil.standins import StandIn


class Provided(NamedTuple):
    """A stand-in for one device, and whether it was started for it: another may have used it before."""

    stand_in: StandIn
    is_new: bool


class KeptStandIns:
    """Provides stand-ins to one trial after another; the log of each is in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: list[tuple[str, str, StandIn]] = []  # each after its reality and the board that it was last
        self._lent: set[Path] = set()  # logs of those in a `with` block

    @contextlib.contextmanager
    def provide(self, reality: str, board: Board, image: Image, log: Path) -> Iterator[Provided]:
        """Provide a stand-in for a `with` block, and write its output of that time to `log`, before what others wrote.

        It is stopped, and not used again, if the block raises an exception. Raises Blocked if it did not start.
        """
        before = log.stat().st_size if log.exists() else 0
        sizes = {path: path.stat().st_size for path in self._folder.glob("*.log")}
        stand_in = self._serving(reality, board, image)
        full_log = stand_in.log if stand_in is not None else self._free_log(board.name)
        self._lent.add(full_log)
        try:
            is_new = stand_in is None
            stand_in = stand_in or start(reality, board, image, full_log)
            yield Provided(stand_in, is_new)
        except BaseException:
            if stand_in is not None:
                with contextlib.suppress(Blocked):
                    stand_in.stop()
            raise
        else:
            self._kept.append((reality, board.name, stand_in))
        finally:
            self._lent.discard(full_log)
            output = full_log.read_bytes()[sizes.get(full_log, 0) :] if full_log.exists() else b""
            try:
                log.write_bytes(output + (log.read_bytes()[before:] if log.exists() else b""))
            except OSError as error:
                raise not_written(log, error) from error

    def _serving(self, reality: str, board: Board, image: Image) -> StandIn | None:
        """Take out the stand-in that serves this trial; stop what has ended, and one of this board that does not."""
        for kept in [kept for kept in self._kept if kept[0] == reality]:
            _, name, stand_in = kept
            self._kept.remove(kept)
            with contextlib.suppress(Blocked):
                if stand_in.serves(board, image):
                    return stand_in
                if name != board.name:
                    self._kept.append(kept)
                    continue
            stand_in.stop()
        return None

    def _free_log(self, board: str) -> Path:
        """Return the log of a stand-in that is started now; a test may use several of one board."""
        used = {*self._lent, *(stand_in.log for _, _, stand_in in self._kept)}
        names = itertools.chain((board,), (f"{board}-{number}" for number in itertools.count(2)))
        return next(path for name in names if (path := self._folder / f"{name}.log") not in used)

    def close(self) -> None:
        """Stop every stand-in."""
        with contextlib.ExitStack() as stack:  # also if one cannot be stopped
            for _, _, stand_in in self._kept:
                stack.callback(stand_in.stop)
            self._kept.clear()
