"""`python -m tests.faults.soak`: an hour of trials with faults on virtual boards; what is held stays flat."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from hil import boards
from hil.errors import RigError
from hil.record.soak import FILE
from hil.report import render

from .run import soak, summary
from .self_check import self_check


def main(argv: Sequence[str] | None = None) -> int:
    """Soak, judge, and render the report; 1 where a trial ended wrongly or a figure is not flat."""
    parser = _parser()
    options = parser.parse_args(argv)
    out = options.out or Path("reports") / time.strftime("soak-%Y%m%dT%H%M%SZ", time.gmtime())
    if out.exists() and any(out.iterdir()):
        parser.error(f"--out={out} is not empty: name a folder that is.")
    if len(set(options.boards)) != len(options.boards):
        parser.error("--boards names a board twice: name each once.")
    try:
        names = [boards.load(name).name for name in options.boards]
    except RigError as error:
        parser.error(str(error))
    if options.self_check:
        return self_check(options.seed, names, out)
    print(f"seed {options.seed}", flush=True)
    found = soak(options.seed, options.minutes, names, out, options.trials, say=partial(print, flush=True))
    print(summary(found))
    print(f"{out / FILE}; report: {render(out)}")
    return int(bool(found.wrong or found.not_flat))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults.soak",
        description="Trials with faults in processes that stay; memory, descriptors and threads must stay flat.",
    )
    parser.add_argument("--minutes", type=float, default=60.0, metavar="M", help="how long (default: 60)")
    parser.add_argument("--trials", type=int, metavar="N", help="end each board after N trials, too")
    parser.add_argument(
        "--boards", nargs="+", default=["stm32h7b3", "rp2040"], metavar="NAME", help="default: stm32h7b3 rp2040"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="decides every fault (default: 1)")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help=f"folder of the run; takes {FILE} (default: reports/soak-TIME)"
    )
    parser.add_argument(
        "--self-check",
        action="store_true",
        help="let the rig leak on purpose: descriptors, memory, threads; say whether each is found",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
