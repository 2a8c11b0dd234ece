"""The rig of this computer: rig.toml, the choice of reality, device locks, and access to boards."""

from hil.rig.config import Bench, read_bench
from hil.rig.places import seats
from hil.rig.reality import REALITIES, choose, is_attached
from hil.rig.rig import Rig, Taken

__all__ = ["REALITIES", "Bench", "Rig", "Taken", "choose", "is_attached", "read_bench", "seats"]
