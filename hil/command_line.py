"""Commands of rig.toml: words with placeholders, which are run without a shell."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hil.errors import Blocked, RigError, close_matches

PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}|\{([a-z_]+)\}")  # the first form keeps one pair of braces
OF_PROGRAM = ("elf", "bin", "hex", "start", "size", "here")
LAST_LINES, LONGEST_LINE = 3, 200  # of an output, in a message


@dataclass(frozen=True)
class CommandLine:
    """A command of rig.toml.

    Attributes:
        key: its key in the table of the board, for messages.
        words: program and arguments, with placeholders.
        here: folder of rig.toml; a program with a slash in its name is relative to it.
    """

    key: str
    words: tuple[str, ...]
    here: Path

    @property
    def placeholders(self) -> set[str]:
        """The names of its placeholders."""
        return placeholders_of(self.words)

    def filled(self, values: Mapping[str, str]) -> list[str]:
        """Return program and arguments with the values of all placeholders."""
        return [fill(word, values) for word in self.words]

    def program(self, stage: str, values: Mapping[str, str] | None = None) -> str:
        """Return the path of its program.

        Args:
            stage: of an error.
            values: of the placeholders in it; without them it has none but `{here}`.

        Raises:
            Blocked: it is not there, or may not be executed.
        """
        word = fill(self.words[0], values or {"here": str(self.here)})
        found = shutil.which(str(self.here / word)) if "/" in word else shutil.which(word)
        if found is None:
            where = f"in {self.here}" if "/" in word else "on the PATH"
            raise Blocked(
                stage,
                f"the program {word!r} of `{self.key}` in rig.toml is not {where}, or may not be executed: "
                "install or build it, or correct the command.",
            )
        return found

    def __str__(self) -> str:
        return " ".join(self.words)


def placeholders_of(words: Sequence[str]) -> set[str]:
    """Return the names of the placeholders in some words."""
    return {found[2] for word in words for found in PLACEHOLDER.finditer(word) if found[2]}


def fill(word: str, values: Mapping[str, str]) -> str:
    """Return a word with the values of its placeholders; `{{name}}` becomes `{name}`."""
    return PLACEHOLDER.sub(lambda found: f"{{{found[1]}}}" if found[1] else values[found[2]], word)


def check_placeholders(words: Sequence[str], known: Sequence[str]) -> None:
    """Raise RigError if a word has a placeholder that its command has not."""
    for name in sorted(placeholders_of(words) - set(known)):
        raise RigError(
            f"{{{name}}} is no placeholder of this command: {close_matches(name, known).rstrip('.')} "
            f"(write {{{{{name}}}}} for the word in braces)."
        )


def last_lines(output: str) -> str:
    """Return the last lines of an output, for a message."""
    lines = [line.strip()[:LONGEST_LINE] for line in output.splitlines() if line.strip()]
    return " | ".join(repr(line) for line in lines[-LAST_LINES:]) if lines else "none"
