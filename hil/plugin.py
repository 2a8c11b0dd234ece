"""The pytest plugin: `--board`, the `trial` fixture, verdicts in terminal, JUnit and exit code, and the report at the end."""

from __future__ import annotations

import argparse
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from hil import boards
from hil.errors import Blocked, RigError
from hil.measure.energy import MLPERF_TINY
from hil.record import RunWriter
from hil.rig import REALITIES, Bench, Rig, choose, is_attached, read_bench
from hil.trial import TrialSpec, run_trial
from hil.trial.outcome import Outcome
from hil.trial.progress import ProgressLine
from hil.trial.recording import latency_table, steps_table, trial_record

EXIT_BLOCKED = 75  # sysexits.h, EX_TEMPFAIL: nothing was wrong with a board, but nothing could be told either
TIERS = ("quick", "nightly")
SUITE = Path(__file__).parent / "suite"
RUN = pytest.StashKey[RunWriter]()
JUNIT = "junit.xml"
EVALUATIONS = 8  # of a training whose way to an accuracy is asked for
WORKER = "trainrig"  # key of what a worker is told


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the rig's options."""
    group = parser.getgroup("trainrig", "hardware-in-the-loop training rig")
    group.addoption(
        "--board",
        action="append",
        default=[],
        metavar="NAME",
        help="board to run the bench tests on (repeatable; `all` for the catalogue)",
    )
    group.addoption(
        "--reality",
        choices=REALITIES,
        default="auto",
        help="attached board or stand-in (default: auto: what rig.toml names, else Renode where it is installed and models the board, "
        "else the board's own stand-in)",
    )
    group.addoption(
        "--tier",
        choices=TIERS,
        default="quick",
        help="quick: what fits between two commits; nightly: that and the long form (default: quick)",
    )
    group.addoption(
        "--rig",
        type=Path,
        default=None,
        metavar="FILE",
        help="description of the bench (default: rig.toml)",
    )
    group.addoption(
        "--wait",
        nargs="?",
        type=float,
        const=math.inf,
        default=0.0,
        metavar="SECONDS",
        help="how long to wait for a board that another session holds; alone: as long as it takes (default: stop at once)",
    )
    group.addoption(
        "--elf", type=Path, default=None, metavar="FILE", help="your own firmware in the place of the prebuilt image"
    )
    group.addoption(
        "--reflash", action="store_true", help="program each board once, even when its flash holds the image already"
    )
    group.addoption(
        "--energy-u",
        type=_share,
        default=None,
        metavar="SHARE",
        help="take energy windows until the 95 %% interval of a step's energy is within +- this share of it, such as 1%%, or say that it was not reached",
    )
    group.addoption(
        "--energy-rules",
        choices=(MLPERF_TINY,),
        default=None,
        help="measure energy by the windows of MLPerf Tiny: five of ten seconds or more, their median, no idle subtracted",
    )
    group.addoption(
        "--energy-to",
        type=_share,
        default=None,
        metavar="ACCURACY",
        help="tell energy and time to an accuracy on the test images, such as 65%%: evaluates in the midst of training too",
    )
    group.addoption(
        "--report-dir",
        type=Path,
        default=Path("reports"),
        metavar="DIR",
        help="where runs are recorded (default: reports)",
    )


def _share(text: str) -> float:
    """Read `1%` or `0.01`."""
    number = text.strip()
    try:
        share = float(number[:-1]) / 100 if number.endswith("%") else float(number)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no share: write 1% or 0.01") from error
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0 and 100 %")
    return share


@pytest.hookimpl(tryfirst=True)  # before pytest's own JUnit writer looks for its path
def pytest_configure(config: pytest.Config) -> None:
    """Check the options; with --board and no path of the user's own, the bench tests are what runs."""
    config.addinivalue_line(
        "markers", "tier(name): run only in this tier: quick (every run) or nightly (--tier=nightly)"
    )
    chosen = config.getoption("board")
    if not chosen:
        return
    try:
        names = boards.names() if "all" in chosen else [boards.load(name).name for name in chosen]
        _bench_of(config)
        for name in names:
            boards.image_of(name, config.getoption("elf"))
    except RigError as error:
        raise pytest.UsageError(str(error)) from error
    config.option.board = list(dict.fromkeys(names))
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = [str(SUITE)]
    if _is_worker(config):
        told = config.workerinput[WORKER]
        config.stash[RUN] = RunWriter(Path(told["folder"]), told["facts"])
        from hil.parallel import end_with_parent

        end_with_parent()
    elif not config.option.collectonly:
        _begin_run(config)


