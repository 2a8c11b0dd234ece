"""Tables of papers: trained in full on the reference, with parts of every row certified on a board."""

from hil.training.experiments.command import main

__all__ = ["main"]
