"""Sign the record of a run with Ed25519 (RFC 8032), and check such a signature.

What is signed are the bytes of SHA256SUMS. SHA256SUMS.sig holds the 64 bytes of the signature, as
`openssl pkeyutl -sign -rawin` makes them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
    load_ssh_private_key,
    load_ssh_public_key,
)

from hil.atomic_write import atomic_file
from hil.bounded_read import read_file
from hil.errors import RigError
from hil.record.checks import refuse_contradictions
from hil.record.checks.recorded import RESULTS, RecordedRun
from hil.record.contradiction import NOTHING, Contradiction, differ
from hil.record.run_writer import RUNNING
from hil.record.safe_paths import safe_file
from hil.record.sums import SIGNATURE, SUMS, files_of, sums_of, write_sums
from hil.verify.thorough import refuse_thoroughly

LARGEST_KEY = 1 << 14  # bytes
LENGTH = 64  # bytes of a signature
MAKE = "make one with `openssl genpkey -algorithm ed25519 -out key.pem`"
PUBLIC = "give the public key: `openssl pkey -in key.pem -pubout -out key.pub.pem`"


def read_private(path: Path) -> Ed25519PrivateKey:
    """Return the private key of a file: PEM as OpenSSL or OpenSSH makes it.

    Raises:
        RigError: it is missing, encrypted, or no private Ed25519 key.
    """
    data = read_file(path, LARGEST_KEY, MAKE)
    load = load_ssh_private_key if b"OPENSSH PRIVATE KEY" in data else load_pem_private_key
    try:
        key = load(data, None)
    except TypeError as error:
        raise RigError(f"{path} is encrypted: decrypt it first (`openssl pkey -in {path.name}`).") from error
    except (ValueError, UnsupportedAlgorithm) as error:
        raise RigError(f"{path} is no private key in PEM: {MAKE}.") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise RigError(f"{path} is a private key of another kind than Ed25519: {MAKE}.")
    return key


def read_public(path: Path) -> Ed25519PublicKey:
    """Return the public key of a file: PEM, or the line of OpenSSH that begins with `ssh-ed25519`.

    Raises:
        RigError: it is missing, or no public Ed25519 key.
    """
    data = read_file(path, LARGEST_KEY, PUBLIC)
    if b"PRIVATE KEY" in data:
        raise RigError(f"{path} is a private key, which nobody else may have: {PUBLIC}.")
    try:
        key = load_ssh_public_key(data) if data.startswith(b"ssh-") else load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise RigError(f"{path} is no public key in PEM or of OpenSSH: {PUBLIC}.") from error
    if not isinstance(key, Ed25519PublicKey):
        raise RigError(f"{path} is a public key of another kind than Ed25519: {PUBLIC}.")
    return key


def fingerprint(key: Ed25519PublicKey) -> str:
    """Return the SHA-256 of the 32 bytes of a public key in hexadecimal."""
    return hashlib.sha256(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()


def sign(run: RecordedRun, key: Ed25519PrivateKey) -> int:
    """Write SHA256SUMS with all files of a run, and its signature; return the number of files.

    Raises:
        Contradicted: the record contradicts itself.
        RigError: the run goes on, or a file has a name that cannot be listed.
        OSError: the disk is full.
    """
    facts = run.results["run"]
    if facts["state"] == RUNNING:
        raise RigError(f"the run in {run.folder} did not end, so that there is no record to sign: run it to its end.")
    refuse_contradictions(run)
    refuse_thoroughly(run, listed=False)
    sums = sums_of(run.folder, facts, pages=True)
    (run.folder / SIGNATURE).unlink(missing_ok=True)  # of the sums before
    write_sums(run.folder, sums)
    with atomic_file(run.folder / SIGNATURE) as partial:
        partial.write_bytes(key.sign(sums.text.encode()))
    return len(sums.digests)


def is_signed(folder: Path) -> bool:
    """Return whether there is a signature in the folder of a run."""
    return safe_file(folder, SIGNATURE) is not None


def check_signature(run: RecordedRun, signer: Ed25519PublicKey) -> None:
    """Check that SHA256SUMS is of this run and was signed with the key.

    Raises:
        RigError: the run is not signed, or its signature is by another key, of another record, or of other sums.
    """
    folder, sums, place = run.folder, run.sums, safe_file(run.folder, SIGNATURE)
    if sums is None or place is None:
        missing = SUMS if sums is None else SIGNATURE
        raise RigError(f"{folder} is not signed (there is no {missing}): sign it with `hil sign`.")
    facts = run.results["run"]
    own = (facts["id"], facts.get("uid", "-"))
    if (sums.run, sums.uid) != own:
        raise RigError(
            f"the signature in {folder} is of another record (run {sums.run} uid {sums.uid}, not {own[0]} uid "
            f"{own[1]}): take that of this run."
        )
    try:
        signer.verify(
            read_file(place, LENGTH, "sign the run again"), read_file(folder / SUMS, 1 << 24, "sign it again")
        )
    except InvalidSignature:
        raise RigError(
            f"{place} does not sign {SUMS} with this key (SHA-256 {fingerprint(signer)[:16]}...): another key signed "
            f"it, it is of another record, or {SUMS} was changed: do not trust this record."
        ) from None


def added_files(run: RecordedRun) -> Iterator[Contradiction]:
    """Every file of a signed run is in SHA256SUMS, and it has no links, which no sum covers."""
    sums = run.sums
    if sums is None:
        yield differ(RESULTS, "the signature", "there", SUMS, NOTHING)
        return
    for path, _ in files_of(run.folder, pages=True):
        if path not in sums.digests:
            yield differ(path, "the file", "there", SUMS, NOTHING)
    for link in sorted(each for each in run.folder.rglob("*") if each.is_symlink()):
        yield differ(link.relative_to(run.folder).as_posix(), "a link", "there", SUMS, NOTHING)
