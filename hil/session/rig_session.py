"""A session with --board: its record, workers, verdicts in terminal, JUnit and exit code, and the report."""

from __future__ import annotations

import atexit
import os
import signal
from collections.abc import Callable
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hil import boards
from hil.errors import Blocked, RigError, short_path
from hil.history.earlier import EarlierNights
from hil.history.keeper import Keeper
from hil.history.live import LiveHistory
from hil.images import firmware_of, prebuilt_boards
from hil.record import RunWriter, TrialWriter
from hil.rig import automatic, check_known, choose, is_attached, seats
from hil.rig_toml import Bench, read_bench
from hil.session import ci, collection, summary, thread_errors, tracker
from hil.session.early_exit import guard_exit
from hil.session.few_tests import tests_at_most
from hil.session.options import BOARD_PATHS, command
from hil.session.recorder import JUNIT, RECORDER, RunRecorder
from hil.session.reserve import Reserve
from hil.session.run_state import ASKED, BENCH, EARLIER, KEEPER, WRITER
from hil.session.shadows import check
from hil.session.workers_line import WorkersLine
from hil.steady_clock import SteadyClock

SUMMARISED = pytest.StashKey[bool]()
# In `workerinput` of a worker of pytest-xdist: the folder of the run, its identity, both times of its clock, --board.
FOLDER_KEY, UID_KEY, CLOCK_KEY, ASKED_KEY = "trainrig", "trainrig-uid", "trainrig-clock", "trainrig-board"
STAND_IN_WORKERS = 4  # at most, without -n: each needs about 300 MB


def begin(config: pytest.Config) -> None:
    """Check the options, and begin the run. Raises pytest.UsageError if they are wrong."""
    config.pluginmanager.register(collection)
    config.pluginmanager.register(tracker)
    config.pluginmanager.register(thread_errors)
    config.pluginmanager.register(Reserve(), "trainrig-reserve")
    worker = getattr(config, "workerinput", None)  # what pytest-xdist passes to a worker
    chosen = config.getoption("board") if worker is None else worker[ASKED_KEY]
    for name in ("report_dir", "elf"):  # a test may change the working folder
        path = config.getoption(name)
        setattr(config.option, name, path.absolute() if path is not None else None)
    check(config.rootpath)
    try:
        whole = _read_bench(config)
        check_known(config.getoption("reality"))
        firmware = partial(whole.firmware, elf=config.getoption("elf"))
        asked = tuple(dict.fromkeys(_all_boards(firmware) if "all" in chosen else chosen))
        names, bench = whole.asked(asked)
        config.stash[BENCH], config.stash[ASKED] = bench, asked
        for name in names:
            if not bench.is_command(name):
                firmware_of(name, firmware(name))
    except RigError as error:
        raise pytest.UsageError(str(error)) from error
    config.option.board = names
    _choose_paths(config, names)
    if worker is not None:
        config.stash[WRITER] = TrialWriter(Path(worker[FOLDER_KEY]), SteadyClock(*worker[CLOCK_KEY]))
        config.stash[EARLIER] = _earlier(config, worker[UID_KEY])
        config.stash[KEEPER] = _keeper(config)
        from hil.session.xdist import end_with_parent

        end_with_parent()
    elif not config.option.collectonly:
        _begin_run(config)


def _all_boards(firmware: Callable[[str], Path | None]) -> list[str]:
    """Return the boards of the catalogue that can be used and have a firmware, prebuilt or the user's own."""
    found = {board.name for board in boards.working()[0]}
    return [name for name in boards.names() if name in found and (firmware(name) or name in prebuilt_boards())]


def _choose_paths(config: pytest.Config, boards: list[str]) -> None:
    """Without paths on the command line run `board_testpaths`, else `testpaths`, else all tests and the bench tests."""
    if config.args_source is pytest.Config.ArgsSource.ARGS:
        return
    own = config.getini(BOARD_PATHS)
    if own:
        config.args = [str(config.rootpath / path) for path in own]
    elif config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        if any(config.stash[BENCH].is_command(name) for name in boards):
            return  # no trial can run there
        found = config.hook.pytest_trainrig_bench_tests(config=config, boards=boards)
        config.args = [*config.args, *(str(tests.folder) for tests in found if tests.runs)]


