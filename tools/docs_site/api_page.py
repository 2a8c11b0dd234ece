"""The reference of the public Python API: what docs/public-api.md names; mkdocstrings adds the docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from itertools import groupby

from hil.clients import PYTEST, registered
from tools.docs_site.markdown import cell, page, table

PAGE = "reference/python.md"
SOURCE = "public-api.md"
INTRODUCTION = """\
# Python API

The docstrings of every name that [the public API](../public-api.md) states. Anything else is internal.
"""


def text(public_api: str) -> str:
    """Return the page, from the text of docs/public-api.md."""
    parts = [INTRODUCTION]
    for module, rows in groupby(named(section(public_api, "Python")), key=lambda row: module_of(row[0])):
        parts += [f"## {module}", *_entries(module, list(rows))]
    parts += ["## Fixtures of pytest", *_fixtures(section(public_api, "pytest"))]
    return page(*parts)


def section(text: str, title: str) -> str:
    """Return the part of a page below a heading of the second level."""
    return text.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def named(text: str) -> list[tuple[str, str]]:
    """Return the name in the first cell of each row of the tables, with the text of its last cell."""
    return re.findall(r"^\| `([\w.]+)` \|(?:.* \|)? (.*) \|$", text, re.M)


def module_of(name: str) -> str:
    """Return the longest beginning of a dotted name that is a module."""
    module = name.rpartition(".")[0]
    try:
        importlib.import_module(module)
    except ModuleNotFoundError:
        return module_of(module)
    return module


def _entries(module: str, rows: list[tuple[str, str]]) -> Iterator[str]:
    """Yield one entry for each name; methods are shown in that of their class, numbers and words in a table."""
    plain = []
    for name, said in rows:
        inside = name.removeprefix(f"{module}.")
        value = getattr(importlib.import_module(module), inside.partition(".")[0])
        if not (inspect.isclass(value) or inspect.isroutine(value)):
            plain.append((f"`{inside}`", f"`{value!r}`", said))
        elif "." not in inside:
            methods = [other.rpartition(".")[2] for other, _ in rows if other.startswith(f"{name}.")]
            yield _directive(name, methods if methods else None)
    if plain:
        yield table(("name", "value", "meaning"), plain)


def _directive(name: str, members: list[str] | None) -> str:
    lines = [f"::: {name}"]
    if members is not None:
        lines += ["    options:", f"      members: &stated [{', '.join(members)}]", "      inherited_members: *stated"]
    return "\n".join(lines)


def _fixtures(text: str) -> Iterator[str]:
    plugins = ("hil.plugin", "hil.session.fixtures", *(client.value.__name__ for client in registered(PYTEST)))
    for name, said in named(text):
        plugin = next((each for each in plugins if hasattr(importlib.import_module(each), name)), None)
        yield f"`{name}`: {cell(said)}." if plugin is None else _directive(f"{plugin}.{name}", None)
