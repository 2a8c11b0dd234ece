"""What `hil lab` reads from a history that several benches share, on SQLite and on PostgreSQL, against plain loops."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, text, update

from hil.errors import NO_MEMORY
from hil.history import live, under_way
from hil.history.address import Address, address_of
from hil.history.health import BoardKey, health
from hil.history.keeper import Keeper
from hil.history.live import LiveHistory
from hil.history.models import runs
from hil.history.quarantine import count, find, put, quarantines, release
from hil.history.queries import History
from hil.history.rebuild import rebuild
from hil.history.rows import asked_row, planned_row, run_row, trial_rows
from hil.history.store import Store
from hil.record import AskedTest, TrialRecord
from hil.report.lab import lab_view
from tests.history_records import record, run_folder
from tests.history_year import facts
from tests.in_child import in_child

NOW = datetime(2026, 11, 27, 22, tzinfo=timezone.utc)
LEFT, RIGHT = BoardKey("left", "stm32h7b3", ""), BoardKey("right", "stm32h7b3", "")


def run_facts(night: int, bench: str, **more: Any) -> dict[str, Any]:
    return facts(night) | {"uid": f"{bench}-{night}", "bench": bench, **more}


def blocked(stage: str = "flash", reason: str = "the probe is gone: plug it in.", **fields: Any) -> TrialRecord:
    empty = {"steps_compared": 0, "bit_exact": None, "attached": True, "reality": None}
    return record(verdict="blocked", stage=stage, reason=reason, **{**empty, **fields})


def test_the_health_of_boards_is_what_a_loop_over_the_trials_counts(address: Address) -> None:
    """Two benches with places in common write six nights; the oracle counts the records themselves."""
    chance, nights = random.Random(1), 3
    written: list[tuple[int, str, TrialRecord]] = []
    with Store(address) as store:
        for night in range(6):
            for bench in ("left", "right"):
                with store.transaction() as writer:
                    run = writer.run(run_row(run_facts(night, bench), None))
                    for number in range(4):
                        place = chance.choice([None, None, "h7 bench"])
                        of = {"folder": f"t{number}", "place": place, "wall_s": chance.choice([0.5, 2.0])}
                        of |= {"board": chance.choice(["stm32h7b3", "rp2040"])}
                        each = chance.choice(
                            [
                                blocked(chance.choice(["flash", "bench"]), **of),
                                record(attached=False, **of),
                                record(attached=True, flash={"route": "uf2", "programmed": True, "cycles": 1}, **of),
                                record(attached=None, reality="hardware", verdict="fail", reason="wrong.", **of),
                            ]
                        )
                        writer.trial(run, trial_rows(each))
                        written.append((night, bench, each))
    with History.open(address) as history:
        found = health(history, nights)
        order = {run.uid: place for place, run in enumerate(history.runs)}
    groups: dict[BoardKey, list[tuple[int, str, TrialRecord]]] = {}
    for night, bench, each in written:
        if each.attached or (each.attached is None and each.reality == "hardware"):
            key = BoardKey("" if each.place else bench, each.board, each.place or "")
            groups.setdefault(key, []).append((order[f"{bench}-{night}"], bench, each))
    assert found.keys() == groups.keys() and len(groups) > 4
    for key, own in groups.items():
        late = sorted({place for place, _, _ in own})[-nights:]
        bad = Counter(each.stage or "fail" for place, _, each in own if place in late and each.verdict != "pass")
        assert found[key].failures == dict(bad) and found[key].nights == len(late)
        assert found[key].use_s == pytest.approx(sum(each.wall_s for _, _, each in own))
        assert found[key].programmed == sum(each.flash is not None and each.flash["programmed"] for _, _, each in own)
        place, _, last = max(enumerate(own), key=lambda each: (each[1][0], each[0]))[1]
        assert found[key].last is not None and found[key].last.verdict == last.verdict
        assert found[key].benches == {bench for _, bench, _ in own}


def test_the_lab_costs_a_dozen_questions_however_many_boards_there_are(address: Address) -> None:
    with Store(address) as store:
        for night in range(8):
            with store.transaction() as writer:
                run = writer.run(run_row(run_facts(night, f"b{night}", state="running", ended=None), None))
                writer.trial(run, trial_rows(record(attached=True, place=f"p{night}")))
                writer.plan(run, [planned_row(AskedTest(test=f"t{night}", board="rp2040"), ["rp2040"])])
                writer.heard(run)
    with History.open(address) as history:
        asked: list[str] = []
        event.listen(history.store.engine, "before_cursor_execute", lambda *words: asked.append(words[2]))
        view = lab_view(history, "b1", [], NOW, 14)
    assert (len(view.lines), len(view.runs)) == (8, 8)
    assert 5 < len([each for each in asked if each.startswith("SELECT")]) <= 10, "and two for the version of the tables"


def test_numbers_that_no_column_takes_are_left_out(address: Address) -> None:
    asked = AskedTest(test="a", board="rp2040", verdict="pass", reason="", outcome="passed", seconds=10**400)
    with Store(address) as store, store.transaction() as writer:
        writer.tests(writer.run(run_row(run_facts(0, "left", workers=10**30), None)), [asked_row(asked)])
        now = writer.run(run_row(run_facts(1, "left", state="running", ended=None), None))
        writer.plan(now, [planned_row(asked, [])])
        writer.heard(now)
    with History.open(address) as history:
        assert history.runs[0].workers is None
        (run,) = under_way.under_way(history)
    assert (run.left_s, run.unknown) == (None, 1)


def test_imported_runs_are_of_no_board_of_the_lab(address: Address) -> None:
    with Store(address) as store, store.transaction() as writer:
        run = writer.run(run_row(run_facts(0, "far"), None, imported=True))
        writer.trial(run, trial_rows(record(attached=True)))
    with History.open(address) as history:
        assert health(history) == {}


def test_two_benches_that_write_at_once_are_both_under_way_until_they_end(address: Address, tmp_path: Path) -> None:
    """Each bench is a process with a `LiveHistory`, as a session has it; the second is killed, and falls silent."""
    url = str(address.url.render_as_string(hide_password=False))
    said, told = os.pipe()
    go_on, ended = os.pipe()

    def session(bench: str) -> Callable[[], None]:
        def act() -> None:
            folder = tmp_path / bench / "run"
            folder.mkdir(parents=True)
            told_facts = run_facts(0 if bench == "left" else 1, bench, state="running", ended=None, workers=1)
            history = LiveHistory(url, folder, told_facts, ["stm32h7b3"])
            asked = [AskedTest(test=name, board="stm32h7b3") for name in ("a", "b", "c")]
            history.plan(asked)
            done = asked[0].model_copy(update={"verdict": "pass", "reason": "", "outcome": "passed", "seconds": 30.0})
            history.test(done)
            history._jobs.put(lambda: os.write(told, b"!"))
            os.read(go_on, 1)
            tests = [each.model_copy(update=done.model_dump(exclude={"test"})) for each in asked]
            assert history.finish(run_facts(0, bench), tests, []) == []

        return act

    with Store(address):
        pass
    children = {bench: in_child(session(bench)) for bench in ("left", "right")}
    for _ in children:
        assert os.read(said, 1) == b"!"
    with History.open(address) as history:
        found = {run.bench: run for run in under_way.under_way(history)}
    assert found.keys() == {"left", "right"}
    for run in found.values():
        assert (run.ended, run.left, run.attached, run.silent) == (1, {"stm32h7b3": 2}, ("stm32h7b3",), False)
        assert run.left_s is None and run.unknown == 2, "no test of it has an earlier night"
    os.kill(children["right"], signal.SIGKILL)
    os.waitpid(children["right"], 0)
    os.write(ended, b"!")
    assert os.waitpid(children["left"], 0)[1] == 0
    with Store(address) as store, store.transaction() as writer:
        ago = {"heard": datetime.now(timezone.utc) - timedelta(seconds=under_way.SILENT_S + 60)}
        writer.connection.execute(update(runs).where(runs.c.bench == "right").values(ago))
    with History.open(address) as history:
        (run,) = under_way.under_way(history)
    assert (run.bench, run.silent, run.left_s) == ("right", True, None), "a run that is dead does not count down"
    with Store(address) as store, store.transaction() as writer:
        writer.connection.execute(update(runs).values(heard=datetime.now(timezone.utc) - timedelta(days=8)))
    with History.open(address) as history:
        assert under_way.under_way(history) == []


def test_a_run_that_never_began_leaves_nothing(address: Address, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    url = str(address.url.render_as_string(hide_password=False))
    history = LiveHistory(url, tmp_path / "run", run_facts(0, "left", state="running", ended=None))
    history.plan([AskedTest(test="a", board="stm32h7b3")])
    history.discard()
    with History.open(address) as found:
        assert found.runs == [] and under_way.under_way(found) == []


def test_a_run_in_which_no_test_ends_gives_signs_of_life(
    address: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "BEAT_S", 0.05)
    (tmp_path / "run").mkdir()
    url = str(address.url.render_as_string(hide_password=False))
    history = LiveHistory(url, tmp_path / "run", run_facts(0, "left", state="running", ended=None))
    history.plan([AskedTest(test="a", board="stm32h7b3")])
    history._jobs.put(
        lambda: history._write(lambda writer, run: writer.connection.execute(text("UPDATE runs SET heard = NULL")))
    )
    with Store(address) as store:
        for _ in range(600):
            with store.engine.connect() as connection:
                heard = connection.execute(text("SELECT heard, moved FROM runs")).first()
            if heard is not None and heard[0] is not None and heard[1] is not None:
                break
            time.sleep(0.05)
    assert heard[0] is not None
    assert history.finish(run_facts(0, "left"), [], []) == []


def test_the_time_left_comes_from_earlier_nights(address: Address) -> None:
    with Store(address) as store, store.transaction() as writer:
        for night, seconds in enumerate((100.0, 10.0, 30.0)):
            run = writer.run(run_row(run_facts(night, "left"), None))
            row = {
                "test": "a",
                "board": "rp2040",
                "verdict": "pass",
                "expected": False,
                "reason": "",
                "seconds": seconds,
            }
            writer.tests(run, [row, row | {"test": "b", "verdict": "fail", "seconds": 1e6}])
        now = writer.run(run_row(run_facts(3, "left", state="running", ended=None), None))
        writer.plan(now, [planned_row(AskedTest(test=name, board="rp2040"), ["rp2040"]) for name in "ab"])
        writer.heard(now, moved=True)
    with History.open(address) as history:
        (run,) = under_way.under_way(history)
    assert run.unknown == 1, "of b only a failure is known, which may have ended early"
    assert run.left_s == pytest.approx(60.0, abs=5.0), "the median of a, and as much for b"


def test_a_board_is_in_quarantine_after_faults_one_after_the_other_and_a_trial_that_ran_begins_anew(
    address: Address,
) -> None:
    with Store(address) as store, store.transaction() as writer:
        for fault in (True, True, False, True, True):
            assert count(writer, LEFT, fault, "no port: x.", 3, NOW) is None
        assert count(writer, RIGHT, True, "no port: x.", 3, NOW) is None, "another board"
        found = count(writer, LEFT, True, "no port: plug it in.", 3, NOW)
        assert found is not None and found.since == NOW and not found.by_hand
        assert found.why == "3 trials one after the other were blocked by the rig, the last one because no port"
        later = count(writer, LEFT, True, "another: x.", 3, NOW + timedelta(days=1))
        assert later == found, "it began when it began"
        assert count(writer, LEFT, False, "", 3, NOW) == found, "only a person ends it"
    with History.open(address) as history:
        assert quarantines(history) == {LEFT: found}
    with Store(address) as store, store.transaction() as writer:
        assert release(writer, LEFT) and not release(writer, LEFT)
        assert count(writer, LEFT, True, "no port: x.", 3, NOW) is None, "its faults count anew"
        put(writer, RIGHT, "the cable: broken", NOW)
        assert find(writer, RIGHT).sentence(RIGHT) == (
            "stm32h7b3 is in quarantine by hand since 2026-11-27 22:00 UTC (the cable: broken): "
            "mend it, then `hil lab release stm32h7b3`."
        )


def test_faults_that_several_processes_count_at_once_are_all_counted(address: Address) -> None:
    with Store(address):
        pass

    def count_five() -> None:
        with Store(address) as store:
            for _ in range(5):
                with store.transaction() as writer:
                    count(writer, LEFT, True, "x.", 1000, NOW)

    for pid in [in_child(count_five) for _ in range(4)]:
        assert os.waitpid(pid, 0)[1] == 0
    with Store(address) as store, store.transaction() as writer:
        assert writer.connection.execute(text("SELECT faults FROM boards")).scalar() == 20


def test_a_keeper_counts_what_the_rig_blocked_and_nothing_else(address: Address, tmp_path: Path) -> None:
    url = str(address.url.render_as_string(hide_password=False))
    keeper = Keeper(url, tmp_path, "left", 2)
    own = {"file": "mine.elf", "digest": "0" * 8, "in_manifest": False}
    neither = [
        blocked("lock"), blocked("lab"), blocked("meter"), blocked("plan"), blocked("record"), blocked("energy"),
        blocked("link", steps_compared=3), blocked("link", image=own), blocked("bench", NO_MEMORY),
        blocked("flash", attached=False), record(verdict="interrupted", reason="x.", attached=True),
    ]  # fmt: skip
    for each in [blocked(), *neither]:
        assert keeper.ended(each, at_place=False) == ""
    assert keeper.ended(blocked("bench"), at_place=True) == "", "before it had a place: a fault of the lab"
    assert keeper("stm32h7b3", "") == ""
    said = keeper.ended(blocked(), at_place=False)
    assert said.startswith("stm32h7b3 is in quarantine since") and "because the probe is gone)" in said
    assert keeper("stm32h7b3", "") == said and keeper("rp2040", "") == "" and keeper("stm32h7b3", "p") == ""
    other = Keeper(url, tmp_path, "right", None)
    assert other("stm32h7b3", "") == "", "a board of another bench"
    for _ in range(3):
        assert other.ended(blocked(), at_place=False) == "", "it is off"
    assert keeper.ended(blocked("bench", place="h7"), at_place=True) == ""
    assert "(board h7) is in quarantine" in keeper.ended(blocked("bench", place="h7"), at_place=True)
    assert "`hil lab release h7`" in other("stm32h7b3", "h7"), "a place is that of all benches"
    keeper.close()
    other.close()


def test_a_history_that_is_away_keeps_no_board_off(tmp_path: Path) -> None:
    keeper = Keeper("postgresql+psycopg://me:secret@127.0.0.1:1/night", tmp_path, "", 2)
    assert [keeper.ended(blocked(), at_place=False) for _ in range(3)] == [""] * 3
    assert keeper("stm32h7b3", "") == ""
    assert (
        keeper.problem.startswith("whether a board is in quarantine is not known: ") and "secret" not in keeper.problem
    )


def test_a_rebuild_leaves_boards_in_quarantine_there_and_reads_them_out_of_a_damaged_file(tmp_path: Path) -> None:
    for number in range(8):
        run_folder(tmp_path, record(number % 3), record(3 + number % 3))
    address = address_of(None, tmp_path)
    rebuild(address, tmp_path)
    with Store(address) as store, store.transaction() as writer:
        put(writer, LEFT, "broken", NOW)
    rebuild(address, tmp_path)
    with History.open(address) as history:
        assert quarantines(history).keys() == {LEFT}
        with history.store.engine.connect() as connection:
            root = "SELECT rootpage FROM sqlite_master WHERE name = 'quantities'"
            page = connection.execute(text(root)).scalar()
            size = connection.execute(text("PRAGMA page_size")).scalar()
    with address.path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"damage" * 100)
    count_ = rebuild(address, tmp_path)
    assert len(count_.problems) == 1 and "it was moved to" in count_.problems[0], count_.problems
    assert "could be read" not in count_.problems[0]
    with History.open(address) as history:
        assert quarantines(history).keys() == {LEFT} and len(history.runs) == 8
