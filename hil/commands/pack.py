"""`hil pack`: one file with a run and what others need to check and repeat it (docs/verify.md)."""

from __future__ import annotations

import argparse
from pathlib import Path

from hil.arguments import output_file
from hil.errors import printable
from hil.record.run_reader import read_recorded


def main(argv: list[str]) -> int:
    """Pack a run and return the exit code."""
    text = (
        "Write one ZIP file with record, firmware, networks, hashes of the data, versions, and the command to repeat."
    )
    parser = argparse.ArgumentParser(prog="hil pack", description=text)
    text = "folder of the run (default: reports/latest)"
    parser.add_argument("run", type=Path, nargs="?", default=Path("reports/latest"), help=text)
    parser.add_argument("--out", type=output_file, metavar="FILE", help="file to be written (default: RUN.zip)")
    options = parser.parse_args(argv)
    from hil.verify.pack import pack

    run = read_recorded(options.run)
    out = options.out or Path(f"{run.results['run']['id']}.zip")
    packed = pack(run, out)
    print(f"{out}: {len(packed.members)} files, {out.stat().st_size:,} bytes")
    for sentence in packed.left_out:
        print(printable(f"not in it: {sentence}"))
    return 0
