"""Draw changes by a seed, so that every family of kernels, formats and methods of a board is hit.

The order of the draw depends on nothing but seed and name of each change: a change of one source leaves the others'
draw nearly as it was.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator

from .candidates import Change

# What is in the name of a file of kernels: the first that matches.
FAMILIES = (
    ("affine8", r"affine8"),
    ("tflite8", r"tflite_|layer_errors|elementwise\.|gradients\.|requantize_channels"),
    ("w16a8", r"w16a8|direction"),
    ("float32", r"_f32"),
    ("elasticzo", r"noise|loss|move_|terms|bp_update"),
    ("int8", r""),
)


def family(file: str) -> str:
    """Return what a file belongs to: its room, and its format or method."""
    room, _, name = file.partition("/")
    if room != "kernels":
        return f"{room}/{re.split(r'[_.]', name)[0]}"
    of = next(format_ for format_, pattern in FAMILIES if re.search(pattern, name))
    return f"{room}/{of}"


def _number(seed: int, name: str) -> bytes:
    return hashlib.sha256(f"{seed}\n{name}".encode()).digest()


def in_order(changes: Iterable[Change], seed: int, weight: Callable[[str], int]) -> Iterator[Change]:
    """Yield changes in the order of the draw, never two of one line.

    First one of each family, then of the family that has the fewest for its weight. Within a family the kinds take
    turns, and within a kind the files.

    A kind's or a family's place among equals depends on the seed too.

    Args:
        changes: all that may be drawn.
        seed: of the draw.
        weight: of a family; 0 leaves it out.
    """
    left: dict[str, list[Change]] = defaultdict(list)
    for change in sorted(changes, key=lambda change: _number(seed, change.name)):
        left[family(change.file)].append(change)
    drawn: Counter[str] = Counter()  # by family, by family and kind, by file
    lines: set[tuple[str, int]] = set()
    families = [name for name in sorted(left) if weight(name)]
    while families:
        name = min(families, key=lambda each: (drawn[each] > 0, drawn[each] / weight(each), _number(seed, each)))
        found = [change for change in left[name] if (change.file, change.line) not in lines]
        if not found:
            families.remove(name)
            continue
        kinds = {change.kind for change in found}
        turn = min(kinds, key=lambda kind: (drawn[f"{name} {kind}"], _number(seed, f"{name} {kind}")))
        change = min((each for each in found if each.kind == turn), key=lambda each: drawn[each.file])
        left[name] = found
        lines.add((change.file, change.line))
        drawn.update((name, f"{name} {turn}", change.file))
        yield change
