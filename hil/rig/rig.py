"""The rig of this computer for one session: boards are taken for a trial and given back; what one session holds no other gets."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from hil.boards import Board
from hil.endpoints import Endpoints
from hil.images import Image
from hil.rig.bench_endpoints import endpoints_of
from hil.rig.config import Bench
from hil.rig.kept_stand_ins import KEPT, KeptStandIns
from hil.rig.locks import Locks
from hil.rig.power_cycle import power_cycle
from hil.rig.reality import choose, start
from hil.standins import StandIn
from hil.standins.qemu import crash
from hil.standins.virtual_process import chip_fault
from hil.targets.probe_process import ProbeProcess


@dataclass
class Taken:
    """A board in our hands until the end of the `with` block."""

    board: Board
    endpoints: Endpoints
    probe_process: ProbeProcess
    stand_in: StandIn | None = None

    def alive(self, within_s: float = 0.0) -> None:
        """Raise `Blocked` when what is behind the endpoints is known to be gone, or is so within some seconds."""
        if self.stand_in is not None:
            self.stand_in.alive(within_s)

    def power_cycle(self) -> str:
        """Switch the board's power off and on; return what was switched, for a sentence.

        Raises:
            Blocked: rig.toml names nothing that could be, it cannot be switched, or a device did not come back.
        """
        return power_cycle(self.board, self.endpoints, self.probe_process)

    def chip_fault(self, image: Image) -> str | None:
        """Return what a stand-in has said of a wrong access or a lockup of its processor, if anything, as one sentence."""
        if self.stand_in is None:
            return None
        if self.endpoints.reality == "virtual":
            return chip_fault(self.stand_in)
        return crash(self.stand_in, image) if self.endpoints.reality == "qemu" else None


class Rig:
    """Args:
    bench: what rig.toml says.
    folder: takes the logs of stand-ins that stay up between trials; without it each trial has its own.
    reality: `auto`, or one reality and no other.
    wait_s: how long to wait for a board that another session holds; infinity waits as long as it takes.
    """

    def __init__(self, bench: Bench, folder: Path | None = None, reality: str = "auto", wait_s: float = 0.0) -> None:
        self.bench = bench
        self.reality = reality
        self._locks = Locks(wait_s)
        self._probe_process = ProbeProcess()
        self._kept = KeptStandIns(folder) if folder is not None else None

    def __enter__(self) -> Rig:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextlib.contextmanager
    def take(self, board: Board, image: Image, log: Path, inject: tuple[str, ...] = ()) -> Iterator[Taken]:
        """Take a board: the attached one if rig.toml names it, else its stand-in; give it back at the end.

        An attached board stays locked for other sessions until `close`.

        Args:
            board: catalogue entry.
            image: the firmware (a stand-in without a probe loads it itself).
            log: file for a stand-in's log.
            inject: faults, in the project's own fault tests; only the virtual board takes them, so nothing else is taken.

        Raises:
            Blocked: the board is named and gone or held by another session, or the wanted reality is not to be had.
        """
        named = self.bench.find(board.name)
        reality = choose(board, named, "virtual" if inject else self.reality)
        if named is not None and reality == "hardware":
            self._locks.hold(board.name, named.devices)
            if named.probe is not None:
                self._probe_process.start()
            yield Taken(board, endpoints_of(named), self._probe_process)
            return
        if "pyocd" in board.routes:
            self._probe_process.start()  # pyOCD loads while the stand-in comes up
        if reality in KEPT and self._kept is not None and not inject:
            with self._kept.lend(reality, board, image, log) as stand_in:
                yield Taken(board, stand_in.endpoints, self._probe_process, stand_in)
            return
        stand_in = start(reality, board, image, log, inject)
        try:
            yield Taken(board, stand_in.endpoints, self._probe_process, stand_in)
        finally:
            stand_in.stop()

    def close(self) -> None:
        """Give everything back."""
        if self._kept is not None:
            self._kept.close()
        self._probe_process.stop()
        self._locks.release()
