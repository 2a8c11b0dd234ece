"""Text from a record as one printable line: names and reasons may hold anything that a test or a tool wrote."""

from __future__ import annotations

LONGEST = 400  # characters of a name or a reason


def one_line(text: str, longest: int = LONGEST) -> str:
    """Return the text with each run of white space as one space, and cut if it is longer than `longest` characters.

    What is not printable becomes its Python escape: control characters and ANSI sequences, characters that change the
    direction of writing, half characters. The result has neither line ends nor spaces at its ends.
    """
    kept = " ".join(text[: 4 * longest].split())  # a hostile record may have megabytes
    shown = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in kept)
    return shown if len(shown) <= longest else f"{shown[: longest - 1].rstrip()}…"
