"""The bench: rig.toml, the choice of reality, taking a board and giving it back."""

from hil.rig.config import Bench, read_bench
from hil.rig.kept import KeptStandIns
from hil.rig.take import REALITIES, Taken, take

__all__ = ["REALITIES", "Bench", "KeptStandIns", "Taken", "read_bench", "take"]
