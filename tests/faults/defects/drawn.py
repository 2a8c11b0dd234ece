"""Drawn changes: build each, and run the bench tests of the board until one of them fails."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from .build import FIRMWARE, NotBuilt, Workshop, loaded
from .candidates import ROOMS, Change, changes_of
from .draw import family, in_order
from .drawn_record import CAUGHT, NOT_BUILT, NOT_REACHED, PASS, SAME_IMAGE, Campaign, Control, Drawn
from .quick_tier import BLOCKED, Ended, QuickTier
from .reach import Lines, Reach, compiled_lines

AGAIN = 2  # times that a blocked test is repeated


def may_be_compiled(changes: Iterable[Change], compiled: Lines) -> list[Change]:
    """Return the changes in what is compiled, or in what other files may use, of the `compiled` lines of an image."""
    return [
        change
        for change in changes
        if (not change.function and change.first == change.last)
        or not compiled.get(change.file, set()).isdisjoint(range(change.first, change.last + 1))
    ]


class Source:
    """Draws changes for a board, builds them one after the other, and leaves out those that change nothing.

    Args:
        board: of the catalogue.
        seed: of the draw.
        folder: takes the copy of the firmware and the images.
        built: the firmware with its objects, to compile less at first.
    """

    def __init__(self, board: str, seed: int, folder: Path, built: Path | None = None) -> None:
        self._folder = folder
        self._workshop = Workshop(folder, built, board)
        self.image = self._workshop.unchanged
        self._bytes = loaded(self.image)
        self.compiled = compiled_lines(self.image)
        self.families = Counter[str]()
        for file, lines in self.compiled.items():
            if file.split("/")[0] in ROOMS:
                self.families[family(file)] += len(lines)
        self.changes = may_be_compiled(changes_of(FIRMWARE), self.compiled)
        self._order = in_order(self.changes, seed, self.families.__getitem__)

    def valid(self, known: Campaign) -> Iterator[tuple[Change, Path]]:
        """Yield each change that gives another image, with its image; of what is known in the campaign, none is built.

        The images of known rows are not built, and their path does not exist. What is discarded is added to `known`.
        """
        rows = {row.name for row in known.rows}
        left_out = {name for names in known.discarded.values() for name in names}
        for number, change in enumerate(self._order):
            image = self._folder / "images" / f"{number:04}.elf"
            if change.name in left_out:
                continue
            if change.name not in rows:
                why = self.build(change, image)
                if why:
                    known.discarded[why].append(change.name)
                    continue
            yield change, image

    def build(self, change: Change, image: Path) -> str:
        """Build a change; return why it is discarded, or nothing."""
        try:
            self._workshop.build([change], image)
        except NotBuilt:
            return NOT_BUILT
        if loaded(image) != self._bytes:
            return ""
        image.unlink()
        return SAME_IMAGE


class Runner:
    """Runs the tests with one image after another, in a process of its own.

    Args:
        tests: the process.
        reach: what each test runs of the unchanged image.
    """

    def __init__(self, tests: QuickTier, reach: Reach) -> None:
        self._tests, self._reach = tests, reach

    def row(self, change: Change, image: Path) -> Drawn:
        """Run the tests that may find a change until one fails."""
        began = time.monotonic()
        reach, names = self._reach.of(change)
        ended: list[Ended] = []
        for name in names:
            ended.append(self._run(image, name))
            if ended[-1].verdict not in (PASS, BLOCKED):
                break
        failed = ended[-1] if ended and ended[-1].verdict not in (PASS, BLOCKED) else None
        unclear = next((each for each in ended if each.verdict == BLOCKED), None)
        verdict = CAUGHT if failed else BLOCKED if unclear else PASS if ended else NOT_REACHED
        last = failed or unclear
        return Drawn(
            change.name, family(change.file), change.kind, f"{change.file}:{change.line}", "quick",
            failed.test if failed else "", verdict, last.names if last else (), last.said if last else "",
            reach, len(ended), len(self._reach.tests), round(time.monotonic() - began, 1),
        )  # fmt: skip

    def control(self, change: Change, image: Path) -> Control:
        """Run the tests that do not run the changed function: with this image they must pass too."""
        _, names = self._reach.of(change)
        ended = [self._run(image, name) for name in self._reach.tests if name not in names]
        return Control(change.name, len(ended), tuple(one.test for one in ended if one.verdict != PASS))

    def _run(self, image: Path, test: str) -> Ended:
        return self._tests.again(image, next(self._tests.run(image, [test])), AGAIN)
