"""Boards at labgrid places, against labgrid's own coordinator and exporter: who has a place, and what comes back."""

from __future__ import annotations

import contextlib
import http.server
import os
import socket
import subprocess
import sys
import threading
import time
import tty
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("labgrid", reason="labgrid is not installed: pip install 'trainrig[labgrid]'")

from hil.commands.main import main
from hil.endpoints import NetworkSwitch
from hil.errors import Blocked
from hil.rig.bench_endpoints import found_in
from hil.rig.held_place import HeldPlace
from hil.rig.places import Places, seats
from hil.rig_toml import Bench, BenchBoard, LabgridEntry, read_bench
from hil.targets.power import open_power

from .processes import Lab, free_port

BOARD = "stm32h7b3"
ME = f"{socket.gethostname()}/[^/:]+:trainrig-{os.getpid()}"


@pytest.fixture(scope="module")
def bench(lab: Lab) -> Iterator[Lab]:
    """Two exporters: one with a serial port that it opens when a place is acquired, one with addresses only."""
    ends = os.openpty()
    tty.setraw(ends[1])
    lab.export("left bench", {"h7": {"RawSerialPort": {"port": os.ttyname(ends[1])}}})
    ports = {
        group: {"NetworkSerialPort": {"host": "127.0.0.2", "port": 4000 + number, "protocol": "raw", "speed": 115200}}
        for number, group in enumerate(("f7 a", "f7 b", "spare", "brief"))
    }
    lab.export("right", ports)
    lab.place("h7 bench 3", "left bench/h7/*")
    lab.place("f7-a", "right/f7 a/*", board="stm32f746")
    lab.place("f7-b", "right/f7 b/*", board="stm32f746")
    lab.place("bare")
    lab.place("spare", "right/spare/*")
    yield lab
    for end in ends:
        os.close(end)


@pytest.fixture
def session(bench: Lab) -> Iterator[Callable[..., HeldPlace]]:
    """Takes a place in a session of its own; all are given back at the end."""
    opened: list[Places] = []

    def take(place: str, wait_s: float = 0.0, again: bool = False) -> HeldPlace:
        if not again or not opened:
            opened.append(Places(bench.address, wait_s))
        return opened[-1].hold(BOARD, place, found_in(BenchBoard(name=BOARD)))

    yield take
    for each in opened:
        each.release()


def test_a_place_is_acquired_for_a_session_and_given_back(bench: Lab) -> None:
    before = set(threading.enumerate())
    places = Places(bench.address)
    try:
        held = places.hold(BOARD, "h7 bench 3", found_in(BenchBoard(name=BOARD, place="h7 bench 3")))
        bench.await_holder("h7 bench 3", ME)
        assert (held.found().serial or "").startswith("rfc2217://127.0.0.2:"), held.found()
        assert places.hold(BOARD, "h7 bench 3", held.find) is held
    finally:
        places.release()
    bench.await_holder("h7 bench 3", "")
    left = [each for each in threading.enumerate() if each not in before and each.name.startswith("labgrid")]
    for each in left:
        each.join(5.0)
    assert not [each for each in left if each.is_alive()], "the session is over"


def test_a_place_of_another_names_its_holder_and_can_be_waited_for(
    bench: Lab, session: Callable[..., HeldPlace]
) -> None:
    bench.admin.acquire("spare")
    bench.await_holder("spare", "desk/admin")
    with pytest.raises(Blocked, match="lock: .*the labgrid place spare is held by desk/admin: wait for it with --wait"):
        session("spare")
    threading.Timer(0.5, bench.admin.release, ("spare", "desk/admin")).start()
    assert session("spare", wait_s=60.0).name == "spare"


