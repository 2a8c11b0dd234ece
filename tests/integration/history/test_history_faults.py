"""A history that is damaged, locked, read-only or full, and one that goes away in mid-run: a clear word, nothing lost."""

from __future__ import annotations

import os
import signal
import sqlite3
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hil.errors import RigError
from hil.history import address as addresses
from hil.history.address import address_of
from hil.history.failures import Damaged, HistoryError
from hil.history.live import EVERYTHING, LATER, WRITTEN, LiveHistory
from hil.history.queries import History
from hil.history.rebuild import rebuild
from hil.history.rows import run_row, trial_rows
from hil.history.send import send
from hil.history.store import Store, open_to_write
from hil.history.unsent import waiting
from hil.record import AskedTest, read_entries
from tests.history_records import record, run_folder
from tests.history_year import facts
from tests.other_user import NOBODY, as_user, needs_root
from tests.postgresql import Server

SHORT_S = 2.0
HANG_S = 60.0


def folders(path: Path) -> list[str]:
    """Return the folders of the trials that a history in a folder has."""
    with History.open(address_of(None, path)) as history:
        return [trial.folder for trial in history.trials()]


def test_a_damaged_file_is_set_aside_and_made_again(tmp_path: Path) -> None:
    for number in range(3):
        run_folder(tmp_path, record(number))
    address = address_of(None, tmp_path)
    rebuild(address, tmp_path)
    before = folders(tmp_path)
    assert len(before) == 3
    address.path.write_bytes(b"this was a history " * 1000)
    with pytest.raises(
        Damaged, match="is damaged .*: `hil history rebuild` makes it again from the folders of the runs"
    ):
        History.open(address)
    warnings: list[str] = []
    open_to_write(address, warnings).close()
    (warning,) = warnings
    assert "`hil history rebuild`" in warning and "history.sqlite.damaged-1" in warning
    assert (tmp_path / "history.sqlite.damaged-1").read_bytes().startswith(b"this was a history")
    assert folders(tmp_path) == []
    assert rebuild(address, tmp_path).written == 3
    assert folders(tmp_path) == before


def test_damage_in_a_page_that_nothing_needs_now_is_found_by_rebuild(tmp_path: Path) -> None:
    run_folder(tmp_path, *(record(number) for number in range(6)))
    address = address_of(None, tmp_path)
    rebuild(address, tmp_path)
    whole = address.path.read_bytes()
    address.path.write_bytes(whole[: len(whole) // 2] + os.urandom(8192) + whole[len(whole) // 2 + 8192 :])
    count = rebuild(address, tmp_path)
    assert count.written == 6 and "was moved to" in count.problems[0]
    assert len(folders(tmp_path)) == 6


def test_a_locked_file_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "BUSY_S", 0.1)
    address = address_of(None, tmp_path)
    with Store(address) as store:
        other = sqlite3.connect(address.path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        match = "is locked by another program .*: close it, or try again later"
        with pytest.raises(HistoryError, match=match), store.transaction():
            pass
        assert folders(tmp_path) == [], "a reader does not wait for a writer"
        other.close()
        with store.transaction():
            pass


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    with Store(address_of(None, tmp_path)) as store:
        with store.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count=30")
        rows = trial_rows(record())
        with pytest.raises(HistoryError, match="disk is full.*: make room on the disk"), store.transaction() as writer:
            run = writer.run(run_row(facts(0), None))
            for number in range(1000):
                writer.trial(run, replace(rows, row=rows.row | {"folder": f"t{number}"}))


@needs_root
def test_a_history_that_is_read_only_is_read_and_not_written(tmp_path: Path) -> None:
    run_folder(tmp_path, record())
    rebuild(address_of(None, tmp_path), tmp_path)
    for folder in (tmp_path, *tmp_path.parents[: tmp_path.parents.index(Path(tempfile.gettempdir()))]):
        folder.chmod(0o755)

    def write() -> None:
        Store(address_of(None, tmp_path)).close()

    assert as_user(NOBODY, lambda: folders(tmp_path)) == [record().folder]
    said = as_user(NOBODY, write)
    assert isinstance(said, HistoryError) and "is read-only" in str(said) and "permissions" in str(said)


def test_a_missing_history_names_both_ways_to_one(tmp_path: Path) -> None:
    with pytest.raises(RigError, match=r"there is no history at .*`pytest --board=NAME`.*`hil history rebuild`"):
        History.open(address_of(None, tmp_path))


def test_a_missing_folder_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="cannot be opened: check that its folder is there"):
        Store(address_of(f"sqlite:///{tmp_path}/not/there.sqlite", tmp_path))


def live(url: str | None, run: Path) -> LiveHistory:
    return LiveHistory(url, run, dict(read_entries(run).facts))


def finish(history: LiveHistory, run: Path, wait_s: float = 60.0) -> list[str]:
    entries = read_entries(run)
    return history.finish(dict(entries.facts), entries.tests, entries.trials, wait_s)


def test_a_run_whose_process_is_killed_is_sent_later(tmp_path: Path) -> None:
    run = run_folder(tmp_path, record(0), record(1), end=False)
    pid = os.fork()
    if not pid:
        try:
            history = live(None, run)
            history.trial(record(0))
            time.sleep(60)
        finally:
            os._exit(0)
    end = time.monotonic() + 60
    while not waiting(tmp_path):
        assert time.monotonic() < end
        time.sleep(0.02)
    with Store(address_of(None, tmp_path)) as store:
        assert send(store, tmp_path).runs == 0, "a run that goes on is left to its process"
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        assert send(store, tmp_path).runs == 1
    assert folders(tmp_path) == [record(0).folder, record(1).folder]
    assert not (tmp_path / "history-unsent").exists()


def test_a_session_sends_each_trial_and_leaves_nothing_behind(tmp_path: Path) -> None:
    run = run_folder(tmp_path, record(0), record(1))
    history = live(None, run)
    assert waiting(tmp_path) == [run]
    for number in (0, 1):
        history.trial(record(number))
    history.test(AskedTest(test=record(0).test, board="stm32h7b3", verdict="pass", reason=""))
    assert finish(history, run) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["history.sqlite", "latest", run.name])
    assert waiting(tmp_path) == [] and folders(tmp_path) == [record(0).folder, record(1).folder]
    with History.open(address_of(None, tmp_path)) as opened:
        (entry,) = opened.runs
    assert (entry.state, entry.whole, entry.tests) == ("ended", True, {"pass": 2})


