"""`hil sign`: sign the record of a run (docs/verify.md)."""

from __future__ import annotations

import argparse
from pathlib import Path

from hil.record.run_reader import read_recorded
from hil.record.sums import SIGNATURE, SUMS


def main(argv: list[str]) -> int:
    """Sign a run and return the exit code."""
    text = "Write SHA256SUMS with every file of a run, and its Ed25519 signature SHA256SUMS.sig."
    parser = argparse.ArgumentParser(prog="hil sign", description=text)
    text = "folder of the run (default: reports/latest)"
    parser.add_argument("run", type=Path, nargs="?", default=Path("reports/latest"), help=text)
    text = "private key in PEM, as `openssl genpkey -algorithm ed25519` makes it"
    parser.add_argument("--key", type=Path, required=True, metavar="FILE", help=text)
    options = parser.parse_args(argv)
    from hil.verify.signing import fingerprint, read_private, sign

    key = read_private(options.key)
    run = read_recorded(options.run)
    count, whose = sign(run, key), fingerprint(key.public_key())
    print(f"{run.folder / SUMS}: {count} files; {SIGNATURE}: signed with the key of SHA-256 {whose}")
    return 0
