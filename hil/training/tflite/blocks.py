"""The blocks of sparse training, 1 to 4, of the layers of an imported model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from hil.errors import RigError, close_matches
from hil.training.graph.node import N

BLOCKS = 4
RANGE = re.compile(r"\s*([\w.]+)\s*(?:-\s*([\w.]+)\s*)?:\s*([1-4])\s*")
EXAMPLE = "conv1-pw3:1,pw4-pw7:2,pw8:3,pw9-fc1:4"


def by_share(nodes: Sequence[N]) -> list[N]:
    """Return the nodes with blocks of equal shares of the multiply-accumulates; the middle of a layer decides."""
    total, before, found = max(sum(node.macs for node in nodes), 1), 0, []
    for node in nodes:
        block = min(BLOCKS, 1 + BLOCKS * (2 * before + node.macs) // (2 * total)) if node.own is not None else 0
        found.append(replace(node, block=block))
        before += node.macs
    return found


def by_map(nodes: Sequence[N], text: str) -> list[N]:
    """Return the nodes with the blocks of a map: ranges of layers by name or by number from 0, each with its block.

    Raises:
        RigError: the map cannot be read, names no layer, or gives a layer with weights no block or two.
    """
    names = [node.name for node in nodes]
    blocks: dict[int, int] = {}
    for part in text.split(","):
        match = RANGE.fullmatch(part)
        if match is None:
            raise RigError(f"the block map has {part[:40]!r}: write it like {EXAMPLE}.")
        first = _place(match[1], names)
        last = first if match[2] is None else _place(match[2], names)
        if last < first:
            raise RigError(f"the block map has {part[:40]!r}, which ends before it begins: write it like {EXAMPLE}.")
        for index in range(first, last + 1):
            if blocks.setdefault(index, int(match[3])) != int(match[3]):
                twice = f"{names[index]} to blocks {blocks[index]} and {match[3]}"
                raise RigError(f"the block map gives {twice}: give it one.")
    left = [node.name for index, node in enumerate(nodes) if node.own is not None and index not in blocks]
    if left:
        raise RigError(f"the block map leaves out {', '.join(left)}: give every layer with weights a block, 1 to 4.")
    return [replace(node, block=blocks[index] if node.own is not None else 0) for index, node in enumerate(nodes)]


def _place(word: str, names: Sequence[str]) -> int:
    if word in names:
        return names.index(word)
    if word.isdecimal() and len(word) < 4 and int(word) < len(names):
        return int(word)
    raise RigError(f"the block map names the layer {word[:40]!r}: {close_matches(word[:40], names)}")
