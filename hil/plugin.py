"""The pytest plugin: `--board`, the `hil_trial` fixture, verdicts in terminal, JUnit and exit code, and the report at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from hil import boards
from hil.errors import Blocked, RigError, printable
from hil.record import AskedTest, RunWriter, TrialWriter
from hil.rig import Bench, Rig, choose, is_attached, read_bench
from hil.session import summary
from hil.session.course import ASKS, Course
from hil.session.ledger import JUNIT, Ledger, write_plan
from hil.session.options import BOARD_PATHS, TIERS, add_options, command
from hil.session.trials import Trials
from hil.trial import TrialSpec
from hil.trial.outcome import Outcome

SUITE = Path(__file__).parent / "suite"
TRIALS = pytest.StashKey[TrialWriter]()  # where trials are written, of this process or of the one that began the run
LEDGER = pytest.StashKey[Ledger]()  # in the process that began the run
COURSE = pytest.StashKey[Course]()
SUMMARISED = pytest.StashKey[bool]()
WORKER = "trainrig"  # key of what a worker is told


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the rig's options."""
    add_options(parser)


@pytest.hookimpl(tryfirst=True)  # before pytest's own JUnit writer looks for its path
def pytest_configure(config: pytest.Config) -> None:
    """Check the options, and with --board begin the run."""
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
    _choose_paths(config)
    if _is_worker(config):
        config.stash[TRIALS] = TrialWriter(Path(config.workerinput[WORKER]))
        from hil.parallel import end_with_parent

        end_with_parent()
    elif not config.option.collectonly:
        _begin_run(config)


def _choose_paths(config: pytest.Config) -> None:
    """Choose what runs where the command line names no path: what the project says, else its testpaths, else all tests here and the bench tests."""
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        return
    own = config.getini(BOARD_PATHS)
    if own:
        config.args = [str(config.rootpath / path) for path in own]
    elif config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        config.args = [*config.args, str(SUITE)]


def _begin_run(config: pytest.Config) -> None:
    folder = config.getoption("report_dir")
    try:
        run = RunWriter.begin(folder, command=command(config))
    except OSError as error:
        raise pytest.UsageError(
            f"--report-dir={folder}: no run can be recorded there ({error.strerror or error}): name a folder that can be written."
        ) from error
    config.stash[TRIALS], config.stash[LEDGER] = run, Ledger(run)
    config.pluginmanager.register(config.stash[LEDGER], "trainrig-ledger")
    if config.option.xmlpath is None:
        config.option.xmlpath = str(run.folder / JUNIT)
    workers = getattr(config.option, "numprocesses", 0)  # not there under `-p no:xdist`, None where -n is not given
    if workers is None and len(config.option.board) > 1 and not config.option.usepdb:
        workers = config.option.numprocesses = min(len(config.option.board), os.cpu_count() or 1)
        config.option.dist, config.option.tx = "load", ["popen"] * workers


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Let a worker of pytest-xdist write into the same run."""
    if TRIALS in node.config.stash:
        node.workerinput[WORKER] = str(node.config.stash[TRIALS].folder)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give all trials of an attached board to one worker, for it exists once; of stand-ins every worker has its own."""
    if LEDGER not in config.stash or config.option.dist != "load":
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


@pytest.hookimpl(tryfirst=True)  # before a worker says that it has collected
def pytest_collection_finish(session: pytest.Session) -> None:
    """Plan every test that asks for a trial, so that none is lost whatever comes."""
    config = session.config
    if TRIALS not in config.stash:
        return
    planned = []
    for item in session.items:
        course = item.stash[COURSE] = Course(_asked(item), bool(ASKS & set(getattr(item, "fixturenames", ()))))
        if course.asks:
            planned.append((item.nodeid, course.asked))
    if LEDGER in config.stash:
        config.stash[LEDGER].plan(planned)
        return
    try:
        write_plan(config.stash[TRIALS].folder, planned)
    except OSError as error:
        session.config.issue_config_time_warning(
            pytest.PytestWarning(f"the list of tests could not be written: {error}"), 2
        )


