"""Pieces of Markdown: tables, cells, pages of parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

ESCAPED = {"\\": "\\\\", "|": "\\|", "<": "&lt;", "*": "\\*", "[": "\\[", "_": "\\_"}
IN_CODE = {"&": "&amp;", "<": "&lt;", "|": "&#124;", "*": "&#42;", "[": "&#91;", "`": "&#96;"}


def cell(text: str) -> str:
    """Return plain text for a cell of a table of a page in `reference/`, in one line.

    Text between backticks becomes code, and a page that is named by its path, such as docs/link.md, becomes a link.
    Other characters that Markdown or HTML would read are escaped.
    """
    pieces = re.split(r"`([^`]+)`", " ".join(text.split()))
    return "".join(code(piece) if number % 2 else _escaped(piece) for number, piece in enumerate(pieces))


def _escaped(text: str) -> str:
    escaped = "".join(ESCAPED.get(character, character) for character in text)
    return re.sub(r"docs/([\w-]+\.md)", r"[\1](../\1)", escaped)


def code(text: str) -> str:
    """Return text as code, also within a cell of a table."""
    return f"<code>{''.join(IN_CODE.get(character, character) for character in text)}</code>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the cells are Markdown."""
    lines = [list(header), ["---"] * len(header), *map(list, rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def page(*parts: str) -> str:
    """Return a page of parts with empty lines between them; empty parts are left out."""
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
