"""A lab that labgrid keeps: the session with its coordinator, its places, and what a place has for a board."""

from hil.lab.coordinator import Coordinator
from hil.lab.found import Found, find
from hil.lab.tunnel import tunnelled

__all__ = ["Coordinator", "Found", "find", "tunnelled"]
