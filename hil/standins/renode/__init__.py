"""Renode as a stand-in: platform description, commands to Renode, and the process that runs it.

The facts about Renode come from docs/renode.md, which also lists what has been run on the real program. This package
runs as a process of its own (`python -m hil.standins.renode`), reached only through its endpoints.
"""

from hil.standins.renode.platform import why_not
from hil.standins.renode.start import RENODE, cure, installed, modelled, other_users_present, program, start_renode

__all__ = ["RENODE", "cure", "installed", "modelled", "other_users_present", "program", "start_renode", "why_not"]
