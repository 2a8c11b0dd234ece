"""The rig of this computer: the choice of reality, device locks, and access to boards."""

from hil.rig.places import seats
from hil.rig.reality import REALITIES, choose, is_attached
from hil.rig.rig import Rig, Taken

__all__ = ["REALITIES", "Rig", "Taken", "choose", "is_attached", "seats"]
