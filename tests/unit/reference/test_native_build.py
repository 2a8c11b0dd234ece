"""The library is built once, whole or not at all; where it cannot be, NumPy computes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hil.training.reference.native import build

PROGRAM = """
from hil.training.networks import build
from hil.training.reference.native.bfp8 import fastest
print(fastest(build("lenet5", 1)).name)
"""
NIGHTLY = pytest.mark.tier("nightly")  # each builds the library twice
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler here")


def begun(cache: Path, path: str, program: str = PROGRAM) -> subprocess.Popen[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "HOME": str(cache), "PATH": path}
    return subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def said(process: subprocess.Popen[str]) -> str:
    out, error = process.communicate(timeout=300)
    assert process.returncode == 0, error
    return out.strip()


def files(cache: Path, suffix: str) -> list[Path]:
    return sorted(path for path in cache.rglob("*") if path.suffix == suffix)


def compiler(folder: Path, script: str) -> str:
    """Return a PATH whose first `cc` is a script."""
    folder.mkdir()
    path = folder / "cc"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@pytest.fixture
def quick(tmp_path: Path) -> str:
    """Return a PATH whose `cc` is the compiler without its optimisation, which these tests do not need."""
    return compiler(tmp_path / "quick", f'exec {shutil.which("cc")} "$@" -O0')


@NIGHTLY
@needs_compiler
def test_several_processes_build_it_once(tmp_path: Path) -> None:
    real = shutil.which("cc")
    path = compiler(
        tmp_path / "bin",
        f'case "$*" in *-dM*|*" -c "*) ;; *) echo built >> {tmp_path}/log ;; esac; exec {real} "$@" -O0',
    )
    names = {said(process) for process in [begun(tmp_path / "cache", path) for _ in range(3)]}
    assert len(names) == 1 and names.pop().startswith("C")
    assert (tmp_path / "log").read_text() == "built\n"
    assert said(begun(tmp_path / "cache", path)).startswith("C")
    assert (tmp_path / "log").read_text() == "built\n"
    assert len(files(tmp_path / "cache", ".so")) == 1


@NIGHTLY
@needs_compiler
def test_each_file_is_compiled_by_itself_and_told(tmp_path: Path, quick: str) -> None:
    files_of_c = len(list(build.SOURCES.rglob("*.c")))
    program = """
from hil.training.reference.native import build
told = []
build.library(told=lambda *count: told.append(count))
build.library.cache_clear()
build.library(told=lambda *count: told.append(None))
print(told)
"""
    assert said(begun(tmp_path / "cache", quick, program)) == str([(n, files_of_c) for n in range(1, files_of_c + 1)])


@NIGHTLY
@needs_compiler
def test_another_version_of_the_compiler_builds_its_own(tmp_path: Path, quick: str) -> None:
    said(begun(tmp_path / "cache", quick))
    program = Path(quick.split(os.pathsep)[0], "cc")
    program.write_text(program.read_text().replace('"$@"', '-DANOTHER_VERSION "$@"'))
    said(begun(tmp_path / "cache", quick))
    assert len(files(tmp_path / "cache", ".so")) == 2


@NIGHTLY
@needs_compiler
def test_a_compiler_that_is_cut_leaves_nothing(tmp_path: Path, quick: str) -> None:
    """It wrote half a library before it failed; the next one builds it."""
    real = shutil.which("cc")
    script = f'case "$*" in *-dM*) exec {real} "$@" ;; esac; while [ "$1" != -o ]; do shift; done; echo half > "$2"; echo full disk >&2; exit 1'
    assert (
        said(begun(tmp_path / "cache", compiler(tmp_path / "bin", script)))
        == f"NumPy ({tmp_path}/bin/cc ended with 1: full disk)"
    )
    assert files(tmp_path / "cache", ".so") == []
    assert said(begun(tmp_path / "cache", quick)).startswith("C")


@NIGHTLY
@needs_compiler
def test_a_damaged_library_is_built_again(tmp_path: Path, quick: str) -> None:
    name = said(begun(tmp_path / "cache", quick))
    library = files(tmp_path / "cache", ".so")[0]
    library.write_bytes(b"not a library")
    assert said(begun(tmp_path / "cache", quick)) == name
    assert library.stat().st_size > 1000


def test_without_a_compiler_numpy_computes(tmp_path: Path) -> None:
    assert said(begun(tmp_path / "cache", str(tmp_path))) == "NumPy (there is no C compiler 'cc')"


@needs_compiler
def test_a_compiler_that_does_not_know_the_flags(tmp_path: Path) -> None:
    path = compiler(tmp_path / "bin", "echo unknown option >&2; exit 4")
    assert said(begun(tmp_path / "cache", path)) == f"NumPy ({tmp_path}/bin/cc ended with 4: unknown option)"


@needs_compiler
def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file", encoding="utf-8")
    assert said(begun(tmp_path / "cache", os.environ["PATH"])).startswith("NumPy (")
