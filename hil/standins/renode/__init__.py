"""Renode as a stand-in: the platform written from the catalogue, the conversation, and a process that ends with its owner.

The facts come from docs/renode.md, which also says what has been run against what. The room is a program of its own
(`python -m hil.standins.renode`), reached only through its endpoints.
"""

from hil.standins.renode.platform import why_not
from hil.standins.renode.start import boot_again, cure, installed, modelled, others_here, program, start_renode

__all__ = ["boot_again", "cure", "installed", "modelled", "others_here", "program", "start_renode", "why_not"]
