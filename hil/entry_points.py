"""What installed packages register with trainrig, by their entry points. Nothing of them is imported."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata

GROUP = "trainrig."  # what the groups of entry points begin with


@dataclass(frozen=True)
class EntryPoint:
    """One entry point: its group, name and value (`module:attribute`); name and version of the package that has it."""

    group: str
    name: str
    value: str
    package: str
    version: str

    def load(self) -> object:
        """Return the thing. It may raise anything: it imports code of the package."""
        return metadata.EntryPoint(self.name, self.value, self.group).load()


def entry_points() -> tuple[tuple[EntryPoint, ...], tuple[str, ...]]:
    """Return what the packages on the path register, by name of the package, and a sentence for each damaged one."""
    return _on(tuple(sys.path))


@lru_cache(maxsize=4)  # a few milliseconds for every hundred packages
def _on(path: tuple[str, ...]) -> tuple[tuple[EntryPoint, ...], tuple[str, ...]]:
    found: dict[str, list[EntryPoint]] = {}
    errors = []
    for package in metadata.distributions(path=list(path)):
        text = package.read_text("entry_points.txt")
        if not text or GROUP not in text:
            continue
        name, version = str(package.metadata["Name"]), str(package.metadata["Version"] or "")
        try:
            points = [point for point in package.entry_points if point.group.startswith(GROUP)]
        except Exception as error:  # a file of a stranger, in any form
            said = str(error) or type(error).__name__
            errors.append(f"the entry points of {name} cannot be read ({said}): install {name} again.")
            continue
        own = [EntryPoint(point.group, point.name, point.value, name, version) for point in points]
        found.setdefault(normalized(name), own)  # the first on the path is the one that is imported
    return tuple(point for _, points in sorted(found.items()) for point in points), tuple(errors)


def normalized(name: str) -> str:
    """Return the name of a package in the one form of PyPA's specification of names."""
    return re.sub(r"[-_.]+", "-", name).lower()