def _begin_run(config: pytest.Config) -> None:
    config.stash[RUN] = RunWriter.begin(config.getoption("report_dir"))
    if config.option.xmlpath is None:
        config.option.xmlpath = str(config.stash[RUN].folder / JUNIT)
    workers = getattr(config.option, "numprocesses", 0)  # not there under `-p no:xdist`, None where -n is not given
    if workers is None and len(config.option.board) > 1 and not config.option.usepdb:
        workers = config.option.numprocesses = min(len(config.option.board), os.cpu_count() or 1)
        config.option.dist, config.option.tx = "load", ["popen"] * workers


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Let a worker of pytest-xdist write into the same run."""
    if RUN in node.config.stash:
        run = node.config.stash[RUN]
        node.workerinput[WORKER] = {"folder": str(run.folder), "facts": run.facts}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give all trials of an attached board to one worker, for it exists once; of stand-ins every worker has its own."""
    if RUN not in config.stash or config.option.dist != "load":
        return None
    from hil.parallel import ByBoard

    bench, reality = _bench_of(config), config.getoption("reality")
    attached = [name for name in config.getoption("board") if is_attached(bench.find(name), reality)]
    return ByBoard(config, log, attached)


def _bench_of(config: pytest.Config) -> Bench:
    """Read the bench; a file that was asked for by name must be there, rig.toml itself need not."""
    asked: Path | None = config.getoption("rig")
    if asked is not None and not asked.is_file():
        raise RigError(
            f"--rig={asked}: there is no such file: put the path right, or leave the option out for the empty bench."
        )
    return read_bench(asked or Path("rig.toml"))


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say which boards run and what stands for them."""
    lines = []
    for name in config.getoption("board"):
        board = boards.load(name)
        try:
            kind = choose(board, _bench_of(config).find(name), config.getoption("reality"))
            claim = (
                "attached board" if kind == "hardware" else f"{kind} stand-in: no figure below was measured on silicon"
            )
        except Blocked as blocked:
            claim = f"blocked: {blocked.reason}"
        lines.append(f"trainrig: {name} ({board.title}), {claim}")
    return lines


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the nightly form out of the quick tier."""
    chosen = TIERS.index(config.getoption("tier"))
    late = [item for item in items if any(TIERS.index(mark.args[0]) > chosen for mark in item.iter_markers("tier"))]
    if late:
        config.hook.pytest_deselected(items=late)
        items[:] = [item for item in items if item not in late]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test that asks for a board on each board that was named."""
    if "hil_board" not in metafunc.fixturenames:
        return
    skipped = [pytest.param("", marks=pytest.mark.skip(reason="name a board: --board=stm32h7b3"))]
    metafunc.parametrize("hil_board", metafunc.config.getoption("board") or skipped)


@pytest.fixture(scope="session")
def run_record(request: pytest.FixtureRequest) -> RunWriter:
    """The folder of this run."""
    return request.config.stash[RUN]


@pytest.fixture(scope="session")
def hil_rig(request: pytest.FixtureRequest, run_record: RunWriter) -> Iterator[Rig]:
    """The rig of this session: boards that it has taken stay its own until the end."""
    config = request.config
    worker = f"-{config.workerinput['workerid']}" if _is_worker(config) else ""
    logs = run_record.folder / f"benches{worker}"
    logs.mkdir()
    with Rig(_bench_of(config), logs, config.getoption("reality"), float(config.getoption("wait"))) as rig:
        yield rig


@pytest.fixture(scope="session")
def hil_reflash(request: pytest.FixtureRequest) -> set[str]:
    """The boards that --reflash has yet to program: one trial of each does it, for a flash wears."""
    return set(request.config.getoption("board")) if request.config.getoption("reflash") else set()


@pytest.fixture
def hil_trial(
    request: pytest.FixtureRequest,
    hil_rig: Rig,
    run_record: RunWriter,
    hil_reflash: set[str],
) -> Callable[..., Outcome]:
    """A function that runs one trial, records it, and ends the test as `blocked` when the rig could not tell."""

    def run(spec: TrialSpec) -> Outcome:
        spec = _with_energy(spec, request.config)
        folder = run_record.trial_folder(spec.name)
        elf = request.config.getoption("elf")
        with _progress_line(request.config, spec) as progress:
            reflash = spec.board in hil_reflash
            outcome = run_trial(spec, hil_rig, folder, elf, progress=progress, reflash=reflash, tell=progress.tell)
        if outcome.flash is not None:
            hil_reflash.discard(spec.board)
        run_record.write_trial(trial_record(outcome), steps_table(outcome), folder, outcome.power, latency_table(outcome))
        for name, value in (
            ("verdict", outcome.verdict),
            ("reality", outcome.reality or "none"),
            ("reason", outcome.reason),
            ("steps_compared", len(outcome.steps)),
        ):
            request.node.user_properties.append((name, value))
        if outcome.verdict == "blocked":
            pytest.fail(f"blocked at stage {outcome.stage!r}: {outcome.reason}", pytrace=False)
        return outcome

    return run


def _with_energy(spec: TrialSpec, config: pytest.Config) -> TrialSpec:
    """Return the trial with its energy measured as the options say, where it is measured at all."""
    if spec.energy is None:
        return spec
    rules = config.getoption("energy_rules")
    uncertainty = None if rules else config.getoption("energy_u") or spec.energy.uncertainty
    accuracy = config.getoption("energy_to") or spec.energy.accuracy
    every = spec.evaluate_every or (max(1, spec.steps // EVALUATIONS) if accuracy is not None else 0)
    energy = replace(spec.energy, uncertainty=uncertainty, rules=rules or spec.energy.rules, accuracy=accuracy)
    return replace(spec, energy=energy, evaluate_every=every)


def _progress_line(config: pytest.Config, spec: TrialSpec) -> ProgressLine:
    """Return the live line, drawn past pytest's capture; none under -q, where the user asked for quiet."""
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        console = Console(file=sys.stdout, quiet=config.option.verbose < 0)
    return ProgressLine(spec, console, capture.global_and_fixture_disabled)


