"""The number formats of networks: one module a format, which says what memory its kernels need."""

from importlib import import_module

from hil.graph.graph import Format

FORMATS = {format: import_module(f"{__name__}.{format.name.lower()}") for format in Format}
