"""Who holds the boards of rig.toml, and who waits for them: by the locks of this computer, and by labgrid."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hil.errors import Blocked, RigError
from hil.lab import Coordinator
from hil.lab.coordinator import CoordinatorRefusal
from hil.lab.state import Place, Waiting
from hil.rig.locks import Locks
from hil.rig.places import TAG
from hil.rig_toml import Bench, BenchBoard

ANSWER_S = 5.0  # how long labgrid may take


@dataclass(frozen=True)
class Seat:
    """A board of rig.toml, at one place.

    Attributes:
        board: name in the catalogue.
        place: labgrid place, or `id` in rig.toml of a board of this computer; empty without either.
        holder: who holds it; empty if nobody does, None if it is not known.
        waiting: owners of the reservations that wait for it, the first come first.
    """

    board: str
    place: str = ""
    holder: str | None = ""
    waiting: tuple[str, ...] = ()


def seats_of(bench: Bench, folder: Path | None = None) -> tuple[list[Seat], list[str]]:
    """Return the boards of a bench with their holders, and a sentence for what could not be asked.

    A board that any place with a tag will do for has a seat for each of these places. Nothing is acquired or locked.

    Args:
        bench: contents of rig.toml.
        folder: of the lock files, as for `Locks`.
    """
    locks = Locks(folder=folder)
    here = [
        Seat(named.name, named.id or "", _locked(locks, named)) for named in bench.board if named.wanted_place is None
    ]
    at_places = [named for named in bench.board if named.wanted_place is not None]
    if not at_places:
        return here, []
    try:
        session = Coordinator(bench.labgrid.address, "trainrig/lab")
    except RigError as error:
        return here + [_unknown(named) for named in at_places], [str(error)]
    try:
        if not session.wait_for(lambda: session.connected, ANSWER_S):
            raise session.away()
        waiting = session.waiting()
        found = [seat for named in at_places for seat in _seats(session, named, waiting)]
    except (Blocked, CoordinatorRefusal) as error:
        said = error.reason if isinstance(error, Blocked) else f"labgrid does not list its reservations ({error})."
        return here + [_unknown(named) for named in at_places], [said]
    finally:
        session.close()
    return here + found, []


def _locked(locks: Locks, named: BenchBoard) -> str:
    return next((holder for device in named.devices.values() if (holder := locks.holder(device))), "")


def _seats(session: Coordinator, named: BenchBoard, waiting: Iterable[Waiting]) -> list[Seat]:
    snapshot = session.snapshot
    one = snapshot.find(named.place or "")
    places = snapshot.tagged(TAG, named.tag) if named.tag is not None else [one] if one is not None else []
    return [_seat(named, place, waiting) for place in places] or [_unknown(named)]


def _seat(named: BenchBoard, place: Place, waiting: Iterable[Waiting]) -> Seat:
    owners = tuple(each.owner for each in waiting if each.suits(place))
    return Seat(named.name, place.name, place.holder, owners)


def _unknown(named: BenchBoard) -> Seat:
    return Seat(named.name, named.wanted_place or "", None)