def test_a_trial_of_which_no_report_came_is_sent_at_the_end(tmp_path: Path) -> None:
    run = run_folder(tmp_path, record(0), record(1, verdict="interrupted", reason="Ctrl-C"))
    history = live(None, run)
    history.trial(record(0))
    assert finish(history, run) == []
    assert folders(tmp_path) == [record(0).folder, record(1).folder]


def test_a_run_that_never_began_leaves_nothing(tmp_path: Path) -> None:
    run = run_folder(tmp_path, record())
    live(None, run).discard()
    assert not (tmp_path / "history-unsent").exists() and not (tmp_path / "history.sqlite").exists()


def test_an_unreachable_server_is_one_sentence_without_the_password(tmp_path: Path) -> None:
    run = run_folder(tmp_path, record(0), record(1))
    history = live("postgresql+psycopg://me:secret@127.0.0.1:1/night?password=secret", run)
    for number in (0, 1):
        history.trial(record(number))
    (sentence,) = finish(history, run)
    assert "the history in the database night on 127.0.0.1 does not answer" in sentence and sentence.endswith(
        f"{LATER.format(EVERYTHING)}."
    )
    (missing,) = live("postgresql+psycopg://me@127.0.0.1:1/night", run).finish(
        dict(read_entries(run).facts) | {"missing": ["tensors.npz"]}, [], []
    )
    assert missing.endswith(f"{LATER.format(WRITTEN)}.") and "everything" not in missing
    assert "secret" not in sentence and waiting(tmp_path) == [run]
    with Store(address_of(None, tmp_path)) as store:  # another history, in the same place
        assert send(store, tmp_path).runs == 1


def test_a_server_that_is_stopped_in_mid_run_and_comes_back_has_everything(server: Server, tmp_path: Path) -> None:
    url = server.database()
    run = run_folder(tmp_path, record(0), record(1), record(2))
    history = live(url, run)
    history.trial(record(0))
    wait_until_idle(history)
    server.stop()
    try:
        history.trial(record(1))
        wait_until_idle(history)
    finally:
        server.start()
    history.trial(record(2))
    assert finish(history, run) == []
    assert waiting(tmp_path) == []
    with History.open(address_of(url, tmp_path)) as opened:
        assert len(opened.trials()) == 3


def test_a_server_that_stays_away_gets_the_night_later(server: Server, tmp_path: Path) -> None:
    url = server.database()
    run = run_folder(tmp_path, record(0), record(1))
    history = live(url, run)
    history.trial(record(0))
    wait_until_idle(history)
    server.stop()
    try:
        history.trial(record(1))
        assert len(finish(history, run)) == 1
    finally:
        server.start()
    with Store(address_of(url, tmp_path)) as store:
        assert send(store, tmp_path).written == 1, "the other trial was there already"
    with History.open(address_of(url, tmp_path)) as opened:
        assert len(opened.trials()) == 2 and opened.runs[0].state == "ended"


def test_a_server_that_hangs_does_not_hang_the_run(server: Server, tmp_path: Path) -> None:
    url = server.database()
    run = run_folder(tmp_path, record(0), record(1))
    history = live(url, run)
    history.trial(record(0))
    wait_until_idle(history)
    server.signal(signal.SIGSTOP)
    try:
        begun = time.monotonic()
        history.trial(record(1))
        given = time.monotonic() - begun
        (sentence,) = finish(history, run, wait_s=SHORT_S)
        assert "the history did not answer within 2 s" in sentence and given < SHORT_S
    finally:
        server.signal(signal.SIGCONT)
    assert waiting(tmp_path) == [run]


def wait_until_idle(history: LiveHistory) -> None:
    """Wait until the thread has done its jobs."""
    done = threading.Event()
    history._jobs.put(done.set)
    assert done.wait(HANG_S)
