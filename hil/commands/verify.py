"""`hil verify`: check a recorded run or a pack, and on request compute its steps again (docs/verify.md)."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from hil.errors import RigError, printable
from hil.record.checks import Checked, checked
from hil.record.checks.copies import check_sums
from hil.record.checks.recorded import RecordedRun
from hil.record.contradiction import Contradiction
from hil.record.run_reader import LARGEST_LATEST, read_recorded
from hil.record.run_writer import RUNNING

CONTRADICTED, CANNOT = 1, 2
LATEST = Path("reports/latest")
TITLE = "Check that a recorded run, or a pack of one, does not contradict itself; exit 0 yes, 1 it does, 2 cannot tell."


def main(argv: list[str]) -> int:
    """Check a run and return the exit code: 0 all verified, 1 a contradiction, 2 not verified."""
    parser = argparse.ArgumentParser(prog="hil verify", description=TITLE)
    text = "folder of a run, or a pack of `hil pack` (default: reports/latest)"
    parser.add_argument("run", type=Path, nargs="?", default=LATEST, help=text)
    text = "compute every compared step again on the reference, without a board, and compare digests and losses"
    parser.add_argument("--recompute", action="store_true", help=text)
    text = "check that the record was signed with the key whose public half is in this file (PEM, or of OpenSSH)"
    parser.add_argument("--signer", type=Path, metavar="FILE", help=text)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(argv)
    from hil.verify.unpack import Unpacked, is_unpacked, is_zip, unpack

    if is_unpacked(options.run):
        return _verify(options, Unpacked(options.run))
    # Another small file is `latest` as a text file.
    if is_zip(options.run) or (options.run.is_file() and options.run.stat().st_size > LARGEST_LATEST):
        with tempfile.TemporaryDirectory(prefix="trainrig-pack-") as place:
            return _verify(options, unpack(options.run, Path(place)))
    return _verify(options, None)


def _verify(options: argparse.Namespace, pack: Any) -> int:
    from hil.verify.signing import added_files, check_signature, fingerprint, is_signed, read_public

    run = read_recorded(options.run if pack is None else pack.record)
    if run.results["run"]["state"] == RUNNING:
        raise RigError(f"the run in {run.folder} did not end, so that its record is not complete: run it to its end.")
    signer = None
    if options.signer is not None:
        key = read_public(options.signer)
        check_signature(run, key)
        signer = fingerprint(key)
    from hil.verify.thorough import thorough  # late: it loads the methods and the boards

    checks = checked(run)
    signed = is_signed(run.folder)
    if signed:
        checks[-1] = Checked(checks[-1].what, 1, tuple(check_sums(run, pages=True)))
        checks.append(Checked((added_files.__doc__ or "").strip(), 1, tuple(added_files(run))))
    checks += thorough(run, listed=not signed)
    if pack is not None:
        from hil.verify.unpack import check_pack

        checks.append(Checked((check_pack.__doc__ or "").partition("\n")[0], 1, tuple(check_pack(pack, run))))
    if not options.json:
        _show_checks(run, checks, signed, signer)
    again = _recompute(options, run, pack) if options.recompute else None
    found = [one for check in checks for one in check.found] + [one for each in again or () for one in each.found]
    whole = again is None or all(each.why == "" or each.of == 0 for each in again)
    code = CONTRADICTED if found else CANNOT if _less(run) or not whole else 0
    if options.json:
        _print_json(run, checks, again, signed, signer, code)
    else:
        print(_sentence(run, found, again, code))
    return code


def _recompute(options: argparse.Namespace, run: RecordedRun, pack: Any) -> list[Any]:
    from hil.record.clients import client  # late: it loads the methods

    done = []
    for trial in run.trials:
        one = client().recomputed(trial, None if pack is None else pack.networks)
        done.append(one)
        if not options.json:
            why = f"; not verified: {one.why}" if one.why else "; what differs:" if one.found else ""
            print(printable(f"{trial.name}: {one.steps:,} of {one.of:,} compared steps computed again and equal{why}"))
            _show_found(one.found)
    return done


def _show_checks(run: RecordedRun, checks: list[Checked], signed: bool, signer: str | None) -> None:
    facts = run.results["run"]
    print(printable(f"run {facts['id']} of {facts['time']}: {len(run.trials)} trials"))
    for check in checks:
        count = len(check.found)
        word = "ok" if not count else "1 contradiction" if count == 1 else f"{count} contradictions"
        if run.is_kept and not check.of and not count:
            word = "not in this copy"
        print(f"{word}: {check.what}")
        _show_found(check.found)
    if signer is not None:
        print(f"ok: Signed with the key of SHA-256 {signer}.")
    elif signed:
        print("not checked: It is signed; name the public key with --signer.")
    else:
        print("not signed: Anybody can make a record that agrees with itself (SECURITY.md).")


def _show_found(found: tuple[Contradiction, ...]) -> None:
    for one in found:
        print(f"    {one.sentence}.")


def _less(run: RecordedRun) -> str:
    """Return what a record does not have that others have, and what nothing shows therefore; empty if it is whole."""
    if run.is_kept:
        return (
            "it is a copy for a repository, with results, tables and pages, but without trial.json, logs and "
            "junit.xml, so that nothing repeats what results.json says of the trials"
        )
    if run.sums is None:
        return (
            "the record is of an older version of trainrig, without SHA256SUMS, so that nothing shows whether its "
            "tables are as they were written"
        )
    return ""


def _sentence(run: RecordedRun, found: list[Contradiction], again: list[Any] | None, code: int) -> str:
    if code == CONTRADICTED:
        count = len(found)
        return f"The record contradicts itself: {count} contradiction{'s' * (count != 1)}."
    less = _less(run)
    if less:
        return f"Not verified: {less}."
    if again is None:
        return "The record agrees with itself; --recompute also computes its steps again."
    steps, of = sum(one.steps for one in again), sum(one.of for one in again)
    if code == CANNOT:
        left = [one.trial for one in again if one.why and one.of]
        return printable(
            f"Not verified: {steps:,} of {of:,} compared steps were computed again; not those of {', '.join(left)}."
        )
    return f"Verified: all {steps:,} compared steps were computed again with the same digests."


def _print_json(
    run: RecordedRun, checks: list[Checked], again: list[Any] | None, signed: bool, signer: str | None, code: int
) -> None:
    answer = {
        "run": run.results["run"]["id"],
        "checks": [
            {"rule": check.what, "of": check.of, "contradictions": [one.to_json() for one in check.found]}
            for check in checks
        ],
        "signed": signed,
        "signer_sha256": signer,
        "sums": run.sums is not None,
        "kept": run.is_kept,
        "recomputed": None
        if again is None
        else [
            {
                "trial": one.trial, "steps": one.steps, "of": one.of, "verified": one.verified, "why": one.why or None,
                "contradictions": [each.to_json() for each in one.found],
            }
            for one in again
        ],
        "exit_code": code,
    }  # fmt: skip
    print(json.dumps(answer, indent=1))
