"""A night in virtual time: runs arrive, their workers wait for places at the real coordinator, and train."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hil.benchmarks.lab.clock import VirtualLoop
from hil.benchmarks.lab.grid import TAG, CallRefused, Grid, Late, virtual_labgrid
from hil.benchmarks.lab.meter import LoadMeter
from hil.benchmarks.lab.model import Lab, SimulatedRun, runs_of
from hil.lab.coordinator import CALL_S
from hil.rig.places import KEEP_S

SAMPLE_S = 2.0
FORGOTTEN_S = 240.0  # labgrid lets a reservation expire after 60 s, and forgets it after 60 s more
AGAIN_S = 1.0


@dataclass(frozen=True)
class Rules:
    """How a worker asks. The defaults are those of `hil.rig.places`.

    Attributes:
        deadline_s: of a call.
        poll_s: between two polls of a reservation.
        told: an update of a place ends that pause.
        cancels_first: the reservation is cancelled before the place is released.
    """

    deadline_s: float = CALL_S
    poll_s: float = KEEP_S
    told: bool = True
    cancels_first: bool = True


@dataclass(frozen=True)
class Trial:
    """One trial of the night: its run, its place in the run, virtual times in seconds, and its verdict."""

    run: int
    index: int
    began: float
    ended: float
    verdict: str


@dataclass(frozen=True)
class Wait:
    """How one worker waited for a place.

    Attributes:
        asked, got: virtual times, in seconds, at which it began to ask, and had the place or gave up.
        created, left: times at which its reservation began to wait at the coordinator, and ended doing so.
        served: whether it got a place.
    """

    kind: str
    asked: float
    got: float
    created: float
    left: float
    served: bool


@dataclass
class LabNight:
    """What happened.

    Attributes:
        sampled: times (s) and, for each kind of board, how many reservations waited at them, as the coordinator knows.
        holds: place, and from when until when (s) a worker had it.
        ended: time (s) at which the last trial ended.
        late: calls whose deadline passed; `refused`: calls that the coordinator refused.
        reservations_left, places_left: what the coordinator still knew at the end.
    """

    lab: Lab
    runs: Sequence[SimulatedRun]
    meter: LoadMeter
    trials: list[Trial] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    sampled: list[dict[str, int]] = field(default_factory=list)
    holds: list[tuple[str, float, float]] = field(default_factory=list)
    ended: float = 0.0
    late: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    reservations_left: int = 0
    places_left: int = 0


def simulate(lab: Lab, rules: Rules | None = None, runs: Sequence[SimulatedRun] | None = None) -> LabNight:
    """Simulate a night; `runs` replaces those of the lab's own model."""
    loop = VirtualLoop()
    try:
        with virtual_labgrid(loop):
            return loop.run_until_complete(_night(lab, rules or Rules(), runs or runs_of(lab), loop))
    finally:
        loop.close()


async def _night(lab: Lab, rules: Rules, runs: Sequence[SimulatedRun], loop: VirtualLoop) -> LabNight:
    grid = Grid(lab, loop)
    await grid.start()
    night, start = LabNight(lab, runs, grid.meter), loop.time()
    sampler = loop.create_task(_sample(night, grid, loop))
    await asyncio.gather(*(_run(night, grid, rules, run, start, loop) for run in runs))
    night.ended = loop.time()
    sampler.cancel()
    await asyncio.gather(sampler, return_exceptions=True)
    await asyncio.sleep(FORGOTTEN_S)
    night.reservations_left, night.places_left = len(grid.coordinator.reservations), len(grid.held())
    await grid.stop()
    return night


async def _sample(night: LabNight, grid: Grid, loop: VirtualLoop) -> None:
    while True:
        night.times.append(loop.time())
        night.sampled.append(grid.waiting())
        await asyncio.sleep(SAMPLE_S)


async def _run(night: LabNight, grid: Grid, rules: Rules, run: SimulatedRun, start: float, loop: VirtualLoop) -> None:
    await asyncio.sleep(start + run.begins - loop.time())
    left = deque(enumerate(run.durations))
    workers = min(run.workers, len(left))
    await asyncio.gather(*(_Worker(night, grid, rules, run, number, loop).work(left) for number in range(workers)))


class _Worker:
    """A worker of pytest-xdist. It asks in the order in which `hil.rig.places.Places` does."""

    def __init__(
        self, night: LabNight, grid: Grid, rules: Rules, run: SimulatedRun, number: int, loop: VirtualLoop
    ) -> None:
        self._night, self._grid, self._rules, self._run, self._loop = night, grid, rules, run, loop
        self._peer = f"ci-{run.number}/worker-{number}"
        self._place, self._token, self._since = "", "", 0.0

    async def work(self, left: deque[tuple[int, float]]) -> None:
        """Do trials of the run until none is left. A trial without a place is blocked, and the next one asks again."""
        self._grid.open(self._peer, self._peer)
        while left:
            index, duration = left.popleft()
            began, verdict = self._loop.time(), "pass"
            try:
                if not self._place:
                    await self._take()
                await asyncio.sleep(duration)
            except (CallRefused, Late):
                verdict = "blocked"
            self._night.trials.append(Trial(self._run.number, index, began, self._loop.time(), verdict))
        if self._place:
            self._night.holds.append((self._place, self._since, self._loop.time()))
            ends = [("CancelReservation", {"token": self._token})]
            ends.append(("ReleasePlace", {"placename": self._place, "fromuser": self._peer}))
            for method, fields in ends if self._rules.cancels_first else reversed(ends):
                await self._quietly(method, **fields)
        self._grid.close(self._peer)

    async def _take(self) -> None:
        asked = created = self._loop.time()
        token = place = ""
        served = False
        try:
            wanted = {"main": self._grid.messages.Reservation.Filter(filter={TAG: self._run.kind})}
            token = (await self._call("CreateReservation", filters=wanted)).reservation.token
            created = self._loop.time()
            place = await self._allocated(token)
            await self._acquire(place)
            self._place, self._token, self._since, served = place, token, self._loop.time(), True
        finally:
            if place and not served:
                await self._quietly("ReleasePlace", placename=place, fromuser=self._peer)
            if token and not served:
                await self._quietly("CancelReservation", token=token)
            now = self._loop.time()
            left = self._grid.allocated_at.pop(token, now) if token else created
            self._night.waits.append(Wait(self._run.kind, asked, now, created, left, served))

    async def _allocated(self, token: str) -> str:
        """Wait until the reservation has a place; return its name."""
        told = self._grid.told[token] = asyncio.Event()
        try:
            while True:
                found = (await self._call("PollReservation", token=token)).reservation
                if found.state > 2:  # expired or invalid
                    raise CallRefused(f"reservation {token} is over")
                if "main" in found.allocations:
                    return str(found.allocations["main"])
                if not self._rules.told:
                    await asyncio.sleep(self._rules.poll_s)
                    continue
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(told.wait(), self._rules.poll_s)
        finally:
            del self._grid.told[token]

    async def _acquire(self, place: str) -> None:
        while True:
            try:
                await self._call("AcquirePlace", placename=place)
                return
            except CallRefused:  # another has it for now
                self._night.refused += 1
                await asyncio.sleep(AGAIN_S)

    async def _call(self, method: str, **fields: Any) -> Any:
        try:
            return await self._grid.call(self._peer, method, self._rules.deadline_s, **fields)
        except Late:
            self._night.late[method] = self._night.late.get(method, 0) + 1
            raise

    async def _quietly(self, method: str, **fields: Any) -> None:
        with contextlib.suppress(CallRefused, Late):
            await self._call(method, **fields)
