"""`hil agent --copy DIR`: write the agent as a library for firmware of one's own (docs/own-firmware.md)."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from hil.errors import RigError, short_path
from hil.packaged import packaged_folder

LIBRARY = "library"  # folder with what is the library's alone; the rest is compiled into the prebuilt images too
SHARED = (
    "agent/agent.c",
    "agent/agent.h",
    "agent/frame.c",
    "agent/link.c",
    "agent/link.h",
    "agent/memory.h",
    "agent/messages.h",
    "agent/optional_port.c",
    "agent/port.h",
    "arith/xxh32.c",
    "arith/xxh32.h",
)
NEXT = "docs/own-firmware.md has a section on each way to add it."


def main(arguments: list[str]) -> int:
    """Run `hil agent`."""
    parser = argparse.ArgumentParser(
        prog="hil agent",
        description="Write the agent as a library in C: for CMake, Zephyr, Arduino, PlatformIO, or as plain files.",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--copy", type=Path, metavar="DIR", help="write it into a new or empty folder")
    what.add_argument("--list", action="store_true", help="list its files with their sizes in bytes")
    options = parser.parse_args(arguments)
    files = library_files()
    if options.list:
        for name, source in files.items():
            print(f"{source.stat().st_size:7,}  {name}")
    else:
        copy_to(options.copy)
        print(f"{len(files)} files written to {options.copy}: {NEXT}")
    return 0


def library_files() -> dict[str, Path]:
    """Return every file of the library by its path in it, with the file that it is copied from."""
    firmware = packaged_folder("firmware", "firmware")
    own = sorted(path for path in (firmware / LIBRARY).rglob("*") if path.is_file())
    found = {path.relative_to(firmware / LIBRARY).as_posix(): path for path in own}
    return found | {f"src/{name}": firmware / name for name in SHARED}


def copy_to(folder: Path) -> None:
    """Write the library into a folder, which is made if needed.

    Raises:
        RigError: it has something in it, or is no folder.
        OSError: it cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RigError(f"{short_path(folder)} is not empty: name a new folder, or delete it before.")
    for name, source in library_files().items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
