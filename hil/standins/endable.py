"""What a device has that can end: a command of rig.toml, or firmware that ends by semihosting."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

FILES = "files"  # working folder of the command or of the firmware, in that of the test


@dataclass(frozen=True)
class Ended:
    """How a command or a firmware ended.

    Attributes:
        status: exit code; minus the number of the signal that ended it.
        late: whether the rig has killed it, because it ran longer than it may.
    """

    status: int
    late: bool = False


class Endable(Protocol):
    """A program with an exit code, which can be started again and again."""

    @property
    def what(self) -> str:
        """What it is, in messages: `command` or `firmware`."""
        ...

    @property
    def shown(self) -> tuple[str, ...]:
        """Program and arguments as rig.toml has them, without private paths; empty of firmware."""
        ...

    @property
    def folder_of_files(self) -> Path:
        """Its working folder."""
        ...

    @property
    def timeout_s(self) -> float | None:
        """Longest time of one start in seconds; None without a limit."""
        ...

    @property
    def caveat(self) -> str | None:
        """What the record must warn of, as a sentence; None if nothing."""
        ...

    @property
    def was_started(self) -> bool:
        """Whether it was started at all."""
        ...

    def ended(self, drained: bool = False) -> Ended | None:
        """Return how it ended, None while it runs.

        Args:
            drained: None also while not all that it has printed is in the port.

        Raises:
            RigError: it was never started.
            Blocked: nobody can say it.
        """
        ...
