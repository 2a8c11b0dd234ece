"""`hil tune METHOD NETWORK`: find a learning rate, and momentum, with the search of the experiments."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from hil.arguments import add_workers, name_and_value, output_folder, positive_count
from hil.atomic_write import write_atomic
from hil.cluster.options import workers_of
from hil.errors import RigError
from hil.number_text import number
from hil.record.origin import origin
from hil.training.data import load
from hil.training.data.names import PART
from hil.training.experiments.costs import table_lines
from hil.training.experiments.finished import FinishedRuns
from hil.training.experiments.pool import Pool, RunLines, grow_grids, make_folders
from hil.training.experiments.rate_search import (
    RateResult,
    RateSearch,
    above,
    below,
    best_of,
    results,
    search_facts,
    search_remarks,
)
from hil.training.experiments.trial_runs import TrialRun
from hil.training.methods import find_method
from hil.training.networks import find_network
from hil.training.trial.least_rate import least_rate

STEPS, SEEDS, BATCH = 60, 3, 20
HELD_OUT = 5  # one of so many training images is held out
FACTS = "tune.json"


@dataclass(frozen=True)
class Tuned:
    """The finished search of one momentum; `momentum` is None if none was asked for."""

    momentum: float | None
    search: RateSearch[TrialRun]
    rates: tuple[RateResult, ...]

    @property
    def best(self) -> RateResult:
        """The chosen rate."""
        return best_of(self.rates)


def main(arguments: list[str]) -> int:
    """Run `hil tune`; return 0 also if no rate helps, which the output says."""
    options = _parser().parse_args(arguments)
    searches = searches_of(options)
    out: Path = options.out or Path("reports") / "tune" / f"{options.method}-{Path(options.network).name}"
    runs = out / "runs"
    if runs.is_dir() and any(runs.iterdir()) and not options.resume:
        raise RigError(f"{out} holds a search already: add --resume to continue it, or choose another --out.")
    console = Console()
    say = partial(console.print, markup=False, highlight=False, soft_wrap=True)
    with workers_of(options, say) as workers, RunLines(console) as lines:
        pool = Pool(workers, lines, None if options.no_cache else FinishedRuns())
        first = [run for search in searches.values() for run in search.first_runs()]
        make_folders(first, runs)
        pool.train(runs / run.name for run in first)
        grow_grids(searches.values(), runs, pool)
    found = [Tuned(momentum, search, tuple(results(runs, search.stem))) for momentum, search in searches.items()]
    record = [dict(search_facts(runs, one.search)) for one in found]
    write_atomic(out / FACTS, json.dumps({"searches": record} | origin(), indent=1) + "\n")
    for line in said(found, runs):
        say(line)
    return 0


def searches_of(options: argparse.Namespace) -> dict[float | None, RateSearch[TrialRun]]:
    """Return the search of each momentum that the options ask for.

    Raises:
        RigError: an unknown name, a method without learning rate or momentum, a wrong number.
        Blocked: the variant trains nothing of the network.
    """
    kind = find_method(options.method)
    if "eta" not in kind.kind.table:
        raise RigError(f"{options.method} has no learning rate: see its settings with `hil methods {options.method}`.")
    if options.momentum is not None and "momentum" not in kind.kind.table:
        raise RigError(f"--momentum is given, and {options.method} has no setting momentum: leave it out.")
    base = _base(options, kind.default_variant)
    method = base.on_network()
    eta = method.settings.eta
    rates = (below(eta), eta, above(eta)) if options.rates is None else _numbers("rates", options.rates)
    for rate in rates:
        replace(base, eta=rate).on_network()
    momenta = (None,) if options.momentum is None else _numbers("momentum", options.momentum)
    found: dict[float | None, RateSearch[TrialRun]] = {}
    for momentum in momenta:
        its = {} if momentum is None else {"momentum": momentum}
        column = "tune" if momentum is None else f"momentum{momentum:g}"
        one = replace(base, column=column, given=tuple((dict(base.given) | its).items()))
        one.on_network()
        found[momentum] = RateSearch(one, rates, options.seeds)
    return found


def _base(options: argparse.Namespace, default_variant: str) -> TrialRun:
    """Return the run that is searched, on the training images that are not held out."""
    name = options.data or find_network(options.network).data
    images = len(load(name).train_images)
    if (part := PART.fullmatch(name)) is None or part["held"] is None:
        held = max(images // HELD_OUT, 1)
        images -= held
        name = f"{name}@{images}-{held}"
    if options.batch > images:
        left = f"the {images} training images of {name}"
        raise RigError(f"--batch is {options.batch}, larger than {left}: choose a smaller batch.")
    steps = options.steps or STEPS
    if options.epochs is not None:
        steps = options.epochs * (images // options.batch)
    return TrialRun(
        name, "tune", options.variant or default_variant, 1, 1, options.batch, options.network, options.method, steps,
        tuple(dict(options.setting).items()),
    )  # fmt: skip


def said(found: Sequence[Tuned], runs: Path) -> Iterator[str]:
    """Yield the lines about finished searches: the grids, the choice, and how to use it."""
    best = min(found, key=lambda one: (one.best.moved == 0, one.best.failed, -one.best.count, one.best.held_out_loss))
    for one in found:
        yield from _grid(one, runs)
    if best.best.moved == 0:
        base = best.search.base
        found_rate = least_rate(replace(base, eta=best.rates[-1].eta).on_network(), load(base.data))
        moves = "" if found_rate is None else f", from {found_rate:g} on one moves in the first step that trains"
        yield f"No rate of the grid moves a weight{moves}: give larger ones with --rates."
        return
    if best.best.harmful:
        cure = "train longer, give other --rates, or --data that the network was not trained on"
        yield f"No rate has more right images than the weights before training: {cure}."
        return
    base = best.search.base
    settings = dict(base.given) | {"eta": best.best.eta}
    inside = best.rates[0].eta < best.best.eta < best.rates[-1].eta
    yield f"chosen: {_text(settings)} ({'inside its grid' if inside else 'at an end of its grid'})"
    steps = base.row_steps
    yield ""
    yield "In a test:"
    fields = f'network="{base.network}", method="{base.method}", batch={base.batch}, steps={steps}'
    yield f'    TrialSpec(board, "{base.variant}", {fields}, settings={json.dumps(settings)})'
    yield "In the file of `hil campaign start --spec` (rig.toml names no trial):"
    for key in ("network", "method", "variant"):
        yield f'    {key} = "{getattr(base, key)}"'
    yield f"    batch = {base.batch}"
    yield f"    settings = {{ {', '.join(f'{name} = {json.dumps(value)}' for name, value in settings.items())} }}"


def _grid(one: Tuned, runs: Path) -> Iterator[str]:
    base, best, facts = one.search.base, one.best, search_facts(runs, one.search)
    its = "" if one.momentum is None else f", momentum {one.momentum:g}"
    where = f"{base.row_steps} steps of {base.batch} on {base.data}, {one.search.seeds} seeds"
    yield f"{base.method} {base.variant} on {base.network}{its}: {where}"
    yield ""
    rows = [("before training", str(best.start), str(best.images), "", "", "")]
    for rate in one.rates:
        note = "chosen" if rate is best else "a step failed" if rate.failed else ""
        loss, moved = f"{rate.held_out_loss:.4f}", f"{rate.moved:.1%}"
        rows.append((f"{rate.eta:g}", str(rate.count), str(rate.images), loss, moved, note))
    yield from table_lines(("rate", "right", "of", "held-out loss, nats", "moved", ""), rows, 1, 1)
    yield ""
    yield from (f"  {remark}" for remark in search_remarks(facts))


def _text(settings: Mapping[str, int | float | str]) -> str:
    words = {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in settings.items()}
    return ", ".join(f"{name} {word}" for name, word in words.items())


def _numbers(option: str, text: str) -> tuple[float, ...]:
    try:
        found = tuple(sorted({number(word) for word in text.split(",")}))
    except ValueError:
        found = ()
    least_included = option == "momentum"  # 0 is plain steps
    if not found or not all(0 < one < float("inf") or (one == 0 and least_included) for one in found):
        raise RigError(f"--{option} is {text!r}: give positive numbers, separated by commas.")
    return found


def _parser() -> argparse.ArgumentParser:
    text = "Find a learning rate for a trial, by counts of right held-out images (docs/experiments.md)."
    parser = argparse.ArgumentParser(prog="hil tune", description=text)
    add = parser.add_argument
    add("method", metavar="METHOD", help="training method (`hil methods`)")
    add("network", metavar="NETWORK", help="network, or the path of one (`hil networks`)")
    add("--variant", metavar="NAME", help="variant of the method (default: its default)")
    add(
        "--data",
        metavar="NAME",
        help="data set (default: that of the network); a fifth of its training part is held out",
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--steps", type=positive_count, metavar="N", help=f"steps of a run (default: {STEPS})")
    length.add_argument("--epochs", type=positive_count, metavar="E", help="epochs of a run, instead of --steps")
    add("--batch", type=positive_count, default=BATCH, metavar="B", help=f"samples in a step (default: {BATCH})")
    add("--seeds", type=positive_count, default=SEEDS, metavar="N", help=f"seeds of each rate (default: {SEEDS})")
    add("--rates", metavar="LIST", help="rates to begin with (default: half a decade around the default rate)")
    add("--momentum", metavar="LIST", help="momenta to search, each with a grid of its own")
    setting = "another setting of the method (repeatable)"
    add("--setting", type=name_and_value, action="append", default=[], metavar="NAME=VALUE", help=setting)
    add_workers(parser)
    add("--out", type=output_folder, metavar="DIR", help="folder (default: reports/tune/METHOD-NETWORK)")
    add("--resume", action="store_true", help="continue the search in the folder")
    add("--no-cache", action="store_true", help="train every run, also those that were trained before")
    return parser
