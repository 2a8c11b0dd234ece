"""The pytest plugin: `--board`, the `hil_trial` fixture, verdicts in terminal, JUnit and exit code, and the report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hil import boards
from hil.errors import Blocked, RigError
from hil.history.earlier import EarlierNights
from hil.history.keeper import Keeper
from hil.history.live import LiveHistory
from hil.images import image_of
from hil.record import RunWriter, TrialWriter
from hil.rig import Rig, choose, is_attached, seats
from hil.rig_toml import Bench, read_bench
from hil.session import ci, collection, summary, tracker
from hil.session.options import BOARD_PATHS, SUITE, add_options, command
from hil.session.recorder import JUNIT, RECORDER, Recorder
from hil.session.run_trial import EARLIER, KEEPER, WRITER, Trials
from hil.session.tracker import TRACKER
from hil.session.workers_line import WorkersLine
from hil.trial import TrialSpec
from hil.trial.outcome import Outcome

SUMMARISED = pytest.StashKey[bool]()
BENCH = pytest.StashKey[Bench]()  # of the config: what rig.toml says
# In `workerinput` of a worker of pytest-xdist: the folder of the run, and its identity.
FOLDER_KEY, UID_KEY = "trainrig", "trainrig-uid"
STAND_IN_WORKERS = 4  # at most, without -n: each needs about 300 MB


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the rig's options, and the hooks of the other modules."""
    add_options(parser)
    pluginmanager.register(collection)
    pluginmanager.register(tracker)


@pytest.hookimpl(tryfirst=True)  # before pytest's JUnit writer reads its path
def pytest_configure(config: pytest.Config) -> None:
    """Check the options, and with --board begin the run."""
    text = "tier(name): run only in this tier: quick (every run) or nightly (--tier=nightly)"
    config.addinivalue_line("markers", text)
    text = (
        'budget(sram="256 KiB", step_time=["310 ms", "+2 %"], ...): budgets of the trials of the test (docs/gates.md)'
    )
    config.addinivalue_line("markers", text)
    chosen = config.getoption("board")
    if not chosen:
        return
    try:
        names = boards.names() if "all" in chosen else [boards.load(name).name for name in chosen]
        config.stash[BENCH] = _read_bench(config)
        for name in names:
            image_of(name, config.getoption("elf"))
    except RigError as error:
        raise pytest.UsageError(str(error)) from error
    config.option.board = list(dict.fromkeys(names))
    _choose_paths(config)
    worker = _worker_input(config)
    if worker is not None:
        config.stash[WRITER] = TrialWriter(Path(worker[FOLDER_KEY]))
        config.stash[EARLIER] = _earlier(config, worker[UID_KEY])
        config.stash[KEEPER] = _keeper(config)
        from hil.session.xdist import end_with_parent

        end_with_parent()
    elif not config.option.collectonly:
        _begin_run(config)


def _choose_paths(config: pytest.Config) -> None:
    """Without paths on the command line run `board_testpaths`, else `testpaths`, else all tests and the bench tests."""
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        return
    own = config.getini(BOARD_PATHS)
    if own:
        config.args = [str(config.rootpath / path) for path in own]
    elif config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        config.args = [*config.args, str(SUITE)]


def _begin_run(config: pytest.Config) -> None:
    folder, entry = config.getoption("report_dir"), config.stash[BENCH].history
    named = {"bench": entry.bench} if entry.bench else {}
    try:
        run = RunWriter.begin(folder, command=command(config), workers=_choose_workers(config), **named)
    except OSError as error:
        reason = error.strerror or error
        message = f"--report-dir={folder}: no run can be recorded there ({reason}): name a writable folder."
        raise pytest.UsageError(message) from error
    config.stash[WRITER] = run
    config.stash[EARLIER] = _earlier(config, run.facts["uid"])
    config.stash[KEEPER] = _keeper(config)
    config.stash[RECORDER] = Recorder(run, LiveHistory(entry.url, run.folder, run.facts, _attached(config)))
    config.pluginmanager.register(config.stash[RECORDER], "trainrig-recorder")
    if config.option.xmlpath is None:
        config.option.xmlpath = str(run.folder / JUNIT)


def _choose_workers(config: pytest.Config) -> int:
    """Run trials side by side if the command line does not say otherwise; return how many processes run tests."""
    workers: int | None = getattr(config.option, "numprocesses", 0)  # missing with `-p no:xdist`, None without -n
    if workers is None and not config.option.usepdb and config.option.capture != "no":  # a worker shows nothing
        names, bench, reality = config.option.board, config.stash[BENCH], config.getoption("reality")
        stand_ins = any(not is_attached(bench.find(name), reality) for name in names)
        workers = min(max(len(names), STAND_IN_WORKERS if stand_ins else 1), os.cpu_count() or 1)
        if workers == 1:
            return 1
        config.option.numprocesses = workers
        config.option.dist, config.option.tx = "load", ["popen"] * workers
    return workers or 1


def pytest_sessionstart(session: pytest.Session) -> None:
    """Show on a terminal what workers do."""
    config = session.config
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if RECORDER not in config.stash or not getattr(config.option, "numprocesses", 0) or reporter is None:
        return
    if reporter.isatty and config.option.verbose >= 0:
        config.pluginmanager.register(WorkersLine(config.stash[WRITER].folder, reporter), "trainrig-workers-line")


