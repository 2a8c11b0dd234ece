"""`hil experiment`: train the runs of a table, summarise them, and certify parts of them on the board."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from hil import boards
from hil.arguments import add_workers, output_folder, positive_count
from hil.atomic_write import write_atomic
from hil.bounded_read import read_json
from hil.cluster import Workers
from hil.cluster.options import workers_of
from hil.dataclass_json import rebuilt
from hil.errors import RigError
from hil.record.origin import origin
from hil.training.experiments.certify import Certificate, Segment, one_by_one, segments
from hil.training.experiments.certify_on_workers import certificates, on_bench, resource_of
from hil.training.experiments.choice import outdated
from hil.training.experiments.costs import PAGE, CostExperiment, measure
from hil.training.experiments.curve import LARGEST_JSON, complete
from hil.training.experiments.elasticzo_costs import NAME as COSTS
from hil.training.experiments.elasticzo_costs import ElasticzoCosts
from hil.training.experiments.finished import FinishedRuns
from hil.training.experiments.fqt_costs import FIGURES, FqtCosts
from hil.training.experiments.native_lines import make_library
from hil.training.experiments.options import SEEDS, add_paper_options, refuse_for_costs, selected_table
from hil.training.experiments.paper import PAPERS
from hil.training.experiments.pmt_costs import COST_TABLES, PmtCosts
from hil.training.experiments.pool import Pool, RunLines, grow_grids, make_folders
from hil.training.experiments.render import write
from hil.training.experiments.summary import ExperimentSummary, summarise
from hil.training.experiments.table import PaperTable
from hil.training.experiments.tables import TABLES

EXIT_FAILED = 1
CERTIFICATES, BOARD = "certificates.json", "stm32h7b3"
# Repeats segments on a board; the other arguments are the folder of the runs, and one for the logs.
Repeat = Callable[[Sequence[Segment], str, Path, Path], Iterator[tuple[Segment, Certificate]]]


def main(arguments: list[str]) -> int:
    """Run `hil experiment`; return 1 if a part of it failed on the board."""
    options = _parser().parse_args(arguments)
    if options.experiment not in TABLES and options.experiment in (COSTS, *COST_TABLES, *FIGURES):
        return _measured(options, Console())
    table = selected_table(options)
    board = options.board or BOARD
    boards.load(board)
    out: Path = options.out or Path("reports") / "experiments" / table.name
    console = Console()
    with workers_of(options, partial(console.print, highlight=False, soft_wrap=True)) as workers:
        if not options.certify_only:
            make_library(console)
            finished = None if options.no_cache else FinishedRuns()
            train(table, out, workers, options.resume, console, finished)
        _all_complete(table, out)
        kept = _kept(out) if options.resume else []
        summary = certified(table, out, board, _repeating(options, board, workers), console, kept)
    _show(out / "table.md", console)
    console.print(f"report: {out / 'index.html'}", highlight=False, soft_wrap=True)
    failed = any(one.verdict == "fail" for one in summary.certificates)
    costs_failed = options.experiment in FIGURES and _measured(options, console) == EXIT_FAILED
    return EXIT_FAILED if failed or costs_failed else 0


def _measured(options: argparse.Namespace, console: Console) -> int:
    """Measure what a table or figure costs, on the paper's boards or on the one that is named."""
    name, board = options.experiment, "" if options.board is None else boards.load(options.board).name
    it: CostExperiment[Any]
    if name in FIGURES:
        if name not in TABLES:
            refuse_for_costs(options, ("steps",))
        it = FqtCosts(name, (board,) if board else (), options.steps or 0)
    elif name in COST_TABLES:
        refuse_for_costs(options, ("network", "queries"))
        it = PmtCosts(name, board, options.network or "", options.queries or 0)
    else:
        refuse_for_costs(options)
        it = ElasticzoCosts(board or BOARD)
    out = options.out or Path("reports") / "experiments" / name
    passed = measure(it, out, on_bench, lambda line: console.print(line, highlight=False), _facts())
    _show(out / PAGE, console)
    return 0 if passed else EXIT_FAILED


def _show(page: Path, console: Console) -> None:
    console.print(page.read_text(encoding="utf-8"), markup=False, highlight=False, soft_wrap=True)


def train(
    table: PaperTable,
    out: Path,
    workers: Workers,
    resume: bool,
    console: Console,
    finished: FinishedRuns | None = None,
) -> None:
    """Train all runs of a table into out/runs, and write the table after each stage. Runs of `finished` are copied.

    Raises:
        RigError: the folder holds another experiment, or this one without `resume`; or a run failed.
    """
    runs = out / "runs"
    if runs.is_dir() and any(runs.iterdir()) and not resume:
        raise RigError(f"{out} holds an experiment already: add --resume to continue it, or choose another --out.")
    make_folders(table.runs, runs)
    with RunLines(console) as lines:
        pool = Pool(workers, lines, finished)
        for stage in table.stages:
            pool.train(runs / run.name for run in stage)
            grow_grids(table.searches, runs, pool)
            write(_summary(table, out, _kept(out)), out)


