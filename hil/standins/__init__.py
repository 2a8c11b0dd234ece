"""Stand-ins: processes that offer the endpoints of a board that is not attached, by their names."""

from typing import TYPE_CHECKING

from hil.door import door

if TYPE_CHECKING:
    from hil.standins.command import CommandBoard
    from hil.standins.endable import Endable, Ended
    from hil.standins.kinds import STAND_INS, StandInKind
    from hil.standins.process import StandIn
    from hil.standins.qemu import start_qemu
    from hil.standins.renode import start_renode
    from hil.standins.semihosted_qemu import SemihostedQemu
    from hil.standins.virtual_process import start_virtual

__all__ = [
    "STAND_INS",
    "CommandBoard",
    "Endable",
    "Ended",
    "SemihostedQemu",
    "StandIn",
    "StandInKind",
    "start_qemu",
    "start_renode",
    "start_virtual",
]
__getattr__ = door(
    __name__,
    {
        "CommandBoard": "command",
        "Endable": "endable",
        "Ended": "endable",
        "STAND_INS": "kinds",
        "SemihostedQemu": "semihosted_qemu",
        "StandIn": "process",
        "StandInKind": "kinds",
        "start_qemu": "qemu",
        "start_renode": "renode",
        "start_virtual": "virtual_process",
    },
)
