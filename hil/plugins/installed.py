"""What installed packages offer, by their entry points. Nothing of them is imported."""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from importlib import metadata

from hil.errors import RigError, message_of
from hil.plugins.offer import GROUP, PACKAGE, Offer, Source


def installed() -> tuple[tuple[Offer, ...], tuple[RigError, ...]]:
    """Return what the packages on the path offer, by name of the package, and the errors of those that are damaged."""
    return _on(tuple(sys.path))


@lru_cache(maxsize=4)  # a few milliseconds for every hundred packages
def _on(path: tuple[str, ...]) -> tuple[tuple[Offer, ...], tuple[RigError, ...]]:
    found: dict[str, list[Offer]] = {}
    errors = []
    for package in metadata.distributions(path=list(path)):
        text = package.read_text("entry_points.txt")
        if not text or GROUP not in text:
            continue
        name = str(package.metadata["Name"])
        try:
            entries = list(package.entry_points)
        except Exception as error:  # a file of a stranger, in any form
            errors.append(
                RigError(f"the entry points of {name} cannot be read ({message_of(error)}): install {name} again.")
            )
            continue
        source = Source(name, str(package.metadata["Version"] or ""))
        offers = [
            Offer(entry.group.removeprefix(GROUP), entry.name, entry.value, source)
            for entry in entries
            if entry.group.startswith(GROUP)
        ]
        if normalized(name) != PACKAGE:
            found.setdefault(normalized(name), offers)  # the first on the path is the one that is imported
    return tuple(offer for _, offers in sorted(found.items()) for offer in offers), tuple(errors)


def normalized(name: str) -> str:
    """Return the name of a package in the one form of PyPA's specification of names."""
    return re.sub(r"[-_.]+", "-", name).lower()
