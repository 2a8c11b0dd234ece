"""Ask a board which code it has executed, through its endpoint `coverage`."""

from __future__ import annotations

import json
import socket

from hil.bounded_read import take
from hil.errors import Blocked, message_of
from hil.images.executed import Executed

WITHIN_S = 60.0  # a virtual board on a busy computer stops its chip before it answers
LARGEST = 64 << 20  # bytes of an answer


class CoverageReader:
    """The coverage of one board.

    Args:
        address: `host:port` of the endpoint.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._trouble: Blocked | None = Blocked("coverage", "recording has not begun.")

    def begin(self) -> None:
        """Forget what was executed so far. If the board does not answer, `read` says so; no trial depends on it."""
        try:
            self._ask("clear")
            self._trouble = None
        except Blocked as blocked:
            self._trouble = blocked

    def read(self) -> Executed:
        """Return what was executed since `begin`. Raises Blocked if the board does not answer, or did not then."""
        if self._trouble is not None:
            raise self._trouble
        answer = self._ask("read")
        try:
            return Executed.from_json(answer)
        except (KeyError, ValueError) as error:
            raise Blocked("coverage", f"the board does not say what it executed ({message_of(error)}).") from error

    def _ask(self, request: str) -> dict[str, str]:
        host, _, port = self._address.rpartition(":")
        try:
            with socket.create_connection((host, int(port)), WITHIN_S) as connection:
                connection.sendall(f"{request}\n".encode())
                connection.shutdown(socket.SHUT_WR)
                with connection.makefile("rb") as stream:
                    answer = take(stream, LARGEST, "the coverage of the board", "run again")
            fields: dict[str, str] = json.loads(answer)
            return fields
        except (OSError, ValueError) as error:
            raise Blocked("coverage", f"the board does not say what it executed ({message_of(error)}).") from error
