"""A session with an instrument through PyVISA: every failure is `Blocked` and says which command met it.

After a time-out the late answer would be taken for that of the next query, and a device clear cures it only if it has already arrived: the
session is closed and opened again. One session is for one thread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyvisa
from pyvisa.resources import MessageBasedResource

from hil.errors import Blocked

TIMEOUT_MS = 5000
NO_ERROR = ("0", "+0")


class VisaSession:
    """Args:
        address: VISA resource name.
        name: the instrument's, for messages.
        timeout_ms: of every answer.
        options: more attributes of the resource, such as `baud_rate` of a serial one.

    Raises:
        Blocked: nobody answers at the address.
    """

    def __init__(self, address: str, name: str, timeout_ms: int = TIMEOUT_MS, **options: Any) -> None:
        self.address, self.name = address, name
        self._options = {"read_termination": "\n", "write_termination": "\n", "timeout": timeout_ms} | options
        self._manager = pyvisa.ResourceManager("@py")
        self._open()

    def _open(self) -> None:
        with self._blocked("open"):
            resource = self._manager.open_resource(self.address, resource_pyclass=MessageBasedResource, **self._options)
        assert isinstance(resource, MessageBasedResource)
        self._resource = resource

    def tell(self, *commands: str) -> None:
        """Send commands that have no answer."""
        for command in commands:
            with self._blocked(command):
                self._resource.write(command)

    def ask(self, query: str) -> str:
        """Return the answer to a query."""
        with self._blocked(query):
            return str(self._resource.query(query)).strip()

    def ask_floats(self, query: str) -> np.ndarray:
        """Return the comma-separated numbers of an answer, float64[n]."""
        answer = self.ask(query)
        with self._blocked(query):
            return np.array(answer.split(","), np.float64) if answer else np.empty(0)

    def ask_block(self, query: str, datatype: str = "f", *, big_endian: bool = True) -> np.ndarray:
        """Return the numbers of a definite-length binary block (IEEE 488.2, 8.7.9), float64[n]."""
        with self._blocked(query):
            values = self._resource.query_binary_values(query, datatype=datatype, is_big_endian=big_endian, container=np.array)
        return np.asarray(values, np.float64)

    def check(self, query: str = ":SYST:ERR?") -> None:
        """Ask for an error: an instrument goes on after a refused command and measures something else.

        Raises:
            Blocked: it reports one.
        """
        error = self.ask(query)
        if error.split(",")[0].strip() not in NO_ERROR:
            raise Blocked("meter", f"the {self.name} reports {error}: power it off and on, and update its firmware if it stays.")

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
        with contextlib.suppress(pyvisa.Error, OSError):
            self._resource.close()

    @contextlib.contextmanager
    def _blocked(self, command: str) -> Iterator[None]:
        try:
            yield
        except (pyvisa.Error, OSError, ValueError) as error:
            if _is_timeout(error):
                self.close()
                with contextlib.suppress(pyvisa.Error, OSError):
                    self._open_again()
            raise Blocked(
                "meter", f"the {self.name} did not take {command!r} ({error}): check its cable, its address in rig.toml and its power."
            ) from error

    def _open_again(self) -> None:
        resource = self._manager.open_resource(self.address, resource_pyclass=MessageBasedResource, **self._options)
        assert isinstance(resource, MessageBasedResource)
        self._resource = resource


def _is_timeout(error: Exception) -> bool:
    return isinstance(error, pyvisa.VisaIOError) and error.error_code == pyvisa.constants.StatusCode.error_timeout
