"""A labgrid place that this session has acquired: whether it is still ours and works, and how it is restored."""

from __future__ import annotations

import threading
from collections.abc import Callable

from hil.errors import Blocked
from hil.lab import Coordinator, Found
from hil.lab.coordinator import LAB
from hil.lab.found import NotYet
from hil.lab.state import Place, Resource, Snapshot
from hil.rig.locks import Locks
from hil.steady_clock import steady_s

SETTLED_S = 1.0  # after a place is acquired, until its resources are told to be acquired too


class HeldPlace:
    """A place of this session.

    Args:
        session: with the coordinator.
        name: of the place.
        lock: of this computer on it; released with the place.
        holder: name under which it is acquired; if it is not that of the session, the user has acquired it.
        token: of the reservation that it is from, None without one.

    Attributes:
        find: what the place has for the board.
    """

    def __init__(self, session: Coordinator, name: str, lock: Locks, holder: str, token: str | None) -> None:
        self._session, self.name, self._lock, self._holder, self._token = session, name, lock, holder, token
        self._epoch = session.epoch  # in which the place was acquired; a later coordinator does not know of it
        self._guard = threading.RLock()  # while the place is released and acquired again
        self._acquired_at = steady_s()
        self.find: Callable[[Snapshot, Place], Found] = lambda snapshot, place: Found(frozenset())
        self._ready = Found(frozenset())  # what the place had for the board when it was ready

    @property
    def snapshot(self) -> Snapshot:
        """Places and resources now."""
        return self._session.snapshot

    def found(self) -> Found:
        """Return what the place has for the board now. Raises Blocked as `hil.lab.find`."""
        return self.find(self.snapshot, self.snapshot.places[self.name])

    def taken_away(self) -> str | None:
        """Return in words who has the place instead of this session, None if it is this session's."""
        with self._guard:
            place = self._place()
            if not self._session.connected:
                return None  # nobody can take it now
            if place is None:
                return "it was deleted"
            if place.holder == self._holder or (not place.holder and self._is_forgotten()):
                return None
            return f"{place.holder} has it now" if place.holder else "someone has released it"

    def alive(self, within_s: float = 0.0) -> None:
        """Raise `Blocked` if another has the place, or, within `within_s` seconds, its exporter or coordinator is away.

        Or the exporter was away, and what the place has is elsewhere now than when it was ready. With `within_s` = 0
        only the first counts: a trial goes on without its coordinator as long as its lines do.
        """
        other = self.taken_away()
        if other is not None:
            raise Blocked(
                LAB,
                f"the labgrid place {self.name} was taken away during the trial ({other}): agree with its users, "
                "and run again.",
            )
        if within_s and self._session.wait_for(lambda: self._trouble() is not None, within_s):
            trouble = self._trouble()
            if trouble is not None:
                raise trouble
        if within_s and self.found() != self._ready:
            raise Blocked(
                "bench",
                f"what the labgrid place {self.name} has came back at other addresses during the trial, because its "
                "exporter was started again: run again.",
            )

    def await_ready(self, board: str, within_s: float) -> None:
        """Wait until everything that the place has for the board is there. Raises Blocked if it does not come."""
        if not self._session.wait_for(lambda: self._trouble() is None, within_s):
            trouble = self._trouble()
            if trouble is not None:
                raise trouble
        self._ready = self.found()
        if self._ready.serial is None:
            has = ", ".join(f"{each.name} ({each.cls})" for each in self._resources()) or "nothing"
            raise Blocked(
                "bench",
                f"the labgrid place {self.name} has no serial port for {board} (it has {has}): "
                "add a match for its NetworkSerialPort to the place.",
            )

    def restore(self) -> None:
        """Acquire the place again if a coordinator that started anew has forgotten it, or its resources.

        Raises:
            Refusal, Blocked: it cannot be acquired now.
        """
        with self._guard:
            place = self._place()
            if place is None or not self._session.connected or self._holder != self._session.user:
                return
            if not place.holder and self._is_forgotten():
                self._acquire()
            elif place.holder == self._holder:
                self._epoch = self._session.epoch  # the coordinator of this session knows it
                if self._is_unused(place):
                    # labgrid itself would do this after 15 s for an exporter, and never for a coordinator
                    self._session.release(self.name, self._holder)
                    self._acquire()

    def release(self) -> None:
        """Give the place back, unless the user has acquired it. Raises Refusal or Blocked if labgrid does not take it.

        The lock of this computer is released in any case.
        """
        try:
            # The reservation first: a place that is free before it is not given to others until labgrid looks again,
            # which it does every 15 s.
            if self._token is not None:
                self._session.cancel(self._token)
        finally:
            try:
                if self._holder == self._session.user:
                    self._session.release(self.name, self._holder)
            finally:
                self._lock.release()

    def _acquire(self) -> None:
        self._session.acquire(self.name)
        self._epoch, self._acquired_at = self._session.epoch, steady_s()
        self._session.wait_for(lambda: (place := self._place()) is not None and bool(place.holder), SETTLED_S)

    def _is_forgotten(self) -> bool:
        return self._epoch != self._session.epoch

    def _is_unused(self, place: Place) -> bool:
        """Return whether all resources of the place are there, and one is not acquired for it."""
        return (
            steady_s() - self._acquired_at > SETTLED_S
            and self.snapshot.missing(place) is None
            and any(each.acquired != self.name for each in self._resources())
        )

    def _place(self) -> Place | None:
        return self.snapshot.places.get(self.name)

    def _resources(self) -> list[Resource]:
        place = self._place()
        return self.snapshot.of(place) if place is not None else []

    def _trouble(self) -> Blocked | None:
        """Return why the place cannot be used now, None if it can. Raises Blocked as `hil.lab.find`."""
        if not self._session.connected:
            return self._session.away()
        place = self._place()
        if place is None or place.holder != self._holder:
            return Blocked(LAB, f"the labgrid place {self.name} is no longer acquired: look who released it.")
        missing = self.snapshot.missing(place)
        if missing is not None:
            return Blocked(
                "bench",
                f"the labgrid place {self.name} lacks {missing}, which no exporter offers now: start its exporter.",
            )
        try:
            used = self.found().resources
        except NotYet as not_yet:
            return not_yet
        for each in self._resources():
            if each.path in used and not (each.avail and each.acquired == self.name):
                state = "not acquired with it" if each.avail else "not available"
                return Blocked(
                    "bench",
                    f"{each.name} of the labgrid place {self.name} is {state}: "
                    f"look whether it is attached to {each.exporter}, and at the log of its exporter.",
                )
        return None
