"""Read a pack that anybody may have made: every name and size is checked before a byte is unpacked."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hil.bounded_read import MB, read_json, take
from hil.errors import RigError, message_of
from hil.record.checks.entries import different
from hil.record.checks.recorded import RESULTS, RecordedRun
from hil.record.contradiction import NOTHING, Contradiction, differ
from hil.record.safe_paths import safe_file
from hil.record.sums import SIGNATURE, SUMS, files_of, read_sums, sha256_of
from hil.verify.images import firmware_in
from hil.verify.pack import FACTS, FORMAT, NETWORKS, README, RECORD, Stock, image_place, network_place, texts_of

MOST_MEMBERS = 100_000
LARGEST = 2048 * MB  # unpacked
MOST_TIMES = 200  # unpacked over packed: a record compresses ten times, and Deflate at most 1032 times (RFC 1951)
ALWAYS = 64 * MB  # unpacked, whatever it was packed
LARGEST_FACTS = 8 * MB
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
CURE = "get the pack again from its source"
END_OF_ZIP, END_MARK = 22, b"PK\5\6"  # the last record of a ZIP file without a comment (APPNOTE.TXT 4.3.16)


@dataclass(frozen=True)
class Unpacked:
    """A pack in a folder."""

    folder: Path

    @property
    def record(self) -> Path:
        """Folder of the run."""
        return self.folder / RECORD

    @property
    def networks(self) -> Path:
        """Folder of the network files."""
        return self.folder / NETWORKS


def is_zip(path: Path) -> bool:
    """Return whether a file begins as a ZIP file does, also one without members."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def is_unpacked(folder: Path) -> bool:
    """Return whether a folder is a pack that was unpacked."""
    return (folder / FACTS).is_file() and (folder / RECORD).is_dir()


def unpack(path: Path, target: Path) -> Unpacked:
    """Unpack a pack into an empty folder.

    Raises:
        RigError: it is no pack, is cut or damaged, would unpack without measure, or has a name that leads elsewhere.
    """
    try:
        with zipfile.ZipFile(path) as file:
            _check_bounds(path, file)
            top = _check(path, file.infolist())
            for member in file.infolist():
                place = target.joinpath(*member.filename.split("/"))
                place.parent.mkdir(parents=True, exist_ok=True)
                with file.open(member) as stream:
                    place.write_bytes(take(stream, member.file_size, f"{path}, member {member.filename!a},", CURE))
    except (RigError, MemoryError):
        raise
    except FileExistsError as error:
        raise RigError(f"{path} is damaged (a member is a file and a folder): {CURE}.") from error
    except Exception as error:  # a damaged ZIP file may raise nearly anything
        raise RigError(f"{path} is no pack, or is cut or damaged ({message_of(error)}): {CURE}.") from error
    found = Unpacked(target / top)
    if not is_unpacked(found.folder):
        missing = [] if (found.folder / FACTS).is_file() else [f"no file {top}/{FACTS}"]
        missing += [] if found.record.is_dir() else [f"no folder {top}/{RECORD}"]
        raise RigError(f"{path} is no pack of a run (it has {' and '.join(missing)}): {CURE}.")
    return found


def _check_bounds(path: Path, file: zipfile.ZipFile) -> None:
    """Check that a ZIP file has no bytes before its first member, after its end, or in its comment.

    Raises:
        RigError: it has; no sum and no signature covers them.
    """
    with path.open("rb") as raw:
        raw.seek(-min(END_OF_ZIP, path.stat().st_size), os.SEEK_END)
        ends = raw.read().startswith(END_MARK)
    begins = min((member.header_offset for member in file.infolist()), default=0) == 0
    if file.comment or not begins or not ends:
        where = "a comment" if file.comment else "before its first member" if not begins else "after its end"
        raise RigError(f"{path} has foreign bytes ({where}), which no signature covers: {CURE}.")


