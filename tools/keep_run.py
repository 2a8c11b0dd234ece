"""Copy a recorded run for the repository: `python tools/keep_run.py reports/latest reports/example`.

The copy has what the pages are rendered from: results.json, and of each trial steps.parquet, latency.parquet and
power.parquet. It also has results.csv, the rendered pages, and SHA256SUMS of its own files. It does not have logs and
junit.xml, which may name the computer and its folders, networks, trial.json, which results.json repeats, nor plotly.js
(2 MB). `run.kept` in results.json says so.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import shutil
import sys
from pathlib import Path

from hil.errors import RigError
from hil.record import read_run
from hil.record.sums import sums_of, write_sums
from hil.record.trial_writer import as_json
from hil.report import render
from hil.report.run_files import LIBRARY

RESULTS = "results.json"
RUN_FILES = (RESULTS, "results.csv")  # all text of a copy is in them; the pages repeat it
TRIAL_FILES = ("steps.parquet", "latency.parquet", "power.parquet")


def keep(source: Path, target: Path) -> None:
    """Replace `target` by a copy of the run in `source`, with its pages rendered again.

    Raises:
        RigError: `source` is no complete run, or its record identifies this computer; nothing is replaced then.
    """
    run = read_run(source)
    if not run.facts["whole"]:
        raise RigError(f"the run in {source} is incomplete: run its tests to their end, and keep that run.")
    _check_private(source)
    if target.exists():
        shutil.rmtree(target)
    for folder in (target / trial.folder for trial in run.trials):
        folder.mkdir(parents=True)
    for name in (*RUN_FILES, *(f"{trial.folder}/{name}" for trial in run.trials for name in TRIAL_FILES)):
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)
    results = json.loads((source / RESULTS).read_text(encoding="utf-8"))
    results["run"]["kept"] = True
    (target / RESULTS).write_text(as_json(results), encoding="utf-8")
    write_sums(target, sums_of(target, run.facts, pages=False))
    render(target)
    (target / LIBRARY).unlink(missing_ok=True)


def _check_private(folder: Path) -> None:
    """Refuse a record that has the name of this computer, the user's home or the current folder."""
    for path in (folder / name for name in RUN_FILES):
        text = path.read_text(encoding="utf-8")
        for word in (platform.node(), str(Path.home()), str(Path.cwd())):
            if word.strip("/") and re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text):
                raise RigError(f"{path} contains {word!r}, which identifies this computer: keep another run.")


def main() -> int:
    """Read the two folders from the command line."""
    parser = argparse.ArgumentParser(description="copy a recorded run without its logs, and render its pages")
    parser.add_argument("source", type=Path, help="folder of a run, such as reports/latest")
    parser.add_argument("target", type=Path, help="folder of the copy, which is replaced")
    options = parser.parse_args()
    try:
        keep(options.source, options.target)
    except RigError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
