"""A stage of a first light: one assumption about a board, and what became of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from hil.first_light.bring_up import BringUp


class Danger(Enum):
    """What a stage changes at most; nothing is ever written to option bytes, fuses or UICR."""

    READS = "reads only"
    RAM = "writes RAM and registers"
    FLASH = "writes flash"


class Outcome(Enum):
    """What became of a stage: `fail` is the device, `blocked` the rig."""

    PASS = "pass"
    FAIL = "fail"
    BLOCKED = "blocked"
    NOT_POSSIBLE = "not possible here"
    NOT_REACHED = "not reached"


class NotPossible(Exception):
    """A stage cannot be done on this board or in this reality; the message says why, as one sentence."""


@dataclass(frozen=True)
class Seen:
    """What a stage saw, in words, and what that means."""

    seen: str
    meaning: str
    passed: bool = True


class Stage(ABC):
    """One assumption.

    Attributes:
        name: of the stage.
        assumes: the assumption.
        expected: what is seen if it holds.
        danger: what the stage changes at most.
        gate: whether all later stages are unsafe, or say nothing, if it does not pass.
        needs: names of stages without whose pass this one says nothing.
    """

    name: ClassVar[str]
    assumes: ClassVar[str]
    expected: ClassVar[str]
    danger: ClassVar[Danger]
    gate: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def run(self, on: BringUp) -> Seen:
        """Try the assumption.

        Raises:
            NotPossible: it cannot be tried here.
            DeviceFault: it does not hold.
            RigError: the rig cannot tell.
        """


@dataclass(frozen=True)
class Result:
    """A stage with its outcome; the fields are those of the JSON file.

    Attributes:
        seconds: how long it took.
    """

    name: str
    assumes: str
    danger: str
    expected: str
    seen: str
    meaning: str
    outcome: str
    seconds: float


def result_of(stage: Stage, outcome: Outcome, seen: str, meaning: str, seconds: float = 0.0) -> Result:
    """Return the result of a stage."""
    return Result(
        stage.name, stage.assumes, stage.danger.value, stage.expected, seen, meaning, outcome.value, round(seconds, 3)
    )
