"""Work that is spread over processes, on this computer or on others, by Dask's `distributed`.

A task is a function that the workers can import, with arguments that hold all that it needs, as values: a worker has
no folder in common with who asks. The answer holds all that is to be kept, and who asked writes it. So a worker may be
anywhere, and it may die at any time: only the task that it computed is lost, and another worker computes it again.

- Without `--scheduler`, workers are processes of this computer, with one thread each, also within NumPy. They begin
  when the first task does, and end with the block. They listen on loopback only, under certificates that are made for
  them and never written: without these, every user of this computer could run programs as this one.
- With `--scheduler`, they are those of a scheduler that runs already. Its address is `tls://HOST:PORT`; the
  certificates are those of Dask's own configuration. `tcp://` is for loopback only.
- A task needs a resource, which a worker offers: `core` for computing, `board:NAME` where that board is. As many tasks
  are on the way as workers offer of it, so a worker that dies has no other tasks to lose.
- The key of a task is the SHA-256 of its function and arguments: two who ask for the same get one computation.
- Where the scheduler goes away, whoever asks waits for it, and asks again for what was under way.
- A worker whose trainrig computes by other sources refuses the task.
"""

from hil.cluster.task import CORE, Failure, Task
from hil.cluster.workers import Workers

__all__ = ["CORE", "Failure", "Task", "Workers"]
