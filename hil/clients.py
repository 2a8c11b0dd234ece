"""The clients of the bench: what packages register with it by entry points.

trainrig's own training half (hil/training) is such a client. No module of the bench names it.

    trainrig.pytest      a plugin of pytest that is loaded after the bench's own; every pytest imports it, so it imports
                         the rest late, and names in LATE_IMPORTS what no file of a project may shadow
    trainrig.commands    a dictionary of commands of `hil`: the module whose `main` runs each, and its help
    trainrig.benchmarks  the same for `hil bench`
    trainrig.kinds       a dictionary of the kinds of plugins that it has: `module:attribute` of the registry of each
    trainrig.templates   a folder with a template for each kind of package that `hil new` writes
    trainrig.first_light a tuple of stages of a first light (hil.first_light.Stage), with the house image
    trainrig.records     what a client knows of the trials that it recorded (hil.record.clients.Client)
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from hil.entry_points import entry_points

PYTEST, COMMANDS, BENCHMARKS = "trainrig.pytest", "trainrig.commands", "trainrig.benchmarks"
RECORDS, KINDS, TEMPLATES = "trainrig.records", "trainrig.kinds", "trainrig.templates"
FIRST_LIGHT = "trainrig.first_light"
GROUPS = (PYTEST, COMMANDS, BENCHMARKS, FIRST_LIGHT, RECORDS, KINDS, TEMPLATES)


@dataclass(frozen=True)
class Registered:
    """What one entry point names; `error` is the sentence of one that cannot be loaded."""

    name: str
    value: Any
    error: str | None = None


@functools.cache
def registered(group: str) -> tuple[Registered, ...]:
    """Return what the entry points of a group name, by their names; one that cannot be loaded costs nothing else."""
    found = []
    for point in sorted((point for point in entry_points()[0] if point.group == group), key=lambda point: point.name):
        try:
            found.append(Registered(point.name, point.load()))
        except Exception as error:
            sentence = (
                f"the entry point {point.name} ({group}) of {point.package} cannot be loaded ({type(error).__name__}: "
                f"{error}), and what it adds is missing: repair or remove that package."
            )
            found.append(Registered(point.name, None, sentence))
    return tuple(found)
