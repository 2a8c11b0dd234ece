"""Names of a record in other formats than HTML: a record may come from anyone, and its names stay text."""

from __future__ import annotations

import html

from hil.errors import printable

LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip
MARKDOWN = frozenset("\\`*_[]|~#!$")  # and HTML, which Markdown passes through
FORMULA = ("=", "+", "-", "@")  # a spreadsheet would execute a cell that begins with one of them


def line(text: str) -> str:
    """Return a text as one printable line, without line breaks or control characters."""
    return " ".join(printable(text).split())


def latex(text: str) -> str:
    """Return a text with the special characters of LaTeX escaped, on one line: a line break would end a comment."""
    return "".join(LATEX.get(letter, letter) for letter in line(text))


def markdown(text: str) -> str:
    """Return a text for a cell of a table in Markdown."""
    return "".join(f"\\{letter}" if letter in MARKDOWN else html.escape(letter) for letter in line(text))


def csv_text(text: str) -> str:
    """Return a text for a cell of CSV; an apostrophe makes text of what a spreadsheet would take for a formula."""
    plain = line(text)
    return f"'{plain}" if plain.startswith(FORMULA) else plain
