"""Workers of this computer: results, failures, deaths, ports, and their end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from hil.cluster import Failure, Task, Workers
from hil.errors import RigError

from . import calls


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with Workers(2) as started:
        yield started
    left = [child for child in psutil.Process().children(recursive=True) if child.pid not in before]
    assert not [child for child in left if "spawn_main" in " ".join(child.cmdline())], "workers outlive the block"


def test_results_come_with_their_tasks_and_failures_in_one_sentence(workers: Workers) -> None:
    tasks = [Task("sum", calls.add, (number, 1), number) for number in range(5)]
    tasks.append(Task("refused", calls.refuse, ("not that",)))
    tasks.append(Task("stumbled", calls.stumble, ()))
    found = {(task.name, task.tag): result for task, result in workers.run(iter(tasks))}
    assert [found["sum", number] for number in range(5)] == [1, 2, 3, 4, 5]
    assert found["refused", None] == Failure("not that: do something else.")
    stumbled = found["stumbled", None]
    assert stumbled.reason == "ZeroDivisionError: in the middle" and "in stumble" in stumbled.traceback


def test_results_in_the_order_of_their_tasks(workers: Workers, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    tasks = [Task("waits", calls.wait_for, (str(gate),)), Task("sum", calls.add, (1, 2))]
    tasks.append(Task("opens", calls.note, (str(tmp_path), "gate")))

    def opened() -> Iterator[Task]:
        yield from tasks
        gate.touch()  # the third is asked for when the second has ended

    results = list(workers.in_order(opened()))
    assert results[:2] == ["done", 3] and len(results) == 3
    with pytest.raises(RigError, match=r"refused could not be carried out \(not that: do something else\.\)"):
        list(workers.in_order([Task("refused", calls.refuse, ("not that",))]))


def test_a_task_goes_on_before_others_begin(workers: Workers) -> None:
    first = [Task("first", calls.add, (number, 0), number) for number in range(6)]
    order = []
    for task, _ in workers.run(iter(first)):
        order.append((task.name, task.tag))
        if task.name == "first" and task.tag < 2:
            workers.go_on(Task("second", calls.add, (task.tag, 100), task.tag))
    assert len(order) == 8
    assert max(order.index(("second", number)) for number in range(2)) < order.index(("first", 5))


def test_a_worker_does_not_wait_while_a_result_is_handled(workers: Workers, tmp_path: Path) -> None:
    """Three are asked for before the first result is there, so that two are under way while it is written."""
    asked: list[int] = []

    def tasks() -> Iterator[Task]:
        for number in range(6):
            asked.append(number)
            yield Task("sum", calls.add, (number, 1), number)

    ahead = [len(asked) - done for done, _ in enumerate(workers.run(tasks()))]
    assert ahead == [3, 3, 3, 3, 2, 1]


def test_a_worker_that_dies_costs_its_task_once(workers: Workers, tmp_path: Path) -> None:
    others = [Task(f"other-{number}", calls.note, (str(tmp_path), f"other-{number}")) for number in range(4)]
    results = dict(workers.run(iter([Task("dies", calls.die, (str(tmp_path), 1)), *others])))
    assert len(results) == 5 and not [one for one in results.values() if isinstance(one, Failure)]
    assert len(list(tmp_path.glob("die-*"))) == 2, "once more, and no more"
    assert len(list(tmp_path.glob("other-*"))) == 4, "the others are computed once"


def test_a_task_that_kills_its_workers_is_named(
    workers: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert workers.offered("core") and workers.address  # they have begun
    monkeypatch.setattr(workers._cluster.scheduler, "allowed_failures", 0)
    [(task, failure)] = workers.run([Task("deadly", calls.die, (str(tmp_path), 9))])
    assert task.name == "deadly" and failure.reason.startswith("its worker died, 1 of 1 times: "), failure


def test_their_files_are_in_a_folder_of_this_user(workers: Workers) -> None:
    [(_, place)] = workers.run([Task("place", calls.place, ())])
    [own] = [parent for parent in Path(place).parents if parent.name.startswith("trainrig-")]
    assert own.stat().st_mode & 0o77 == 0


def test_they_listen_on_loopback_only_and_compute_with_one_thread(workers: Workers) -> None:
    [(_, threads)] = workers.run([Task("threads", calls.environment, ("OPENBLAS_NUM_THREADS",))])
    assert threads == "1"
    own = psutil.Process()
    open_ports = [
        connection.laddr.ip
        for process in (own, *own.children(recursive=True))
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert len(open_ports) >= 3 and set(open_ports) == {"127.0.0.1"}


def test_another_user_of_this_computer_cannot_use_them(workers: Workers) -> None:
    """The port is open to all, but a certificate of another authority is refused."""
    from distributed import Client
    from distributed.security import Security

    assert workers.offered("core") == 2
    address = workers.address
    assert address.startswith("tls://127.0.0.1:")
    for security, seen in ((Security.temporary(), address), (Security(), address.replace("tls", "tcp"))):
        with pytest.raises(OSError):
            Client(seen, security=security, timeout=2)


def test_the_key_is_what_is_asked_for() -> None:
    task = Task("sum", calls.add, (1, 2))
    assert task.key == Task("sum", calls.add, (1, 2), "another tag").key
    assert len({task.key, Task("sum", calls.add, (1, 3)).key, Task("sum", calls.note, (1, 2)).key}) == 3


def test_another_worker_s_sources_are_refused() -> None:
    from hil.cluster.task import carry_out, sources_digest

    assert carry_out(calls.add, (1, 2), sources_digest()) == 3
    refused = carry_out(calls.add, (1, 2), "0" * 64)
    assert "has other sources of trainrig" in refused.reason and refused.reason.endswith("install the same on both.")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("lab", "give tls://HOST:PORT"),
        ("tls://the lab:8786", "give tls://HOST:PORT"),
        ("tls://lab:0", "give tls://HOST:PORT"),
        ("tls://lab:99999", "give tls://HOST:PORT"),
        ("ucx://lab:8786", "give tls://HOST:PORT"),
        ("tcp://lab:8786", "would send tasks without TLS"),
        ("tcp://192.0.2.1:8786", "would send tasks without TLS"),
    ],
)
def test_an_address_that_is_refused(address: str, said: str) -> None:
    with pytest.raises(RigError, match=said) as refused:
        Workers(1, address)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:8786", "tls://lab:8786"])
def test_an_address_that_is_taken(address: str) -> None:
    Workers(1, address)


def test_an_error_with_a_stage_comes_back_whole() -> None:
    import pickle

    from hil.errors import Blocked

    sent = Blocked("energy", "no windows.")
    found = pickle.loads(pickle.dumps(sent))
    assert (type(found), str(found), found.stage, found.reason) == (Blocked, str(sent), "energy", "no windows.")


def test_a_command_without_tasks_does_not_wait_for_dask() -> None:
    """Its import takes most of a second, and more for the certificates."""
    program = (
        "import sys; from hil.cluster.options import Workers\n"
        "with Workers(2) as some: assert not list(some.run([]))\n"
        "assert not {'dask', 'distributed', 'cryptography', 'tornado'} & set(sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
