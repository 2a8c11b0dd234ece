"""Tables of rig.toml from the places of a labgrid, which then needs no second description."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from hil import boards
from hil.lab.found import METERS, PORTS, PROBES, SWITCHES, is_probe_server
from hil.lab.state import Place, Snapshot
from hil.rig.places import TAG
from hil.rig_toml import ANY

USED = (*PORTS, *PROBES, *METERS, *SWITCHES)


def place_tables(snapshot: Snapshot) -> str:
    """Return a table for each board that places are for, by name or tag; the other places as comments, to choose from.

    Several places of a board become `board = "any:BOARD"` if all have the tag `board=BOARD`.
    """
    by_board: dict[str, list[Place]] = {}
    for _, place in sorted(snapshot.places.items()):
        by_board.setdefault(_board_of(place), []).append(place)
    parts = [_table(snapshot, board, places) for board, places in by_board.items() if board]
    parts += [_to_choose(snapshot, place) for place in by_board.get("", [])]
    return "\n".join(parts)


def coordinator_table(address: str) -> str:
    """Return the table that names the coordinator."""
    return f"[labgrid]\ncoordinator = {_quoted(address)}\n"


def _board_of(place: Place) -> str:
    """Return the board of a place, by its tag, else by a name that contains exactly one; empty if that is not known."""
    if TAG in place.tags:
        return place.tags[TAG] if boards.is_known(place.tags[TAG]) else ""
    names = [name for name in boards.names() if any(name in text.lower() for text in (place.name, *place.aliases))]
    return names[0] if len(names) == 1 else ""


def _table(snapshot: Snapshot, board: str, places: Sequence[Place]) -> str:
    lines = [_comment(snapshot, place) for place in places]
    tagged = [place for place in places if place.tags.get(TAG) == board]
    lines.append("[[board]]")
    if len(tagged) == len(places) > 1:
        return _joined([*lines, f'board = "{ANY}{board}"'])
    lines += [f'name = "{board}"', f"place = {_quoted(places[0].name)}"]
    lines += [
        f"# place = {_quoted(other.name)}   # or this one: tag all with {TAG}={board} to use any"
        for other in places[1:]
    ]
    return _joined(lines)


def _to_choose(snapshot: Snapshot, place: Place) -> str:
    return _joined(
        [
            _comment(snapshot, place),
            "# [[board]]",
            f'# name = "{" | ".join(boards.names())}"   # the place names no board: choose, and remove the # signs',
            f"# place = {_quoted(place.name)}",
        ]
    )


def _comment(snapshot: Snapshot, place: Place) -> str:
    has = [f"{each.name} ({each.cls})" for each in snapshot.of(place) if each.cls in USED or is_probe_server(each)]
    return f"# place {_quoted(place.name)}: {', '.join(map(_quoted, has)) or 'nothing that the rig uses'}"


def _quoted(text: str) -> str:
    """Return a TOML string. JSON escapes all that TOML does, except for one character."""
    return json.dumps(text).replace("\x7f", "\\u007f")


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
