"""A test or its file takes all address space and keeps it: the session records what it knows, and ends."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from user_project import Done, Project

from hil.session.reserve import NO_MEMORY

TAKE_ALL = """
import resource

kept = []


def take_all():
    pages = int(open("/proc/self/statm").read().split()[0])
    most = pages * resource.getpagesize() + (4 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for size in (1 << 20, 1 << 12, 64):
        try:
            while True:
                kept.append(bytearray(size))
        except MemoryError:
            pass
    raise MemoryError
"""
TESTS = """

def test_one(hil_board):
    take_all()


def test_two(hil_board):
    pass
"""
only_linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc, and limits the address space")


def run(folder: Path, source: str) -> Done:
    options = "--board=stm32h7b3", "--junitxml=junit.xml"
    done = Project(folder).write(TAKE_ALL + source).run(*options)
    assert "INTERNALERROR" not in done.out, done.out
    assert (folder / "junit.xml").is_file()
    return done


@only_linux
def test_a_session_without_memory_ends_with_its_record(tmp_path: Path) -> None:
    done = run(tmp_path, TESTS)
    record = done.results()
    assert record["run"]["whole"] and [test["outcome"] for test in record["tests"]] == ["failed", "passed"], done.out


@only_linux
def test_a_file_that_cannot_be_collected_for_want_of_memory_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, "take_all()\n")
    assert done.code == pytest.ExitCode.INTERRUPTED, done.out
    assert "MemoryError" in done.out or NO_MEMORY in done.out, done.out