def _begin_run(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:  # as some daemons start a CI job: no exit code is known
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    folder, entry = config.getoption("report_dir"), config.stash[BENCH].history
    named = {"bench": entry.bench} if entry.bench else {}
    try:
        run = RunWriter.begin(folder, command=command(config), workers=_choose_workers(config), **named)
    except OSError as error:
        reason = error.strerror or error
        message = f"--report-dir={short_path(folder)}: no run can be recorded there ({reason}): name a writable folder."
        raise pytest.UsageError(message) from error
    config.stash[WRITER] = run
    config.stash[EARLIER] = _earlier(config, run.facts["uid"])
    config.stash[KEEPER] = _keeper(config)
    config.stash[RECORDER] = RunRecorder(run, LiveHistory(entry.url, run.folder, run.facts, _attached(config)))
    config.pluginmanager.register(config.stash[RECORDER], "trainrig-recorder")
    guard_exit(config, config.stash[RECORDER])
    atexit.register(config.stash[RECORDER].end_of_process)
    if getattr(config.option, "xmlpath", "") is None:  # missing with `-p no:junitxml`
        config.option.xmlpath = str(run.folder / JUNIT)


def _choose_workers(config: pytest.Config) -> int:
    """Run trials side by side if the command line does not say otherwise; return how many processes run tests."""
    workers: int | None = getattr(config.option, "numprocesses", 0)  # missing with `-p no:xdist`, None without -n
    if workers is None and not config.option.usepdb and config.option.capture != "no":  # a worker shows nothing
        names, bench, reality = config.option.board, config.stash[BENCH], config.getoption("reality")
        stand_ins = any(not is_attached(bench.find(name), reality) for name in names)
        count = sum(max(1, len(bench.of_kind(name))) for name in names)
        workers = min(max(count, STAND_IN_WORKERS if stand_ins else 1), os.cpu_count() or 1)
        tests = tests_at_most(config) if workers > 1 else None
        workers = workers if tests is None else min(workers, tests * len(names))
        if workers <= 1:
            return 1
        config.option.numprocesses = workers
        config.option.dist, config.option.tx = "load", ["popen"] * workers
    if workers:
        from hil.session.xdist import safe_workers

        config.option.tx = safe_workers(config.option.tx)
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


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Let a worker of pytest-xdist write into the same run."""
    if WRITER in node.config.stash:
        node.workerinput[FOLDER_KEY] = str(node.config.stash[WRITER].folder)
        node.workerinput[UID_KEY] = node.config.stash[RECORDER].run.facts["uid"]
        node.workerinput[CLOCK_KEY] = astuple(node.config.stash[WRITER].clock)
        node.workerinput[ASKED_KEY] = list(node.config.stash[ASKED])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give all trials of an attached board to one worker; every worker has its own stand-ins."""
    if RECORDER not in config.stash or config.option.dist != "load":
        return None
    from hil.session.xdist import ByBoard

    bench = config.stash[BENCH]
    several = [
        name
        for name in config.getoption("board")
        if bench.is_command(name) and any(entry.id is not None for entry in bench.of_kind(name))
    ]
    names = dict.fromkeys([*_attached(config), *several])
    return ByBoard(config, log, {name: seats(bench, name, config.stash[KEEPER]) for name in names})


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
    """Name the boards, and their stand-ins if they are not attached; say why an installed Renode is not used."""
    lines, asked = [], config.getoption("reality")
    for name in config.getoption("board"):
        board = config.stash[BENCH].board_of(name)
        try:
            named = config.stash[BENCH].find(name)
            kind = choose(board, named, asked)
            warning = automatic(board, named).warning if asked == "auto" else None
            what = f"{kind} stand-in" if named is None or named.run is None else f"a command ({kind})"
            stand_in = f"{what}: no figure below was measured on silicon"
            claim = "attached board" if kind == "hardware" else stand_in
            if named is not None and named.id is not None and kind in ("hardware", named.reality):
                claim += f" (board {' or '.join(str(each.id) for each in config.stash[BENCH].of_kind(name))})"
        except Blocked as blocked:
            claim, warning = f"blocked: {blocked.reason}", None
        title = f" ({board.title})" if board.title != "a command" else ""
        lines.append(f"trainrig: {name}{title}, {claim}")
        if warning is not None:
            lines.append(f"trainrig: {warning}")
        lines += [f"trainrig: {error}" for error in boards.BOARDS.left_out(name)]
    return lines


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the table of verdicts with the provenance of the figures, and the path of the report."""
    if RECORDER in config.stash:
        _summarise(terminalreporter, config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Print the verdicts if pytest ended without its summary, after an internal error."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if RECORDER in config.stash and SUMMARISED not in config.stash and reporter is not None:
        _summarise(reporter, config)


def _summarise(reporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    config.stash[SUMMARISED] = True
    summary.write(reporter, config.stash[RECORDER])
    ci.write(reporter, config, config.stash[RECORDER])