def test_a_place_that_the_user_has_acquired_is_used_and_stays_acquired(
    bench: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LG_HOSTNAME", "desk")
    monkeypatch.setenv("LG_USERNAME", "admin")
    bench.admin.acquire("spare")
    bench.await_holder("spare", "desk/admin")
    places = Places(bench.address)
    try:
        held = places.hold(BOARD, "spare", found_in(BenchBoard(name=BOARD, place="spare")))
        assert held.found().serial == "socket://127.0.0.2:4002"
    finally:
        places.release()
    assert bench.holder("spare") == "desk/admin"
    bench.admin.release("spare", "desk/admin")
    bench.await_holder("spare", "")


def killed(bench: Lab, folder: Path, place: str) -> None:
    """Let another process acquire a place, and die of SIGKILL."""
    program = f"""
import os, signal
import hil.rig.locks as locks
from pathlib import Path
locks.FOLDER = Path({str(folder / "locks")!r})
from hil.rig.bench_endpoints import found_in
from hil.rig_toml import BenchBoard
from hil.rig.places import Places
Places({bench.address!r}).hold("{BOARD}", {place!r}, found_in(BenchBoard(name="{BOARD}")))
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", program], check=False, timeout=120)


def test_what_a_killed_session_left_acquired_is_taken_over(
    bench: Lab, session: Callable[..., HeldPlace], tmp_path: Path
) -> None:
    killed(bench, tmp_path, "spare")
    bench.await_holder("spare", ".*:trainrig-.*")
    session("spare")
    bench.await_holder("spare", ME)


def test_any_place_with_the_tag_until_all_are_taken(bench: Lab, session: Callable[..., HeldPlace]) -> None:
    assert {session("any:stm32f746").name, session("any:stm32f746").name} == {"f7-a", "f7-b"}
    with pytest.raises(Blocked, match=rf"lock: .* the tag board=stm32f746 is held \(f7-a by {ME}, f7-b by {ME}\)"):
        session("any:stm32f746")


def test_any_place_leaves_that_of_another_alone(bench: Lab, session: Callable[..., HeldPlace]) -> None:
    bench.admin.acquire("f7-a")
    bench.await_holder("f7-a", "desk/admin")
    try:
        assert session("any:stm32f746").name == "f7-b"
        assert bench.holder("f7-a") == "desk/admin"
    finally:
        bench.admin.release("f7-a", "desk/admin")
        bench.await_holder("f7-a", "")


def test_any_place_that_a_killed_session_left_is_free_again(
    bench: Lab, session: Callable[..., HeldPlace], tmp_path: Path
) -> None:
    """And so is its reservation."""
    killed(bench, tmp_path, "any:stm32f746")
    assert bench.admin.wait_for(lambda: any(":trainrig-" in bench.holder(name) for name in ("f7-a", "f7-b")), 20.0)
    assert {session("any:stm32f746").name, session("any:stm32f746").name} == {"f7-a", "f7-b"}


def test_a_board_has_as_many_seats_as_places_with_its_tag_are_free(bench: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(asked: str, coordinator: str = bench.address, **entry: str) -> int:
        lab = LabgridEntry(coordinator=coordinator)
        return seats(Bench(board=[BenchBoard.model_validate({"name": "stm32f746"} | entry)], labgrid=lab), asked)

    assert counted("stm32f746", board="any:stm32f746") == 2
    assert counted("stm32f746", place="f7-a") == counted("rp2040", board="any:stm32f746") == 1
    assert counted("stm32f746", board="any:none") == 1
    with monkeypatch.context() as patch:
        patch.setattr("hil.rig.places.BACK_WITHIN_S", 0.5)
        assert counted("stm32f746", f"127.0.0.1:{free_port()}", board="any:stm32f746") == 1, "nobody can be asked"
    bench.admin.acquire("f7-a")
    bench.await_holder("f7-a", "desk/admin")
    try:
        assert counted("stm32f746", board="any:stm32f746") == 1
    finally:
        bench.admin.release("f7-a", "desk/admin")
        bench.await_holder("f7-a", "")


def test_a_place_that_is_given_back_is_had_at_once_by_who_waits_for_any(bench: Lab) -> None:
    """Released before its reservation is cancelled, it stays idle until labgrid looks again, which it does every 15 s."""
    named, find = "any:stm32f746", found_in(BenchBoard(name=BOARD, board="any:stm32f746"))
    opened = [Places(bench.address), Places(bench.address)]
    try:
        for places in opened:
            places.hold(BOARD, named, find)
        for leaving in range(2):
            opened.append(Places(bench.address, 60.0))
            with ThreadPoolExecutor(1) as pool:
                held = pool.submit(opened[-1].hold, BOARD, named, find)
                time.sleep(2.0)  # it has its reservation, and has polled it
                assert not held.done()
                began = time.monotonic()
                opened[leaving].release()
                held.result()
                assert time.monotonic() - began < 4.0, "the place stayed idle"
    finally:
        for places in opened:
            places.release()


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("h7 bench 4", "no place 'h7 bench 4', which rig.toml names for stm32h7b3: did you mean h7 bench 3"),
        ("bare", r"the labgrid place bare has no serial port for stm32h7b3 \(it has nothing\): add a match"),
        ("any:rp2040", "no labgrid place at .* has the tag board=rp2040"),
        ("any:a b", "no labgrid place at .* has the tag board=a b"),
    ],
)
def test_what_a_lab_cannot_give_is_one_sentence(session: Callable[..., HeldPlace], place: str, said: str) -> None:
    with pytest.raises(Blocked, match=said):
        session(place)


def test_someone_who_releases_the_place_takes_it_away(bench: Lab, session: Callable[..., HeldPlace]) -> None:
    held = session("spare")
    bench.await_holder("spare", ME)
    bench.admin.release("spare", bench.holder("spare"))
    assert held._session.wait_for(lambda: held.taken_away() is not None, 20.0)
    with pytest.raises(Blocked, match=r"spare was taken away during the trial \(someone has released it\): agree"):
        held.alive()
    bench.admin.acquire("spare")
    assert held._session.wait_for(lambda: "desk/admin" in (held.taken_away() or ""), 20.0)
    with pytest.raises(Blocked, match=r"spare was taken away during the trial \(desk/admin has it now\): agree"):
        held.alive()
    with pytest.raises(Blocked, match="lock: .*held by desk/admin"):
        session("spare", again=True)
    bench.admin.release("spare", "desk/admin")


def test_a_place_whose_exporter_is_away_is_one_sentence(
    bench: Lab, session: Callable[..., HeldPlace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hil.rig.places.BACK_WITHIN_S", 0.5)
    bench.place("unplugged", "nowhere/h7/*")
    with pytest.raises(
        Blocked, match=r"unplugged lacks nowhere/h7/\*, which no exporter offers now: start its exporter"
    ):
        session("unplugged")


def test_a_place_that_works_is_not_acquired_again(bench: Lab, session: Callable[..., HeldPlace]) -> None:
    session("h7 bench 3")
    bench.await_holder("h7 bench 3", ME)
    assert not bench.admin.wait_for(lambda: not bench.holder("h7 bench 3"), 2.5), "longer than SETTLED_S and LOOK_S"


def test_a_place_that_is_deleted_is_taken_away(bench: Lab, session: Callable[..., HeldPlace]) -> None:
    bench.place("brief", "right/brief/*")  # labgrid keeps its resources acquired
    held = session("brief")
    bench.admin._ask("DeletePlace", bench.admin._labgrid.messages.DeletePlaceRequest(name="brief"))
    assert held._session.wait_for(lambda: held.taken_away() == "it was deleted", 20.0)
    with pytest.raises(Blocked, match=r"brief was taken away during the trial \(it was deleted\)"):
        held.alive()


def test_an_exporter_that_starts_again_is_back_for_the_next_trial(
    bench: Lab, session: Callable[..., HeldPlace]
) -> None:
    held = session("h7 bench 3")
    exporter = bench.exporters["left bench"]
    exporter.kill()
    bench.await_exported("left bench", there=False)
    held.alive()  # the trial goes on as long as its line does
    with pytest.raises(Blocked, match="lacks left bench/h7/.*, which no exporter offers now"):
        held.alive(within_s=10.0)
    exporter.start()
    assert held._session.wait_for(lambda: held._trouble() is None, 20.0)
    with pytest.raises(
        Blocked, match="bench: .* h7 bench 3 has came back at other addresses .* exporter was started again"
    ):
        held.alive(within_s=0.1)
    assert session("h7 bench 3", again=True) is held
    held.alive(within_s=0.1)


def test_a_coordinator_that_starts_again_learns_who_has_what(bench: Lab, session: Callable[..., HeldPlace]) -> None:
    """labgrid's exporters end with the coordinator; systemd starts them again, as this test does."""
    bench.await_saved("spare")
    held = session("spare")
    bench.coordinator.kill()
    assert held._session.wait_for(lambda: not held._session.connected, 20.0)
    held.alive()
    with pytest.raises(Blocked, match="the labgrid coordinator at .* cannot be used"):
        held.alive(within_s=0.1)
    bench.start_again()
    assert session("spare", again=True) is held
    bench.await_holder("spare", ME)
    held.alive(within_s=0.1)


def test_nothing_listens_beyond_the_loopback(bench: Lab, session: Callable[..., HeldPlace]) -> None:
    session("h7 bench 3")  # its exporter listens for the serial port
    groups = {os.getpgid(process.running.pid) for process in (bench.coordinator, *bench.exporters.values())}
    ours = {int(each.name) for each in Path("/proc").glob("[0-9]*") if _group(int(each.name)) in groups} | {os.getpid()}
    addresses = [address for process in ours for address in _listening(process)]
    assert len(addresses) >= 2  # coordinator and serial port
    assert {address[-2:] for address in addresses} == {"7F"}, addresses  # /proc/net/tcp: 127 is the last byte


def _group(process: int) -> int:
    with contextlib.suppress(ProcessLookupError):
        return os.getpgid(process)
    return -1


def _listening(process: int) -> list[str]:
    """Return the addresses, as in /proc/net/tcp, on which a process listens."""
    links = [each.readlink().name for each in Path(f"/proc/{process}/fd").iterdir() if each.is_symlink()]
    sockets = {link[len("socket:[") : -1] for link in links if link.startswith("socket:")}
    rows = [row.split() for name in ("tcp", "tcp6") for row in Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return [row[1].partition(":")[0] for row in rows if row[3] == "0A" and row[9] in sockets]


class Relay(http.server.BaseHTTPRequestHandler):
    """A power switch that labgrid's driver `rest` switches; with `stuck` it stays on."""

    state, stuck = b"1", False

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(Relay.state)

    def do_PUT(self) -> None:
        said = self.rfile.read(int(self.headers["Content-Length"]))
        Relay.state = Relay.state if Relay.stuck else said
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


def test_a_power_switch_of_the_lab_is_switched_by_labgrids_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), Relay) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        power = NetworkSwitch("rest", f"http://127.0.0.1:{server.server_port}/{{index}}", "3")
        with open_power(power) as switch:
            switch.switch(False)
            assert Relay.state == b"0" and " is off and can be switched" in switch.check()
            switch.switch(True)
            assert Relay.state == b"1"
            monkeypatch.setattr(Relay, "stuck", True)
            with pytest.raises(Blocked, match="port 3 of the rest power switch http.* did not switch off"):
                switch.switch(False)
        server.shutdown()
    with open_power(power) as switch, pytest.raises(Blocked, match="does not answer"):
        switch.check()
    with pytest.raises(Blocked, match="labgrid has no driver that drives port 1 of the toaster power switch"):
        open_power(NetworkSwitch("toaster", "h", "1")).__enter__()


