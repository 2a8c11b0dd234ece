"""Finished runs in the user's cache folder, by what decides their bits, so that no experiment trains one twice.

A run is one file: the SHA-256 of the rest, then a ZIP file with the files of its folder. Its name is the SHA-256 of
everything that decides a bit: the run with what it chose, its data, the weights that it starts from, the sources of
trainrig, the networks in the user's folder, NumPy's version and the kind of processor. So there is no list to keep, and
two commands may use the runs at the same time.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import platform
import re
import zipfile
from dataclasses import asdict
from functools import cache
from pathlib import Path

import numpy as np

from hil.atomic_write import atomic_file
from hil.cache import cache_folder
from hil.cluster.task import sources_digest
from hil.training.experiments.choice import begin, resolved
from hil.training.experiments.curve import RUN_FILE, checkpoint_path, complete, read_checkpoint, read_curve, read_run
from hil.training.experiments.slices import SliceFiles, keep
from hil.training.networks.tree import FOLDER_VARIABLE

LIMIT = 4 << 30  # bytes of all runs
SHARE = 16  # one run takes at most this part of the limit
SUFFIX = ".run"
SHA256_BYTES = 32
NAME = re.compile(r"[\w-][\w.-]*")  # of a file: no folder


class FinishedRuns:
    """The finished runs of this user.

    Args:
        folder: holds their files; the default is in the user's cache folder.
        limit: bytes of all files; beyond it, those go first that were used least recently.
    """

    def __init__(self, folder: Path | None = None, limit: int = LIMIT) -> None:
        self._folder, self._limit = folder or cache_folder() / "runs", limit

    def copy(self, run: Path) -> bool:
        """Write what was trained into the folder of a run that has not begun; return whether it was there, undamaged.

        Raises:
            RigError: a run that this one depends on is not trained to its end.
            OSError: the folder of the run cannot be written.
        """
        begin(run)
        path = self._path(run)
        files = None if read_curve(run) else _read(path)
        if files is None:
            return False
        keep(run, SliceFiles(files, ()))
        with contextlib.suppress(OSError):  # of a cache that is read only
            os.utime(path)
        return complete(run)

    def add(self, run: Path) -> None:
        """Keep a run that these sources have trained from its first step to its end.

        A cache that is full or cannot be written costs no more than the copy.
        """
        paths = sorted(path for path in run.iterdir() if path.name != RUN_FILE and path.is_file())
        if sum(path.stat().st_size for path in paths) > self._limit // SHARE:
            return
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            for path in paths:
                archive.writestr(path.name, path.read_bytes())
        data = content.getvalue()
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            with atomic_file(self._path(run)) as partial:
                partial.write_bytes(hashlib.sha256(data).digest() + data)
            self._shrink()

    def _path(self, run: Path) -> Path:
        return self._folder / f"{key(run)}{SUFFIX}"

    def _shrink(self) -> None:
        found = sorted((path.stat().st_mtime_ns, path.stat().st_size, path) for path in self._folder.glob(f"*{SUFFIX}"))
        left = sum(size for _, size, _ in found)
        for _, size, path in found:
            if left <= self._limit:
                return
            path.unlink(missing_ok=True)
            left -= size


def key(folder: Path) -> str:
    """Return the SHA-256 of all that decides the bits of the run of a folder.

    Raises:
        RigError: a run that this one depends on is not trained to its end.
    """
    described, data = read_run(folder)
    run = resolved(described, folder.parent)
    facts = {
        "kind": type(run).__name__,
        "run": asdict(run),
        "data": data,
        "networks": _digest_of(os.environ.get(FOLDER_VARIABLE)),
        "start": None if run.start is None else _last_weights(folder.parent / run.start),
        "sources": sources_digest(),
        "with": [np.__version__, platform.machine()],
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


@cache
def _digest_of(folder: str | None) -> str | None:
    """Return the SHA-256 of the networks in the folder that the user names, None without one."""
    if not folder:
        return None
    digest = hashlib.sha256()
    for path in sorted(path for path in Path(folder).glob("*") if path.suffix in (".json", ".npz")):
        digest.update(f"{path.name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _last_weights(folder: Path) -> str:
    """Return the SHA-256 of the weights that a run has at its end."""
    digest = hashlib.sha256()
    for tensor in read_checkpoint(checkpoint_path(folder, read_run(folder)[0].epochs)).weights:
        digest.update(f"{tensor.dtype}{tensor.shape}".encode() + tensor.tobytes())
    return digest.hexdigest()


def _read(path: Path) -> dict[str, bytes] | None:
    """Return the files of a run; None if they are not there or damaged, and then the run is trained again."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    digest, data = content[:SHA256_BYTES], content[SHA256_BYTES:]
    if hashlib.sha256(data).digest() != digest:
        return None
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if NAME.fullmatch(name)}
