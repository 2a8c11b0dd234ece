"""The stand-ins by name. The name of a stand-in is the reality of the boards that it stands for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil.boards import Board
from hil.errors import RigError
from hil.images import Image
from hil.plugins import Registry
from hil.standins.process import StandIn

NOT_STAND_INS = ("auto", "hardware")  # the other values of --reality
NO_STAND_IN = "none"  # `stand_in` of a board that only exists


@dataclass(frozen=True)
class StandInKind:
    """A kind of stand-in.

    Attributes:
        start: starts one for a board with an image; the path is that of its log. Raises Blocked if it cannot.
        kept: whether one may serve several trials, as `StandIn.serves` says of each.
        boards: names of boards that do not name it in their files, and for which `--reality` may ask for it.
    """

    start: Callable[[Board, Image, Path], StandIn]
    kept: bool = False
    boards: tuple[str, ...] = ()


def _accept(name: str, kind: Any) -> StandInKind:
    if not isinstance(kind, StandInKind):
        raise RigError("a stand-in is offered as a hil.standins.StandInKind")
    if name in (*NOT_STAND_INS, NO_STAND_IN):
        raise RigError(f"the name {name} has another meaning: give it another one")
    return kind


HOUSE = {
    "renode": "hil.standins.renode:RENODE",
    "qemu": "hil.standins.qemu:QEMU",
    "virtual": "hil.standins.virtual_process:VIRTUAL",
}
STAND_INS = Registry("stand_ins", "there is no stand-in", lambda: HOUSE, _accept)
