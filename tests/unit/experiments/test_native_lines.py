"""Whether runs train in C or in NumPy is said before they begin, and why."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from hil.training.experiments.native_lines import make_library
from hil.training.reference.native import build


def said(monkeypatch: pytest.MonkeyPatch, library: Any) -> str:
    text = StringIO()
    monkeypatch.setattr(build, "library", library)
    make_library(Console(file=text, width=200))
    return text.getvalue()


def test_without_a_library_the_reason_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(told: build.Progress) -> None:
        raise build.NotBuilt("there is no C compiler 'cc'")

    line = said(monkeypatch, none)
    assert line == "runs train in NumPy, up to 60 times slower than in C: there is no C compiler 'cc'\n"


def test_files_that_are_compiled_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def three(told: build.Progress) -> None:
        for done in (1, 2, 3):
            told(done, 3)

    first, second = said(monkeypatch, three).splitlines()
    assert first == "compiling 3 files of the reference in C" and second.startswith("runs train in C")


def test_a_library_that_is_there_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(monkeypatch, lambda told: None).startswith("runs train in C")
