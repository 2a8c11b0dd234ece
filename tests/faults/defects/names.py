"""The names of drawn changes: file, function, and the line before and after."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .candidates import Change

# The number is that among changes with the same name.
NAME = re.compile(r"(?P<file>\w+/\w+\.[ch])(?:, |: )(?P<text>.*?)(?: \((?P<number>\d+)\))?", re.DOTALL)


def text_of(name: str) -> str:
    """Return a name without file and number: function and lines, which stay when code moves to another file."""
    parts = NAME.fullmatch(name)
    return parts["text"] if parts else name


def change_named(name: str, changes: Iterable[Change]) -> Change | None:
    """Return the change of a name, or None.

    Where it is not in its file any more, that is a change of the same text; of several, one in the file whose name
    begins most like that of the old one.

    Args:
        name: of a record.
        changes: those that may be compiled for a board: a file may have a function in a form for each core.
    """
    same = [change for change in changes if text_of(change.name) == text_of(name)]
    found = next((change for change in same if change.name == name), None)
    parts = NAME.fullmatch(name)
    if found is not None or parts is None or not same:
        return found
    nearest = max((change.file for change in same), key=lambda file: _alike(file, parts["file"]))
    in_nearest = [change for change in same if change.file == nearest]
    return in_nearest[min(int(parts["number"] or 1), len(in_nearest)) - 1]


def _alike(one: str, other: str) -> int:
    """Return how many characters two names begin with in common."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))
