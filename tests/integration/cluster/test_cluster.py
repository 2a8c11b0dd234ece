"""A cluster of real processes over TLS: each of them is killed in the middle, and the bits are those of one worker."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
import pytest
from distributed import Client
from distributed.security import Security

from tests.unit.cluster.certificates import Authority

pytestmark = pytest.mark.tier("nightly")
DEADLINE_S = 900.0  # of a busy computer
SPEC = """
name = "small"
title = "Three settings"
data = "fashion-mnist-1k"
variant = "cls1"
epochs = 120
batch = 20

[[row]]
name = "r3"
settings = { r_max = 3 }

[[row]]
name = "r7"
settings = { r_max = 7 }

[[row]]
name = "r15"
settings = { r_max = 15 }

[[column]]
name = "float"
"""


class Cluster:
    """The scheduler, a worker of two processes, and the commands of a test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        authority = Authority(folder)
        certificate, key = authority.pair("lab")
        self.security = Security(
            tls_ca_file=str(authority.ca), tls_client_cert=certificate, tls_client_key=key, require_encryption=True
        )
        tls = {"CA_FILE": str(authority.ca)}
        for role in ("SCHEDULER", "WORKER", "CLIENT"):
            tls |= {f"{role}__CERT": certificate, f"{role}__KEY": key}
        self.environment = os.environ | {f"DASK_DISTRIBUTED__COMM__TLS__{name}": value for name, value in tls.items()}
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.address = f"tls://127.0.0.1:{self.port}"
        self.started: list[subprocess.Popen[bytes]] = []

    def scheduler(self) -> subprocess.Popen[bytes]:
        options = ("--protocol", "tls", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard")
        return self._start("scheduler.log", "dask", "scheduler", *options)

    def worker(self) -> subprocess.Popen[bytes]:
        options = ("--host", "127.0.0.1", "--nworkers", "2", "--nthreads", "1", "--no-dashboard")
        resources = ("--resources", "core=1 board:stm32h7b3=1")
        return self._start("worker.log", "dask", "worker", self.address, *options, *resources)

    def experiment(self, out: str, *more: str) -> subprocess.Popen[bytes]:
        (spec := self.folder / "small.toml").write_text(SPEC)
        command = ("experiment", "--spec", str(spec), "--seeds=1", "--out", str(self.folder / out), "--no-cache", *more)
        return self._start(f"{out}.log", "hil.commands.main", *command)

    def _start(self, log: str, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self.folder / log).open("ab") as output:
            command = [sys.executable, "-m", module, *arguments]
            process = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        self.started.append(process)
        return process

    def computing(self) -> bool:
        """Return whether the scheduler answers and a worker has a task now."""
        return bool(self._asked(lambda client: any(client.processing().values())))

    def has_workers(self, count: int) -> bool:
        """Return whether the scheduler answers and has so many workers."""
        return bool(self._asked(lambda client: len(client.scheduler_info(n_workers=-1)["workers"]) >= count))

    def _asked(self, question: Callable[[Client], bool]) -> bool | None:
        try:
            with Client(self.address, security=self.security, timeout=2, set_as_default=False) as client:
                return question(client)
        except (OSError, TimeoutError):
            return None

    def end(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.terminate()
        for process in self.started:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    one = Cluster(tmp_path)
    yield one
    one.end()


def kill_whole(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it has started, as a power cut does."""
    for one in (*psutil.Process(process.pid).children(recursive=True), process):
        one.kill()


def eventually(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not is_so():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.05)


def rows(out: Path) -> Mapping[str, int]:
    """Return how many epochs each run has."""
    return {path.parent.name: len(json.loads(path.read_text())) for path in out.glob("runs/*/curve.json")}


def bits(out: Path) -> dict[str, list[object]]:
    """Return what decides: digests, losses and accuracies of all epochs of all runs."""
    kept = ("epoch", "step", "digest", "loss", "test_accuracy", "train_accuracy")
    curves = {path.parent.name: json.loads(path.read_text()) for path in out.glob("runs/*/curve.json")}
    return {name: [[row[key] for key in kept] for row in curve] for name, curve in curves.items()}


def test_whatever_is_killed_nothing_is_lost(cluster: Cluster, tmp_path: Path) -> None:
    scheduler, worker = cluster.scheduler(), cluster.worker()
    first = cluster.experiment("there", "--scheduler", cluster.address)
    eventually(lambda: rows(tmp_path / "there"))
    children = psutil.Process(worker.pid).children()
    computing = [child for child in children if "spawn_main" in " ".join(child.cmdline())]
    computing[0].kill()
    time.sleep(5)
    assert first.poll() is None
    scheduler.kill()
    time.sleep(5)
    worker.kill()  # its processes have ended with their scheduler, or wait for it
    assert first.poll() is None
    before = sum(rows(tmp_path / "there").values())
    scheduler, worker = cluster.scheduler(), cluster.worker()
    eventually(lambda: sum(rows(tmp_path / "there").values()) > before)
    first.send_signal(signal.SIGKILL)
    first.wait()
    again = cluster.experiment("there", "--scheduler", cluster.address, "--resume")
    assert again.wait(DEADLINE_S) == 0, (tmp_path / "there.log").read_text()
    assert "has gone away" in (tmp_path / "there.log").read_text()
    alone = cluster.experiment("here", "--jobs=1")
    assert alone.wait(DEADLINE_S) == 0, (tmp_path / "here.log").read_text()
    assert bits(tmp_path / "there") == bits(tmp_path / "here") and set(rows(tmp_path / "here").values()) == {121}
    verdicts = [
        [(one["run"], one["epoch"], one["verdict"], one["reality"]) for one in json.loads(path.read_text())]
        for path in (tmp_path / "there" / "certificates.json", tmp_path / "here" / "certificates.json")
    ]
    assert verdicts[0] == verdicts[1] and {verdict for _, _, verdict, _ in verdicts[0]} == {"pass"}


def test_slices_go_on_within_ten_seconds_of_the_return_of_what_was_killed(
    cluster: Cluster, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """From the moment at which the scheduler listens and knows its workers to that at which one computes."""
    scheduler, worker = cluster.scheduler(), cluster.worker()
    experiment = cluster.experiment("there", "--scheduler", cluster.address)
    eventually(lambda: rows(tmp_path / "there"))
    back: dict[str, float] = {}
    for name in ("worker", "scheduler"):
        kill_whole(worker)
        if name == "scheduler":
            scheduler.kill()
        time.sleep(5)
        assert experiment.poll() is None and not cluster.computing()
        scheduler = cluster.scheduler() if name == "scheduler" else scheduler
        started = time.monotonic()
        worker = cluster.worker()
        eventually(lambda: cluster.has_workers(2))
        returned = time.monotonic()
        eventually(cluster.computing)
        back[name] = time.monotonic() - returned
        record_property(f"of this, to start: {name}, in s", round(returned - started, 2))
        before = sum(rows(tmp_path / "there").values())
        eventually(lambda before=before: sum(rows(tmp_path / "there").values()) > before)
    for name, seconds in back.items():
        record_property(f"next slice after the return of: {name}, in s", round(seconds, 2))
    assert max(back.values()) < 10, back
    assert experiment.wait(DEADLINE_S) == 0, (tmp_path / "there.log").read_text()
    assert set(rows(tmp_path / "there").values()) == {121}
