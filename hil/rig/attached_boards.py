"""The boards of this computer that a session has locked: of several of one kind, one for the whole session."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from pathlib import Path

from hil.errors import QUARANTINE, Blocked, RigError
from hil.rig.kept_off import KeptOff, nothing_kept_off
from hil.rig.locks import Locks
from hil.rig_toml import Bench, BenchBoard
from hil.steady_clock import steady_s

POLL_S = 0.5


class AttachedBoards:
    """The boards that this session has locked, by kind.

    Args:
        wait_s: how long to wait for a board that another session holds, in seconds; infinity waits for ever.
        kept_off: why no trial may run on a board, by its name and id.
        folder: folder of the lock files, as for `Locks`.
    """

    def __init__(
        self, wait_s: float = 0.0, kept_off: KeptOff = nothing_kept_off, folder: Path | None = None
    ) -> None:  # fmt: skip
        self._wait_s, self._kept_off, self._folder = wait_s, kept_off, folder
        self._held: dict[str, list[tuple[BenchBoard, Locks]]] = {}

    def hold(self, tables: Sequence[BenchBoard], other_than: Collection[str] = ()) -> BenchBoard:
        """Lock one of the boards of a kind until `release`, and return it: the first that is free.

        A board that this session has locked is given again, unless it is in quarantine now.

        Args:
            tables: of rig.toml, all of one kind.
            other_than: ids of boards that will not do.

        Raises:
            RigError: no board is left.
            Blocked: each is in quarantine, held by another session, or cannot be locked.
        """
        kind = tables[0].name
        asked = [each for each in tables if each.id is None or each.id not in other_than]
        if not asked:
            raise RigError(
                f"this session has only {len(tables)} of {kind}, and the test has them already: name another in "
                f"rig.toml, or ask for all by --board={kind}."
            )
        refused = [self._kept_off(kind, each.id or "") for each in asked]
        allowed = [each for each, why in zip(asked, refused, strict=True) if not why]
        held = self._held.setdefault(kind, [])
        for entry in [each for each in held if each[0] in asked and each[0] not in allowed]:
            held.remove(entry)
            entry[1].release()
        for each, _ in held:
            if each in allowed:
                return each
        if not allowed:
            raise Blocked(QUARANTINE, " ".join(refused))
        held.append(self._lock_one(allowed))
        return held[-1][0]

    def release(self) -> None:
        """Release all locks."""
        for held in self._held.values():
            while held:
                held.pop()[1].release()

    def _lock_one(self, tables: Sequence[BenchBoard]) -> tuple[BenchBoard, Locks]:
        until = steady_s() + self._wait_s
        while True:
            busy: list[Blocked] = []
            for each in tables:
                locks = Locks(self._wait_s if len(tables) == 1 else 0.0, self._folder)
                try:
                    locks.hold(each.title, devices_to_lock(each))
                except Blocked as blocked:
                    busy.append(blocked)
                else:
                    return each, locks
            if len(busy) == 1:
                raise busy[0]
            left_s = until - steady_s()
            if left_s <= 0:
                raise Blocked(busy[0].stage, " ".join(each.reason for each in busy))
            time.sleep(min(POLL_S, left_s))


def devices_to_lock(named: BenchBoard) -> list[str]:
    """Return the devices of a board that this computer locks; a labgrid place is acquired instead."""
    return [device for key, device in named.devices.items() if key != "place"]


def free_of(bench: Bench, board: str, kept_off: KeptOff, folder: Path | None = None) -> int:
    """Return how many of several attached boards of one kind nobody holds, and no quarantine keeps off trials."""
    locks = Locks(folder=folder)
    return sum(
        not kept_off(board, each.id or "") and not any(locks.holder(device) for device in devices_to_lock(each))
        for each in bench.of_kind(board)
    )
