"""The store of the history, on SQLite and on PostgreSQL: what is written is there, once, whoever is killed meanwhile."""

from __future__ import annotations

import math
import os
import signal
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import inspect, select, text

from hil.history import models, schema
from hil.history.address import Address, address_of
from hil.history.failures import HistoryError, NewerSchema
from hil.history.health import BoardKey, health
from hil.history.quarantine import quarantines
from hil.history.queries import History
from hil.history.rows import TrialFigure, TrialRows, asked_row, run_row, trial_rows
from hil.history.store import Store, Writer
from hil.history.under_way import under_way
from hil.record import AskedTest, TrialRecord, quantities
from tests.history_records import energy_record, record
from tests.history_year import facts
from tests.in_child import in_child

WRITERS, TRIALS_EACH = 8, 4


def write(store: Store, *records, night: int = 0) -> list[bool]:
    """Write trials of one night, each in its own transaction."""
    done = []
    for each in records:
        rows = trial_rows(each)
        with store.transaction() as writer:
            done.append(writer.trial(writer.run(run_row(facts(night), None)), rows))
    return done


def test_every_quantity_comes_back_as_the_record_has_it(address: Address) -> None:
    trial = energy_record()
    with Store(address) as store:
        assert write(store, trial) == [True]
    found = {}
    with History.open(address) as history:
        for series in history.series(history.names()):
            found[series.name] = (series.values[0], series.unit, series.provenance, series.uncertainties[0])
    expected = {
        name: (each.value, each.unit, each.provenance.value, each.uncertainty)
        for name, each in quantities(trial).items()
    }
    assert found.keys() == expected.keys() and len(found) > 100
    for name, (value, unit, provenance, uncertainty) in expected.items():
        assert found[name][:3] == (value, unit, provenance)
        assert math.isnan(found[name][3]) if uncertainty is None else found[name][3] == uncertainty


def test_the_same_trial_twice_is_one(address: Address) -> None:
    trial = record()
    with Store(address) as store:
        assert write(store, trial, trial) == [True, False]
    with Store(address) as again:
        assert write(again, trial) == [False]
    with History.open(address) as history:
        assert len(history.trials()) == 1 and len(history.runs) == 1


def test_another_record_of_a_trial_replaces_it_with_its_quantities(address: Address) -> None:
    begun = record(verdict="interrupted", reason="it was interrupted.", wall_s=1.0)
    ended = record(wall_s=2.0)
    with Store(address) as store:
        assert write(store, begun, ended) == [True, True]
        assert write(store, begun) == [False], "a trial that ended is never unmade"
    with History.open(address) as history:
        (trial,) = history.trials()
        (series,) = history.series(["wall_s"])
        assert trial.verdict == "pass" and list(series.values) == [2.0]


def test_the_verdict_of_a_test_is_not_unmade(address: Address) -> None:
    passed = AskedTest(test="a", board="rp2040", verdict="pass", reason="")
    with Store(address) as store:
        for test in (AskedTest(test="a", board="rp2040"), passed, AskedTest(test="a", board="rp2040")):
            with store.transaction() as writer:
                writer.tests(writer.run(run_row(facts(0), None)), [asked_row(test)])
    with History.open(address) as history:
        assert history.runs[0].tests == {"pass": 1}


def test_numbers_that_are_none(address: Address) -> None:
    values = {"nan": math.nan, "inf": math.inf, "minus": -math.inf, "tiny": 5e-324, "large": 1.7e308}
    rows = trial_rows(record())
    figures = [
        TrialFigure(name, "s", "measured", None if math.isnan(value) else value, None) for name, value in values.items()
    ]
    with Store(address) as store, store.transaction() as writer:
        run = writer.run(run_row(facts(0), None))
        writer.trial(run, type(rows)(rows.row, rows.settings, tuple(figures)))
    with History.open(address) as history:
        found = {series.name: series.values[0] for series in history.series(list(values))}
    assert math.isnan(found.pop("nan"))
    assert found == {name: value for name, value in values.items() if name != "nan"}


def test_a_count_beyond_any_double_is_infinite() -> None:
    huge = record(cycles={"total": 10**400})
    assert {each.name: each.value for each in trial_rows(huge).figures}["cycles.total"] == math.inf


NAMES = [
    "<script>alert(1)</script>", "'; DROP TABLE trials; --", "a\x00b", "x\u0000",  "naïve ✓ 网", "%s %(x)s :y {z}", "a\nb\x1b[31m",
    "é" * 5000, "é" * 5000 + "1",
]  # fmt: skip


