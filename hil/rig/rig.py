"""The rig of one session: provides boards to trials and locks them against other sessions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hil.boards import Board
from hil.endpoints import Endpoints
from hil.images import Image
from hil.lab import tunnelled
from hil.rig.bench_endpoints import endpoints_of, found_in
from hil.rig.held_place import HeldPlace
from hil.rig.kept_off import KeptOff, check_kept_off, nothing_kept_off
from hil.rig.kept_stand_ins import KEPT, KeptStandIns
from hil.rig.locks import Locks
from hil.rig.places import Places
from hil.rig.power_cycle import power_cycle
from hil.rig.reality import choose, is_attached, start
from hil.rig_toml import Bench, BenchBoard
from hil.standins import StandIn
from hil.standins.qemu import crash
from hil.standins.virtual_process import chip_fault
from hil.targets.probe_process import ProbeProcess


@dataclass
class Taken:
    """A board reserved for one trial, until the end of the `with` block."""

    board: Board
    endpoints: Endpoints
    probe_process: ProbeProcess
    stand_in: StandIn | None = None
    place: HeldPlace | None = None

    def alive(self, within_s: float = 0.0) -> None:
        """Raise `Blocked` if the stand-in or the labgrid place is gone, or within `within_s` seconds will be.

        Ignores boards that are attached to this computer.
        """
        for each in (self.stand_in, self.place):
            if each is not None:
                each.alive(within_s)

    def power_cycle(self) -> str:
        """Switch the board's power off and on, as `hil.rig.power_cycle`."""
        return power_cycle(self.board, self.endpoints, self.probe_process)

    def chip_fault(self, image: Image) -> str | None:
        """Return a sentence about an invalid access or a lockup that the stand-in has logged, None if there is none."""
        if self.stand_in is None:
            return None
        if self.endpoints.reality == "virtual":
            return chip_fault(self.stand_in)
        return crash(self.stand_in, image) if self.endpoints.reality == "qemu" else None


class Rig:
    """The boards and stand-ins of one session.

    Args:
        bench: contents of rig.toml.
        folder: folder for the logs of stand-ins that are kept between trials; None starts a stand-in for each trial.
        reality: one of `REALITIES`.
        wait_s: how long to wait for a board that another session holds, in seconds; infinity waits for ever.
        kept_off: why no trial may run on an attached board, by its name and labgrid place; nothing by default.
    """

    def __init__(
        self, bench: Bench, folder: Path | None = None, reality: str = "auto", wait_s: float = 0.0,
        kept_off: KeptOff = nothing_kept_off,
    ) -> None:  # fmt: skip
        self.bench = bench
        self.reality = reality
        self._kept_off = kept_off
        self._locks = Locks(wait_s)
        self._places = Places(bench.labgrid.address, wait_s, kept_off=kept_off)
        self._probe_process = ProbeProcess()
        self._kept = KeptStandIns(folder) if folder is not None else None

    def __enter__(self) -> Rig:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def attached(self, board: str) -> bool:
        """Return whether `take` gives the board of rig.toml, and no stand-in."""
        return is_attached(self.bench.find(board), self.reality)

    @contextlib.contextmanager
    def take(self, board: Board, image: Image, log: Path, inject: tuple[str, ...] = ()) -> Iterator[Taken]:
        """Reserve a board for a `with` block: the attached one if rig.toml names it, else a stand-in.

        An attached board stays locked for other sessions until `close`; one at a labgrid place, acquired.

        Args:
            board: catalogue entry.
            image: the firmware (a stand-in without a probe loads it itself).
            log: file for the stand-in's log.
            inject: faults for the project's own fault tests. They require the virtual board, which is then used.

        Raises:
            Blocked: a board of rig.toml is missing or held by another session, or the requested reality is not
                available.
        """
        named = self.bench.find(board.name)
        reality = choose(board, named, "virtual" if inject else self.reality)
        if named is not None and reality == "hardware":
            place = self._place_of(named)
            if place is None:
                check_kept_off(self._kept_off, named.name)
            self._locks.hold(board.name, (name for key, name in named.devices.items() if key != "place"))
            ends = endpoints_of(named, tunnelled(place.found()) if place is not None else None)
            if ends.probe is not None:
                self._probe_process.start()
            yield Taken(board, ends, self._probe_process, place=place)
            return
        if "pyocd" in board.routes:
            self._probe_process.start()  # pyOCD loads while the stand-in starts
        if reality in KEPT and self._kept is not None and not inject:
            with self._kept.provide(reality, board, image, log) as stand_in:
                yield Taken(board, stand_in.endpoints, self._probe_process, stand_in)
            return
        stand_in = start(reality, board, image, log, inject)
        try:
            yield Taken(board, stand_in.endpoints, self._probe_process, stand_in)
        finally:
            stand_in.stop()

    def _place_of(self, named: BenchBoard) -> HeldPlace | None:
        """Acquire the labgrid place of a board; None for a board that is attached to this computer."""
        if named.wanted_place is None:
            return None
        return self._places.hold(named.name, named.wanted_place, found_in(named))

    def close(self) -> None:
        """Stop stand-ins and the probe process, release all locks, and give back all places."""
        if self._kept is not None:
            self._kept.close()
        self._probe_process.stop()
        self._places.release()
        self._locks.release()