def certified(
    table: PaperTable, out: Path, board: str, repeat: Repeat, console: Console, kept: Sequence[Certificate] = ()
) -> ExperimentSummary:
    """Certify the segments of a trained table on a board, and write the table with the certificates.

    Segments that passed according to the certificates in `kept` are not repeated.
    """
    runs, wanted = out / "runs", list(segments(table.certified, out / "runs"))
    known = {segment.name: one for segment in wanted for one in kept if one.repeats(segment, board, runs)}
    found: list[Certificate] = list(known.values())
    missing = [segment for segment in wanted if segment.name not in known]
    for segment, one in repeat(missing, board, runs, out / "certificates"):
        known[segment.name] = one
        tail = f": {one.reason}" if one.reason else ""
        console.print(f"{one.verdict}: {segment.name}, {one.steps} steps on {board}{tail}", highlight=False)
        found = [known[each.name] for each in wanted if each.name in known]
        write_atomic(out / CERTIFICATES, json.dumps([asdict(each) for each in found], indent=1) + "\n")
    summary = _summary(table, out, found)
    write(summary, out)
    return summary


def _repeating(options: argparse.Namespace, board: str, workers: Workers) -> Repeat:
    """Return how segments are repeated: by the workers of a cluster that have the board, or on the bench here."""
    if options.scheduler is not None and workers.offered(resource_of(board)):
        return partial(certificates, workers=workers)
    return partial(one_by_one, run_trial=on_bench)


def _parser() -> argparse.ArgumentParser:
    text = "Train the table of a paper, and certify it on the board."
    parser = argparse.ArgumentParser(prog="hil experiment", description=text)
    add = parser.add_argument
    experiments = sorted(
        dict.fromkeys((*TABLES, COSTS, *COST_TABLES, *FIGURES)), key=lambda name: PAPERS.index(name.split("-")[0])
    )
    add("experiment", nargs="?", choices=experiments, help="table or figure")
    add("--spec", type=Path, metavar="FILE", help="TOML file with your own experiment, instead of a name")
    seeds = f"number of seeds, from 1 (default: {SEEDS}, fqt-* 5)"
    add("--seeds", type=positive_count, metavar="N", help=seeds)
    add("--epochs", type=positive_count, metavar="E", help="epochs (default: the paper's, or those of the comparison)")
    add("--batch", type=positive_count, metavar="B", help="samples per step (default: the paper's)")
    board = f"board for the certificates (default: {BOARD}), and for the costs of fqt-*, pmt-* (default: the paper's)"
    add("--board", metavar="NAME", help=board)
    add_workers(parser)
    add_paper_options(parser)
    add("--out", type=output_folder, metavar="DIR", help="folder (default: reports/experiments/NAME)")
    add("--resume", action="store_true", help="continue the experiment in the folder")
    add("--no-cache", action="store_true", help="train every run, also those that were trained before")
    add("--certify-only", action="store_true", help="certify the trained experiment in the folder")
    return parser


def _all_complete(table: PaperTable, out: Path) -> None:
    missing = [run.name for run in table.runs if not complete(out / "runs" / run.name)]
    if missing:
        unfinished = f"{len(missing)} runs in {out} are not trained to their end, the first is {missing[0]}"
        raise RigError(f"{unfinished}: add --resume.")
    if others := [run.name for run in table.runs if outdated(out / "runs" / run.name)]:
        changed = f"{len(others)} runs in {out} were trained with a choice that has changed, the first is {others[0]}"
        raise RigError(f"{changed}: add --resume, which trains them again.")


def _kept(out: Path) -> list[Certificate]:
    path, cure = out / CERTIFICATES, "delete it, and certify again"
    entries = read_json(path, LARGEST_JSON, cure) if path.is_file() else []
    if not isinstance(entries, list):
        raise RigError(f"{path} is damaged (it is not a list of certificates): {cure}.")
    return [rebuilt(Certificate, one, f"{path}, certificate {number}", cure) for number, one in enumerate(entries)]


def _summary(table: PaperTable, out: Path, certificates: Sequence[Certificate]) -> ExperimentSummary:
    return summarise(table, out / "runs", _facts(), certificates)


def _facts() -> dict[str, Any]:
    return {"time": datetime.now(timezone.utc).isoformat(timespec="seconds")} | origin()
