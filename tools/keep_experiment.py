"""Copy the record of an experiment for the repository.

python tools/keep_experiment.py reports/experiments/NAME fixtures/experiments/NAME

If all runs have ended, only the results are copied: curves.parquet holds every learning curve with its digests. If the
experiment was interrupted, every run that has begun is copied too: its description, its learning curve, and the last
checkpoint of a run that has not ended. `hil experiment NAME --resume --out COPY` continues from a copy of such a folder
and does not train again the runs that have ended.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

from hil.training.experiments import costs
from hil.training.experiments.choice import CHOICE_FILE
from hil.training.experiments.curve import CURVE_FILE, RUN_FILE, STATE, checkpoint_path, complete, read_curve
from hil.training.experiments.curve import CURVES_FILE as CURVES

FACTS = "results.json"
RESULTS = (FACTS, CURVES, "results.csv", "table.md", "table.tex", "certificates.json")
COSTS = (costs.RESULTS, costs.PAGE)


def keep(source: Path, target: Path) -> None:
    """Replace `target` by the record in `source`."""
    if target.exists():
        shutil.rmtree(target)
    target.mkdir(parents=True)
    for folder in () if _whole(source) else sorted((source / "runs").iterdir()):
        rows = read_curve(folder)
        if not rows:
            continue
        kept = target / "runs" / folder.name
        kept.mkdir(parents=True)
        files = [folder / RUN_FILE, folder / CHOICE_FILE, folder / CURVE_FILE]
        last = rows[-1].epoch
        files += [] if complete(folder) else [checkpoint_path(folder, last), folder / STATE.format(last)]
        for file in (file for file in files if file.exists()):
            shutil.copyfile(file, kept / file.name)
    for name in (*RESULTS, *COSTS):
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)


def _whole(source: Path) -> bool:
    """Return whether the results are there, and every run that they name is trained to its end; costs have no runs."""
    if not (source / "runs").is_dir():
        return True
    results = source / FACTS
    if not results.is_file():
        return False
    return all(
        complete(source / "runs" / run["name"]) for run in json.loads(results.read_text(encoding="utf-8"))["runs"]
    )


def main() -> int:
    """Read the two folders from the command line."""
    parser = argparse.ArgumentParser(description="copy the record of an experiment without its weights")
    parser.add_argument("source", type=Path, help="folder of `hil experiment`")
    parser.add_argument("target", type=Path, help="folder of the record, which is replaced")
    options = parser.parse_args()
    if not (options.source / "runs").is_dir() and not (options.source / costs.RESULTS).is_file():
        parser.error(f"{options.source} holds no experiment: name the folder that `hil experiment --out` wrote.")
    if (options.source / FACTS).is_file() and not (options.source / CURVES).is_file():
        cure = "`hil experiment NAME --resume` writes both"
        parser.error(f"{options.source} holds {FACTS} without {CURVES}: {cure}.")
    keep(options.source, options.target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
