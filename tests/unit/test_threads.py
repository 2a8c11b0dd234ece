"""A process that runs out of memory is told so where it starts a thread; Python's own `Thread.start` would wait for ever."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Takes all memory up to a limit, gives the last `left` blocks back, and starts a thread.
STARVED = """
import resource, sys, threading
from hil.threads import ThreadPool, start

spare, left, way = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
for _ in range(3):  # their stacks are kept for the next
    start(thread := threading.Thread(target=int)); thread.join()
thread, pool = threading.Thread(target=int), ThreadPool(1)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + spare, resource.RLIM_INFINITY))
held, block = [], 1 << 20
while block >= 16:
    try:
        held.append(bytearray(block))
    except MemoryError:
        block //= 2
del held[len(held) - left:]
try:
    if way == "start":
        start(thread)
    else:
        pool.submit(int).result()
except MemoryError:
    held.clear()
    print("MemoryError")
else:
    held.clear()
    print("started")
"""


@pytest.mark.parametrize("way", ["start", "pool"])
@pytest.mark.parametrize(("spare", "left"), [(4 << 20, 0), (4 << 20, 20), (12 << 20, 1), (15 << 20, 10_000)])
def test_a_thread_without_memory_is_an_error_and_no_hang(spare: int, left: int, way: str) -> None:
    command = [sys.executable, "-c", STARVED, str(spare), str(left), way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout == "MemoryError\n", done.stderr


@pytest.mark.parametrize("way", ["start", "pool"])
def test_a_thread_with_memory_starts(way: str) -> None:
    command = [sys.executable, "-c", STARVED, str(256 << 20), "200000", way]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout == "started\n", done.stderr