def test_names_are_text_whatever_they_hold(address: Address) -> None:
    records = [
        record(test=name, network=name, folder=f"t{n}", reason=name, verdict="blocked", stage=name)
        for n, name in enumerate(NAMES)
    ]
    with Store(address) as store:
        assert all(write(store, *records))
        with store.transaction() as writer:
            writer.tests(1, [asked_row(AskedTest(test=name, board=name)) for name in NAMES])
    with History.open(address) as history:
        found = history.trials()
    assert len({each.network for each in found}) == len(NAMES)
    assert found[0].network == NAMES[0] and found[1].network == NAMES[1] and found[5].test == NAMES[5]
    assert all(each.network.isprintable() and len(each.network) <= 300 for each in found)


def test_a_writer_that_is_killed_in_its_transaction_leaves_every_finished_trial(address: Address) -> None:
    with Store(address) as store:
        write(store, record(0))
    read, said = os.pipe()

    def dies() -> None:
        with Store(address) as store:
            write(store, record(1))
            with store.transaction() as writer:
                writer.trial(writer.run(run_row(facts(0), None)), trial_rows(record(2)))
                os.write(said, b"!")
                signal.pause()

    pid = in_child(dies)
    assert os.read(read, 1) == b"!"
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with History.open(address) as history:
        assert [each.folder for each in history.trials()] == [record(0).folder, record(1).folder]
    with Store(address) as store:
        assert write(store, record(2)) == [True]


def test_eight_writers_at_once_on_a_history_that_is_not_there(address: Address) -> None:
    def writes(number: int) -> None:
        with Store(address) as store:
            write(store, *(record(number, folder=f"t{each}") for each in range(TRIALS_EACH)), night=number)
            write(store, record(0, folder=f"shared{number % 2}"), night=100)

    for pid in [in_child(lambda number=number: writes(number)) for number in range(WRITERS)]:
        assert os.waitpid(pid, 0)[1] == 0
    with History.open(address) as history:
        assert len(history.runs) == WRITERS + 1
        assert len(history.trials()) == WRITERS * TRIALS_EACH + 2
        with history.store.engine.connect() as connection:
            kinds = list(connection.execute(select(models.kinds.c.name)).scalars())
    assert len(kinds) == len(set(kinds))


def test_a_newer_version_is_refused_and_left_alone(address: Address) -> None:
    with Store(address) as store:
        write(store, record())
        with store.transaction() as writer:
            writer.connection.execute(text(f"UPDATE {schema.TABLE} SET version_num = '9999'"))
    for read_only in (False, True):
        with pytest.raises(NewerSchema, match="was written by a newer trainrig .*'9999'.*use that version"):
            Store(address, read_only)


def test_the_migrations_make_what_the_models_say(address: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = address.engine()
    with engine.begin() as connection:
        monkeypatch.setattr(schema, "version_of", lambda _: "")  # as if there were tables of an older version
        monkeypatch.setattr(schema, "check_version", lambda *_: None)
        schema.upgrade(connection, address.shown)

        def made_here(item, name, kind, reflected, compared) -> bool:  # alembic does not know of ddl_if
            return kind != "index" or item._ddl_if is None or item._ddl_if.dialect == connection.dialect.name

        options = {"version_table": schema.TABLE, "include_object": made_here}
        found = compare_metadata(MigrationContext.configure(connection, opts=options), models.metadata)
    assert found == []
    monkeypatch.undo()
    with Store(address) as store:  # the version is the newest
        assert write(store, record()) == [True]


NEW_COLUMNS = ("began", "attached", "place", "programmed")  # of trials, since 0003


def old_history(address: Address, version: str, trial: TrialRecord) -> TrialRows:
    """Make a history of an older version with one trial, as that version did; return the rows of the trial."""
    config = Config()
    config.set_main_option("script_location", str(schema.MIGRATIONS))
    rows = trial_rows(trial)
    row = {name: value for name, value in rows.row.items() if name not in NEW_COLUMNS}
    of_run = {name: value for name, value in run_row(facts(0), None).items() if name != "workers"}
    with address.engine().begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, version)
        writer = Writer(connection, {})
        writer.trial(writer.run(of_run), TrialRows(row, rows.settings, rows.figures))
        connection.execute(
            text("INSERT INTO tests (run_id, test, board, verdict, expected, reason) VALUES (1, 'a', 'b', 'pass', :no, '')"),
            {"no": False},
        )  # fmt: skip
    return rows


