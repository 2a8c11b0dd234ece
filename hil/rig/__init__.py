"""The rig of this computer: the choice of reality, device locks, and access to boards.

`Bench` and `read_bench` are part of the public API here; they are in hil/rig_toml.py, which imports no rig.
"""

from hil.rig.places import seats
from hil.rig.reality import REALITIES, choose, is_attached
from hil.rig.rig import Rig, Taken
from hil.rig_toml import Bench, read_bench

__all__ = ["REALITIES", "Bench", "Rig", "Taken", "choose", "is_attached", "read_bench", "seats"]