def _asked(item: pytest.Item) -> AskedTest:
    """Return a test as the record names it: one of the bench suite the same from wherever it is run."""
    name = item.nodeid
    callspec = getattr(item, "callspec", None)
    board = callspec.params.get("hil_board") if callspec is not None else None
    words: tuple[str, ...] = (name,)
    if item.path.parent == SUITE:
        tail = name.partition("::")[2]
        name, words = f"hil/suite/{item.path.name}::{tail}", ("--pyargs", f"hil.suite.{item.path.stem}::{tail}")
    named = board if isinstance(board, str) else None
    return AskedTest(test=printable(name), board=named, repeat=command(item.config, words, board))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any) -> None:
    """Take the plan that the workers have made."""
    if LEDGER in node.config.stash:
        node.config.stash[LEDGER].plan_of_workers()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test that asks for a board on each board that was named."""
    if "hil_board" not in metafunc.fixturenames:
        return
    skipped = [pytest.param("", marks=pytest.mark.skip(reason=summary.NO_BOARD))]
    metafunc.parametrize("hil_board", metafunc.config.getoption("board") or skipped)


@pytest.fixture(scope="session")
def run_record(request: pytest.FixtureRequest) -> TrialWriter:
    """The folder of this run."""
    if TRIALS not in request.config.stash:
        pytest.skip(summary.NO_BOARD)
    return request.config.stash[TRIALS]


@pytest.fixture(scope="session")
def hil_rig(request: pytest.FixtureRequest, run_record: TrialWriter) -> Iterator[Rig]:
    """The rig of this session: boards that it has taken stay its own until the end."""
    config = request.config
    worker = f"-{config.workerinput['workerid']}" if _is_worker(config) else ""
    logs = run_record.folder / f"benches{worker}"
    try:
        logs.mkdir(exist_ok=True)  # a plugin that runs a test again may end this fixture in between
    except OSError as error:
        raise Blocked(
            "record", f"{run_record.folder} takes no folder for logs ({error.strerror or error}): see to the disk."
        ) from error
    with Rig(_bench_of(config), logs, config.getoption("reality"), float(config.getoption("wait"))) as rig:
        yield rig


@pytest.fixture(scope="session")
def hil_reflash(request: pytest.FixtureRequest) -> set[str]:
    """The boards that --reflash has yet to program: one trial of each does it, for a flash wears."""
    return set(request.config.getoption("board")) if request.config.getoption("reflash") else set()


@pytest.fixture
def hil_trial(
    request: pytest.FixtureRequest, hil_rig: Rig, run_record: TrialWriter, hil_reflash: set[str]
) -> Callable[[TrialSpec], Outcome]:
    """A function that runs one trial and records it.

    It raises what ends the test with its verdict: RigError (refused), Blocked. A trial that fails is returned; the test fails with it, whatever it makes of it.
    """
    course = request.node.stash[COURSE]
    course.asks = True  # also where it is asked for by request.getfixturevalue
    return Trials(request.config, hil_rig, run_record, hil_reflash, course).run


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Begin the course of a test."""
    if COURSE in item.stash:
        item.stash[COURSE].begin()
    return (yield from _phase(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Follow the test itself."""
    return (yield from _phase(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """Follow its end, where fixtures may run trials too."""
    return (yield from _phase(item))


def _phase(item: pytest.Item) -> Generator[None, Any, Any]:
    course = item.stash.get(COURSE, None)
    return (yield from course.ran()) if course is not None else (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)  # after pytest's own view on xfail
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the verdict into the report."""
    report = yield
    if COURSE in item.stash:
        item.stash[COURSE].take(report, call)
    return report


def pytest_report_teststatus(
    report: pytest.TestReport, config: pytest.Config
) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    """Show a blocked trial as blocked, not as failed; a refused one is a failure that has a word of its own."""
    verdict = getattr(report, "trainrig_phase", None)
    if verdict == "blocked" and report.failed:
        return "blocked", "B", ("BLOCKED", {"yellow": True})
    if verdict == "refused" and report.failed:
        return "failed", "R", ("REFUSED", {"red": True})
    return None


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With --require-board, tests that ask for a board are an error where none is named."""
    config = session.config
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if config.getoption("require_board") and reporter is not None and summary.without_board(reporter):
        session.exitstatus = pytest.ExitCode.USAGE_ERROR


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the verdict table with the provenance of its figures, and where the report is."""
    if LEDGER in config.stash:
        summary.write(terminalreporter, config.stash[LEDGER])
        config.stash[SUMMARISED] = True
    elif not _is_worker(config):
        summary.warn_without_board(terminalreporter, config.getoption("require_board"))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Print the verdicts where pytest has ended without its summary, after an internal error."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if LEDGER in config.stash and SUMMARISED not in config.stash and reporter is not None:
        summary.write(reporter, config.stash[LEDGER])