def _earlier(config: pytest.Config, uid: str) -> EarlierNights:
    """Return the nights before the run; a worker of pytest-xdist reads them for itself."""
    entry = config.stash[BENCH].history
    return EarlierNights(entry.url, config.stash[WRITER].folder.parent, entry.bench, uid)


def _keeper(config: pytest.Config) -> Keeper:
    return Keeper.of(config.stash[BENCH], config.stash[WRITER].folder.parent)


def _worker_input(config: pytest.Config) -> dict[str, Any] | None:
    """Return what pytest-xdist passes to a worker; None in the process that began the run."""
    return getattr(config, "workerinput", None)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Let a worker of pytest-xdist write into the same run."""
    if WRITER in node.config.stash:
        node.workerinput[FOLDER_KEY] = str(node.config.stash[WRITER].folder)
        node.workerinput[UID_KEY] = node.config.stash[RECORDER].run.facts["uid"]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give all trials of an attached board to one worker; every worker has its own stand-ins."""
    if RECORDER not in config.stash or config.option.dist != "load":
        return None
    from hil.session.xdist import ByBoard

    return ByBoard(
        config, log, {name: seats(config.stash[BENCH], name, config.stash[KEEPER]) for name in _attached(config)}
    )


def _attached(config: pytest.Config) -> list[str]:
    """Return the named boards that are those of rig.toml, and no stand-ins."""
    bench, reality = config.stash[BENCH], config.getoption("reality")
    return [name for name in config.getoption("board") if is_attached(bench.find(name), reality)]


def _read_bench(config: pytest.Config) -> Bench:
    """Read the bench. The file must exist if --rig names it; a missing rig.toml is an empty bench."""
    path: Path | None = config.getoption("rig")
    if path is not None and not path.is_file():
        raise RigError(f"--rig={path}: there is no such file: correct the path, or omit --rig for an empty bench.")
    return read_bench(path or Path("rig.toml"))


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name the boards, and their stand-ins if they are not attached."""
    lines = []
    for name in config.getoption("board"):
        board = boards.load(name)
        try:
            kind = choose(board, config.stash[BENCH].find(name), config.getoption("reality"))
            stand_in = f"{kind} stand-in: no figure below was measured on silicon"
            claim = "attached board" if kind == "hardware" else stand_in
        except Blocked as blocked:
            claim = f"blocked: {blocked.reason}"
        lines.append(f"trainrig: {name} ({board.title}), {claim}")
    return lines


@pytest.fixture(scope="session")
def run_record(request: pytest.FixtureRequest) -> TrialWriter:
    """The folder of this run."""
    if WRITER not in request.config.stash:
        pytest.skip(summary.NO_BOARD)
    return request.config.stash[WRITER]


@pytest.fixture(scope="session")
def hil_rig(request: pytest.FixtureRequest, run_record: TrialWriter) -> Iterator[Rig]:
    """The rig of this session. A board that it has taken stays locked until the session ends."""
    config = request.config
    worker = _worker_input(config)
    logs = run_record.folder / (f"benches-{worker['workerid']}" if worker is not None else "benches")
    try:
        logs.mkdir(exist_ok=True)  # it exists if a plugin that repeats tests tore this fixture down before
    except OSError as error:
        reason = error.strerror or error
        message = f"no folder for logs can be made in {run_record.folder} ({reason}): check the disk."
        raise Blocked("record", message) from error
    wait_s, keeper = float(config.getoption("wait")), config.stash[KEEPER]
    with Rig(config.stash[BENCH], logs, config.getoption("reality"), wait_s, keeper) as rig:
        yield rig
    keeper.close()


@pytest.fixture(scope="session")
def hil_reflash(request: pytest.FixtureRequest) -> set[str]:
    """The boards that --reflash has yet to program: once for each board, because flash wears out."""
    return set(request.config.getoption("board")) if request.config.getoption("reflash") else set()


@pytest.fixture
def hil_trial(
    request: pytest.FixtureRequest, hil_rig: Rig, run_record: TrialWriter, hil_reflash: set[str]
) -> Callable[[TrialSpec], Outcome]:
    """A function that runs one trial, records it and returns its outcome.

    It raises RigError for a wrong request (verdict `refused`) and Blocked for a fault of the rig. The outcome of a
    failed trial is returned; the test fails even if it does not look at the verdict.
    """
    tracker = request.node.stash[TRACKER]
    tracker.runs_trials = True  # not known before if the test calls request.getfixturevalue
    return Trials(request.node, hil_rig, run_record, hil_reflash, tracker).run


def pytest_sessionfinish(session: pytest.Session) -> None:
    """With --require-board, fail the session if tests need a board and none is named."""
    config = session.config
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if config.getoption("require_board") and reporter is not None and summary.without_board(reporter):
        session.exitstatus = pytest.ExitCode.USAGE_ERROR


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the table of verdicts with the provenance of the figures, and the path of the report."""
    if RECORDER in config.stash:
        _summarise(terminalreporter, config)
    elif _worker_input(config) is None:
        summary.warn_without_board(terminalreporter, config.getoption("require_board"))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Print the verdicts if pytest ended without its summary, after an internal error."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if RECORDER in config.stash and SUMMARISED not in config.stash and reporter is not None:
        _summarise(reporter, config)


def _summarise(reporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    config.stash[SUMMARISED] = True
    summary.write(reporter, config.stash[RECORDER])
    ci.write(reporter, config, config.stash[RECORDER])
