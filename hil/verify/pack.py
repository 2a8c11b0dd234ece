"""Pack a run into one ZIP file: record, images, networks, versions, and the command to repeat (docs/verify.md).

The bytes depend on the record alone: members are sorted, and have a fixed time and fixed permissions. Data sets are
never packed, because most licences do not allow it: their names, licences and SHA-256 are.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hil.atomic_write import atomic_file
from hil.errors import RigError
from hil.record import TrialRecord
from hil.record.checks import refuse_contradictions
from hil.record.checks.recorded import RecordedRun
from hil.record.clients import NotAtHand, client
from hil.record.run_writer import RUNNING
from hil.record.safe_paths import safe_file
from hil.record.sums import SIGNATURE, SUMS, FileSums, files_of
from hil.record.trial_writer import NETWORK
from hil.verify.images import Build, Firmware, build_of, firmware_in, image_at_hand
from hil.verify.readme import readme
from hil.verify.thorough import refuse_thoroughly

FORMAT = 3  # of pack.json and README.txt, which follow from the record: other words are another format
ABSENT = "it was not on the computer that made this pack"
RECORD, IMAGES, NETWORKS, FACTS, README = "record", "images", "networks", "pack.json", "README.txt"
BEGINNING_OF_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a ZIP file can name
REGULAR_FILE = 0o100644 << 16


@dataclass
class Packed:
    """What goes into a pack.

    Attributes:
        members: content by path in the pack, or the place of the file that has it.
        left_out: sentences that say what is not in the pack, and why it is not on this computer.
    """

    members: dict[str, bytes | Path] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Stock:
    """The images and networks of a pack, by their SHA-256: the place of each file, or its content."""

    images: Mapping[str, Path]
    networks: Mapping[str, bytes | Path]


def pack(run: RecordedRun, out: Path) -> Packed:
    """Write the pack of a run; return what is in it.

    Raises:
        Contradicted: the record contradicts itself.
        RigError: the run goes on.
        OSError: the disk is full; no partial file remains.
    """
    facts = run.results["run"]
    if facts["state"] == RUNNING:
        raise RigError(f"the run in {run.folder} did not end, so that there is no record to pack: run it to its end.")
    refuse_contradictions(run)
    refuse_thoroughly(run)
    packed = content_of(run)
    with atomic_file(out) as partial, zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
        for path in sorted(packed.members):
            content = packed.members[path]
            member = zipfile.ZipInfo(f"{facts['id']}/{path}", BEGINNING_OF_TIME)
            member.external_attr, member.compress_type, member.create_system = REGULAR_FILE, zipfile.ZIP_DEFLATED, 3
            file.writestr(member, content if isinstance(content, bytes) else content.read_bytes())
    return packed


def content_of(run: RecordedRun) -> Packed:
    """Return what goes into the pack of a run."""
    found = Packed()
    stock = _stock(run, found)
    found.members = {f"{RECORD}/{path}": place for path, place in files_of(run.folder, pages=True)}
    for name in (SUMS, SIGNATURE):
        path = safe_file(run.folder, name)
        found.members |= {f"{RECORD}/{name}": path} if path is not None else {}
    for sha, firmware in firmware_in(run).items():
        found.members |= {image_place(firmware): stock.images[sha]} if sha in stock.images else {}
    found.members |= {network_place(sha): content for sha, content in stock.networks.items()}
    found.members |= {name: text.encode() for name, text in texts_of(run, stock).items()}
    digests = {
        path: hashlib.sha256(content if isinstance(content, bytes) else content.read_bytes()).hexdigest()
        for path, content in found.members.items()
    }
    facts = run.results["run"]
    found.members[SUMS] = FileSums(facts["id"], str(facts.get("uid", "-")), digests).text.encode()
    return found


def image_place(firmware: Firmware) -> str:
    """Return the path of an image in a pack."""
    return f"{IMAGES}/{firmware.sha256[:16]}-{firmware.name}"


def network_place(sha: str) -> str:
    """Return the path of a network in a pack."""
    return f"{NETWORKS}/{sha}.hnet"


def texts_of(run: RecordedRun, stock: Stock) -> dict[str, str]:
    """Return pack.json and README.txt by name. They follow from the record, and from which files are in the pack."""
    data, missing = list(_data(run)), []
    images, networks = [], []
    for sha, firmware in firmware_in(run).items():
        path = stock.images.get(sha)
        of_file = build_of(path) if path is not None else Build("", "")
        place = image_place(firmware) if path is not None else None
        images.append(
            {
                "board": firmware.board, "file": firmware.name, "sha256": sha, "packed": place,
                "compiler": of_file.compiler, "flags": of_file.flags,
            }
        )  # fmt: skip
        if path is None:
            missing.append(_absent(firmware))
    for sha, record in _once(run, "network_sha256").items():
        name, there = record.network, sha in stock.networks
        networks.append(
            {"network": name, "seed": record.seed, "sha256": sha, "packed": network_place(sha) if there else None}
        )
        if not there:
            missing.append(f"network {name} of {record.folder} (SHA-256 {sha}): {ABSENT}.")
    facts = run.results["run"]
    content = {
        "format": FORMAT,
        "run": facts["id"],
        "uid": facts.get("uid"),
        "time": facts["time"],
        "commit": facts["commit"],
        "command": facts.get("command"),
        "versions": dict(facts["versions"]),
        "host": dict(facts["host"]),
        "images": images,
        "networks": networks,
        "data": data,
        "not_included": [*missing, *(f"data set {one['name']}: {one['why']}" for one in data)],
    }
    return {FACTS: json.dumps(content, indent=1) + "\n", README: readme(content)}


def _stock(run: RecordedRun, found: Packed) -> Stock:
    """Return the images and networks that are on this computer; of others, say why in `found`."""
    command = run.results["run"].get("command", "")
    images: dict[str, Path] = {}
    networks: dict[str, bytes | Path] = {}
    for sha, firmware in firmware_in(run).items():
        image = image_at_hand(firmware, command)
        if image is not None:
            images[sha] = image.path
        else:
            found.left_out.append(_absent(firmware))
    for sha, record in _once(run, "network_sha256").items():
        kept = safe_file(run.folder / record.folder, NETWORK)
        try:
            networks[sha] = kept.read_bytes() if kept is not None else client().network(record)
        except NotAtHand as reason:
            found.left_out.append(f"network {record.network} of {record.folder} (SHA-256 {sha}): {reason}.")
    found.left_out += [f"data set {one['name']}: {one['why']}" for one in _data(run)]
    return Stock(images, networks)


def _absent(firmware: Firmware) -> str:
    return f"firmware {firmware.name} of {firmware.board} (SHA-256 {firmware.sha256}): {ABSENT}."


def _data(run: RecordedRun) -> Iterator[dict[str, Any]]:
    for sha, record in _once(run, "data_sha256").items():
        card: Mapping[str, Any] = record.data_card or {}
        yield {
            "name": record.data,
            "sha256": sha,
            "licence": card.get("licence", ""),
            "source": card.get("source", ""),
            "why": "data are never packed; `hil data card NAME` says where they are from.",
        }


def _once(run: RecordedRun, name: str) -> dict[str, TrialRecord]:
    """Return the first trial with each digest in a field, by the digest."""
    found: dict[str, TrialRecord] = {}
    for trial in run.trials:
        sha = getattr(trial.record, name)
        if sha is not None:
            found.setdefault(sha, trial.record)
    return found
