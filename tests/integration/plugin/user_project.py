"""A user's project in a folder, and pytest run in it as a user runs it: a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

from tests.one_process import one_process

HANG_S = 400  # on a busy machine too
HEAD = """
import pytest
from hil.trial import Selection, TrialSpec, does_not_fit

def spec(board, **more):
    return TrialSpec(board, more.pop("variant", "cls1"), **({"steps": 1, "evaluate": 0, "batch": 1} | more))

"""
GONE = (
    '[[board]]\nname = "stm32h7b3"\nserial = "00112233445566"\n'  # named in rig.toml and not attached: blocked, at once
)


@dataclass
class Done:
    """What a run left.

    Attributes:
        code: exit code.
        out: what was printed, standard error too.
        folder: of the project.
    """

    code: int
    out: str
    folder: Path

    def results(self, run: str = "latest") -> dict:
        return json.loads((self.folder / "reports" / run / "results.json").read_text())

    def tests(self) -> dict[str, dict]:
        """Return the tests of the record by what comes after the last colon, without the board."""
        return {test["test"].rpartition("::")[2].partition("[")[0]: test for test in self.results()["tests"]}

    def cases(self) -> dict[str, ET.Element]:
        suite = ET.parse(self.folder / "reports/latest/junit.xml").getroot().find("testsuite")
        return {case.get("name").partition("[")[0]: case for case in suite.iter("testcase")}

    def suite(self) -> ET.Element:
        return ET.parse(self.folder / "reports/latest/junit.xml").getroot().find("testsuite")

    @property
    def runs(self) -> list[Path]:
        return sorted(path for path in (self.folder / "reports").glob("2*") if path.is_dir())


@dataclass
class Project:
    """A folder with tests of a user."""

    folder: Path

    def write(self, text: str, name: str = "test_mine.py") -> Project:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(HEAD + text if name.endswith(".py") else text)
        return self

    def command(self, *options: str) -> list[str]:
        return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *one_process(*options)]

    def run(self, *options: str, paths: tuple[str, ...] = ("test_mine.py",), **environment: str) -> Done:
        done = subprocess.run(
            self.command(*options, *paths), cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANG_S, check=False,
            env=os.environ | {"TMPDIR": str(self.folder)} | environment,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # whoever runs the tests in the background has it ignored
        )  # fmt: skip
        return Done(done.returncode, done.stdout, self.folder)
