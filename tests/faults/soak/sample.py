"""What a process holds, from /proc: memory, descriptors, threads, children, files."""

from __future__ import annotations

from pathlib import Path

PROC = Path("/proc")


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
