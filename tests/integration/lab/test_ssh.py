"""A serial port that is reached through SSH, as labgrid does it: a real sshd on a port of the loopback, with keys of the test."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("labgrid", reason="labgrid is not installed: pip install 'trainrig[labgrid]'")

from hil import boards
from hil.errors import Blocked
from hil.images import image_of
from hil.lab import Found, tunnelled
from hil.lab.tunnel import coordinator_address
from hil.rig import Rig
from hil.rig_toml import Bench, BenchBoard, LabgridEntry
from hil.standins import start_virtual
from hil.targets.serial_port import close_and_discard, open_serial
from hil.trial import TrialSpec, run_trial

from .processes import Lab, free_port, resources

BOARD = "stm32h7b3"
HOST = "trainrig-test-bench"
READY_S = 30.0


def echo(listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            connection, _ = listener.accept()
            with connection, contextlib.suppress(OSError):
                while data := connection.recv(4096):
                    connection.sendall(data)


@pytest.fixture(scope="module")
def board() -> Iterator[int]:
    """A port that sends back what it gets."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=echo, args=(listener,), daemon=True).start()
        yield listener.getsockname()[1]


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An SSH server, and an `ssh` that knows it by the name HOST and uses no settings of the user."""
    server, client = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin"), shutil.which("ssh")
    if server is None or client is None:
        pytest.skip("OpenSSH's server is not installed")
    folder, port = tmp_path_factory.mktemp("ssh"), free_port()
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True)
    shutil.copy(folder / "user.pub", folder / "authorized")
    (folder / "authorized").chmod(0o600)
    (folder / "known").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    (folder / "sshd_config").write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\n"
        f"PidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
    )
    (folder / "config").write_text(
        f"Host {HOST} {socket.getfqdn()}\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {folder}/user\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {folder}/known\n  IdentityAgent none\n"
    )
    tools = folder / "bin"
    tools.mkdir()
    (tools / "ssh").write_text(f'#!/bin/sh\nexec {client} -F {folder}/config "$@"\n')
    (tools / "ssh").chmod(0o755)
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # where sshd confines its unprivileged part
    with (folder / "sshd.log").open("wb") as log:
        running = subprocess.Popen([server, "-D", "-e", "-f", folder / "sshd_config"], stdout=log, stderr=log)
    path = os.environ["PATH"]
    try:
        until = time.monotonic() + READY_S
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            assert running.poll() is None and time.monotonic() < until, (folder / "sshd.log").read_text()
            time.sleep(0.1)
        os.environ["PATH"] = f"{tools}{os.pathsep}{path}"
        yield
    finally:
        from labgrid.util.ssh import sshmanager

        with contextlib.suppress(Exception):
            sshmanager.close_all()
        os.environ["PATH"] = path
        running.kill()
        running.wait()


def test_a_serial_port_and_a_probe_behind_an_ssh_host(sshd: None, board: int) -> None:
    behind = Found(
        frozenset(), f"remote:127.0.0.1:{board}", f"socket://127.0.0.1:{board}", serial_proxy=HOST, probe_proxy=HOST
    )
    found = tunnelled(behind)
    assert found.serial != behind.serial and str(found.serial).startswith("socket://localhost:")
    assert str(found.probe).rpartition(":")[2] == str(found.serial).rpartition(":")[2], "one tunnel for one destination"
    port = open_serial(str(found.serial), 921_600)
    try:
        port.write(bytes(range(256)))
        data, until = b"", time.monotonic() + READY_S
        while len(data) < 256 and time.monotonic() < until:
            data += port.read(max(1, port.in_waiting))
    finally:
        close_and_discard(port)
    assert data == bytes(range(256))
    assert tunnelled(behind) == found


def test_the_coordinator_is_reached_through_the_variable(
    sshd: None, board: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LG_PROXY", HOST)
    host, port = coordinator_address(f"127.0.0.1:{board}").split(":")
    with socket.create_connection((host, int(port)), timeout=READY_S) as connection:
        connection.sendall(b"x")
        assert connection.recv(1) == b"x"


def test_an_ssh_host_that_cannot_be_reached_is_one_sentence(sshd: None) -> None:
    with pytest.raises(
        Blocked, match=r"SSH to nobody\.invalid, through which 10\.0\.0\.7:4001 is reached, failed"
    ) as said:
        tunnelled(Found(frozenset(), None, "socket://10.0.0.7:4001", serial_proxy="nobody.invalid"))
    assert "make `ssh nobody.invalid` work without a password" in said.value.reason


def test_what_needs_no_ssh_host_stays_as_it_is() -> None:
    found = Found(frozenset(), "remote:lab-1:4711", "socket://10.0.0.7:4001")
    assert tunnelled(found) is found


@pytest.mark.tier("nightly")
def test_a_trial_at_a_place_of_an_isolated_exporter(sshd: None, lab: Lab, tmp_path: Path) -> None:
    """labgrid names the SSH host of an isolated exporter: the rig reaches serial port and probe through it."""
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    board = start_virtual(boards.load(BOARD), image_of(BOARD), tmp_path / "board.log")
    try:
        offered = resources(board.endpoints)
        lab.export("isolated", {"h7": offered}, "--isolated")
        lab.place("h7 far", "isolated/h7/*")
        bench = Bench(board=[BenchBoard(name=BOARD, place="h7 far")], labgrid=LabgridEntry(coordinator=lab.address))
        (tmp_path / "trial").mkdir()
        with Rig(bench) as rig:
            with rig.take(boards.load(BOARD), image_of(BOARD), tmp_path / "log") as taken:
                assert str(taken.endpoints.serial).startswith("rfc2217://localhost:"), taken.endpoints
                assert str(taken.endpoints.probe).startswith("remote:localhost:"), taken.endpoints
                assert str(offered["pyocd"]["port"]) not in str(taken.endpoints.probe), "the probe server's own port"
            outcome = run_trial(TrialSpec(BOARD, "cls1", batch=2, steps=4, evaluate=0), rig, tmp_path / "trial")
        assert outcome.verdict == "pass", outcome.reason
        assert (outcome.flash.route, outcome.flash.programmed) == ("pyocd", True), "through the probe"
        assert [row.match for row in outcome.steps] == [True] * 4
    finally:
        board.stop()
