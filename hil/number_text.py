"""Read numbers that users wrote, in options and files. Python's `float` and `int` also read 0_02, as 2."""

from __future__ import annotations


def number(text: str) -> float:
    """Return the number of a text, which may be infinite or not a number.

    Raises:
        ValueError: the text is no number, or has an underscore or digits that are not ASCII.
    """
    return float(_plain(text))


def whole_number(text: str, base: int = 10) -> int:
    """Return the whole number of a text; with `base` 0 the text may begin with 0x. Errors as `number`."""
    return int(_plain(text), base)


def _plain(text: str) -> str:
    if "_" in text or not text.isascii():
        raise ValueError(f"{text[:20]!r} is not a number")
    return text
