"""The rig of one session: provides boards to trials and locks them against other sessions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from hil.boards import Board
from hil.endpoints import Endpoints
from hil.errors import Blocked, RigError
from hil.images import Image
from hil.lab import tunnelled
from hil.rig.attached_boards import AttachedBoards, devices_to_lock
from hil.rig.bench_endpoints import endpoints_of, found_in
from hil.rig.command_board import start_command
from hil.rig.held_place import HeldPlace
from hil.rig.kept_off import KeptOff, nothing_kept_off
from hil.rig.kept_stand_ins import KeptStandIns
from hil.rig.locks import Locks
from hil.rig.places import Places
from hil.rig.power_cycle import power_cycle
from hil.rig.reality import choose, is_attached, start, stopped_after
from hil.rig.semihosting import NOT_A_COMMAND, by_probe
from hil.rig_toml import Bench, BenchBoard
from hil.standins import STAND_INS, Endable, SemihostedQemu, StandIn
from hil.targets.probe_process import SEMIHOSTING, ProbeProcess, ProbeProcesses


@dataclass
class Taken:
    """A board reserved for one device under test, until the end of the `with` block.

    Attributes:
        named: its table of rig.toml; None for a stand-in.
        place: its labgrid place; None without one.
        endable: what of it ends with an exit code; None if nothing.
        is_new: whether it is a stand-in that was started for this device: all that it has printed is this program's.
    """

    board: Board
    endpoints: Endpoints
    probe_process: ProbeProcess
    stand_in: StandIn | None = None
    place: HeldPlace | None = None
    named: BenchBoard | None = None
    endable: Endable | None = None
    is_new: bool = False

    @property
    def which(self) -> str:
        """Which board of its kind it is: its labgrid place, or `id` in rig.toml; empty without either."""
        if self.place is not None:
            return self.place.name
        return (self.named.id or "") if self.named is not None else ""

    def alive(self, within_s: float = 0.0) -> None:
        """Raise `Blocked` if the stand-in or the labgrid place is gone, or within `within_s` seconds will be.

        Ignores boards that are attached to this computer.
        """
        for each in (self.stand_in, self.place):
            if each is not None:
                each.alive(within_s)

    def lost_s(self) -> float:
        """Return the seconds in which the stand-in could not run: 0 for an attached board."""
        return self.stand_in.lost_s() if self.stand_in is not None else 0.0

    def power_cycle(self) -> str:
        """Switch the board's power off and on, as `hil.rig.power_cycle`."""
        return power_cycle(self.board, self.endpoints, self.probe_process)

    def reset(self, while_stopped: Callable[[], None]) -> bool:
        """Reset a machine that has no probe, by its emulator, or start a command anew; return False if nothing can.

        `while_stopped` is called while the machine stands still, before its program begins. Raises Blocked if it fails.
        """
        return self.stand_in is not None and self.stand_in.reset(while_stopped)

    @property
    def is_command(self) -> bool:
        """Whether a reset ends its program and starts another: nothing in its memory outlasts that."""
        return self.stand_in is not None and self.stand_in.is_command

    def forget_chip_faults(self) -> None:
        """Forget what the chip of a stand-in has reported so far: it is reset."""
        if self.stand_in is not None:
            self.stand_in.forget_lines()

    def own_resets(self) -> int:
        """Return how often the program has reset its stand-in since the last call, as far as that knows it."""
        return self.stand_in.own_resets() if isinstance(self.stand_in, StandIn) else 0

    def chip_fault(self, image: Image) -> str | None:
        """Return a sentence about an invalid access or a lockup that the stand-in has logged, None if there is none."""
        return self.stand_in.chip_fault(image) if self.stand_in is not None else None


