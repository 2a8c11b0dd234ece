"""Experiments that measure what training costs: trials on boards, without training.

Memory and work by equation and plan (analytic) stand beside what a board used and executed. There are two files:
costs.json has all figures, costs.md the tables.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from hil.atomic_write import write_atomic
from hil.errors import Blocked
from hil.training.trial import TrialSpec
from hil.training.trial.outcome import Outcome
from hil.training.trial.prepare import Prepared, prepare

RESULTS, PAGE = "costs.json", "costs.md"
KB = 1024
NOTHING = "–"
RunTrial = Callable[[TrialSpec, Path], Outcome]


@dataclass(frozen=True, kw_only=True)
class RowCost:
    """What a row costs.

    Attributes:
        planned: bytes of the arena on the board; None if the board has no room.
        reality, verdict, reason: of the trial; the verdict is `not run` if there was none.
    """

    planned: int | None = None
    reality: str | None = None
    verdict: str = "not run"
    reason: str = ""


AnyCost = TypeVar("AnyCost", bound=RowCost)


class CostExperiment(ABC, Generic[AnyCost]):
    """A table or figure of costs: its rows, their trials, and what its two files say.

    Attributes:
        name: of the experiment.
        differences: from the paper.
    """

    name: str
    differences: Sequence[str]

    @abstractmethod
    def analysed(self) -> list[AnyCost]:
        """Return the costs of all rows, as far as they need no board."""

    @abstractmethod
    def trial(self, cost: AnyCost) -> TrialSpec:
        """Return the trial of a row."""

    def of_plan(self, prepared: Prepared) -> Mapping[str, Any]:
        """Return fields of a cost that the plan of its trial fills."""
        return {"in_flash": prepared.method.in_flash}

    @abstractmethod
    def of_trial(self, outcome: Outcome) -> Mapping[str, Any]:
        """Return fields of a cost that a passed trial fills."""

    def planned(self, cost: AnyCost) -> AnyCost:
        """Return a cost with the plan of its trial, or with the reason why there is none."""
        try:
            prepared = prepare(self.trial(cost))
        except Blocked as error:
            return replace(cost, verdict="blocked", reason=str(error))
        return replace(cost, planned=prepared.plan.total, **self.of_plan(prepared))

    def measured(self, cost: AnyCost, run_trial: RunTrial, folder: Path) -> AnyCost:
        """Return a planned cost with what its trial found; the folder for the logs is made."""
        folder.mkdir(parents=True, exist_ok=True)
        outcome = run_trial(self.trial(cost), folder)
        found = self.of_trial(outcome) if outcome.verdict == "pass" else {}
        return replace(cost, reality=outcome.reality, verdict=outcome.verdict, reason=outcome.reason, **found)

    @abstractmethod
    def called(self, cost: AnyCost) -> tuple[str, str, str]:
        """Return what a cost is called: as a folder, in a line of progress, and beside a reason."""

    @abstractmethod
    def facts(self, costs: Sequence[AnyCost]) -> Mapping[str, Any]:
        """Return what costs.json holds of this experiment."""

    @abstractmethod
    def tables(self, costs: Sequence[AnyCost]) -> list[str]:
        """Return the lines of title and tables."""

    def write(self, costs: Sequence[AnyCost], out: Path, facts: Mapping[str, Any]) -> None:
        """Write both files into a folder, which is made; `facts` are time, versions and host."""
        out.mkdir(parents=True, exist_ok=True)
        whole = {"experiment": self.name, "facts": dict(facts), "differences": list(self.differences)}
        write_atomic(out / RESULTS, json.dumps(whole | dict(self.facts(costs)), indent=1) + "\n")
        write_atomic(out / PAGE, self.page(costs))

    def page(self, costs: Sequence[AnyCost]) -> str:
        """Return the tables, what differs from the paper, and why figures are missing, as Markdown."""
        lines = [*self.tables(costs), "", "What differs from the paper:", ""]
        lines += [f"- {sentence}" for sentence in self.differences]
        if reasons := [f"- {cost.verdict}: {self.called(cost)[2]}: {cost.reason}" for cost in costs if cost.reason]:
            lines += ["", "Without figures of the board:", "", *reasons]
        return "\n".join(lines) + "\n"


def measure(
    it: CostExperiment[Any], out: Path, run_trial: RunTrial, say: Callable[[str], None], facts: Mapping[str, Any]
) -> bool:
    """Measure every row, and write both files after each into `out`; return whether no trial failed."""
    costs = it.analysed()
    it.write(costs, out, facts)
    for place, cost in enumerate(costs):
        folder, said, _ = it.called(cost)
        if cost.planned is not None:
            costs[place] = it.measured(cost, run_trial, out / "trials" / folder)
        say(f"{costs[place].verdict}: {said}")
        it.write(costs, out, facts)
    return not any(cost.verdict == "fail" for cost in costs)


def training_cycles(cycles: Mapping[str, int] | None) -> int:
    """Return the cycles of a step without the digest, which only the rig needs; 0 if none were counted."""
    return sum(cycles.get(phase, 0) for phase in ("perturb", "forward", "backward", "update")) if cycles else 0


def table_line(*entries: str) -> str:
    """Return a line of a table."""
    return "| " + " | ".join(entries) + " |"


def table_lines(heads: Sequence[str], rows: Iterable[Sequence[str]], first: int = 1, last: int = 0) -> list[str]:
    """Return a table whose `first` and `last` columns have words; numbers between them."""
    rule = "|" + "---|" * first + "---:|" * (len(heads) - first - last) + "---|" * last
    return [table_line(*heads), rule, *(table_line(*row) for row in rows)]


def kilobytes(size: int | None) -> str:
    """Return a number of bytes in KB of 1024 bytes, or a dash."""
    return NOTHING if size is None else f"{size / KB:,.1f}"
