"""Several `[[board]]` of one kind in rig.toml: `name` is the kind, `id` the one."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hil.rig_toml import BenchBoard

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")
# What is asked of a kind before one of it is chosen, so that it must be the same for all.
OF_A_KIND = ("elf", "budgets", "reality", "core", "clock_hz")


def check_ids(tables: Sequence[BenchBoard], is_board: Callable[[str], bool]) -> tuple[int, str, str] | None:
    """Return the first wrong table, by index, with its key and what is wrong with it; None if nothing is.

    Args:
        tables: all `[[board]]` of rig.toml.
        is_board: whether the catalogue has a board of a name.
    """
    return next(_mistakes(tables, is_board), None)


def _mistakes(tables: Sequence[BenchBoard], is_board: Callable[[str], bool]) -> Iterator[tuple[int, str, str]]:
    first: dict[str, BenchBoard] = {}  # by kind
    given: set[str] = set()
    kinds, places = {each.name for each in tables}, {each.place for each in tables}
    for index, table in enumerate(tables):
        if table.id is not None:
            problem = _of_id(table, table.id, table.id in kinds or is_board(table.id), places)
            if table.id in given:
                problem = f"{table.id!r} is the id of another [[board]] already: give each an id of its own."
            given.add(table.id)
            if problem:
                yield index, "id", problem
        before = first.setdefault(table.name, table)
        if before is not table:
            yield from ((index, *found) for found in _of_kind(before, table))


def _of_id(table: BenchBoard, given: str, is_kind: bool, places: Collection[str | None]) -> str:
    if table.wanted_place is not None:
        return "the labgrid place says already which board it is: remove `id`."
    if given == "all":
        return "'all' means every board of the catalogue: choose another id."
    if is_kind:
        return f"{given!r} is the name of a kind of board: choose another id."
    if given in places:
        return f"{given!r} is a labgrid place of this file: choose another id."
    return "" if ID.fullmatch(given) else f"{given!r} is no word of letters, digits and _.+-: correct it."


def _of_kind(first: BenchBoard, table: BenchBoard) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with one more table of a kind."""
    kind = table.name
    for each in (first, table):
        if each.wanted_place is not None:
            key = "board" if table.board is not None else "name"
            cure = f'give the places the tag board={kind}, and write one table with board = "any:{kind}".'
            yield key, f"the board {kind!r} is named twice, and one is at a labgrid place: {cure}"
    if first.id is None or table.id is None:
        cure = "give each of its [[board]] tables an `id` of its own, or keep one of them."
        yield "name", f"the board {kind!r} is named twice: {cure}"
    if (first.run is None) != (table.run is None):
        yield "name", f"one {kind!r} is a command and another is not: give one of them another name."
    if first.run is not None and table.run is not None and first.run[0] != table.run[0]:
        cure = "give this one another name, because trials of one kind run on any of them."
        yield "run", f"another {kind!r} runs the program {first.run[0]!r}: {cure}"
    for key in OF_A_KIND:
        if getattr(first, key) != getattr(table, key):
            yield key, f"it differs from that of {first.id!r}: write the same for all boards of the kind {kind!r}."
