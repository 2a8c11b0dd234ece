"""The blocks of commands on the pages of the documentation, each with the mark that says how it is run.

A mark is a comment of its own line above the block, which readers do not see:

    <!-- run nightly -->                   in the nightly tier, because it takes long or starts a board
    <!-- run nightly with OPTIONS -->      as above, with documented options that shorten it, added to every command
    <!-- run by tests/.../test_x.py -->    by that test, which names the page
    <!-- not run: REASON -->               by no test

A block without a mark is run in the quick tier, in an empty folder with the committed rig.toml.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.docs_site.repository_links import OF_REPOSITORY

ROOT = Path(__file__).parents[3]
PROGRAMS = (
    "hil", "pytest", "python", "python3", "pip", "make", "git", "apt", "apt-get", "sudo", "mkdir", "cd", "cp",
    "ruff", "mypy", "lint-imports", "pre-commit", "mkdocs", "dask", "openssl", r"\.ci/run", r"\.",
)  # fmt: skip
PROGRAM = re.compile(rf"(?:\w+=\S* )*(?:\.venv/bin/)?(?:{'|'.join(PROGRAMS)})(?: |$)")
OURS = re.compile(r"(?:\w+=\S* )*(?:\.venv/bin/)?(?:hil|pytest) ")
MARK = re.compile(
    r"<!-- (?P<how>run nightly(?: with (?P<options>.+))?|run by (?P<test>\S+)|not run: (?P<reason>.+)) -->"
)
LANGUAGES = ("", "sh", "shell", "bash", "console")


class MarkError(ValueError):
    """A mark that is not understood, or that stands above no block of commands."""


@dataclass(frozen=True)
class Block:
    """A block of commands.

    Attributes:
        page: path of the page in the repository.
        line: number of its first line on the page.
        text: the block, without its indentation.
        options: what a mark adds to every command of `hil` and of pytest.
        nightly: whether it is run in the nightly tier only.
        test: the test that runs it; empty if none is named.
        reason: why no test runs it; empty if one does.
    """

    page: str
    line: int
    text: str
    options: str = ""
    nightly: bool = False
    test: str = ""
    reason: str = ""

    @property
    def lines(self) -> list[str]:
        """The lines of the block; a command that goes on in the next line is one."""
        return self.text.replace("\\\n", " ").splitlines()

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        """The words of each command of `hil` and of pytest, without variables of the environment."""
        parts = [part for line in self.lines if OURS.match(line) for part in without_comment(line).split(" && ")]
        words = [shlex.split(re.sub(r"^(?:\w+=\S* )*", "", part)) for part in parts]
        return tuple(tuple(each) for each in words if Path(each[0]).name in ("hil", "pytest"))

    @property
    def script(self) -> str:
        """The block as a script of the shell, with the options of its mark; the first failing command ends it."""
        ours = [f"{without_comment(line)} {self.options}" if OURS.match(line) else line for line in self.lines]
        return "\n".join(["set -e", *(ours if self.options else self.lines), ""])


def without_comment(line: str) -> str:
    """Return a command without the comment at its end."""
    return re.sub(r"\s+#\s.*$", "", line)


def pages() -> list[str]:
    """Return the pages of the site that people write, as paths in the repository."""
    docs = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))
    return [*docs, *OF_REPOSITORY]


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of commands of a page."""
    return list(blocks_in(page, (ROOT / page).read_text(encoding="utf-8")))


def blocks_in(page: str, text: str) -> Iterator[Block]:
    """Yield the blocks of commands of a text.

    Raises:
        MarkError: a mark is not understood, or stands above no block of commands.
    """
    lines = text.splitlines()
    mark: re.Match[str] | None = None
    index = 0
    while index < len(lines):
        line = lines[index]
        if line.startswith("<!-- ") and re.match(r"<!-- (not )?run", line):
            if mark is not None or (mark := MARK.fullmatch(line)) is None:
                raise MarkError(f"{page}:{index + 1}: {line} is no mark, or stands above no block of commands")
            index += 1
            continue
        end, block = _block_at(lines, index)
        if block is not None and any(PROGRAM.match(one) for one in block.splitlines()):
            yield _marked(page, index + 1, block, mark)
            mark = None
        elif line.strip() and mark is not None:
            raise MarkError(f"{page}:{index + 1}: the mark above stands above no block of commands")
        index = end
    if mark is not None:
        raise MarkError(f"{page}: the last mark stands above no block of commands")


def _block_at(lines: list[str], index: int) -> tuple[int, str | None]:
    """Return the line after the block that begins here, and its text; None and the next line if none begins."""
    if fence := re.match(r"(```|~~~)(\w*)$", lines[index]):
        end = next(number for number in range(index + 1, len(lines)) if lines[number] == fence[1])
        return end + 1, "\n".join(lines[index + 1 : end]) if fence[2] in LANGUAGES else None
    if not lines[index].startswith("    ") or (index and lines[index - 1].strip()):
        return index + 1, None
    end = index
    while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
        end += 1
    return end, "\n".join(line[4:] for line in lines[index:end]).rstrip()


def _marked(page: str, line: int, text: str, mark: re.Match[str] | None) -> Block:
    if mark is None:
        return Block(page, line, text)
    return Block(page, line, text, options=mark["options"] or "", nightly=mark["how"].startswith("run nightly"),
                 test=mark["test"] or "", reason=mark["reason"] or "")  # fmt: skip
