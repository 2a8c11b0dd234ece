"""What a fault does to a running session: signals to its processes, and what its computer takes away."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from .fault import Fault
from .session import Session

PROGRAMS = {"bench": "hil.standins.virtual", "worker": "exec(eval(sys.stdin.readline()))"}
DISK = "8m"  # takes the record of the first trial, and a part of the second's
SPARE_BYTES = 4 << 20  # that a session may still ask for
REFUSED_S = 3.0  # no disk is made read-only while a file is open for writing: it is tried again until then
CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
/* CLOCK_REALTIME is off by CLOCK_OFF seconds as soon as the file CLOCK_FILE is there. */
static time_t off(void) {
    const char *file = getenv("CLOCK_FILE"), *seconds = getenv("CLOCK_OFF");
    return file && seconds && access(file, F_OK) == 0 ? atol(seconds) : 0;
}
int clock_gettime(clockid_t which, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(which, now);
    if (which == CLOCK_REALTIME) now->tv_sec += off();
    return result;
}
int gettimeofday(struct timeval *now, void *zone) {
    (void)zone;
    struct timespec fine;
    clock_gettime(CLOCK_REALTIME, &fine);
    now->tv_sec = fine.tv_sec, now->tv_usec = fine.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *to) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to) *to = now.tv_sec;
    return now.tv_sec;
}
"""


@contextlib.contextmanager
def own_disk(folder: Path, fault: Fault) -> Iterator[Path | None]:
    """Yield a folder on a small disk of its own for what a run whose disk is to be struck writes; None for any other.

    Raises:
        PermissionError: only root may mount a disk.
    """
    if fault.act not in ("disk", "read-only", "read-only folder", "fill"):
        yield None
        return
    disk = folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(disk)], check=False).returncode:
        raise PermissionError(
            "only root may mount a disk: run the campaign as root, or leave these kinds out by --kinds."
        )
    try:
        (disk / "own").mkdir()
        yield disk / "own"
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def environment(folder: Path, fault: Fault) -> dict[str, str]:
    """Return the variables by which a session's clock can be set; empty for any other fault."""
    if fault.act != "clock":
        return {}
    (folder / "clock.c").write_text(CLOCK)
    library = folder / "clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(folder / "clock.c"), "-ldl"], check=True)
    return {
        "LD_PRELOAD": str(library),
        "CLOCK_FILE": str(folder / "clock-is-set"),
        "CLOCK_OFF": str(fault.options["seconds"]),
    }


def strike(session: Session, fault: Fault) -> bool:
    """Carry a fault out; return whether there was anything that it could meet."""
    if fault.act == "signal":
        return _signal(session, **fault.options)
    if fault.act == "clock":
        (session.folder / "clock-is-set").touch()
        return True
    acts = {
        "descriptors": _descriptors, "memory": _memory, "disk": _fill, "read-only": _read_only, "read-only folder": _read_only_folder,
    }  # fmt: skip
    return acts[fault.act](session)


def _signal(session: Session, to: str, name: str, back_s: float = 0.0, own: bool = False) -> bool:
    targets = (
        [session.process.pid]
        if to == "pytest"
        else [one for one, command in session.mark.processes().items() if PROGRAMS[to] in command]
    )
    met = [one for one in targets if _send(one, signal.Signals[name])]
    if back_s:
        time.sleep(back_s)
        for one in met:
            _send(one, signal.SIGCONT)
    return bool(met)


def _send(process: int, number: signal.Signals) -> bool:
    try:
        os.kill(process, number)
    except ProcessLookupError:
        return False
    return True


def _descriptors(session: Session) -> bool:
    used = len(list(Path(f"/proc/{session.process.pid}/fd").iterdir()))
    resource.prlimit(session.process.pid, resource.RLIMIT_NOFILE, (used, used))
    return True


def _memory(session: Session) -> bool:
    pages = int(Path(f"/proc/{session.process.pid}/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + SPARE_BYTES
    resource.prlimit(session.process.pid, resource.RLIMIT_AS, (most, most))
    return True


def _fill(session: Session) -> bool:
    fill(session.reports.parent)
    return True


def fill(folder: Path) -> Path:
    """Leave no room on the disk of a folder, and return the file that takes it."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    return filler


def _read_only(session: Session) -> bool:
    return remounted("remount,ro", session.reports.parent)


def _read_only_folder(session: Session) -> bool:
    """Nothing new can be written in the folder; what is open stays open, as where its permissions are taken away from another user."""
    if not session.reports.is_dir():
        return False
    subprocess.run(["mount", "--bind", str(session.reports), str(session.reports)], check=True)
    return remounted("remount,bind,ro", session.reports)


def remounted(options: str, folder: Path) -> bool:
    """Mount again as read-only, and return whether it was done: it is refused while a file is open for writing."""
    until = time.monotonic() + REFUSED_S
    while True:
        done = subprocess.run(["mount", "-o", options, str(folder)], check=False, capture_output=True)
        if done.returncode == 0 or time.monotonic() > until:
            return done.returncode == 0
