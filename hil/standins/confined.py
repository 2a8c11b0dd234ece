"""Run a program that changes and reads files of its own only, by Landlock of Linux (landlock(7)).

`python confined.py --all FOLDER... --read FILE... -- PROGRAM ARGUMENTS...` becomes the program. It may do anything
below the folders after `--all`. It may read what is after `--read`, its own installation and the system's libraries,
and execute nothing else: a shell that it starts does not begin. Without Landlock in the kernel, nothing is confined.

QEMU opens the files that an emulated firmware names, by any path, and executes commands for it (SYS_SYSTEM); it has no
means of its own against that.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import platform
import shutil
from collections.abc import Iterable
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # system calls, of the same number on every architecture
VERSION = 1  # flag of the first
PATH_BENEATH = 1
PR_SET_NO_NEW_PRIVS = 38  # prctl(2)
# Rights, by the version of Landlock in which they came: all of files and folders, to move between folders, to truncate.
EXECUTE, READ_FILE, READ_FOLDER = 1 << 0, 1 << 2, 1 << 3
RIGHTS = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14}
OF_FILES = EXECUTE | 1 << 1 | READ_FILE | 1 << 14
LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
SYSTEM = ("/etc/ld.so.cache", "/proc/self", "/sys/devices/system/cpu")


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("folder", ctypes.c_int32))


def version() -> int:
    """Return the version of Landlock in this kernel, 0 without one."""
    if platform.system() != "Linux":
        return 0
    return max(int(_system_call(CREATE_RULESET, None, ctypes.c_size_t(0), VERSION)), 0)


def confine(everything: Iterable[Path], readable: Iterable[Path], program: Path) -> None:
    """Restrict this process, for ever. Raises OSError if the kernel refuses."""
    rights = sum(bits for since, bits in RIGHTS.items() if since <= version())
    ruleset = _system_call(CREATE_RULESET, ctypes.byref(ctypes.c_uint64(rights)), ctypes.c_size_t(8), 0)
    _checked(ruleset)
    own = program.resolve()
    rules = [(path, rights) for path in everything]
    rules += [(path, READ_FILE | READ_FOLDER) for path in (*readable, own.parents[1] / "share", *map(Path, SYSTEM))]
    rules += [
        (path, READ_FILE | READ_FOLDER | EXECUTE) for path in (own, own.parents[1] / "lib", *map(Path, LIBRARIES))
    ]
    for path, allowed in rules:
        if not path.exists():
            continue
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        kept = allowed & rights if path.is_dir() else allowed & rights & OF_FILES
        rule = _Beneath(kept, opened)
        _checked(_system_call(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0))
        os.close(opened)
    ctypes.CDLL(None).prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _checked(_system_call(RESTRICT_SELF, ruleset, 0))


def _system_call(number: int, *arguments: object) -> int:
    return int(ctypes.CDLL(None, use_errno=True).syscall(number, *arguments))


def _checked(result: int) -> None:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def main() -> None:
    """Confine this process and become the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", type=Path, nargs="+", required=True)
    parser.add_argument("--read", type=Path, nargs="+", required=True)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    program = shutil.which(options.command[0]) or options.command[0]
    if version():
        confine(options.all, options.read, Path(program))
    os.execv(program, options.command)


if __name__ == "__main__":
    main()
