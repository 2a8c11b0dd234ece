"""The number formats of networks: one module a format, which says what memory its kernels need."""

from functools import cache
from types import ModuleType

from hil.training.graph.format_plugins import FORMATS
from hil.training.graph.formats import Format

__all__ = ["FORMATS", "kernels_of"]


@cache
def kernels_of(format: Format) -> ModuleType:
    """Return the module of a format. Raises Blocked if it is that of a plugin, and broken."""
    return FORMATS.find(format.name.lower())
