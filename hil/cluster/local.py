"""Workers that are processes of this computer."""

from __future__ import annotations

import logging
import signal
import tempfile
from typing import Any

from hil.cluster.task import CORE
from hil.threads import ONE_THREAD

CONFIGURATION = {
    # A step's products are small: threads within a task cost more than they gain, and the tasks already fill the cores.
    # Dask's own also sets a slower malloc. A worker is started by `multiprocessing`, which takes no other command.
    "distributed.nanny.pre-spawn-environ": ONE_THREAD | {"PYTHONSAFEPATH": "1"},  # Python 3.11 and later
    "distributed.scheduler.http.routes": [],  # the ports are there, on loopback, and answer nothing
    "distributed.worker.http.routes": [],
    "distributed.worker.preload": [__name__],
}


def start(jobs: int, folder: str) -> Any:
    """Return a `distributed.LocalCluster` with so many workers, each with one core; their files are in a folder."""
    import dask
    from distributed import LocalCluster
    from distributed.security import Security

    with dask.config.set(CONFIGURATION):
        return LocalCluster(
            n_workers=jobs,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            protocol="tls://",
            security=Security.temporary(),
            resources={CORE: 1},
            local_directory=folder,  # Dask's own is one for all users
            memory_limit=0,  # the system's own limits hold
            silence_logs=logging.CRITICAL,
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            worker_dashboard_address=None,
        )


def quiet() -> None:
    """Keep the log of Dask, which is imported, from the terminal: what matters of it is told in sentences."""
    for name in [name for name in logging.root.manager.loggerDict if name.split(".")[0] == "distributed"]:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def dask_setup(worker: Any) -> None:
    """Set up a worker's process; Dask calls this in each of them.

    Ctrl-C is left to the process that started the workers, which ends them. What a task leaves behind when its worker
    is killed is in the worker's folder, which is deleted too.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tempfile.tempdir = worker.local_directory
