"""The source lines of an image as arrays, for coverage: made once of its line tables, and kept in the user's cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path

import numpy as np

from hil.bounded_npz import read_npz, write_npz
from hil.cache import cache_folder
from hil.errors import RigError
from hil.images.branches import conditional_branches
from hil.images.executed import Executed
from hil.images.images import Image
from hil.images.source_lines import line_rows

VERSION = 2  # of the files in the cache
ELSEWHERE = "elsewhere"  # where a branch goes whose target has no line, or is not in the instruction: a return


@dataclass(frozen=True)
class LineMap:
    """The rows of the line tables of an image, and its conditional branches.

    Attributes:
        names: uint8[bytes]: the names of the source files in UTF-8, each followed by a line feed.
        first, end: uint32[n]: addresses of each row's code, `end` exclusive.
        source: int32[n]: index in the names.
        line: int32[n]: number of the line, from 1.
        branch_end: uint32[k]: address after each conditional branch of a line.
        branch_from: int32[k, 2]: its source file and line.
        branch_to: int32[k, 2, 2]: source file and line of the next instruction, and of the one to which it branches.
            The file is -1 if the target is not in the instruction (a return), or has no line.
    """

    names: np.ndarray
    first: np.ndarray
    end: np.ndarray
    source: np.ndarray
    line: np.ndarray
    branch_end: np.ndarray
    branch_from: np.ndarray
    branch_to: np.ndarray

    @property
    def files(self) -> list[str]:
        """The names of the source files."""
        return self.names.tobytes().decode("utf-8", "replace").split("\n")[:-1]

    def reached(self, executed: Executed) -> dict[str, dict[int, bool]]:
        """Return for every line with code, by file, whether it was reached.

        A line is reached if any of its code was executed. Copies of a line in several places, such as of an inlined
        function or an unrolled loop, are one line. The compiler may move code of a line, and so execute some of it
        where the line itself is not reached.
        """
        key = self.source.astype(np.int64) << 32 | self.line
        touched = executed.touches(self.first.astype(np.int64), self.end.astype(np.int64))
        lines, hit = np.unique(key), np.unique(key[touched])
        found: dict[str, dict[int, bool]] = {}
        files = self.files
        for one, is_hit in zip(lines.tolist(), np.isin(lines, hit).tolist(), strict=True):
            found.setdefault(files[one >> 32], {})[one & 0xFFFFFFFF] = is_hit
        return found

    def branches(self, executed: Executed) -> dict[str, dict[int, dict[str, bool]]]:
        """Return the outcomes of the conditional branches: by file, line and where each goes, whether it occurred.

        An outcome is a pair of lines: that of the branch, and that of the instruction which is executed after it, as
        `file:line`, or ELSEWHERE. So copies of a branch, such as of an inlined function or an unrolled loop, are one,
        also where the compiler has turned the condition round.
        """
        place = np.searchsorted(executed.ends, self.branch_end)
        there = np.append(executed.ends, np.uint32(0))[place] == self.branch_end
        hit = np.concatenate((executed.followed, np.zeros((1, 2), np.uint8)))[np.where(there, place, -1)] != 0
        found: dict[str, dict[int, dict[str, bool]]] = {}
        files = self.files
        for (source, line), targets, hits in zip(
            self.branch_from.tolist(), self.branch_to.tolist(), hit.tolist(), strict=True
        ):
            outcomes = found.setdefault(files[source], {}).setdefault(line, {})
            for (file, number), occurred in zip(targets, hits, strict=True):
                to = ELSEWHERE if file < 0 else f"{files[file]}:{number}"
                outcomes[to] = outcomes.get(to, False) or occurred
        return found

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> LineMap:
        """Return what `arrays` gave.

        Raises:
            KeyError, ValueError: an array is missing, or they do not go together.
        """
        found = cls(*(arrays[each.name] for each in fields(cls)))
        rows, branches = len(found.first), len(found.branch_end)
        shapes = dict.fromkeys(("first", "end", "source", "line"), (rows,)) | {
            "branch_end": (branches,), "branch_from": (branches, 2), "branch_to": (branches, 2, 2),
        }  # fmt: skip
        if any(getattr(found, name).shape != shape for name, shape in shapes.items()):
            raise ValueError("its arrays differ in length")
        sources = np.concatenate((found.source, found.branch_from[:, 0]))
        last = max(sources.max(initial=-1), found.branch_to[:, :, 0].max(initial=-1))
        if sources.min(initial=0) < 0 or last >= len(found.files):
            raise ValueError("a row names no file")
        if np.concatenate((found.line, found.branch_from[:, 1])).min(initial=1) < 1:
            raise ValueError("a row names no line")
        return found


def line_map(image: Image) -> LineMap:
    """Return the lines of an image; without rows if it has no line tables."""
    kept = cache_folder() / "lines" / f"{image.sha256}-{VERSION}.npz"
    if kept.is_file():
        try:
            return LineMap.from_arrays(read_npz(kept, "delete it"))
        except (RigError, KeyError, ValueError):
            pass  # it is made again
    found = _made(image.path)
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial = kept.with_suffix(f".{np.random.default_rng().integers(1 << 32):08x}.part")
        write_npz(partial, found.arrays())
        partial.replace(kept)
    except OSError:
        pass  # a cache that cannot be written costs time, nothing else
    return found


def _made(path: Path) -> LineMap:
    rows: list[tuple[int, int, int, int]] = []
    files: dict[str, int] = {}
    found = line_rows(path)
    for row, following in pairwise(found):
        if row.file and row.line and row.address < following.address:
            place = files.setdefault(row.file, len(files))
            rows.append((row.address, following.address, place, row.line))
    first, end, source, line = np.array(rows, np.int64).reshape(-1, 4).T
    names = np.frombuffer("".join(f"{name}\n" for name in files).encode(), np.uint8)
    branches = conditional_branches(path)
    order = np.argsort(first, kind="stable")

    def places(addresses: list[int]) -> np.ndarray:
        """Return file and line of each address, int32[k, 2]; -1 and 0 without a line."""
        at = np.array(addresses, np.int64)
        row = np.append(order, -1)[np.searchsorted(first, at, side="right", sorter=order) - 1]
        pairs = np.append(np.stack((source, line), axis=1), [[-1, 0]], axis=0)
        inside = (row >= 0) & (at < np.append(end, 0)[row])
        return pairs[np.where(inside, row, -1)].astype(np.int32)

    begin = places([branch.address for branch in branches])
    to = np.stack(
        (places([branch.following for branch in branches]), places([branch.target or 0 for branch in branches])), axis=1
    )
    with_line = begin[:, 0] >= 0
    after = np.array([branch.following for branch in branches], np.uint32)
    return LineMap(
        names, first.astype(np.uint32), end.astype(np.uint32), source.astype(np.int32), line.astype(np.int32),
        after[with_line], begin[with_line], to[with_line],
    )  # fmt: skip
