"""A scheduler that runs already: its certificates, what it lacks, and what happens when it goes away."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import dask
import pytest
from distributed import LocalCluster
from distributed.security import Security

from hil.cluster import Task, Workers, remote, workers
from hil.errors import RigError

from . import calls
from .certificates import Authority

EXPIRED = timedelta(days=-1)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates with a space"))


@contextmanager
def scheduler(server: tuple[str, str], ca: Path, port: int = 0) -> Iterator[LocalCluster]:
    """A scheduler and a worker in this process, with these certificates."""
    certificate, key = server
    security = Security(
        require_encryption=True, tls_ca_file=str(ca), tls_scheduler_cert=certificate, tls_scheduler_key=key,
        tls_worker_cert=certificate, tls_worker_key=key, tls_client_cert=certificate, tls_client_key=key,
    )  # fmt: skip
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, host="127.0.0.1", protocol="tls://", scheduler_port=port,
        security=security, resources={"core": 1}, dashboard_address=None, silence_logs=logging.CRITICAL, memory_limit=0,
        scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
    ) as cluster:  # fmt: skip
        yield cluster


@contextmanager
def configured(ca: Path, client: tuple[str, str]) -> Iterator[None]:
    """The certificates of whoever asks, in Dask's own configuration."""
    names = ("ca-file", "client.cert", "client.key")
    with dask.config.set(
        {f"distributed.comm.tls.{name}": str(value) for name, value in zip(names, (ca, *client), strict=True)}
    ):
        yield


@pytest.fixture(scope="module")
def running(authority: Authority) -> Iterator[str]:
    with scheduler(authority.pair("server"), authority.ca) as cluster:
        yield cluster.scheduler_address


def refused(address: str) -> str:
    """Return the one sentence with which the address is refused."""
    with pytest.raises(RigError) as error, Workers(1, address) as some:
        list(some.run([Task("sum", calls.add, (1, 2))]))
    said = str(error.value)
    assert "\n" not in said and len(said) < 300 and address in said
    return said


def test_tasks_of_a_cluster(running: str, authority: Authority) -> None:
    with configured(authority.ca, authority.pair("a client")), Workers(1, running) as some:
        results = [result for _, result in some.run(Task("sum", calls.add, (number, 1)) for number in range(4))]
        assert results == [1, 2, 3, 4]
        assert some.offered("core") == 1 and some.offered("board:stm32h7b3") == 0


def test_no_worker_offers_what_is_needed(running: str, authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PATIENCE_S", 0.0)
    said = "no worker of tls://.* offers 'board:stm32h7b3': start one: dask worker"
    with (
        configured(authority.ca, authority.pair("a client")),
        Workers(1, running) as some,
        pytest.raises(RigError, match=said),
    ):
        list(some.run([Task("trial", calls.add, (1, 2))], "board:stm32h7b3"))


def test_certificates_that_are_refused(running: str, authority: Authority, tmp_path: Path) -> None:
    with configured(authority.ca, authority.pair("old", EXPIRED)):
        said = refused(running)
        assert "refuses the certificate old.pem" in said and "expired" in said and said.endswith("renew it.")
    stranger = Authority(tmp_path)
    with configured(stranger.ca, stranger.pair("stranger")):
        assert "is refused here (" in refused(running)
    with configured(authority.ca, stranger.pair("stranger")):
        assert "refuses the certificate stranger.pem" in refused(running)
    nowhere = str(tmp_path / "nowhere.pem"), str(tmp_path / "nowhere.key")
    said = "certificates of distributed.comm.tls.ca-file.* cannot be read"
    with configured(authority.ca, nowhere), pytest.raises(RigError, match=said):
        remote.connect(running)
    assert "needs certificates: name them in Dask's configuration, distributed.comm.tls.ca-file" in refused(running)


def test_a_scheduler_whose_certificate_has_expired(authority: Authority) -> None:
    with pytest.raises(Exception), scheduler(authority.pair("stale", EXPIRED), authority.ca):  # noqa: B017
        pytest.fail("Dask's own workers refuse it")
    with listener(authority.pair("stale", EXPIRED)) as address, configured(authority.ca, authority.pair("a client")):
        assert "is refused here (certificate has expired): renew it" in refused(address)


@contextmanager
def listener(server: tuple[str, str] | None, answer: bytes = b"") -> Iterator[str]:
    """Something that listens, and is no scheduler."""
    import ssl

    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    one, _ = listening.accept()
                except OSError:
                    return
                with one:
                    try:
                        if server is not None:
                            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                            context.load_cert_chain(*server)
                            with context.wrap_socket(one, server_side=True) as secured:
                                secured.send(answer or b"hello")
                        else:
                            one.send(answer or b"hello")
                    except OSError:
                        pass

        threading.Thread(target=serve, daemon=True).start()
        yield f"tls://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


def test_what_is_no_scheduler(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "ANSWER_S", 1.0)
    with configured(authority.ca, authority.pair("a client")):
        with listener(None) as address:
            assert "does not speak TLS" in refused(address)
        with listener(authority.pair("server")) as address:
            assert "is no scheduler of this Dask" in refused(address)
        assert "no scheduler answers at" in refused(address)


def test_another_version_is_one_sentence() -> None:
    import distributed

    remote.refuse_other_version("tls://lab:8786", distributed.__version__)
    for theirs in ("2020.1.0", None):
        with pytest.raises(RigError, match=f"tls://lab:8786 has Dask {theirs}, this computer .*: install the same"):
            remote.refuse_other_version("tls://lab:8786", theirs)


def eventually(is_so: Callable[[], object]) -> None:
    while not is_so():
        time.sleep(0.02)


def test_a_scheduler_that_goes_away_and_returns(authority: Authority, tmp_path: Path) -> None:
    """What was under way begins again, what had ended does not, and nothing is lost."""
    said: list[str] = []
    results: list[str] = []
    gate = tmp_path / "gate"

    def ask(address: str) -> None:
        with Workers(1, address, said.append) as some:
            tasks = [
                Task("before", calls.note, (str(tmp_path), "before")),
                Task("under way", calls.wait_for, (str(gate),)),
                Task("after", calls.note, (str(tmp_path), "after")),
            ]
            results.extend(task.name for task, _ in some.run(tasks))

    with configured(authority.ca, authority.pair("a client")):
        with ExitStack() as stack:
            first = stack.enter_context(scheduler(authority.pair("server"), authority.ca))
            address = first.scheduler_address
            asking = threading.Thread(target=ask, args=(address,))
            asking.start()
            eventually(lambda: list(tmp_path.glob("gate-*.begun")))
            first.sync(first.scheduler.close)
            eventually(lambda: said)
            gate.touch()
            with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
                stack.close()  # the rest of it looks for its scheduler
        with scheduler(authority.pair("server"), authority.ca, int(address.rsplit(":", 1)[1])):
            asking.join(300)
    assert results == ["before", "under way", "after"]
    assert [line for line in said if address in line and "has gone away" in line]
    assert len(list(tmp_path.glob("before-*"))) == 1 and len(list(tmp_path.glob("gate-*.begun"))) == 2
