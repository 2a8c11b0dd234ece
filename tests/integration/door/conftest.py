"""Runs of pytest with tests of a stranger: firmware, reference and figures of one's own, and no trial."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hil.record import Run, read_run
from hil.record.device_test import DeviceTest
from tests.one_process import one_process

HANG_S = 400  # on a busy machine too


@dataclass
class Stranger:
    """A project, and what pytest left in it."""

    folder: Path
    code: int
    out: str

    @property
    def run(self) -> Path:
        """Folder of the run."""
        (folder,) = (path for path in (self.folder / "reports").glob("2*") if path.is_dir())
        return folder

    @property
    def results(self) -> dict[str, Any]:
        """Content of results.json."""
        return json.loads((self.run / "results.json").read_text())

    @property
    def read(self) -> Run:
        """The run as readers have it."""
        return read_run(self.run)

    def entry(self, name: str) -> DeviceTest:
        """Return the last device test of a test function."""
        return [each for each in self.read.device_tests if f"::{name}[" in f"{each.test}["][-1]

    def verdict(self, name: str) -> tuple[str, str]:
        """Return verdict and reason of a test function."""
        return next((each.verdict, each.reason) for each in self.read.tests if f"::{name}[" in f"{each.test}[")

    def printed(self, name: str) -> str:
        """Return all that came from the device in a test function: a log has it in the pieces in which it came."""
        log = (self.run / self.entry(name).folder / "serial.log").read_text()
        entries = [line.split(" ", 2)[1:] for line in log.splitlines()]
        return "".join(ast.literal_eval(data) for direction, data in entries if direction == "<")

    def properties(self, name: str) -> dict[str, str]:
        """Return the properties of a test case in junit.xml."""
        cases = ET.parse(self.run / "junit.xml").getroot().iter("testcase")
        case = next(case for case in cases if case.get("name", "").partition("[")[0] == name)
        return {each.get("name", ""): each.get("value", "") for each in case.iter("property")}


@pytest.fixture(scope="session")
def strange() -> Callable[..., Stranger]:
    """Run pytest in a folder with one file of tests."""

    def run(folder: Path, text: str, *options: str) -> Stranger:
        (folder / "test_mine.py").write_text(text)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *one_process(*options), "test_mine.py"],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANG_S, check=False,
            env=os.environ | {"TMPDIR": str(folder)},
        )  # fmt: skip
        return Stranger(folder, done.returncode, done.stdout)

    return run