def test_a_history_before_the_boards_of_the_lab_keeps_all_and_learns_its_flash_cycles(address: Address) -> None:
    """`hil history rebuild` writes the same record again, of which the older version did not keep everything."""
    trial = record(reality="hardware", attached=True, flash={"route": "pyocd", "programmed": True, "cycles": 7})
    rows = old_history(address, "0002", trial)
    key = BoardKey("", trial.board, "")
    with History.open(address) as history:
        (entry,) = history.runs
        assert entry.tests == {"pass": 1} and (entry.heard, entry.workers) == (None, None)
        fares = health(history)[key]
        assert (fares.programmed, fares.programmed_since) == (0, None), "it is not known"
        assert fares.use_s == pytest.approx(trial.wall_s)
        assert under_way(history) == [] and quarantines(history) == {}
    with Store(address) as store, store.transaction() as writer:
        assert writer.trial(1, rows)
    with History.open(address) as history:
        fares = health(history)[key]
        assert (fares.programmed, fares.programmed_since) == (1, history.runs[0].placed)
        assert {each.name for each in history.series(history.names())} == {each.name for each in rows.figures}
    with Store(address) as store, store.transaction() as writer:
        assert not writer.trial(1, rows), "it is there now"


def test_a_history_of_the_first_version_keeps_its_quantities(address: Address) -> None:
    rows = old_history(address, "0001", record())
    with History.open(address) as history:  # who only reads upgrades it too
        found = {(one.name, one.unit, one.provenance): one.values.tolist() for one in history.series(history.names())}
        keys = inspect(history.store.engine).get_pk_constraint("quantities")["constrained_columns"]
    assert found == {figure.kind: [figure.value] for figure in rows.figures}
    assert keys == (["kind_id", "trial_id"] if address.is_file else []), "the key was a third of a server's database"


NEXT = """
import sqlalchemy as sa
from alembic import op
revision, down_revision = "0004", "0003"
def upgrade():
    op.add_column("runs", sa.Column("weather", sa.Text, server_default="unknown"))
"""


def test_an_old_history_is_upgraded_and_keeps_its_trials(
    address: Address, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(address) as store:
        write(store, record())
    migrations = tmp_path / "migrations"
    (migrations / "versions").mkdir(parents=True)
    for path in (*schema.MIGRATIONS.glob("*.py"), *schema.MIGRATIONS.glob("versions/0*.py")):
        (migrations / path.relative_to(schema.MIGRATIONS)).write_text(path.read_text())
    (migrations / "versions/0004_weather.py").write_text(NEXT)
    monkeypatch.setattr(schema, "MIGRATIONS", migrations)
    monkeypatch.setattr(schema, "HEAD", "0004")
    with pytest.raises(HistoryError, match="was written by an older trainrig: `hil history rebuild` upgrades it"):
        Store(address, read_only=True)
    with History.open(address) as history:  # who only reads upgrades it too
        assert len(history.trials()) == 1
    with Store(address) as store, store.engine.connect() as connection:
        assert connection.execute(text("SELECT weather FROM runs")).scalar() == "unknown"
        assert connection.execute(text("SELECT count(*) FROM trials")).scalar() == 1
    monkeypatch.undo()
    with pytest.raises(NewerSchema):
        Store(address)


def test_the_newest_migration_is_the_head() -> None:
    names = sorted(path.name for path in schema.MIGRATIONS.glob("versions/0*.py"))
    assert names[-1].startswith(f"{schema.HEAD}_")


def test_tables_of_another_program_are_left_alone(address: Address) -> None:
    with address.engine().begin() as connection:
        connection.execute(text("CREATE TABLE runs (mine INTEGER)"))
    with pytest.raises(HistoryError, match=r"holds tables of another program \(runs\): name another database"):
        Store(address)
    with address.engine(read_only=True).connect() as connection:
        assert connection.execute(text("SELECT mine FROM runs")).all() == []


def test_a_url_that_is_none_is_one_sentence_without_it() -> None:
    for url in ("mysql://me:secret@host/db", "secret", "sqlite://", "postgresql+psycopg://me:secret@host:port/x", ""):
        with pytest.raises(Exception, match=r"rig.toml, \[history\], key url: ") as raised:
            address_of(url, Path())
        assert "secret" not in str(raised.value)