def _check(path: Path, members: list[zipfile.ZipInfo]) -> str:
    """Check names, kinds and sizes; return the one folder that has all members.

    Raises:
        RigError: something is wrong.
    """
    size = sum(member.file_size for member in members)
    most = min(LARGEST, max(ALWAYS, MOST_TIMES * path.stat().st_size))
    if len(members) > MOST_MEMBERS or size > most:
        raise RigError(
            f"{path} would unpack to {len(members):,} files of {size:,} bytes together, more than {MOST_MEMBERS:,} "
            f"files or {most:,} bytes: {CURE}."
        )
    names = set()
    for member in members:
        name = member.filename
        parts = name.split("/")
        if any(part in ("", ".", "..") for part in parts) or len(parts) < 2 or "\\" in name or not name.isprintable():
            raise RigError(f"{path} has a member {name[:80]!a}, which leads out of the pack: do not trust it.")
        kind = stat.S_IFMT(member.external_attr >> 16)
        if kind not in (0, stat.S_IFREG) or member.flag_bits & 1 or member.compress_type not in PACKINGS:
            raise RigError(f"{path} has a member {name[:80]!a}, which is a link, encrypted or packed oddly: {CURE}.")
        if name in names:
            raise RigError(f"{path} has the member {name[:80]!a} twice: do not trust it.")
        names.add(name)
    tops = {name.split("/")[0] for name in names}
    if len(tops) != 1:
        raise RigError(f"{path} is no pack of a run (it has {len(tops)} folders at its top, not one): {CURE}.")
    return tops.pop()


def check_pack(pack: Unpacked, run: RecordedRun) -> Iterator[Contradiction]:
    """The files of a pack are those of its SHA256SUMS, and all but the record follow from the record.

    So a signature of the record covers the whole pack: images and networks have the SHA-256 that the record has, and
    pack.json and README.txt are made again from the record.

    Raises:
        RigError: pack.json or SHA256SUMS is missing or damaged, or of another version.
    """
    facts = read_json(pack.folder / FACTS, LARGEST_FACTS, CURE)
    if not isinstance(facts, dict) or facts.get("format") != FORMAT:
        written = facts.get("format") if isinstance(facts, dict) else None
        raise RigError(
            f"{pack.folder / FACTS} has format {written!r}, this trainrig reads {FORMAT}: use the version that made it."
        )
    sums = read_sums(pack.folder)
    if sums is None:
        raise RigError(f"{pack.folder} has no {SUMS}: {CURE}.")
    own = run.results["run"]["id"], str(run.results["run"].get("uid", "-"))
    if (sums.run, sums.uid) != own:
        yield differ(SUMS, "its run", f"{sums.run} uid {sums.uid}", f"{RECORD}/{RESULTS}", f"{own[0]} uid {own[1]}")
    there = dict(files_of(pack.folder, pages=True))
    for name in (SUMS, SIGNATURE):
        place = safe_file(pack.record, name)
        there |= {f"{RECORD}/{name}": place} if place is not None else {}
    for path in sorted({*there, *sums.digests}):
        found = sha256_of(there[path]) if path in there else NOTHING
        wanted = sums.digests.get(path, NOTHING)
        if found != wanted:
            yield differ(path, "its SHA-256", found, f"{SUMS} of the pack", wanted)
    yield from _of_record(there, run, facts)


def _of_record(there: Mapping[str, Path], run: RecordedRun, facts: dict[str, Any]) -> Iterator[Contradiction]:
    """Compare everything outside record/ with the record. `there` has the place of every file of the pack."""
    images: dict[str, Path] = {}
    networks: dict[str, bytes | Path] = {}
    known = {FACTS, README}
    of_trials = dict.fromkeys(trial.record.network_sha256 for trial in run.trials)
    named: list[tuple[str, str, dict[str, Any]]] = [
        *((sha, image_place(firmware), images) for sha, firmware in firmware_in(run).items()),
        *((sha, network_place(sha), networks) for sha in of_trials if sha is not None),
    ]
    for sha, path, into in named:
        if path not in there or path in known:
            continue
        known.add(path)
        into[sha] = there[path]
        found = sha256_of(there[path])
        if found != sha:
            yield differ(path, "its SHA-256", found, "the record", sha)
    for path in sorted(there):
        if path not in known and not path.startswith(f"{RECORD}/"):
            yield differ(path, "the file", "there", "the record", "no such file")
    texts = texts_of(run, Stock(images, networks))
    before = False
    for place, here, wanted in different(facts, json.loads(texts[FACTS]), "", exact=True):
        before = True
        yield differ(FACTS, place, here, f"{RECORD}/{RESULTS} and the files of the pack", wanted)
    for name, text in texts.items():
        held = sha256_of(there[name]) if name in there else NOTHING
        wanted = hashlib.sha256(text.encode()).hexdigest()
        if held != wanted and not (name == FACTS and before):
            yield differ(name, "its SHA-256", held, f"what follows from {RECORD}/{RESULTS}", wanted)
