"""`python -m tests.faults.campaign`: draw faults, carry them out, judge them, and write faults.json."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .fault import drawn, kind_at
from .kinds import KINDS, gate
from .measure import measure
from .record import FILE, Record, commit, merge
from .run import results
from .self_check import self_check


def main(argv: Sequence[str] | None = None) -> int:
    """Run a shard of a campaign, merge shards, or check the judge; 1 where an end was wrong."""
    options = _parser().parse_args(argv)
    options.out = options.out.resolve()  # each fault has a working folder of its own
    options.out.mkdir(parents=True, exist_ok=True)
    if options.merge:
        whole = merge(options.merge, options.again)
        (options.out / FILE).write_text(whole.to_json(), encoding="utf-8")
        print(whole.summary())
        return int(not whole.holds)
    print(
        f"seed {options.seed}: python -m tests.faults.campaign --faults {options.faults} --seed {options.seed}",
        flush=True,
    )
    if options.self_check:
        return self_check(options.out)
    shard, shards = options.shard
    numbers = options.only or (gate() if options.gate else range(shard - 1, options.faults, shards))
    numbers = [number for number in numbers if re.search(options.kinds, kind_at(KINDS, number).name)]
    with tempfile.TemporaryDirectory(dir=options.out) as folder:
        measured = measure(Path(folder), {kind_at(KINDS, number).scene for number in numbers})
    faults = [(number, drawn(KINDS, options.seed, number, measured)) for number in numbers]
    record = Record(options.seed, options.faults, [f"{shard}/{shards}"], commit(), [])
    for row in results(faults, measured, options.out, options.jobs):
        record.rows.append(row)
        print(record.line(row), flush=True)
        (options.out / FILE).write_text(record.to_json(), encoding="utf-8")
    print(record.summary(), flush=True)
    return int(not record.holds)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.campaign", description="Seeded faults on the real path, each judged."
    )
    parser.add_argument("--faults", type=int, default=2000, metavar="N", help="of the whole campaign (default: 2000)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="decides every fault (default: 1)")
    parser.add_argument(
        "--shard",
        type=_shard,
        default=(1, 1),
        metavar="I/N",
        help="only every N-th fault, from the I-th (default: 1/1)",
    )
    parser.add_argument(
        "--jobs", type=int, default=2, metavar="J", help="faults at a time, each on a bench of its own (default: 2)"
    )
    parser.add_argument("--kinds", default="", metavar="REGEX", help="only faults in whose kind this is found")
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER", help="only these faults, to run them again")
    parser.add_argument("--gate", action="store_true", help="only the faults that every run of the tests has")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("reports/faults"),
        metavar="DIR",
        help=f"takes {FILE}, and the folders of wrong ends",
    )
    parser.add_argument("--merge", type=Path, nargs="+", metavar="FILE", help=f"merge the {FILE} of shards into one")
    parser.add_argument(
        "--again",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help=f"with --merge: the {FILE} of faults that were run again by --only; their rows name their commit",
    )
    parser.add_argument(
        "--self-check",
        action="store_true",
        help="break the rig on purpose, once for each wrong outcome, and say what the judge finds",
    )
    return parser


def _shard(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is not I/N with I from 1 to N")
    return int(found[1]), int(found[2])


if __name__ == "__main__":
    sys.exit(main())