def pytest_report_teststatus(
    report: pytest.TestReport, config: pytest.Config
) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """Show a blocked trial as blocked, not as failed."""
    if report.when == "call" and report.failed and ("verdict", "blocked") in report.user_properties:
        return "blocked", "B", ("BLOCKED", {"yellow": True})
    return None


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Write the record and the report; a run with nothing but blocked trials has an exit code of its own."""
    if RUN not in session.config.stash or _is_worker(session.config):
        return
    from hil.report import render  # late: it brings plotly, and no trial waits for that

    run = session.config.stash[RUN]
    run.finish()
    render(run.folder)
    verdicts = [trial.verdict for trial in run.trials]
    if verdicts and set(verdicts) == {"blocked"} and session.testsfailed == len(verdicts):
        session.exitstatus = EXIT_BLOCKED


def pytest_unconfigure(config: pytest.Config) -> None:
    """Keep a copy of the JUnit file with the run when the user had it written elsewhere."""
    if RUN in config.stash and config.option.xmlpath and not _is_worker(config):
        asked, kept = Path(config.option.xmlpath), config.stash[RUN].folder / JUNIT
        if asked.is_file() and not kept.exists():
            shutil.copyfile(asked, kept)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the verdict table with the provenance of its figures, and where the report is."""
    if RUN not in config.stash or _is_worker(config):
        return
    from hil.trial.terminal import verdict_table

    run = config.stash[RUN]
    terminalreporter.section("trainrig")
    for line in verdict_table(run.trials, terminalreporter._tw.fullwidth):
        terminalreporter.write_line(line)
    terminalreporter.write_line(f"report: {run.folder / 'index.html'}")
