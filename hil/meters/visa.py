"""A session with an instrument through PyVISA: every failure is `Blocked` and says which command met it.

After a time-out the late answer would be taken for that of the next query, and a device clear cures it only if it has already arrived. So
whatever failed, the connection is dropped, and the next command opens another: what the instrument still sends goes to the closed one.
One session is for one thread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import pyvisa
from pyvisa.resources import MessageBasedResource

from hil.errors import Blocked

TIMEOUT_MS = 5000


class VisaSession:
    """Args:
        address: VISA resource name.
        name: the instrument's, for messages.
        timeout_ms: of every answer.
        options: more attributes of the resource, such as `baud_rate` of a serial one.

    Raises:
        Blocked: the address is none, or has nothing to be opened; a socket where nobody listens is only seen by the first command.
    """

    def __init__(self, address: str, name: str, timeout_ms: int = TIMEOUT_MS, **options: Any) -> None:
        self.address, self.name = address, name
        self._options: dict[str, Any] = {"read_termination": "\n", "write_termination": "\n", "timeout": timeout_ms} | options
        self._manager = pyvisa.ResourceManager("@py")
        self._opened: MessageBasedResource | None = None
        with self._blocked("open"):
            self._resource()

    def _resource(self) -> MessageBasedResource:
        """Return the open resource; after a failure it is opened again."""
        if self._opened is None:
            resource = self._manager.open_resource(self.address, **self._options)
            if not isinstance(resource, MessageBasedResource):
                resource.close()
                raise ValueError("its address is not that of an instrument that takes commands")
            self._opened = resource
        return self._opened

    def tell(self, *commands: str) -> None:
        """Send commands that have no answer."""
        for command in commands:
            with self._blocked(command):
                self._resource().write(command)

    def ask(self, query: str) -> str:
        """Return the answer to a query."""
        with self._blocked(query):
            return str(self._resource().query(query)).strip()

    def ask_floats(self, query: str) -> np.ndarray:
        """Return the comma-separated numbers of an answer, float64[n]."""
        answer = self.ask(query)
        with self._blocked(query):
            return np.array(answer.split(","), np.float64) if answer else np.empty(0)

    def ask_block(self, query: str, datatype: Literal["f", "d"] = "f", *, big_endian: bool = True, count: int = 0) -> np.ndarray:
        """Return the numbers of a binary block (IEEE 488.2, 8.7.9 and 8.7.10), float64[n].

        Args:
            query: what to ask.
            datatype: of a number, as in `struct`.
            big_endian: order of its bytes.
            count: how many there are, for a block that begins with #0 and does not say so itself: on a socket nothing else tells its end.

        Raises:
            Blocked: no block comes, or a part of one.
        """
        with self._blocked(query):
            array: Any = np.array  # PyVISA then reads the bytes as they are
            values = self._resource().query_binary_values(query, datatype, big_endian, array, data_points=count)
            return np.asarray(values, np.float64)

    def ask_text_block(self, query: str) -> np.ndarray:
        """Return the comma-separated numbers of a definite-length block of text, float64[n].

        Raises:
            Blocked: the answer is no block, or not as long as it says.
        """
        answer = self.ask(query)
        with self._blocked(query):
            if answer[:1] != "#" or not answer[1:2].isdigit():
                raise ValueError(f"{answer[:20]!r} is no block")
            start = 2 + int(answer[1])
            text = answer[start:]
            if len(text) != int(answer[2:start]):
                raise ValueError(f"{len(text)} of {answer[2:start]} characters came")
            return np.array(text.split(","), np.float64) if text else np.empty(0)

    def check(self, query: str = ":SYST:ERR?") -> None:
        """Ask for an error: an instrument goes on after a refused command and measures something else.

        Raises:
            Blocked: it reports one.
        """
        answer = self.ask(query)
        with self._blocked(query):
            code = int(answer.split(",")[0])
        if code:
            raise Blocked("meter", f"the {self.name} reports {answer}: power it off and on, and update its firmware if it stays.")

    def identify(self, expected: str) -> str:
        """Return its answer to *IDN?.

        Raises:
            Blocked: `expected` is not in it.
        """
        identity = self.ask("*IDN?")
        if expected not in identity:
            raise Blocked("meter", f"the meter at {self.address} is {identity!r}, not a {self.name}: put rig.toml right.")
        return identity

    def close(self) -> None:
        """Let go of the instrument."""
        opened, self._opened = self._opened, None
        if opened is not None:
            with contextlib.suppress(pyvisa.Error, OSError):
                opened.close()

    @contextlib.contextmanager
    def _blocked(self, command: str) -> Iterator[None]:
        try:
            yield
        except (pyvisa.Error, OSError, ValueError) as error:
            self.close()
            raise Blocked(
                "meter", f"the {self.name} did not take {command!r} ({error}): check its cable, its address in rig.toml and its power."
            ) from error
