"""What a process holds, from /proc: memory, descriptors, threads, children, files."""

from __future__ import annotations

import time
from pathlib import Path

PROC = Path("/proc")
COUNTS = ("descriptors", "threads", "children")
SETTLED_S, LOOK_S = 2.0, 0.05


def sample(process: int) -> dict[str, int] | None:
    """Return what a process holds at this moment; None where it has ended.

    `rss_kb` is RssAnon (proc_pid_status(5)): the pages in memory that no file backs. What a process allocates and
    does not free is there; pages of libraries, which the kernel brings and drops as it likes, are not.
    """
    folder = PROC / str(process)
    try:
        said = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        return {
            "rss_kb": int(said["RssAnon"].split()[0]),
            "descriptors": len(list((folder / "fd").iterdir())),
            "threads": len(list((folder / "task").iterdir())),
            "children": sum(parent == process for parent in parents()),
        }
    except (OSError, KeyError):  # what nobody has waited for yet has no memory any more
        return None


def settled(process: int, known: dict[str, int], within_s: float = SETTLED_S) -> dict[str, int] | None:
    """Return what a process holds; where it has more than ever before, what it has once that is over, or some seconds later.

    A thread that has done its work is not gone at once: the kernel ends it when a busy computer gives it the time.

    Args:
        process: its id.
        known: the most of each count so far, brought up to date here; empty at first.
        within_s: how long to wait.
    """
    until = time.monotonic() + within_s
    held = sample(process)
    while held is not None and known and time.monotonic() < until and any(held[one] > known[one] for one in COUNTS):
        time.sleep(LOOK_S)
        held = sample(process)
    if held is not None:
        known |= {one: max(held[one], known.get(one, 0)) for one in COUNTS}
    return held


def parents() -> list[int]:
    """Return the parent of every process of this computer, in the order of /proc."""
    found = []
    for path in PROC.glob("[0-9]*/stat"):
        try:
            found.append(
                int(path.read_text().rpartition(")")[2].split()[1])
            )  # a name may hold anything but a last bracket
        except OSError:  # it has ended meanwhile
            continue
    return found


def files_in(folder: Path) -> int:
    """Return how many files a folder holds, those below it too."""
    return sum(not path.is_dir() or path.is_symlink() for path in folder.rglob("*"))
