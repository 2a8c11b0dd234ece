"""Hand tasks to workers, and their results back as they come."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from queue import Empty, Queue
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from hil.cluster import local, remote
from hil.cluster.task import CORE, Failure, Task, carry_out, sources_digest
from hil.errors import RigError
from hil.steady_clock import steady_s

CHECK_S = 10.0  # without a result, until somebody looks whether there are workers at all
PATIENCE_S = 60.0  # for the first worker that offers what a task needs
RETURN_S = 600.0  # for a scheduler that has gone away
AGAIN_S = 1.0  # between two looks


class Workers:
    """Workers, which begin with the first task; they are always ended when the block is left.

    Args:
        jobs: processes of this computer, if no scheduler is given.
        scheduler: address of a scheduler that runs already; None: this computer alone.
        say: called with one line about a wait.

    Raises:
        RigError: the address is none, or unsafe.
    """

    def __init__(self, jobs: int, scheduler: str | None = None, say: Callable[[str], None] = lambda line: None) -> None:
        self._jobs, self._say = jobs, say
        self._scheduler = None if scheduler is None else remote.checked(scheduler)
        self._cluster: Any = None
        self._folder: TemporaryDirectory[str] | None = None
        self._client: Any = None
        self._next: deque[Task] = deque()
        self._running: dict[int, tuple[Task, Any]] = {}  # with their futures, by `id` of these
        self._ended: Queue[Any] = Queue()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._running.clear()
        if self._client is not None:
            self._client.close()
        if self._cluster is not None:
            self._cluster.close()
        if self._folder is not None:
            self._folder.cleanup()
        self._client = self._cluster = None

    @property
    def begun(self) -> bool:
        """Whether there was a task for them yet."""
        return self._client is not None

    @property
    def address(self) -> str:
        """Address of the scheduler, which begins if it is that of this computer."""
        self._begin()
        client: Any = self._client
        return str(client.scheduler.address)

    def offered(self, resource: str) -> int:
        """Return how many tasks that need a resource the workers take at a time.

        Raises:
            RigError: there is no scheduler, or it cannot be used.
        """
        self._begin()
        if self._scheduler is None:
            return self._jobs if resource == CORE else 0
        return remote.offered(self._client, resource)

    def run(self, tasks: Iterable[Task], resource: str = CORE) -> Iterator[tuple[Task, Any]]:
        """Yield every task with its result, or with a `Failure`, as they end.

        A task is taken from `tasks` when there is a worker for it, before the result of the task that ended there is
        yielded. Those of `go_on` come first, from the next result on.

        Raises:
            RigError: no worker offers the resource, or the scheduler does not come back.
        """
        source = iter(tasks)
        if (first := next(source, None)) is None:
            return
        self._next.append(first)
        self._await(resource)
        while self._fill(source, resource):
            try:
                future = self._ended.get(timeout=CHECK_S)
            except Empty:
                self._look(resource)
                continue
            task, _ = self._running.pop(id(future), (None, None))
            if task is None:
                continue  # of a scheduler that has gone away
            if future.status == "finished":
                self._fill(source, resource)  # a worker must not wait while the result is fetched and written
            result = self._result(task, future)
            if result is None:
                self._next.appendleft(task)
                self._return()
            else:
                yield task, result

    def in_order(self, tasks: Iterable[Task], resource: str = CORE) -> Iterator[Any]:
        """Yield the results in the order of their tasks, each as soon as those before it are there.

        Raises:
            RigError: as `run`; or a task failed.
        """
        numbered = (replace(task, tag=number) for number, task in enumerate(tasks))
        done: dict[int, Any] = {}
        following = 0
        for task, result in self.run(numbered, resource):
            if isinstance(result, Failure):
                raise RigError(f"{task.name} could not be carried out ({result.reason})")
            done[task.tag] = result
            while following in done:
                yield done.pop(following)
                following += 1

    def go_on(self, task: Task) -> None:
        """Add a task to those that `run` is taking, before the others."""
        self._next.appendleft(task)

    def _begin(self) -> None:
        if self.begun:
            return
        from distributed import Client

        local.quiet()
        if self._scheduler is not None:
            self._client = remote.connect(self._scheduler)
            return
        self._folder = TemporaryDirectory(prefix="trainrig-", ignore_cleanup_errors=True)
        self._cluster = local.start(self._jobs, self._folder.name)
        self._client = Client(self._cluster, set_as_default=False)

    def _await(self, resource: str) -> None:
        deadline = steady_s() + PATIENCE_S
        while not self.offered(resource):
            if steady_s() > deadline:
                cure = f'start one: dask worker {self._scheduler} --nthreads 1 --resources "{resource}=1"'
                raise RigError(f"no worker of {self._scheduler} offers {resource!r}: {cure}")
            time.sleep(AGAIN_S)

    def _fill(self, source: Iterator[Task], resource: str) -> bool:
        """Hand out as many tasks as workers take; return whether any are under way."""
        free = max(self.offered(resource), 1) - len(self._running)
        for _ in range(free):
            task = self._next.popleft() if self._next else next(source, None)
            if task is None:
                break
            self._hand_out(task, resource)
        return bool(self._running)

    def _hand_out(self, task: Task, resource: str) -> None:
        sources = None if self._scheduler is None else sources_digest()
        future = self._client.submit(
            carry_out, task.call, task.arguments, sources, key=task.key, resources={resource: 1}
        )
        self._running[id(future)] = task, future
        future.add_done_callback(lambda _: self._ended.put(future))

    def _result(self, task: Task, future: Any) -> Any:
        """Return a result or a failure; None: the scheduler went away with it."""
        from distributed import KilledWorker

        if future.status == "finished":
            return future.result()
        if future.status != "error":
            return None
        error = future.exception()
        if isinstance(error, KilledWorker):
            deaths = error.allowed_failures + 1
            return Failure(
                f"its worker died, {deaths} of {deaths} times: look for what ended it, such as a lack of memory."
            )
        return Failure(f"{type(error).__name__}: {error}".splitlines()[0])

    def _look(self, resource: str) -> None:
        if not self.offered(resource):
            self._say(f"waiting for a worker that offers {resource!r}: {self._scheduler} has none at the moment.")

    def _return(self) -> None:
        """Wait for the scheduler, and be its client again."""
        assert self._scheduler is not None, "that of this computer is part of this process"
        self._say(f"waiting for {self._scheduler}, which has gone away: its tasks under way begin again.")
        self._next.extendleft(task for task, _ in self._running.values())
        self._running.clear()
        self._client.close(timeout=AGAIN_S)
        deadline = steady_s() + RETURN_S
        while True:
            try:
                self._client = remote.connect(self._scheduler)
                return
            except RigError:
                if steady_s() > deadline:
                    raise
                time.sleep(AGAIN_S)
