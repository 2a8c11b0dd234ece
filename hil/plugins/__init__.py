"""Plugins: boards, flash routes, meters and others that a package or a folder of rig.toml offers by name.

One registry for each kind (`Registry`), which the house's own things are in too. docs/new-board.md is the page.
"""

from hil.plugins.folders import use_folders, use_folders_of
from hil.plugins.kinds import examined, registries, sentence
from hil.plugins.offer import API, HOUSE, Offer, Source
from hil.plugins.registry import Registry

__all__ = [
    "API",
    "HOUSE",
    "Offer",
    "Registry",
    "Source",
    "examined",
    "registries",
    "sentence",
    "use_folders",
    "use_folders_of",
]
