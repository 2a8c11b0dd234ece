"""A path of IP packets that are delayed and lost, between this computer and a network namespace: the TCP is Linux's own.

Both ends are TUN devices, which need root. Each direction loses packets by chance, those that only acknowledge too.
"""

from __future__ import annotations

import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import threading
import time
from dataclasses import dataclass, field

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000  # linux/if_tun.h
LONGEST = 65_536
NEAR, FAR = "10.213.7.1", "10.213.7.2"


@dataclass
class PacketPath:
    """The path, as long as the `with` block lasts.

    Args:
        round_s: round trip.
        loss: chance that a packet is lost.
        seed: of the losses.

    Attributes:
        namespace: of the far end, whose address is `FAR`.
        lost: number of packets that were lost.
    """

    round_s: float
    loss: float = 0.0
    seed: int = 0
    lost: int = 0
    namespace: str = field(default_factory=lambda: f"trainrig-{os.getpid()}")
    _ended: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> PacketPath:
        self._ends = [_tun("near-end"), _tun("far-end")]
        _ip("netns", "add", self.namespace)
        _ip("link", "set", "far-end", "netns", self.namespace)
        for device, inside, address in (("near-end", [], NEAR), ("far-end", ["-n", self.namespace], FAR)):
            _ip(*inside, "addr", "add", f"{address}/24", "dev", device)
            _ip(*inside, "link", "set", device, "up")
        self._thread = threading.Thread(target=self._run, name="packets", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        for end in self._ends:
            os.close(end)
        _ip("netns", "del", self.namespace)

    def _run(self) -> None:
        chance = random.Random(self.seed)
        queue: list[tuple[float, int, int, bytes]] = []
        number = 0
        while not self._ended.is_set():
            wait = min(0.1, queue[0][0] - time.monotonic()) if queue else 0.1
            readable, _, _ = select.select(self._ends, [], [], max(0.0, wait))
            now = time.monotonic()
            for end in readable:
                packet = os.read(end, LONGEST)
                if chance.random() < self.loss:
                    self.lost += 1
                    continue
                number += 1
                other = self._ends[1 - self._ends.index(end)]
                heapq.heappush(queue, (now + self.round_s / 2, number, other, packet))
            while queue and queue[0][0] <= time.monotonic():
                _, _, end, packet = heapq.heappop(queue)
                os.write(end, packet)


def _tun(name: str) -> int:
    """Make a TUN device, which lasts as long as the file that is returned."""
    end = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return end


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)
