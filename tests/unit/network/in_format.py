"""A layer in another format."""

from __future__ import annotations

from dataclasses import fields

from hil.training.graph.node import N, Node

OF_FORMAT = ("own", "rounding", "format")  # what a format gives another meaning


def in_format(kind: type[N], layer: Node, **others: object) -> N:
    """Return a layer of a kind with what another layer has; weights, rounding and `others` are given."""
    names = {each.name for each in fields(layer)} & {each.name for each in fields(kind)} - set(OF_FORMAT)
    return kind(**{name: getattr(layer, name) for name in names} | others)  # type: ignore[arg-type]
