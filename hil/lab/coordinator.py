"""The rig's session with a labgrid coordinator: it follows places and resources, and comes back by itself."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

from hil.errors import Blocked, message_of
from hil.lab.package import load
from hil.lab.state import Place, Resource, Snapshot, Waiting
from hil.lab.tunnel import coordinator_address
from hil.steady_clock import steady_s
from hil.threads import start

LAB = "lab"  # stage of what is wrong with the lab, and with no board
# For one request. The coordinator answers one after the other, and acquiring a serial port takes its exporter half a
# second: with 15 s, of 40 workers that began at once 17 were told that the coordinator cannot be used. A reservation
# lives no longer than a minute. A connection that is cut is noticed by the pings below.
CALL_S = 60.0
AGAIN_S = 0.5  # from the end of a session to the next attempt
CLOSE_S = 2.0
# A cut network is noticed within 10 s. The coordinator allows one ping in 5 s.
OPTIONS = (
    ("grpc.keepalive_time_ms", 6000),
    ("grpc.keepalive_timeout_ms", 3000),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.use_local_subchannel_pool", 1),  # two sessions of a process must not share a connection: it names the client
)


class CoordinatorRefusal(Exception):
    """The coordinator refused a request; the message is its reason."""


class Coordinator:
    """A session with a coordinator, which a thread keeps open until `close`.

    Args:
        address: `host:port`.
        user: name under which places are acquired, `host/user`.

    Attributes:
        snapshot: places and resources as last told; that of the last session while there is none.
        connected: whether there is a session now.
        changed: condition under which the attributes above change.
        epoch: number of sessions so far.

    Raises:
        RigError: labgrid is not installed here, or of a version that the rig does not know.
    """

    def __init__(self, address: str, user: str) -> None:
        self._labgrid = load()
        self.address, self.user = address, user
        self.snapshot, self.connected, self.epoch = Snapshot(), False, 0
        self.changed = threading.Condition()
        self._reason, self._closing = "it does not answer", False
        self._channel: Any = None
        self._outgoing: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="labgrid", daemon=True)
        start(self._thread)

    def close(self) -> None:
        """End the session."""
        with self.changed:
            self._closing = True
            self.changed.notify_all()
            channel = self._channel
        self._outgoing.put(None)
        if channel is not None:
            channel.close()
        self._thread.join(CLOSE_S)

    def wait_for(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until a condition on this session holds; return whether it does. It is tried after every change."""
        until = steady_s() + seconds
        with self.changed:
            while not condition():
                left = until - steady_s()
                if left <= 0:
                    return False
                self.changed.wait(min(left, threading.TIMEOUT_MAX))
            return True

    def away(self) -> Blocked:
        """Return why there is no session."""
        return Blocked(
            LAB,
            f"the labgrid coordinator at {self.address} cannot be used ({self._reason}): "
            "start it, or correct `coordinator` in the table [labgrid] of rig.toml.",
        )

    def acquire(self, place: str) -> None:
        """Acquire a place. Raises CoordinatorRefusal, and Blocked without a session."""
        self._ask("AcquirePlace", self._labgrid.messages.AcquirePlaceRequest(placename=place))

    def release(self, place: str, holder: str) -> None:
        """Release a place if this holder has it. Raises CoordinatorRefusal, and Blocked without a session."""
        self._ask("ReleasePlace", self._labgrid.messages.ReleasePlaceRequest(placename=place, fromuser=holder))

    def reserve(self, tags: dict[str, str]) -> str:
        """Ask for any place with these tags; return the token.

        Raises CoordinatorRefusal, and Blocked without a session.
        """
        messages = self._labgrid.messages
        request = messages.CreateReservationRequest(filters={"main": messages.Reservation.Filter(filter=tags)})
        return str(self._ask("CreateReservation", request).reservation.token)

    def allocated(self, token: str) -> str | None:
        """Return the place of a reservation, None as long as it has none. It lives a minute from each call.

        Raises:
            CoordinatorRefusal: the reservation is no longer known, or has expired.
            Blocked: there is no session.
        """
        found = self._ask("PollReservation", self._labgrid.messages.PollReservationRequest(token=token)).reservation
        if self._labgrid.common.ReservationState(found.state).name in ("expired", "invalid"):
            raise CoordinatorRefusal(f"reservation {token} is over")
        return str(found.allocations["main"]) if "main" in found.allocations else None

    def cancel(self, token: str) -> None:
        """Cancel a reservation; one that is not known is no error. Raises Blocked without a session."""
        with contextlib.suppress(CoordinatorRefusal):
            self._ask("CancelReservation", self._labgrid.messages.CancelReservationRequest(token=token))

    def waiting(self) -> list[Waiting]:
        """Return the reservations that wait for a place, the first come first. Raises as `acquire`."""
        found = self._ask("GetReservations", self._labgrid.messages.GetReservationsRequest()).reservations
        state_of = self._labgrid.common.ReservationState
        return [
            Waiting(each.owner, dict(each.filters["main"].filter))
            for each in sorted(found, key=lambda each: each.created)
            if state_of(each.state).name == "waiting" and "main" in each.filters
        ]

    def _ask(self, name: str, request: Any) -> Any:
        with self.changed:
            channel = self._channel if self.connected else None
        if channel is None:
            raise self.away()
        try:
            return getattr(self._labgrid.stubs.CoordinatorStub(channel), name)(request, timeout=CALL_S)
        except ValueError as error:  # the channel was closed in the meantime
            raise self.away() from error
        except self._labgrid.grpc.RpcError as error:
            if error.code().name in ("UNAVAILABLE", "CANCELLED", "DEADLINE_EXCEEDED", "UNIMPLEMENTED"):
                raise self._unusable(error) from error
            raise CoordinatorRefusal(str(error.details())) from error

    def _unusable(self, error: Any) -> Blocked:
        self._reason = self._why(error)
        return self.away()

    def _why(self, error: Any) -> str:
        if error.code().name == "UNIMPLEMENTED":
            return "it does not know the rig's requests, so it is a labgrid of another version"
        return message_of(Exception(error.details()))

    def _run(self) -> None:
        while True:
            try:
                self._follow()
            except self._labgrid.grpc.RpcError as error:
                self._reason = self._why(error)
            except Exception as error:
                self._reason = message_of(error)
            finally:
                with self.changed:
                    self.connected = False
                    self.changed.notify_all()
            with self.changed:
                if self._closing or self.changed.wait_for(lambda: self._closing, AGAIN_S):
                    return

    def _follow(self) -> None:
        """Open a session and follow it to its end, which raises an exception."""
        messages, outgoing = self._labgrid.messages, queue.SimpleQueue[Any]()
        channel = self._labgrid.grpc.insecure_channel(coordinator_address(self.address), OPTIONS)
        try:
            with self.changed:
                if self._closing:
                    return
                self._channel, self._outgoing = channel, outgoing
            outgoing.put(messages.ClientInMessage(startup={"version": self._labgrid.version, "name": self.user}))
            outgoing.put(messages.ClientInMessage(subscribe={"all_places": True}))
            outgoing.put(messages.ClientInMessage(subscribe={"all_resources": True}))
            outgoing.put(messages.ClientInMessage(sync={"id": 1}))  # answered after the lists
            places: dict[str, Place] = {}
            resources: dict[tuple[str, ...], Resource] = {}
            replies: Iterator[Any] = self._labgrid.stubs.CoordinatorStub(channel).ClientStream(iter(outgoing.get, None))
            for reply in replies:
                for update in reply.updates:
                    self._take_in(update, places, resources)
                with self.changed:
                    if reply.HasField("sync"):
                        self.connected, self.epoch = True, self.epoch + 1
                    if self.connected:
                        self.snapshot = Snapshot(dict(places), tuple(resources.values()))
                    self.changed.notify_all()
            self._reason = "it has ended the session"
        finally:
            outgoing.put(None)
            channel.close()

    def _take_in(self, update: Any, places: dict[str, Place], resources: dict[tuple[str, ...], Resource]) -> None:
        kind = update.WhichOneof("kind")
        if kind == "place":
            places[update.place.name] = self._place(update.place)
        elif kind == "del_place":
            places.pop(update.del_place, None)
        elif kind in ("resource", "del_resource"):
            path = update.resource.path if kind == "resource" else update.del_resource
            key = (path.exporter_name, path.group_name, path.resource_name)
            resources.pop(key, None)
            if kind == "resource":
                data = self._labgrid.common.ResourceEntry.data_from_pb2(update.resource)
                extra = data["params"].pop("extra", {})
                full = (key[0], key[1], data["cls"], key[2])
                resources[key] = Resource(full, data["params"], extra, data["acquired"] or "", data["avail"])

    def _place(self, message: Any) -> Place:
        found = self._labgrid.common.Place.from_pb2(message)

        def match(path: tuple[str, str, str, str]) -> str | None:
            matched = found.getmatch(path)
            return None if matched is None else (matched.rename or path[3])

        def missing(paths: list[tuple[str, str, str, str]]) -> str | None:
            unmatched = found.unmatched(paths)
            return None if unmatched is None else repr(unmatched)

        holder, token = found.acquired or "", found.reservation or ""
        return Place(found.name, frozenset(found.aliases), dict(found.tags), holder, token, match, missing)
