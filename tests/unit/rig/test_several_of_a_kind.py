"""Several `[[board]]` of one kind: what rig.toml may say, which one a session takes, and who waits."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hil import boards
from hil.commands.main import main
from hil.dut import opened
from hil.errors import Blocked, RigError
from hil.history.address import address_of
from hil.history.health import BoardKey
from hil.history.quarantine import quarantines
from hil.history.queries import History
from hil.images import Image
from hil.rig import Rig, seats
from hil.rig.attached_boards import AttachedBoards
from hil.rig.holders import seats_of
from hil.rig_toml import Bench, read_bench

KIND = "stm32h7b3"
BOARD, IMAGE = boards.load(KIND), Image(Path("no.elf"), "0" * 64)
TABLE = f'[[board]]\nname = "{KIND}"\n'
TWO = f'{TABLE}id = "left"\nserial = "/dev/left"\n{TABLE}id = "right"\nserial = "/dev/right"\n'
HOST = '[[board]]\nname = "host"\nrun = ["./train", "{elf}"]\nreality = "host"\n'


@pytest.fixture(autouse=True)
def own_locks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("hil.rig.locks.FOLDER", tmp_path / "locks")
    monkeypatch.setattr("hil.standins.renode.installed", lambda: None)
    monkeypatch.chdir(tmp_path)


def bench(text: str = TWO) -> Bench:
    Path("rig.toml").write_text(text)
    return read_bench(Path("rig.toml"))


@pytest.fixture
def two() -> Bench:
    return bench()


@pytest.fixture
def other(two: Bench) -> Iterator[AttachedBoards]:
    """Another session."""
    held = AttachedBoards()
    yield held
    held.release()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (TABLE + 'id = "left"\n' + TABLE, "line 5, key name: the board 'stm32h7b3' is named twice: give each"),
        (TABLE + 'id = "a"\n' + TABLE + 'id = "a"\n', "line 6, key id: 'a' is the id of another"),
        (TABLE + 'id = "rp2040"\n', "line 3, key id: 'rp2040' is the name of a kind of board: choose another"),
        (TABLE + 'id = "host"\n' + HOST, "line 3, key id: 'host' is the name of a kind of board"),
        (TABLE + 'id = "all"\n', "line 3, key id: 'all' means every board"),
        (TABLE + 'id = "two words"\n', "line 3, key id: 'two words' is no word of letters"),
        (TABLE + 'id = "p"\nplace = "q"\n', "line 3, key id: the labgrid place says already which board it is"),
        (
            TABLE + 'id = "shelf"\n[[board]]\nname = "rp2040"\nplace = "shelf"\n',
            "line 3, key id: 'shelf' is a labgrid place of this file",
        ),
        (TABLE + 'id = "a"\n' + TABLE + 'place = "p"\n', "line 5, key name: .*one is at a labgrid place: give the places"),
        (TABLE + 'id = "a"\n' + TABLE + 'id = "b"\nelf = "x.elf"\n', "key elf: it differs from that of 'a'"),
        (
            HOST + 'id = "a"\n' + HOST.replace("./train", "./other") + 'id = "b"\n',
            "line 8, key run: another 'host' runs the program './train'",
        ),
        (TWO.replace("/dev/right", "/dev/left"), r"/dev/left is named for stm32h7b3 \(board left\) already"),
    ],
)  # fmt: skip
def test_each_mistake_is_one_sentence(text: str, complaint: str) -> None:
    with pytest.raises(RigError, match=complaint) as refused:
        bench(text)
    assert "\n" not in str(refused.value)


def test_a_kind_asks_for_all_and_an_id_for_one(two: Bench) -> None:
    assert [each.id for each in two.of_kind(KIND)] == ["left", "right"]
    kinds, right = two.asked(["right"])
    assert kinds == [KIND] and [each.id for each in right.board] == ["right"]
    for names in (["right", KIND], ["left", "right"], [KIND]):
        kinds, found = two.asked(names)
        assert kinds == [KIND] and found.board == two.board
    assert [each.id for each in two.asked(["rp2040"])[1].board] == ["left", "right"]
    with pytest.raises(RigError, match="rigt"):
        two.asked(["rigt"])


def test_a_session_takes_the_first_and_keeps_it(two: Bench, tmp_path: Path) -> None:
    with Rig(two) as first, Rig(two) as second:
        for _ in range(2):
            for rig, which in ((first, "left"), (second, "right")):
                with rig.take(BOARD, IMAGE, tmp_path / "log") as taken:
                    assert (taken.which, taken.endpoints.serial) == (which, f"/dev/{which}")
        third = Rig(two)
        said = r"stm32h7b3 \(board left\) is in use: /dev/left is held by .* stm32h7b3 \(board right\) is in use: "
        with pytest.raises(Blocked, match=f"lock: .*{said}"), third.take(BOARD, IMAGE, tmp_path / "log"):
            pytest.fail("both are held")
    with third, third.take(BOARD, IMAGE, tmp_path / "log") as taken:
        assert taken.which == "left"


def test_whoever_waits_gets_the_one_that_is_released(two: Bench, other: AttachedBoards) -> None:
    holds_right = AttachedBoards()
    assert (other.hold(two.board).id, holds_right.hold(two.board).id) == ("left", "right")
    waits, found = AttachedBoards(wait_s=float("inf")), []
    thread = threading.Thread(target=lambda: found.append(waits.hold(two.board).id))
    thread.start()
    holds_right.release()
    thread.join(60)
    waits.release()
    assert found == ["right"]


def test_one_in_quarantine_is_passed_over_and_given_back(two: Bench, other: AttachedBoards) -> None:
    bad: set[str] = set()
    mine = AttachedBoards(kept_off=lambda board, which: f"{board} {which} is in quarantine." if which in bad else "")
    assert mine.hold(two.board).id == "left"
    bad.add("left")
    assert mine.hold(two.board).id == "right"
    assert other.hold(two.board).id == "left", "the one in quarantine was given back"
    bad.add("right")
    with pytest.raises(Blocked, match="quarantine: .*stm32h7b3 left is in quarantine. stm32h7b3 right is in"):
        mine.hold(two.board)
    mine.release()


def test_a_test_of_several_devices_gets_different_ones(two: Bench, other: AttachedBoards) -> None:
    assert [other.hold(two.board).id, other.hold(two.board, ["left"]).id] == ["left", "right"]
    assert other.hold(two.board).id == "left"
    with pytest.raises(RigError, match="this session has only 2 of stm32h7b3.* ask for all by --board=stm32h7b3"):
        other.hold(two.board, ["left", "right"])


def test_as_many_workers_as_there_are_free_boards(two: Bench, other: AttachedBoards) -> None:
    assert seats(two, KIND) == 2
    assert seats(two, KIND, lambda board, which: which and "in quarantine") == 1
    other.hold(two.board)
    assert seats(two, KIND) == 1
    assert seats(bench(f'{TABLE}serial = "/dev/x"\n'), KIND) == 1


def test_commands_of_one_kind_are_spread_too(other: AttachedBoards) -> None:
    both = bench(f'{HOST}id = "a"\n{HOST}id = "b"\n')
    assert other.hold(both.board).id == "a"
    mine = AttachedBoards()
    assert mine.hold(both.board).id == "b"
    mine.release()


def test_a_missing_port_is_a_fault_of_the_one_board(tmp_path: Path) -> None:
    one = bench(TWO.replace("/dev/left", "00112233445566"))
    with (
        Rig(one) as rig,
        pytest.raises(Blocked, match=r"00112233445566 that rig.toml names for stm32h7b3 \(board left\)") as blocked,
        opened(rig, BOARD, IMAGE, tmp_path) as dut,
    ):
        assert dut.record.place == "left"
        _ = dut.serial
    assert blocked.value.stage == "bench"


def test_the_lab_names_the_one(two: Bench, other: AttachedBoards, capsys: pytest.CaptureFixture[str]) -> None:
    other.hold(two.board)
    found, notes = seats_of(two)
    assert [(each.board, each.place, bool(each.holder)) for each in found] == [
        (KIND, "left", True),
        (KIND, "right", False),
    ]
    assert notes == []
    assert main(["lab", "quarantine", KIND, "--why", "its cable is loose"]) == 2
    assert "name one of them by its board ID (left, right)" in capsys.readouterr().err
    assert main(["lab", "quarantine", "right", "--why", "its cable is loose"]) == 0
    with History.open(address_of(None, Path("reports"))) as history:
        assert quarantines(history).keys() == {BoardKey("", KIND, "right")}
    assert main(["lab", "--page", "lab.html"]) == 0
    assert "stm32h7b3 (board right) is in quarantine by hand" in capsys.readouterr().out
    assert "board ID right" in Path("lab.html").read_text()
    assert main(["lab", "release", "right"]) == 0
    assert capsys.readouterr().out.startswith("right is released")


def test_devices_and_doctor_name_the_one(
    two: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hil.commands.devices.attached", list)
    monkeypatch.setenv("XDG_DATA_HOME", str(Path.cwd()))
    assert main(["devices"]) == 0
    assert "stm32h7b3 (board right)" in capsys.readouterr().out
    assert main(["devices", "--json"]) == 0
    assert [each["id"] for each in json.loads(capsys.readouterr().out)] == ["left", "right"]
    assert main(["doctor", "--json"]) == 1
    checks = json.loads(capsys.readouterr().out)
    assert [each["id"] for each in checks if each["subject"] == "port opens"] == ["left", "right"]
    assert "id" not in checks[0]
