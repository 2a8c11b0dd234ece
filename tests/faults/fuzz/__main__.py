"""`python -m tests.faults.fuzz --seconds 3600 --seed 1 [--side rig|agent] [--only N]`: fuzz, print what was found, exit 1 where anything was wrong."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from .recording import recorded
from .replies import fuzz_replies
from .requests import fuzz_requests


def main() -> int:
    """Fuzz the rig by mutated replies, the agent by mutated requests, or one after the other, each for so long."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.fuzz", description=main.__doc__)
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="of each side, after what it needs was made (default: %(default)g)"
    )
    parser.add_argument("--seed", type=int, default=1, help="of everything that is drawn (default: %(default)s)")
    parser.add_argument("--side", choices=["rig", "agent"], help="one side only")
    parser.add_argument("--only", type=int, help="the number of one trial or process of that seed, to run it again")
    chosen = parser.parse_args()
    wrong = 0
    for side in [chosen.side] if chosen.side else ["rig", "agent"]:
        with tempfile.TemporaryDirectory() as folder:
            if side == "rig":
                found = fuzz_replies(recorded(Path(folder)), chosen.seconds, chosen.seed, chosen.only)
            else:
                found = fuzz_requests(Path(folder), chosen.seconds, chosen.seed, chosen.only)
        print(f"{side}, seed {chosen.seed}: {found}", flush=True)
        wrong += len(found.wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
