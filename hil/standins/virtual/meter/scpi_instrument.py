"""Base of the SCPI instruments: command table, error queue, common commands (IEEE 488.2; SCPI-99, volume 1)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping

import numpy as np

from hil.standins.virtual.meter.scpi import ERRORS, ScpiError, ScpiSetting, pattern

_QUEUE = 32
Answer = str | bytes | None


class ScpiInstrument:
    """One SCPI instrument. Not thread-safe.

    Args:
        identity: answer to *IDN?.
        commands: actions by header; the header in the notation of manuals, with optional parts in brackets. An action
            takes the argument and returns the answer.
    """

    def __init__(self, identity: str, commands: Mapping[str, Callable[[str], Answer]]) -> None:
        self._errors: deque[int] = deque()
        common: dict[str, Callable[[str], Answer]] = {
            "*IDN?": lambda _: identity, "*RST": lambda _: self.preset(), "*CLS": self.clear, "*OPC?": lambda _: "1",
            "*OPC": lambda _: None, "*WAI": lambda _: None, "*STB?": lambda _: str(4 if self._errors else 0),
            ":SYSTem:ERRor[:NEXT]?": self.next_error,
            ":SYSTem:CLEar": self.clear, ":SYSTem:ERRor:COUNt?": lambda _: str(len(self._errors)),
        }  # fmt: skip
        self._commands: list[tuple[re.Pattern[str], Callable[[str], Answer]]] = [
            (pattern(header), action) for header, action in {**common, **commands}.items()
        ]

    def preset(self) -> None:
        """Set every setting to its value after *RST; a subclass extends it with state that is no setting."""
        for one in vars(self).values():
            if isinstance(one, ScpiSetting):
                one.restore()

    def execute(self, line: str) -> bytes | None:
        """Execute the commands of one line, which are separated by `;`.

        Returns:
            The answers joined by `;`, without the end of line; None if there are none.
        """
        answers: list[bytes] = []
        for command in line.split(";"):
            header, _, argument = command.strip().partition(" ")
            if not header:
                continue
            try:
                answer = self._find(header)(argument.strip())
            except ScpiError as error:
                self.note(error.code)
                continue
            if answer is not None:
                answers.append(answer.encode("ascii") if isinstance(answer, str) else answer)
        return b";".join(answers) if answers else None

    def note(self, code: int) -> None:
        """Put an error into the queue."""
        if len(self._errors) < _QUEUE:
            self._errors.append(code)

    def _find(self, header: str) -> Callable[[str], Answer]:
        path = header if header[0] in ":*" else f":{header}"
        for spelling, action in self._commands:
            if spelling.fullmatch(path):
                return action
        raise ScpiError(-113)

    def clear(self, _argument: str) -> None:
        """Empty the error queue."""
        self._errors.clear()

    def next_error(self, _argument: str) -> str:
        """Remove the oldest error from the queue and return it."""
        code = self._errors.popleft() if self._errors else 0
        return f'{code},"{ERRORS.get(code, "No error")}"'


def block(values: np.ndarray, dtype: str = ">f4") -> bytes:
    """Return numbers as a definite-length binary block (IEEE 488.2, 8.7.9)."""
    data = np.asarray(values, dtype).tobytes()
    size = str(len(data))
    return f"#{len(size)}{size}".encode() + data
