"""Stand-ins: processes that offer the endpoints of a board that is not attached, by their names."""

from hil.standins.command import CommandBoard, Ended
from hil.standins.kinds import STAND_INS, StandInKind
from hil.standins.process import StandIn
from hil.standins.qemu import start_qemu
from hil.standins.renode import start_renode
from hil.standins.semihosted_qemu import SemihostedQemu
from hil.standins.virtual_process import start_virtual

__all__ = [
    "STAND_INS",
    "CommandBoard",
    "Ended",
    "SemihostedQemu",
    "StandIn",
    "StandInKind",
    "start_qemu",
    "start_renode",
    "start_virtual",
]
