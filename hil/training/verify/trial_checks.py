"""Checks of a trial that `hil verify` makes besides those of every record: they know methods and their names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, permutations

from hil import __version__, boards
from hil.record.checks import OfTrial
from hil.record.checks.recorded import RecordedRun, RecordedTrial
from hil.record.contradiction import NOTHING, Contradiction, differ
from hil.record.trial_writer import folder_name
from hil.training.methods import METHODS
from hil.training.trial.gating import catalogue_budgets
from hil.training.trial.spec import short_words, trial_name

SCOPED = "elasticzo-int8"  # the method whose budgets the catalogue has by exponent scope


def check_folder(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """The name of a trial's folder has its board, network, method, variant, batch, first step, latency and seed."""
    record = trial.record
    names = {folder_name(name) for name in _names(trial)}
    if not any(re.fullmatch(rf"{re.escape(name)}(-\d+)?", trial.name) for name in names):
        fields = f"{trial.source} ({record.board}, {record.network}, {record.method}, {record.variant}, ...)"
        yield differ(trial.name, "the name of the folder", trial.name, fields, min(names), trial.name)


def _names(trial: RecordedTrial) -> Iterator[str]:
    """Yield the names that the folder of a trial may have (`TrialSpec.name`).

    Settings are in the name if the test gave them, in its order, and not if they are the method's own. Of a trial that
    was blocked before it was prepared, only the name has them.
    """
    record, table = trial.record, trial.steps
    words = short_words(record.settings)
    orders = chain.from_iterable(permutations(words, count) for count in range(len(words) + 1))
    if not record.settings and record.verdict == "blocked":
        between = re.search(rf"-{re.escape(record.variant)}-(.+?)-(?:b\d|step|latency|seed)", trial.name)
        orders = chain([(between[1],)] if between else [], orders)
    first = int(table["step"][0]) if table is not None and len(table.get("step", ())) else None
    for chosen in orders:
        for number in [first] if first is not None else _numbers(trial.name):
            for latency in (True, False):
                if latency != (record.latency is not None) and (record.latency is not None or record.verdict == "pass"):
                    continue  # latency that was asked for and not measured: the trial did not pass
                subject = record.board, record.network, record.method, record.variant, *chosen
                yield trial_name(subject, record.batch, number, latency, record.seed)


def _numbers(name: str) -> list[int]:
    """Return the first step that a folder names, and 0: without a compared step nothing else tells it."""
    return [0, *(int(word) for word in re.findall(r"-step(\d+)-", name))]


def check_budgets(run: RecordedRun, trial: RecordedTrial) -> Iterator[Contradiction]:
    """Budgets of the catalogue are its own; a budget of the test or of rig.toml is nearer."""
    record, file, place = trial.record, trial.source, f"the catalogue ({trial.record.board})"
    same = run.results["run"]["versions"].get("trainrig") == __version__
    if not same or record.method not in METHODS or record.board not in boards.names():
        return
    board = boards.load(record.board)
    scope = str(record.settings.get("scope", "sample")) if record.method == SCOPED else ""
    own = catalogue_budgets(board, record.variant, record.batch, scope, record.keep)
    figures = {"sram": record.sram["total"], "latency": record.latency}
    for name, figure in figures.items():
        listed = [gate for gate in record.gates if gate["name"] == name]
        limit = own[name][0].limit if name in own else None
        if not listed and limit is not None and figure is not None and not record.wrong_figures:
            yield differ(file, f"the budget of {name}", NOTHING, place, limit, record.folder)
        for gate in listed:
            if gate["source"] == f"of {record.board}" and gate["limit"] != limit:
                yield differ(file, f"limit of the budget of {name}", gate["limit"], place, limit, record.folder)


OF_TRIAL: tuple[OfTrial, ...] = (check_folder, check_budgets)
