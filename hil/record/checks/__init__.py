"""The checks that every reader of a record makes: files that say the same thing must agree (docs/verify.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from hil.errors import RigError, message_of
from hil.record.checks import (
    budgets,
    copies,
    device_tests,
    energy,
    entries,
    figures,
    junit,
    memory,
    provenance,
    tables,
    verdicts,
)
from hil.record.checks.recorded import RecordedRun, RecordedTrial
from hil.record.contradiction import Contradicted, Contradiction
from hil.record.safe_paths import RERUN

MOST = 20  # contradictions that one check lists of one trial or of the run: an edited table may have thousands
DAMAGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)

OfTrial = Callable[[RecordedRun, RecordedTrial], Iterator[Contradiction]]
OfRun = Callable[[RecordedRun], Iterator[Contradiction]]

# The checks of every reader: `hil verify` makes more (hil/verify/thorough.py).
OF_TRIAL: tuple[OfTrial, ...] = (
    entries.check_entry,
    verdicts.check_trial_verdict,
    provenance.check_reality,
    provenance.check_provenance,
    tables.check_steps,
    verdicts.check_digests,
    memory.check_memory,
    figures.check_accuracy,
    figures.check_time,
    energy.check_energy,
    budgets.check_budgets,
    tables.check_latency,
    tables.check_power,
    tables.check_networks,
    entries.check_quantities,
)
OF_RUN: tuple[OfRun, ...] = (
    verdicts.check_tests,
    device_tests.check_device_tests,
    verdicts.check_end,
    copies.check_folders,
    copies.check_csv,
    junit.check_junit,
    copies.check_since,
    verdicts.check_totals,
    copies.check_sums,
)
NOT_IN_A_COPY = (entries.check_entry, entries.check_quantities, tables.check_networks, junit.check_junit)


@dataclass(frozen=True)
class Checked:
    """What one check of a record found.

    Attributes:
        what: the rule that was checked, as a sentence.
        of: number of trials that it looked at; 1 for the run; 0 if it is a copy without the files for it.
        found: the contradictions.
    """

    what: str
    of: int
    found: tuple[Contradiction, ...]


def checked(run: RecordedRun) -> list[Checked]:
    """Return what each check of a run found, in the order in which they name the most.

    Raises:
        RigError: a file is damaged, or its content makes no sense.
    """
    return made(run, OF_TRIAL, OF_RUN)


def made(run: RecordedRun, of_trial: Sequence[OfTrial], of_run: Sequence[OfRun]) -> list[Checked]:
    """Return what checks of the trials, and then of the run, found; errors as of `checked`."""
    done = []
    for check in of_trial:
        found = [one for trial in run.trials for one in _listed(run, check(run, trial))]
        done.append(Checked(_rule(check), 0 if _left_out(run, check) else len(run.trials), tuple(found)))
    for whole in of_run:
        done.append(Checked(_rule(whole), 0 if _left_out(run, whole) else 1, tuple(_listed(run, whole(run)))))
    return done


def _left_out(run: RecordedRun, check: Callable[..., object]) -> bool:
    return run.is_kept and check in NOT_IN_A_COPY


def refuse_contradictions(run: RecordedRun) -> None:
    """Check a run.

    Raises:
        Contradicted: it contradicts itself.
        RigError: a file is damaged, or its content makes no sense.
    """
    _refuse(run, [one for check in checked(run) for one in check.found])


def refuse_trial(folder: Path, trial: RecordedTrial) -> None:
    """Check a trial by itself, as `refuse_contradictions`; `folder` is that of its run, which may not be there."""
    facts: Any = {"state": "ended", "missing": []}
    run = RecordedRun(folder, {"run": facts}, (trial,))  # type: ignore[typeddict-item]  # the checks of a trial need no more
    _refuse(run, [one for check in OF_TRIAL for one in _listed(run, check(run, trial))])


def _refuse(run: RecordedRun, found: Sequence[Contradiction]) -> None:
    if found:
        raise Contradicted(run.folder, found)


def _listed(run: RecordedRun, found: Iterator[Contradiction]) -> list[Contradiction]:
    try:
        return list(islice(found, MOST))
    except RigError:
        raise
    except DAMAGE as error:  # valid by its schema, and senseless
        problem = f"{type(error).__name__}: {message_of(error)}"
        raise RigError(f"the record in {run.folder} is damaged ({problem}): {RERUN}.") from error


def _rule(check: Callable[..., object]) -> str:
    """Return the rule of a check: the first line of its docstring."""
    return (check.__doc__ or "").strip().partition("\n")[0]
