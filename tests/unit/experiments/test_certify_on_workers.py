"""Certificates from workers that have the board: the same as on the bench here, whatever order they come in."""

from __future__ import annotations

import pickle
from argparse import Namespace
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hil.cluster import Failure, Task
from hil.cluster.task import carry_out
from hil.training.experiments import certify_on_workers, command
from hil.training.experiments.certify import Segment, one_by_one
from hil.training.experiments.certify_on_workers import certificates
from hil.training.experiments.curve import read_run
from hil.training.experiments.train import Training
from hil.trial import TrialSpec
from hil.trial.outcome import Outcome

from .test_certify import on_fake


class Inline:
    """Workers that are this process, and answer the last task first."""

    def __init__(self, offers: str = "board:stm32h7b3") -> None:
        self.offers, self.lost = offers, ""

    def offered(self, resource: str) -> int:
        return int(resource == self.offers)

    def run(self, tasks: Iterable[Task], resource: str) -> Iterator[tuple[Task, Any]]:
        assert self.offered(resource)
        for task in reversed(list(tasks)):
            call, arguments = pickle.loads(pickle.dumps((task.call, task.arguments)))
            dead = Failure("its worker died, 4 of 4 times: look for what ended it.")
            yield task, dead if task.name == self.lost else carry_out(call, arguments, None)


def bench(spec: TrialSpec, folder: Path) -> Outcome:
    """The fake board, with a log."""
    (folder / "log").mkdir()
    (folder / "log" / "train.log").write_text(f"from step {spec.first_step}")
    return on_fake(spec, folder)


@pytest.fixture
def trained(begun, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(certify_on_workers, "on_bench", bench)
    folder = begun(epochs=2)
    list(Training(folder).epochs())
    return folder


def test_they_are_those_of_the_bench_here(trained: Path, tmp_path: Path) -> None:
    parts = [Segment(read_run(trained)[0], epoch, 20) for epoch in (0, 1)]
    there = certificates(parts, "stm32h7b3", trained.parent, tmp_path / "there", Inline())  # type: ignore[arg-type]
    here = one_by_one(parts, "stm32h7b3", trained.parent, tmp_path / "here", bench)
    found, expected = dict(there), dict(here)
    assert list(found) == parts[::-1] and found == expected and {one.verdict for one in found.values()} == {"pass"}
    for part in parts:
        logs = [tmp_path / where / part.name / "log" / "train.log" for where in ("there", "here")]
        assert logs[0].read_text() == logs[1].read_text() == f"from step {20 * part.epoch}"


def test_a_worker_that_dies_with_its_trial_blocks_the_certificate(trained: Path, tmp_path: Path) -> None:
    parts = [Segment(read_run(trained)[0], epoch, 20) for epoch in (0, 1)]
    some = Inline()
    some.lost = parts[0].name
    found = dict(certificates(parts, "stm32h7b3", trained.parent, tmp_path / "logs", some))  # type: ignore[arg-type]
    assert found[parts[0]].verdict == "blocked" and "its worker died" in found[parts[0]].reason
    assert found[parts[1]].verdict == "pass"


def test_where_they_are_made() -> None:
    """On a cluster only if a worker there has the board."""
    workers: Any = Inline()
    for scheduler, board, function in (
        (None, "stm32h7b3", one_by_one),
        ("tls://lab:8786", "stm32h7b3", certificates),
        ("tls://lab:8786", "rp2040", one_by_one),
    ):
        repeat: Any = command._repeating(Namespace(scheduler=scheduler), board, workers)
        assert repeat.func is function


def test_the_table_keeps_their_order(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = read_run(trained)[0]
    parts = [Segment(run, epoch, 20) for epoch in (0, 1)]
    monkeypatch.setattr(command, "segments", lambda runs, folder: iter(parts))
    noted: list[Any] = []
    monkeypatch.setattr(command, "_summary", lambda table, out, certificates: noted.extend(certificates))
    monkeypatch.setattr(command, "write", lambda summary, out: None)
    workers: Any = Inline()
    repeat = command._repeating(Namespace(scheduler="tls://lab:8786"), "stm32h7b3", workers)
    table: Any = Namespace(certified=())
    out = trained.parents[1]
    command.certified(table, out, "stm32h7b3", repeat, command.Console(quiet=True))
    assert [one.epoch for one in noted] == [0, 1] and command._kept(out) == noted
    kept = [noted[0], replace(noted[1], verdict="fail")]
    workers.run = lambda tasks, resource: (pytest.fail("repeated") for task in tasks if task.tag[0] is parts[0])
    noted.clear()
    command.certified(table, out, "stm32h7b3", repeat, command.Console(quiet=True), kept)
    assert [one.epoch for one in noted] == [0]
