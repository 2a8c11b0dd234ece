"""Keep searches of `hil tune` as what the default rates of methods have reached.

python tools/keep_rates.py reports/tune/METHOD-NETWORK ...

Each replaces the search of its method, variant, network and settings in hil/training/methods/default_rates.json. The
table in docs/trials.md is written again, without a folder too. The rows of `[defaults]` in methods.toml must agree with
both (tests/unit/methods/test_default_rates.py).
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hil.errors import RigError
from hil.training.experiments.curve import RUN_FILE, read_run
from hil.training.experiments.trial_runs import TrialRun
from hil.training.experiments.tune import FACTS
from hil.training.methods import METHODS
from hil.training.methods.default_rates import MEASURED, MeasuredRate, format_of, measured, row_of, rows
from hil.training.networks import build, find_network

PAGE = Path(__file__).parents[1] / "docs" / "trials.md"
HEADER = ("method", "taken where", "default", "right before", "right after", "of", "searched")


def kept(folder: Path) -> MeasuredRate:
    """Return the search in a folder, of one momentum.

    Raises:
        RigError: it has several searches, or none.
    """
    (facts, *more) = json.loads((folder / FACTS).read_text(encoding="utf-8"))["searches"]
    runs = sorted(folder.glob(f"runs/*/{RUN_FILE}"))
    run = read_run(runs[0].parent)[0] if runs else None
    if more or not isinstance(run, TrialRun):
        raise RigError(f"{folder} has no single search of `hil tune`: search one momentum.")
    (best,) = [one for one in facts["rates"] if one["eta"] == facts["chosen"]]
    grid = tuple((one["eta"], sum(one["right"]), one["held_out_loss"], one["moved"]) for one in facts["rates"])
    format = format_of(build(run.network, run.seed))
    return MeasuredRate(
        method=run.method, variant=run.variant, network=run.network, data=run.data, format=format,
        settings=dict(run.given), command=" ".join(_command(run, format)), steps=run.row_steps, batch=run.batch,
        seeds=facts["seeds"], images=facts["images"], before=best["start"], after=sum(best["right"]),
        chosen=facts["chosen"], inside=facts["inside"], rates=grid,
    )  # fmt: skip


def _command(run: TrialRun, format: str) -> list[str]:
    """Return the command that repeats a search; its grid begins at the default rate, with the default settings."""
    row = row_of(METHODS[run.method], run.variant, format, dict(run.given))
    defaults = row.settings.items() if row is not None else ()
    words = ["hil", "tune", run.method, run.network]
    words += [f"--variant={run.variant}"] if run.variant != METHODS[run.method].default_variant else []
    data = run.data.rpartition("@")[0]
    words += [f"--data={data}"] if data != find_network(run.network).data else []
    return words + [f"--setting={name}={value}" for name, value in run.given if (name, value) not in defaults]


def page_table() -> list[str]:
    """Return the lines of the table in docs/trials.md: each row of `[defaults]` with its searches."""
    lines = [HEADER, ("---", "---", "---", "---:", "---:", "---:", "---")]
    for method, kind in METHODS.house().items():
        for row in rows(method):
            own = (
                f"`{method}`",
                row.where or "elsewhere",
                ", ".join(f"{name} {value:g}" for name, value in row.settings.items()),
            )
            its = [one for one in measured() if one.method == method and one.row(kind) is row]
            for one in its:
                given = [f"{name} {value}" for name, value in one.settings.items() if name not in row.settings]
                searched = [f"`{one.variant}`", *given, f"`{one.network}`", one.data.rpartition("@")[0], row.reason]
                counts = str(one.before), str(one.after), str(one.images)
                lines.append((*own, *counts, ", ".join(filter(None, searched))))
            if not its:
                lines.append((*own, "", "", "", row.reason))
    return [f"| {' | '.join(line)} |" for line in lines]


def with_table(text: str) -> str:
    """Return the page with the table as it is now."""
    before, header, rest = text.partition(f"| {' | '.join(HEADER)} |\n")
    if not header:
        raise RigError(f"{PAGE.name} has no table of default rates: write its line {' | '.join(HEADER)!r}.")
    return before + "\n".join(page_table()) + "\n\n" + rest.partition("\n\n")[2]


def main(argv: list[str]) -> int:
    """Keep the searches in the folders of the command line, and write the table."""
    parser = argparse.ArgumentParser(description="Keep searches of `hil tune` (see this file).")
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    known = {_key(one): one for one in measured()}
    for found in map(kept, parser.parse_args(argv).folders):
        known[_key(found)] = found
    lines = (json.dumps(_json(known[key])) for key in sorted(known))
    MEASURED.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    measured.cache_clear()
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


def _key(one: MeasuredRate) -> tuple[str, ...]:
    return one.method, one.variant, one.network, json.dumps(dict(one.settings))


def _json(one: MeasuredRate) -> dict[str, Any]:
    """Return a search with losses and shares in the digits that `hil tune` prints."""
    rates = [(rate, right, round(loss, 4), round(moved, 4)) for rate, right, loss, moved in one.rates]
    return asdict(one) | {"rates": rates}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