class Rig:
    """The boards and stand-ins of one session.

    Args:
        bench: contents of rig.toml.
        folder: folder for the logs of stand-ins that are kept between trials; None starts a stand-in for each trial.
        reality: one of `REALITIES`.
        wait_s: how long to wait for a board that another session holds, in seconds; infinity waits for ever.
        kept_off: why no trial may run on an attached board, by its name, and its id or labgrid place; default: none.
    """

    def __init__(
        self, bench: Bench, folder: Path | None = None, reality: str = "auto", wait_s: float = 0.0,
        kept_off: KeptOff = nothing_kept_off,
    ) -> None:  # fmt: skip
        self.bench = bench
        self.reality = reality
        self._locks = Locks(wait_s)  # of what is at labgrid places
        self._attached = AttachedBoards(wait_s, kept_off)
        self._places = Places(bench.labgrid.address, wait_s, kept_off=kept_off)
        self._probes, self._semihosting = ProbeProcesses(), ProbeProcesses(SEMIHOSTING)
        self._kept = KeptStandIns(folder) if folder is not None else None

    def __enter__(self) -> Rig:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def attached(self, board: str) -> bool:
        """Return whether `take` gives the board of rig.toml, and no stand-in."""
        return is_attached(self.bench.find(board), self.reality)

    @contextlib.contextmanager
    def take(
        self, board: Board, image: Image, log: Path, inject: tuple[str, ...] = (), other_than: Collection[str] = (),
        semihosting: bool = False,
    ) -> Iterator[Taken]:  # fmt: skip
        """Reserve a board for a `with` block: the attached one if rig.toml names it, else a stand-in.

        An attached board stays locked for other sessions until `close`; one at a labgrid place, acquired.

        Args:
            board: catalogue entry.
            image: the firmware (a stand-in without a probe loads it itself).
            log: file for the stand-in's log; a board that is a command works in a folder beside it.
            inject: faults for the project's own fault tests. They require the virtual board, which is then used.
            other_than: ids in rig.toml of boards of this kind that the caller has already.
            semihosting: the firmware may ask this computer for files, output and an end, on QEMU or through a probe.

        Its serial port may be absent still: it may come only when the board is flashed. `hil.dut.opened` opens it.

        Raises:
            RigError: semihosting is requested of a board that is not on QEMU, and has no probe.
            Blocked: a board of rig.toml is missing or held by another session, or the requested reality is not
                available.
        """
        named = self.bench.find(board.name)
        reality = choose(board, named, "virtual" if inject else self.reality)
        with contextlib.ExitStack() as stack:
            process = stack.enter_context((self._semihosting if semihosting else self._probes).one())
            if named is not None and named.run is not None and reality == named.reality:
                if semihosting:
                    raise RigError(NOT_A_COMMAND.format(board.name))
                if named.id is not None:
                    named = self._attached.hold(self.bench.of_kind(board.name), other_than)
                command = stack.enter_context(stopped_after(start_command(named, image, log, log.parent)))
                taken = Taken(board, command.endpoints, process, command, named=named, endable=command)
            elif semihosting and reality == "qemu":
                machine = stack.enter_context(stopped_after(SemihostedQemu(board, image, log, log.parent)))
                taken = Taken(board, machine.endpoints, process, machine, endable=machine)
            elif named is not None and reality == "hardware":
                taken = self._take_attached(board, named, process, other_than)
            else:
                taken = self._take_stand_in(board, image, log, inject, reality, process, stack)
            yield by_probe(taken, log) if semihosting and taken.endable is None else taken

    def _take_attached(
        self, board: Board, named: BenchBoard, process: ProbeProcess, other_than: Collection[str]
    ) -> Taken:  # fmt: skip
        """Reserve an attached board, as `take`."""
        place: HeldPlace | None = None
        if named.wanted_place is None:
            named = self._attached.hold(self.bench.of_kind(board.name), other_than)
        else:
            place = self._places.hold(named.name, named.wanted_place, found_in(named))
            self._locks.hold(board.name, devices_to_lock(named))
        try:
            found = tunnelled(place.found()) if place is not None else None
            ends = endpoints_of(named, found, may_come=True)
        except Blocked as blocked:
            blocked.place = blocked.place or named.id or ""
            raise
        if ends.probe is not None:
            process.start()
        return Taken(board, ends, process, place=place, named=named)

    def _take_stand_in(
        self, board: Board, image: Image, log: Path, inject: tuple[str, ...], reality: str, process: ProbeProcess,
        stack: contextlib.ExitStack,
    ) -> Taken:  # fmt: skip
        """Start a stand-in, as `take`; `stack` stops it."""
        if "pyocd" in board.routes:
            process.start()  # pyOCD loads while the stand-in starts
        if self._kept is not None and not inject and STAND_INS.find(reality).kept:
            stand_in, is_new = stack.enter_context(self._kept.provide(reality, board, image, log))
        else:
            stand_in = stack.enter_context(stopped_after(start(reality, board, image, log, inject)))
            is_new = True
        ends = replace(stand_in.endpoints, board=board.name, reality=reality)
        return Taken(board, ends, process, stand_in, is_new=is_new)

    def close(self) -> None:
        """Stop stand-ins and the processes of probes, release all locks, and give back all places."""
        with contextlib.ExitStack() as stack:  # the last one first, and all of them, whatever one raises
            for release in (self._locks.release, self._attached.release, self._places.release):
                stack.callback(release)
            stack.callback(self._probes.stop)
            stack.callback(self._semihosting.stop)
            if self._kept is not None:
                stack.callback(self._kept.close)
