"""The changes that a program may draw: small mistakes of six kinds, listed from the C sources.

A change replaces one expression. Comments, assembly in strings, declarations without values and what a parser does not
understand are not changed. `docs/defects.md` has the table of kinds.
"""

from __future__ import annotations

import bisect
import functools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tree_sitter_c
from tree_sitter import Language, Node, Parser

from .kinds import of_node, text_of

ROOMS = ("kernels", "formats", "methods")
# Files, or file and function, that refuse requests and network files and compute nothing that is trained: the tests of
# the link send bad ones.
REFUSALS = re.compile(
    r"\w+/\w+_checks\.c.*|methods/settings\.[ch].*|.*, (\w+_)?(check(_\w+)?|may_be(_\w+)?)"
    r"|methods/reach\.c, (passes(_on_axis)?|layers_pass_errors)"
    r"|methods/qzo_ff_settings\.c, (any_tensor|is_wide|\w+_is_too_large|\w+_acts|large_gradient|is_selected)"
)

LEFT_OUT = {"ERROR", "gnu_asm_expression", "comment", "string_literal", "preproc_include"}
PARSER = Parser(Language(tree_sitter_c.language()))


@dataclass(frozen=True)
class Change:
    """One change of one expression.

    Attributes:
        file: path below firmware/.
        function: that it is in; empty outside functions.
        first, last: lines of what the change can act on, from 1: of the function; of the whole file, outside functions
            of a file with code; of the line alone where other files may use it.
        kind: one of `kinds.KINDS`.
        line: of the change.
        at, old, new: offset in the file in bytes, the text there, and what it becomes.
        name: file, function, and the line before and after, which stays when other lines move.
    """

    file: str
    function: str
    first: int
    last: int
    kind: str
    line: int
    at: int
    old: str
    new: str
    name: str

    @property
    def place(self) -> str:
        """The file, and the function if it is in one."""
        return f"{self.file}, {self.function}" if self.function else self.file

    def applied_to(self, text: str) -> str | None:
        """Return the text with the change; None where it is another text."""
        data = text.encode()
        end = self.at + len(self.old.encode())
        if data[self.at : end] != self.old.encode():
            return None
        return (data[: self.at] + self.new.encode() + data[end:]).decode()


def changes_of(firmware: Path) -> list[Change]:
    """Return all changes of the rooms, in the order of the files."""
    files = (path for room in ROOMS for path in sorted((firmware / room).glob("*.[ch]")))
    found = (change for path in files for change in _of_file(path.relative_to(firmware).as_posix(), path.read_bytes()))
    return [change for change in found if not REFUSALS.fullmatch(change.place)]


def _of_file(file: str, data: bytes) -> Iterator[Change]:
    seen: Counter[str] = Counter()
    begins = [0, *(match.end() for match in re.finditer(b"\n", data))]  # of lines
    root = PARSER.parse(data).root_node
    for node, function in _nodes(root, None):
        called = _called(function)
        for kind, at, old, new in of_node(node, function):
            line = bisect.bisect_right(begins, at)
            body = (
                _lines(function) if function is not None else _lines(root) if _is_private(node, file) else (line, line)
            )
            name = f"{file}, {called}" if called else file
            name += f": {_difference(data, begins[line - 1], at, old, new)}"
            seen[name] += 1
            again = f" ({seen[name]})" if seen[name] > 1 else ""
            yield Change(file, called, *body, kind, line, at, old.decode(), new.decode(), name + again)


def _lines(node: Node) -> tuple[int, int]:
    """Return the first and the last line of a node, from 1."""
    return node.start_point[0] + 1, node.end_point[0] + 1


def _is_private(node: Node, file: str) -> bool:
    """Whether what is outside of functions is used in its file only: a macro, an enumeration or a static of a `.c`."""
    declaration: Node | None = node
    while declaration is not None and declaration.type not in ("declaration", "preproc_def", "enum_specifier"):
        declaration = declaration.parent
    if declaration is None or not file.endswith(".c"):
        return False
    return declaration.type != "declaration" or text_of(declaration).startswith(b"static")


def _difference(data: bytes, begin: int, at: int, old: bytes, new: bytes) -> str:
    """Return the lines of a change, from where they begin, before and after it."""
    end = data.find(b"\n", at + len(old))
    before = b" ".join(data[begin:end].split()).decode()
    after = b" ".join((data[begin:at] + new + data[at + len(old) : end]).split()).decode()
    return f"{before}  ->  {after}"


def _nodes(node: Node, function: Node | None) -> Iterator[tuple[Node, Node | None]]:
    """Yield a node and all below it, each with the function that it is in."""
    if node.type in LEFT_OUT or (node.type == "call_expression" and (node.text or b"").startswith(b"stopwatch_")):
        return
    if node.type == "function_definition":
        function = node
    yield node, function
    for child in node.children:
        yield from _nodes(child, function)


@functools.cache
def _called(function: Node | None) -> str:
    """Return the name of a function; empty for none."""
    node = function
    while node is not None and node.type != "identifier":
        inner = node.child_by_field_name("declarator")
        node = inner if inner is not None else next((c for c in node.children if c.type == "identifier"), None)
    return node.text.decode() if node is not None and node.text is not None else ""
