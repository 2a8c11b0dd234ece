"""Command-line options that several `hil` commands share."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Mapping
from pathlib import Path

from hil.plugins import use_folders_of


def positive_count(text: str) -> int:
    """Return a whole number above 0, for argparse."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def output_file(text: str) -> Path:
    """Return the path of a file to be written, for argparse; it may exist."""
    path = Path(text)
    if not text or path.is_dir() or not path.name or text.endswith("/"):
        raise argparse.ArgumentTypeError(f"{text!r} is {'a folder' if text else 'no name'}: name a file")
    if "\0" in text or (path.exists() and not path.is_file()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a regular file: name another one")
    return path


def output_folder(text: str) -> Path:
    """Return the path of a folder to be written to, for argparse; it may exist."""
    path = Path(text)
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"{text!r} is no name: name a folder")
    if path.exists() and not path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is not a folder: name one")
    return path


def name_and_value(text: str) -> tuple[str, int | float | str]:
    """Return name and value of NAME=VALUE, for argparse; the value is a number if it can be read as one."""
    name, equals, value = text.partition("=")
    if not name or not equals or not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return name, kind(value)
    return name, value


def different_files(parser: argparse.ArgumentParser, files: Mapping[str, Path | None]) -> None:
    """End with the error of the parser if two options, by name, write the same file."""
    seen: dict[Path, str] = {}
    for option, path in files.items():
        if path is None:
            continue
        other = seen.setdefault(path.resolve(), option)
        if other != option:
            parser.error(f"{other} and {option} write the same file {path}: give each a name of its own")


def add_rig(parser: argparse.ArgumentParser) -> None:
    """Add `--rig`: the file that describes the bench. The plugins that it names are known when the options are parsed.

    Other options may name boards, meters and stand-ins of them, and are often checked before the bench is read.
    """
    text = "description of the bench (default: rig.toml)"
    parser.add_argument("--rig", type=_rig_toml, default=Path("rig.toml"), metavar="FILE", help=text)


def add_workers(parser: argparse.ArgumentParser, of: str = "") -> None:
    """Add `--jobs` and `--scheduler`; `of` begins their help, where not all of a command spreads work."""
    jobs = f"{of}worker processes of this computer (default: one per core)"
    parser.add_argument("--jobs", type=positive_count, metavar="N", help=jobs)
    scheduler = f"{of}work on the workers of this Dask scheduler, tls://HOST:PORT (default: on this computer)"
    parser.add_argument("--scheduler", metavar="ADDRESS", help=scheduler)


def _rig_toml(text: str) -> Path:
    path = Path(text)
    use_folders_of(path)
    return path
