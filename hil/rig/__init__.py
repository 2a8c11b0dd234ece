"""The rig of this computer: the choice of reality, device locks, and access to boards.

`Bench` and `read_bench` are part of the public API here; they are in hil/rig_toml.py, which imports no rig.
"""

from hil.rig.command_board import program_for
from hil.rig.places import seats
from hil.rig.reality import automatic, check_known, choose, is_attached
from hil.rig.rig import Rig, Taken
from hil.rig_toml import Bench, read_bench

__all__ = [
    "Bench",
    "Rig",
    "Taken",
    "automatic",
    "check_known",
    "choose",
    "is_attached",
    "program_for",
    "read_bench",
    "seats",
]
