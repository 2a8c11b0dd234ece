"""The nights that a relative budget is judged by: those of the same series, or a reason why there are none."""

from __future__ import annotations

import sqlite3
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from hil.gates import EarlierUnknown
from hil.history import address as addresses
from hil.history import answer, schema
from hil.history.address import Address, address_of
from hil.history.device_rows import device_rows
from hil.history.earlier import EarlierNights
from hil.history.rows import run_row, trial_rows
from hil.history.store import Store
from hil.quantity import Provenance
from hil.record import TrialRecord
from hil.record.trial_writer import json_fields
from tests.history_records import device_test, record
from tests.history_year import facts
from tests.other_user import NOBODY, as_user, needs_root

TONIGHT = 99
PATH = "sram.total"


def with_sram(total: int, **fields: object) -> TrialRecord:
    found = record(0, **fields)
    found.sram["total"] = total
    return found


def write(folder: Path, *nights: TrialRecord | list[TrialRecord], bench: str = "", first: int = 0) -> Address:
    """Write nights into the history of a folder, the oldest first, each with one trial or several."""
    address = address_of(None, folder)
    with Store(address) as store, store.transaction() as writer:
        for number, found in enumerate(nights, first):
            run = writer.run(run_row(facts(number, bench), None))
            for place, one in enumerate(found if isinstance(found, list) else [found]):
                rows = trial_rows(one)
                writer.trial(run, replace(rows, row=rows.row | {"folder": f"{one.folder}-{place}"}))
    return address


def asked(folder: Path, bench: str = "") -> EarlierNights:
    return EarlierNights(None, folder, bench, facts(TONIGHT, bench)["uid"])


def values(nights: EarlierNights, trial: TrialRecord) -> list[float]:
    return [one.value for one in nights(json_fields(trial), PATH)]


def test_one_value_a_night_the_oldest_first_and_only_where_the_trial_passed(tmp_path: Path) -> None:
    failed = with_sram(9, verdict="fail", reason="why")
    write(tmp_path, with_sram(3), failed, [with_sram(1), with_sram(2), with_sram(9)], with_sram(4))
    found = asked(tmp_path)(json_fields(record()), PATH)
    assert [(one.value, one.unit, one.provenance) for one in found] == [
        (3, "B", Provenance.COUNTED), (2, "B", Provenance.COUNTED), (4, "B", Provenance.COUNTED),
    ]  # fmt: skip
    accuracy = asked(tmp_path)(json_fields(record()), "accuracy.after")
    assert [one.uncertainty is None for one in accuracy] == [False, True, False], "of a median nothing is known"


OTHERS = [
    {"board": "rp2040"}, {"reality": "hardware"}, {"network": "lenet5-tflite8"}, {"method": "mezo"},
    {"variant": "full-zo"}, {"data": "mnist"}, {"batch": 9}, {"seed": 2**31}, {"steps": 201}, {"slots": 3},
    {"schedule": [{"step": 1, "r_max": 3}]}, {"settings": record().settings | {"r_max": 1}},
]  # fmt: skip


@pytest.mark.parametrize("fields", OTHERS, ids=lambda fields: next(iter(fields)))
def test_a_night_of_another_series_is_none_of_this_one(tmp_path: Path, fields: dict[str, object]) -> None:
    write(tmp_path, with_sram(1), with_sram(2, **fields))
    nights = asked(tmp_path)
    assert (values(nights, record()), values(nights, record(0, **fields))) == ([1], [2])


def test_the_nights_are_those_of_this_bench(tmp_path: Path) -> None:
    write(tmp_path, with_sram(1))
    write(tmp_path, with_sram(2), bench="lab 2")
    assert values(asked(tmp_path), record()) == [1]
    assert values(asked(tmp_path, "lab 2"), record()) == [2]
    assert values(asked(tmp_path, "lab 3"), record()) == []


def test_the_run_that_goes_on_is_no_earlier_night(tmp_path: Path) -> None:
    write(tmp_path, with_sram(1))
    write(tmp_path, with_sram(2), first=TONIGHT)
    assert values(asked(tmp_path), record()) == [1]


def test_what_the_history_said_holds_for_the_session(tmp_path: Path) -> None:
    write(tmp_path, with_sram(1))
    nights, fresh = asked(tmp_path), asked(tmp_path / "later")
    assert values(nights, record()) == [1] and values(fresh, record()) == []
    write(tmp_path, with_sram(2), first=1)
    (tmp_path / "later").mkdir()
    write(tmp_path / "later", with_sram(2))
    assert values(nights, record()) == [1] and values(fresh, record()) == []


