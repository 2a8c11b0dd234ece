"""First light: bring up a board that nobody has run before, one assumption at a time (docs/boards.md).

A client of the bench adds stages of its own by the entry point `trainrig.first_light` (hil/clients.py): a tuple of
classes derived from `Stage`, which run after the stages with the house image.
"""

from hil.first_light.bring_up import BringUp, bring_up
from hil.first_light.stage import Danger, NotPossible, Outcome, Result, Seen, Stage
from hil.first_light.stage_list import stages

__all__ = ["BringUp", "Danger", "NotPossible", "Outcome", "Result", "Seen", "Stage", "bring_up", "stages"]
