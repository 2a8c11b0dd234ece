"""labgrid's own coordinator in this process: exporters that answer in virtual time, sessions, and calls that are timed.

Its reservations, its scheduler, its lock and its places run unchanged. Left out is gRPC: a method is called directly,
and the messages for a client are counted instead of sent (hil/benchmarks/lab/wire.py measures what they cost).
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hil.benchmarks.lab.clock import VirtualLoop
from hil.benchmarks.lab.meter import LoadMeter, WatchedLock
from hil.benchmarks.lab.model import Lab

EPOCH = 1_767_000_000.0  # the virtual night begins at this time
SERIAL, PROBE = "NetworkSerialPort", "NetworkService"
TAG = "board"


class CallRefused(Exception):
    """The coordinator refused a call."""


class Late(Exception):
    """A call was not answered before its deadline."""


class Call:
    """The context of a call, as gRPC gives it to a method."""

    def __init__(self, peer: str) -> None:
        self._peer = peer

    def peer(self) -> str:
        """Return who calls."""
        return self._peer

    async def abort(self, code: Any, details: str) -> None:
        """End the call. Raises CallRefused."""
        raise CallRefused(details)

    def done(self) -> bool:
        """Return whether the call is over, which only debug lines ask."""
        return False

    cancelled = done


class Outgoing:
    """The queue of messages to one client: they are counted."""

    def __init__(self, meter: LoadMeter) -> None:
        self._meter = meter

    def put_nowait(self, message: Any) -> None:
        """Count a message."""
        self._meter.message()


class Grid:
    """A coordinator with the exporters and places of a lab.

    Attributes:
        meter: processor time of the coordinator, calls, messages and how long its lock was held.
        allocated_at: virtual time at which each reservation got its place, by token.
    """

    def __init__(self, lab: Lab, loop: VirtualLoop) -> None:
        self._lab, self._loop = lab, loop
        self.meter = LoadMeter(loop.time)
        self.allocated_at: dict[str, float] = {}
        self.told: dict[str, asyncio.Event] = {}  # by token, for clients that wait for an update of a place
        self._module = importlib.import_module("labgrid.remote.coordinator")
        self.messages = importlib.import_module("labgrid.remote.generated.labgrid_coordinator_pb2")
        self.coordinator: Any = None
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start the coordinator, attach the exporters and make a place for each board."""
        self.coordinator = self._watched()()
        self.coordinator.lock = WatchedLock(self.meter)
        kinds = self._lab.kinds()
        for each in range(self._lab.exporters):
            mine = [f"place-{place}" for place in range(each, self._lab.boards, self._lab.exporters)]
            self._tasks.append(self._loop.create_task(self._export(f"exporter-{each}", mine)))
        await asyncio.sleep(1)
        self.open("admin", "admin")
        for number, kind in enumerate(kinds):
            name, exporter = f"place-{number}", f"exporter-{number % self._lab.exporters}"
            await self.call("admin", "AddPlace", name=name)
            await self.call("admin", "AddPlaceMatch", placename=name, pattern=f"{exporter}/{name}/*")
            await self.call("admin", "SetPlaceTags", placename=name, tags={TAG: kind})
        self.close("admin")
        self.meter.reset()

    async def stop(self) -> None:
        """End exporters and coordinator."""
        for task in (*self._tasks, *self.coordinator.poll_tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, *self.coordinator.poll_tasks, return_exceptions=True)

    def open(self, peer: str, user: str) -> None:
        """Open the session of a client."""
        session = self._module.ClientSession(self.coordinator, peer, user, Outgoing(self.meter), "simulated")
        self.coordinator.clients[peer] = session
        self.meter.session(len(self.coordinator.clients))

    def close(self, peer: str) -> None:
        """End the session of a client; labgrid keeps what it has acquired."""
        del self.coordinator.clients[peer]

    async def call(self, peer: str, method: str, limit_s: float | None = None, **fields: Any) -> Any:
        """Call a method of the coordinator.

        Raises:
            CallRefused: the coordinator aborted the call.
            Late: it was not answered within `limit_s` seconds of virtual time; the coordinator drops it, as with gRPC.
        """
        request = getattr(self.messages, f"{method}Request")(**fields)
        began = self._loop.time()
        work = self.meter.timed(method, getattr(self.coordinator, method)(request, Call(peer)))
        try:
            return await asyncio.wait_for(work, limit_s)
        except asyncio.TimeoutError:
            raise Late(method) from None
        finally:
            self.meter.answered(method, self._loop.time() - began)

    def waiting(self) -> dict[str, int]:
        """Return how many reservations of each kind of board wait for a place."""
        found: dict[str, int] = {}
        for each in self.coordinator.reservations.values():
            if each.state.name == "waiting":
                kind = each.filters["main"][TAG]
                found[kind] = found.get(kind, 0) + 1
        return found

    def held(self) -> dict[str, str]:
        """Return the holder of each place that is acquired."""
        return {name: place.acquired for name, place in self.coordinator.places.items() if place.acquired}

    def _watched(self) -> Any:
        """Return the class of the coordinator that tells this grid what it does, and does the same as its base."""
        grid, meter = self, self.meter

        class Watched(self._module.Coordinator):  # type: ignore[misc,name-defined]  # labgrid is imported late
            def _publish_place(self, place: Any) -> None:
                token = place.reservation
                if token and token not in grid.allocated_at:
                    grid.allocated_at[token] = grid._loop.time()
                    if token in grid.told:
                        grid.told[token].set()
                super()._publish_place(place)

            async def _poll_step_save(self) -> None:
                if self.save_scheduled:
                    self.save_scheduled: bool = meter.next_is_timed("save")  # else it is charged, and does not write
                    await meter.timed("save", super()._poll_step_save())

            async def _poll_step_schedule(self) -> None:
                await meter.timed("schedule", super()._poll_step_schedule())

            async def _poll_step_sync_resources(self) -> None:
                await meter.timed("synchronize", super()._poll_step_sync_resources())

        return Watched

    async def _export(self, name: str, places: list[str]) -> None:
        """Be an exporter: two resources for each place, of which the serial port takes its time to be acquired."""
        incoming: asyncio.Queue[Any] = asyncio.Queue()
        messages = self.messages
        incoming.put_nowait(messages.ExporterInMessage(startup={"version": "simulated", "name": name}))
        for place in places:
            for resource in (SERIAL, PROBE):
                incoming.put_nowait(self._resource(place, resource, ""))
        async for message in self.coordinator.ExporterStream(_items(incoming), Call(name)):
            if message.WhichOneof("kind") == "set_acquired_request":
                asked = message.set_acquired_request
                if asked.place_name and asked.resource_name == SERIAL and self._lab.start_s:
                    await asyncio.sleep(self._lab.start_s)
                incoming.put_nowait(self._resource(asked.group_name, asked.resource_name, asked.place_name))
                incoming.put_nowait(messages.ExporterInMessage(response={"success": True}))

    def _resource(self, group: str, cls: str, holder: str) -> Any:
        message = self.messages.ExporterInMessage()
        resource = message.resource
        resource.path.group_name, resource.path.resource_name, resource.cls = group, cls, cls
        resource.params["host"].string_value, resource.params["port"].uint_value = "exporter.example.org", 40000
        resource.avail = True
        if holder:
            resource.acquired = holder
        return message


async def _items(queue: asyncio.Queue[Any]) -> AsyncIterator[Any]:
    while True:
        yield await queue.get()


@contextlib.contextmanager
def virtual_labgrid(loop: VirtualLoop) -> Iterator[None]:
    """Give labgrid the virtual clock for its reservations, an empty folder for its files, and no terminal."""
    common: Any = importlib.import_module("labgrid.remote.common")
    clock, before = common.time, Path.cwd()
    common.time = SimpleNamespace(time=lambda: EPOCH + loop.time())
    disabled = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w") as nowhere:
            os.chdir(folder)
            with contextlib.redirect_stdout(nowhere):
                yield
            os.chdir(before)
    finally:
        os.chdir(before)
        common.time = clock
        logging.disable(disabled)
