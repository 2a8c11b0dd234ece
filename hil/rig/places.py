"""Boards at labgrid places: acquired for this session and given back, as the devices of hil/rig/locks.py are."""

from __future__ import annotations

import contextlib
import getpass
import os
import socket
import threading
from collections.abc import Callable, Container
from pathlib import Path

from hil.errors import QUARANTINE, Blocked, RigError, close_matches
from hil.lab import Coordinator, Found
from hil.lab.coordinator import LAB, CoordinatorRefusal
from hil.lab.state import Place, Snapshot
from hil.rig.attached_boards import free_of
from hil.rig.held_place import HeldPlace
from hil.rig.kept_off import KeptOff, check_kept_off, nothing_kept_off
from hil.rig.locks import Locks
from hil.rig_toml import ANY, Bench
from hil.steady_clock import steady_s
from hil.threads import start

BACK_WITHIN_S = 10.0  # for a coordinator or an exporter that starts again
LOOK_S = 0.5
POLL_S = 1.0
KEEP_S = 20.0  # between polls of a reservation, which keep it for a minute; an update of a place says when it has one
TAG = "board"
ASK = "wait for it with --wait=SECONDS, or ask its holder to release it."


class Places:
    """The labgrid places that this session has acquired.

    labgrid knows holders by name only, and a place stays acquired when its holder is killed. So the name has the number
    of the process, and on this computer a place is also locked: a session that gets the lock of a killed one knows that
    its place may be released.

    Args:
        address: `host:port` of the coordinator.
        wait_s: how long to wait for a place that another holds, in seconds; infinity waits for ever.
        folder: folder of the lock files, as for `Locks`.
        kept_off: why no trial may run at a place, by the board and the place.
    """

    def __init__(
        self, address: str, wait_s: float = 0.0, folder: Path | None = None, kept_off: KeptOff = nothing_kept_off
    ) -> None:
        self._address, self._wait_s, self._folder, self._kept_off = address, wait_s, folder, kept_off
        host, user = os.environ.get("LG_HOSTNAME", socket.gethostname()), os.environ.get("LG_USERNAME")
        self._person = f"{host}/{user or getpass.getuser()}"  # labgrid's own client acquires under this name
        self._session: Coordinator | None = None
        self._held: dict[str, HeldPlace] = {}
        self._ended = threading.Event()

    def hold(self, board: str, wanted: str, find: Callable[[Snapshot, Place], Found]) -> HeldPlace:
        """Acquire a place for a board until `release`, unless this session has it already, and wait until it works.

        A place that the user has acquired with labgrid's own client is used, and left acquired.

        Args:
            board: name in the catalogue, for messages.
            wanted: name or alias of a place, or `any:VALUE` for any with the tag `board=VALUE`.
            find: what the place has for the board.

        Raises:
            RigError: labgrid is not installed here.
            Blocked: another holds the place, there is no such place, or the coordinator or an exporter is away.
        """
        session = self._connected()
        held = self._held.get(wanted)
        if held is not None and (held.taken_away() is not None or self._kept_off(board, held.name)):
            self._give_back(self._held.pop(wanted))
            held = None
        if held is None:
            held = self._held[wanted] = self._acquire(session, board, wanted)
        held.find = find
        try:
            held.await_ready(board, BACK_WITHIN_S)
        except Blocked as blocked:
            if blocked.stage != LAB:
                blocked.place = held.name
            raise
        return held

    def snapshot(self) -> Snapshot:
        """Return all places and resources. Raises as `hold`."""
        return self._connected().snapshot

    def release(self) -> None:
        """Give back all places, and end the session with the coordinator."""
        self._ended.set()
        while self._held:
            self._give_back(self._held.popitem()[1])
        if self._session is not None:
            self._session.close()
            self._session = None

    def _connected(self) -> Coordinator:
        if self._session is None:
            name = f"{self._person}:trainrig-{os.getpid()}"
            session = self._session = Coordinator(self._address, name)
            self._ended.clear()
            start(threading.Thread(target=self._keep, args=(session,), name="labgrid places", daemon=True))
        session = self._session
        if not session.wait_for(lambda: session.connected, BACK_WITHIN_S):
            raise session.away()
        return session

    def _keep(self, session: Coordinator) -> None:
        """Acquire places again that a coordinator has forgotten, or an exporter, since it started again."""
        while not self._ended.wait(LOOK_S):
            for held in list(self._held.values()):
                with contextlib.suppress(Blocked, CoordinatorRefusal):
                    held.restore()

    def _acquire(self, session: Coordinator, board: str, wanted: str) -> HeldPlace:
        until, token = steady_s() + self._wait_s, None
        name = wanted
        if wanted.startswith(ANY):
            token, name = self._reserve(session, board, wanted.removeprefix(ANY), until)
        try:
            place = session.snapshot.find(name)
            if place is None:
                raise _unknown(session, board, name)
            check_kept_off(self._kept_off, board, place.name)
            lock = Locks(max(0.0, until - steady_s()), self._folder)
            left = lock.left_by(self._device(place.name))
            lock.hold(board, [self._device(place.name)])
            try:
                by_hand = self._acquire_named(session, board, place.name, left, until)
                return HeldPlace(session, place.name, lock, self._person if by_hand else session.user, token)
            except BaseException:
                # A call that came too late may have acquired the place all the same.
                with contextlib.suppress(Blocked, CoordinatorRefusal):
                    session.release(place.name, session.user)
                lock.release()
                raise
        except BaseException:
            if token is not None:
                with contextlib.suppress(Blocked):
                    session.cancel(token)
            raise

    def _acquire_named(self, session: Coordinator, board: str, name: str, left: int | None, until: float) -> bool:
        """Acquire a place; return whether the user has done so already, with labgrid's own client."""
        while True:
            place, reason = session.snapshot.places.get(name), ""
            if place is None:
                raise _unknown(session, board, name)
            if place.holder == self._person:
                return True
            try:
                if place.holder and place.holder == self._name_of(left):
                    session.release(name, place.holder)
                    place = None
                elif not place.holder:
                    session.acquire(name)
                    session.wait_for(lambda: _holder(session, name) == session.user, BACK_WITHIN_S)
                    return False
            except CoordinatorRefusal as refusal:
                reason = str(refusal)
            left_s = until - steady_s()
            if place is not None and left_s <= 0 and not (place.holder == "" and _holder(session, name)):
                who = f"is held by {place.holder}" if place.holder else f"cannot be acquired ({reason})"
                raise Blocked("lock", f"{board} is in use: the labgrid place {name} {who}: {ASK}")
            seen = place.holder if place is not None else self._name_of(left)
            _await_another_holder(session, name, seen, min(max(left_s, LOOK_S), POLL_S))

    def _reserve(self, session: Coordinator, board: str, value: str, until: float) -> tuple[str, str]:
        """Reserve any place with a tag; return the token of the reservation and the name of the place."""
        tagged = session.snapshot.tagged(TAG, value)
        if not tagged:
            raise Blocked(
                LAB,
                f"no labgrid place at {self._address} has the tag {TAG}={value} that rig.toml asks for: "
                f"set it with `labgrid-client -p PLACE set-tags {TAG}={value}`.",
            )
        for place in tagged:
            self._free_left(session, place)
        refused = {place.name: why for place in tagged if (why := self._kept_off(board, place.name))}
        if len(refused) == len(tagged):
            raise Blocked(QUARANTINE, " ".join(refused.values()))
        tokens: list[str] = []  # the last one is for the trial, the others keep places that it must not use
        try:
            try:
                tokens.append(session.reserve({TAG: value}))
                while (name := session.allocated(tokens[-1])) is None or name in refused:
                    if name is not None:
                        tokens.append(session.reserve({TAG: value}))
                        continue
                    left_s = until - steady_s()
                    if left_s <= 0:
                        raise Blocked("lock", f"{board} is in use: {_holders(session, value, refused)}: {ASK}")
                    session.wait_for(lambda: _kept_for(session, tokens[-1]), min(left_s, KEEP_S))
                    for kept in tokens[:-1]:  # each lives a minute
                        session.allocated(kept)
                return tokens.pop(), name
            finally:
                for kept in tokens:
                    with contextlib.suppress(Blocked):
                        session.cancel(kept)
        except CoordinatorRefusal as refusal:
            raise Blocked(
                LAB, f"labgrid refuses to reserve a place with the tag {TAG}={value} ({refusal}): correct rig.toml."
            ) from refusal

    def _free_left(self, session: Coordinator, place: Place) -> None:
        """Release a place that a killed session of this user on this computer has left acquired."""
        lock = Locks(folder=self._folder)
        left = self._name_of(lock.left_by(self._device(place.name)))
        if not place.holder or place.holder != left:
            return
        with contextlib.suppress(Blocked, CoordinatorRefusal):
            lock.hold(place.name, [self._device(place.name)])
            try:
                if place.reservation:
                    session.cancel(place.reservation)
                session.release(place.name, place.holder)
            finally:
                lock.release()

    def _give_back(self, held: HeldPlace) -> None:
        with contextlib.suppress(Blocked, CoordinatorRefusal):
            held.release()

    def _device(self, place: str) -> str:
        return f"labgrid place {place} at {self._address}"

    def _name_of(self, process: int | None) -> str | None:
        return None if process is None else f"{self._person}:trainrig-{process}"


