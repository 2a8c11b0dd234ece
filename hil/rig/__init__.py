"""The rig: rig.toml, the choice of reality, locks, taking a board and giving it back."""

from hil.rig.config import Bench, read_bench
from hil.rig.reality import REALITIES, choose, is_attached
from hil.rig.rig import Rig, Taken

__all__ = ["REALITIES", "Bench", "Rig", "Taken", "choose", "is_attached", "read_bench"]
