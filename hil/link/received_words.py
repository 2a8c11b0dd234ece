"""What came on a port, in words for a message."""

from __future__ import annotations

import re
from codecs import getincrementaldecoder

SHOWN = 160  # characters of the last text that came
SHOWN_BYTES = 20
CUT_OFF = re.compile(rb"\A[\x80-\xbf]{1,3}")  # the rest of a character of up to 4 bytes
TEXT_SHARE = 0.9  # of characters that are printable, above which bytes count as text


def is_text(data: bytes) -> bool:
    """Return whether bytes look like text: UTF-8, of which nine in ten characters are printable.

    A character that is cut off at either end does not count.
    """
    text = getincrementaldecoder("utf-8")("replace").decode(CUT_OFF.sub(b"", data))
    good = sum((each.isprintable() and each != "\N{REPLACEMENT CHARACTER}") or each in "\r\n\t\x1b" for each in text)
    return bool(text) and good >= TEXT_SHARE * len(text)


def words(data: bytes) -> str:
    """Return the last bytes for a message: as text, or in hexadecimal."""
    if not is_text(data):
        return f"the bytes {hexadecimal(data)}"
    text = data.decode("utf-8", "replace")
    return repr(text) if len(text) <= SHOWN else f"...{text[-SHOWN:]!r}"


def hexadecimal(data: bytes) -> str:
    """Return the last bytes in hexadecimal."""
    last = data[-SHOWN_BYTES:].hex(" ")
    return f"...{last}" if len(data) > SHOWN_BYTES else last