@pytest.mark.parametrize("content", [None, b""])
def test_the_first_night_has_no_nights_before(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        address_of(None, tmp_path).path.write_bytes(content)
    assert values(asked(tmp_path), record()) == []


def damage(address: Address) -> None:
    address.path.write_bytes(b"this was a history " * 1000)


def of_a_newer(address: Address) -> None:
    with Store(address) as store, store.transaction() as writer:
        writer.connection.execute(text(f"UPDATE {schema.TABLE} SET version_num = '9999'"))


def without_a_table(address: Address) -> None:
    with sqlite3.connect(address.path) as connection:
        connection.execute("DROP TABLE kinds")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (damage, "the history is damaged"),
        (of_a_newer, "the history was written by a newer trainrig"),
        (without_a_table, "the history does not answer"),
    ],
)
def test_a_bad_history_is_a_reason_without_its_path(tmp_path: Path, spoil, why: str) -> None:  # type: ignore[no-untyped-def]
    spoil(write(tmp_path, with_sram(1)))
    nights = asked(tmp_path)
    for _ in range(2):
        with pytest.raises(EarlierUnknown) as unknown:
            values(nights, record())
        assert str(unknown.value) == f"{why} (`hil history` says more)"


def test_a_locked_history_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "BUSY_S", 0.1)
    address = write(tmp_path, with_sram(1))
    other = sqlite3.connect(address.path, isolation_level=None)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    other.execute("CREATE TABLE mine (n)")
    with pytest.raises(
        EarlierUnknown, match="^the history is locked by another program [(]`hil history` says more[)]$"
    ):
        values(asked(tmp_path), record())
    other.close()


def test_a_server_that_is_away_is_a_reason_without_its_name(tmp_path: Path) -> None:
    pytest.importorskip("psycopg", reason="pip install 'trainrig[postgresql]'")
    nights = EarlierNights("postgresql+psycopg://me:secret@127.0.0.1:1/night", tmp_path, "", "1")
    with pytest.raises(EarlierUnknown, match="^the history does not answer [(]`hil history` says more[)]$"):
        values(nights, record())


def test_a_history_that_hangs_is_waited_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer, "ANSWER_S", 0.05)
    end, asks = threading.Event(), []

    def hang(nights: EarlierNights) -> dict[object, object]:
        asks.append(nights)
        end.wait(60)
        return {}

    monkeypatch.setattr(EarlierNights, "_values", hang)
    nights = asked(tmp_path)
    for _ in range(3):
        with pytest.raises(EarlierUnknown, match="did not answer within 0.05 s"):
            values(nights, record())
    end.set()
    assert len(asks) == 1


def test_a_computer_without_memory_for_a_thread_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(thread: threading.Thread) -> None:
        raise MemoryError("no memory for a thread")

    monkeypatch.setattr(answer, "start", full)
    with pytest.raises(EarlierUnknown, match="not read .no memory for a thread."):
        values(asked(tmp_path), record())


def let_others_in(folder: Path) -> None:
    for each in (folder, *folder.parents[: folder.parents.index(Path(tempfile.gettempdir()))]):
        each.chmod(0o755)


@needs_root
def test_a_history_that_is_read_only_is_read(tmp_path: Path) -> None:
    write(tmp_path, with_sram(1))
    let_others_in(tmp_path)
    assert values(asked(tmp_path), record()) == [1]  # and loads what the other user may not be able to
    assert as_user(NOBODY, lambda: values(asked(tmp_path), record())) == [1]


@needs_root
def test_a_history_that_may_not_be_read_is_a_reason(tmp_path: Path) -> None:
    write(tmp_path, with_sram(1)).path.chmod(0o600)
    let_others_in(tmp_path)
    assert values(asked(tmp_path), record()) == [1]
    said = as_user(NOBODY, lambda: values(asked(tmp_path), record()))
    assert isinstance(said, EarlierUnknown) and "the history cannot be opened" in str(said)


def test_a_figure_of_a_device_test_has_nights_too(tmp_path: Path) -> None:
    """Those of the same test, board and reality in which it passed."""
    others = [
        {"reality": "virtual"},
        {"test": "test_mine.py::test_other[mps2-an386]"},
        {"verdict": "fail", "reason": "x"},
    ]
    with Store(address_of(None, tmp_path)) as store, store.transaction() as writer:
        for number, one in enumerate([device_test(7), *(device_test(9, **each) for each in others), device_test(8)]):
            rows = device_rows(one)
            assert rows is not None
            writer.trial(writer.run(run_row(facts(number, ""), None)), rows)
    nights = asked(tmp_path)
    test, board = "test_mine.py::test_engine[mps2-an386]", "mps2-an386"
    found = nights.of_device(test, board, "qemu", "figures.code")
    assert [(one.value, one.unit, one.provenance) for one in found] == [
        (7, "B", Provenance.COUNTED),
        (8, "B", Provenance.COUNTED),
    ]
    assert nights.of_device(test, board, "qemu", "figures.other") == []
    assert [one.value for one in nights.of_device(test, board, "virtual", "figures.code")] == [9]
