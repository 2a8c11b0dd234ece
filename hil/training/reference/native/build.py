"""The C of this room as a library.

The host's compiler makes it when it is first needed; it is kept in the user's cache.

Its name in the cache is a hash of sources, flags and what the compiler says of itself and the processor, so that
another compiler, another processor or another version of the rig never loads a library that is not its own.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from pathlib import Path

from filelock import FileLock

from hil.cache import cache_folder

SOURCES = Path(__file__).parent
FLAGS = ("-std=c11", "-O3", "-ffp-contract=off", "-fwrapv", "-fPIC", "-shared", "-w")
OWN = "native"  # the instructions of this processor, to the compiler
COMPILER = "cc"
PATIENCE_S = 300.0  # for the compiler with one file
LOCK_S = 3600.0  # for another process that compiles all of them
Progress = Callable[[int, int], None]


class NotBuilt(Exception):
    """There is no library; the message says why."""


@cache
def library(instructions: str = OWN, told: Progress | None = None) -> ctypes.CDLL:
    """Return the library of this computer.

    Args:
        instructions: those that it may use, as the compiler's -march names them.
        told: hears of each file of C that is compiled, how many are and of how many; nothing where none has to be.

    Raises:
        NotBuilt: no compiler, one that fails, a processor that the C does not know, or a cache that cannot be written.
    """
    program = shutil.which(COMPILER)
    if program is None:
        raise NotBuilt(f"there is no C compiler {COMPILER!r}")
    compiler = [program, *FLAGS, f"-march={instructions}"]
    try:
        path = cache_folder() / "native" / f"{_key(compiler)}.so"
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(path.with_suffix(".lock"), timeout=LOCK_S):
                if not path.is_file():  # nobody else built it while this process waited
                    _build(compiler, path, told)
        try:
            return ctypes.CDLL(str(path))
        except OSError:  # damaged
            _build(compiler, path, told)
            return ctypes.CDLL(str(path))
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines()
        messages = [line for line in lines if "error:" in line] or lines
        raise NotBuilt(
            f"{program} ended with {error.returncode}: {messages[0] if messages else 'it says nothing'}"
        ) from error
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:  # of a lock, a home folder, the compiler
        raise NotBuilt(str(error)) from error


def _key(compiler: list[str]) -> str:
    """Return what a library is called: nothing that decides its bytes may be left out."""
    digest = hashlib.sha256("\0".join(compiler).encode())
    for source in sorted([*SOURCES.rglob("*.c"), *SOURCES.rglob("*.h")]):
        digest.update(str(source.relative_to(SOURCES)).encode() + b"\0" + source.read_bytes())
    digest.update(_run([*compiler, "-dM", "-E", "-x", "c", os.devnull]))  # version and instruction sets
    return digest.hexdigest()[:32]


def _build(compiler: list[str], path: Path, told: Progress | None) -> None:
    """Write the library whole or not at all; as many files are compiled at a time as there are cores."""
    sources = sorted(SOURCES.rglob("*.c"))
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        objects = [Path(folder) / f"{number}.o" for number in range(len(sources))]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            begun = [
                pool.submit(_run, [*compiler, "-c", "-o", str(made), str(source)])
                for source, made in zip(sources, objects, strict=True)
            ]
            try:
                for done, one in enumerate(as_completed(begun), start=1):
                    one.result()
                    if told is not None:
                        told(done, len(sources))
            finally:
                pool.shutdown(cancel_futures=True)
        partial = Path(folder) / path.name
        _run([*compiler, "-o", str(partial), *map(str, objects), "-lm"])
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)


def _run(command: list[str]) -> bytes:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=False)
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, command, stderr=done.stderr.decode(errors="replace"))
    return done.stdout
