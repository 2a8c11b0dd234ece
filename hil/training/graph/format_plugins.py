"""The number formats by name: those of this package, and those of plugins, whose networks are chains."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from hil.errors import RigError
from hil.plugins import Registry
from hil.training.graph.formats import ChainFormat, Format, chain_format

LARGEST = 255  # number of a format: a network file has a byte for it


def _house() -> dict[str, str]:
    return {format.name.lower(): f"hil.training.formats.{format.name.lower()}" for format in Format}


def _accept(name: str, module: Any) -> ModuleType:
    """Return the module of a format; one of a plugin also has its number and its chain."""
    if not isinstance(module, ModuleType) or not hasattr(module, "WORDS"):
        raise RigError("a format is offered as a module, without an attribute (docs/new-method.md)")
    if name in _house():
        return module
    least = max(Format) + 1
    if getattr(module, "NUMBER", None) not in range(least, LARGEST + 1):
        raise RigError(f"its NUMBER in the network file is not one of {least} to {LARGEST}")
    try:
        chain_format(module.CHAIN)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RigError(f"its CHAIN is no table as those of hil/training/graph/chains.toml ({error})") from error
    return module


FORMATS = Registry("formats", "there is no format", _house, _accept)


def of_number(number: object) -> tuple[str, int, ChainFormat] | None:
    """Return name, number and chain of the format of a plugin, by its number; None if none can be used."""
    for name, module in FORMATS.items():
        if name not in _house() and number == module.NUMBER:
            return name, module.NUMBER, chain_format(module.CHAIN)
    return None
