"""What came on a port before, between and after test reports, whoever read it."""

from __future__ import annotations

MOST = 16 << 20  # bytes that are kept, as of a log: a device that prints without end must not fill the memory


class Followed:
    """What came since a moment, in parts: a reset begins a new one, and may have cut the line before it.

    Args:
        data: what had come by then and was not read.
    """

    def __init__(self, data: bytes) -> None:
        self._parts = [bytearray(data)]
        self._came = len(data)  # in the last part, kept or not
        self._room = MOST - len(data)

    def add(self, data: bytes) -> None:
        """Keep what came."""
        self._parts[-1] += data[: max(self._room, 0)]
        self._came += len(data)
        self._room -= len(data)

    def cut(self) -> None:
        """Begin a new part: all before it was read or discarded."""
        self._parts.append(bytearray())
        self._came = 0

    @property
    def is_full(self) -> bool:
        """Whether more came than is kept."""
        return self._room < 0

    def read(self, unread: int) -> list[bytes]:
        """Return the parts without the last bytes that were not read."""
        *before, last = self._parts
        return [*map(bytes, before), bytes(last[: self._came - unread])]