def seats(bench: Bench, board: str, kept_off: KeptOff = nothing_kept_off) -> int:
    """Return how many boards of a kind can be taken at once: places with a tag that will do, or those of this computer.

    Boards and places that no trial may run on do not count, nor do those that others hold. If there is none, or the lab
    cannot be asked, it is one; its trials then say why.
    """
    named = bench.find(board)
    if named is not None and named.id is not None:
        return max(1, free_of(bench, board, kept_off))
    if named is None or named.tag is None:
        return 1
    places = Places(bench.labgrid.address)
    try:
        tagged = places.snapshot().tagged(TAG, named.tag)
        free = [place for place in tagged if not place.holder and not kept_off(board, place.name)]
    except RigError:
        return 1
    finally:
        places.release()
    return max(1, len(free))


def _holder(session: Coordinator, name: str) -> str | None:
    place = session.snapshot.places.get(name)
    return None if place is None else place.holder


def _kept_for(session: Coordinator, token: str) -> bool:
    return any(place.reservation == token for place in session.snapshot.places.values())


def _await_another_holder(session: Coordinator, name: str, seen: str | None, seconds: float) -> None:
    session.wait_for(lambda: _holder(session, name) != seen, seconds)


def _holders(session: Coordinator, value: str, refused: Container[str]) -> str:
    held = [
        f"{place.name} is in quarantine"
        if place.name in refused
        else f"{place.name} by {place.holder or 'a reservation'}"
        for place in session.snapshot.tagged(TAG, value)
    ]
    return f"every labgrid place with the tag {TAG}={value} is held ({', '.join(held)})"


def _unknown(session: Coordinator, board: str, name: str) -> Blocked:
    known = session.snapshot.places
    cure = close_matches(name, known) if known else "it has no places."
    return Blocked(
        LAB,
        f"the labgrid coordinator at {session.address} has no place {name!r}, which rig.toml names for {board}: {cure}",
    )
