"""Tables of the fields of a JSON Schema, for the record and for rig.toml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tools.docs_site.markdown import cell, code, table

HEX = {"^[0-9a-f]{8}$": "8 hexadecimal digits", "^[0-9a-f]{64}$": "64 hexadecimal digits"}
Schema = Mapping[str, Any]


def fields(node: Schema, definitions: Mapping[str, Schema]) -> str:
    """Return the table of the fields of an object.

    A field without a description has that of the part that it holds.
    """
    required = node.get("required", ())
    rows = [
        (code(name), kind(one), "" if name in required else "may be missing", meaning(one, definitions))
        for name, one in node["properties"].items()
    ]
    if not any(row[2] for row in rows):
        return table(("field", "value", "meaning"), [(row[0], row[1], row[3]) for row in rows])
    return table(("field", "value", "", "meaning"), rows)


def meaning(node: Schema, definitions: Mapping[str, Schema]) -> str:
    """Return the description of a field as a cell."""
    if "description" in node:
        return cell(node["description"])
    for reference in references(node):
        described = definitions[reference].get("description", "")
        return cell(described.split("\n\n")[0])
    return ""


def references(node: Any) -> Iterator[str]:
    """Yield the names of the parts that a field may hold."""
    if isinstance(node, Mapping):
        if "$ref" in node:
            yield node["$ref"].rpartition("/")[2]
        for key, value in node.items():
            if key != "properties":
                yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def kind(node: Schema) -> str:
    """Return what a field may hold, as a cell."""
    if "$ref" in node:
        name = node["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "allOf" in node and len(node["allOf"]) == 1:
        return kind(node["allOf"][0])
    if "anyOf" in node:
        return " or ".join(map(kind, node["anyOf"]))
    if "const" in node:
        return code(str(node["const"]))
    if "enum" in node:
        return ", ".join(code(str(value)) for value in node["enum"])
    if node.get("type") == "array":
        return f"list of {kind(node['items'])}" if node.get("items") else "list"
    if node.get("type") == "object":
        held = node.get("additionalProperties")
        return f"by name: {kind(held)}" if isinstance(held, Mapping) else "object"
    return _simple(node)


def _simple(node: Schema) -> str:
    known = node.get("type", "any")
    name = " or ".join(known) if isinstance(known, list) else known
    if node.get("pattern") in HEX:
        return HEX[node["pattern"]]
    least, most = node.get("minimum"), node.get("maximum")
    if least is not None and most is not None:
        return f"{name}, {least:g} to {most:g}"
    if least is not None:
        return f"{name}, from {least:g}"
    if "exclusiveMinimum" in node:
        return f"{name}, above {node['exclusiveMinimum']:g}"
    return str(name)