@pytest.mark.parametrize("kind", ["another service", "no gRPC"])
def test_a_labgrid_of_another_version_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, kind: str, session: Callable[..., HeldPlace]
) -> None:
    """Up to version 24 the coordinator spoke WAMP over HTTP."""
    monkeypatch.setattr("hil.rig.places.BACK_WITHIN_S", 2.0)
    if kind == "no gRPC":
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Relay)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address, end = f"127.0.0.1:{server.server_port}", server.shutdown
        said = "cannot be used"
    else:
        import grpc

        other = grpc.server(ThreadPoolExecutor(1))
        address, end = f"127.0.0.1:{other.add_insecure_port('127.0.0.1:0')}", lambda: other.stop(0)
        other.start()
        said = "so it is a labgrid of another version"
    places = Places(address)
    try:
        with pytest.raises(Blocked, match=f"the labgrid coordinator at {address} .*{said}"):
            places.hold(BOARD, "h7", found_in(BenchBoard(name=BOARD, place="h7")))
    finally:
        places.release()
        end()


def test_init_writes_the_places(bench: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rig.toml"
    assert main(["init", f"--rig={path}", f"--labgrid={bench.address}"]) == 0
    assert "places of the labgrid coordinator at" in capsys.readouterr().out
    written = read_bench(path)
    assert written.labgrid.address == bench.address
    assert {entry.name: entry.wanted_place for entry in written.board} == {"stm32f746": "any:stm32f746"}
    assert '# place = "h7 bench 3"' in path.read_text()
